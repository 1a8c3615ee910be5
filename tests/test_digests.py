"""By which the reproduction knows whether a stage's files have changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.digests import Digests


def digest(pattern: Path, kept_in: Path) -> str:
    return Digests(kept_in).of(str(pattern))


def test_a_digest_sees_files_that_come_change_and_go_but_no_hidden_ones(tmp_path):
    pattern = tmp_path / "data" / "*"
    assert digest(pattern, tmp_path) == ""
    (tmp_path / "data" / "train").mkdir(parents=True)
    seen = [digest(pattern, tmp_path)]
    for change in (
        lambda: (tmp_path / "data" / "train" / "0.json").write_text("a"),
        lambda: (tmp_path / "data" / "train" / "1.json").write_text("b"),
        lambda: (tmp_path / "data" / "train" / "0.json").write_text("c"),
        lambda: (tmp_path / "data" / "train" / "1.json").rename(tmp_path / "data" / "train" / "2.json"),
        lambda: (tmp_path / "data" / "train" / "2.json").unlink(),
    ):
        change()
        seen.append(digest(pattern, tmp_path))
    assert len(set(seen)) == len(seen)
    (tmp_path / "data" / "train" / ".0.json.half").write_text("x")
    assert digest(pattern, tmp_path) == seen[-1]


def test_a_digest_is_of_contents_wherever_and_whenever_they_were_written(tmp_path):
    for folder in ("here", "there [1]"):
        (tmp_path / folder / "train").mkdir(parents=True)
        (tmp_path / folder / "train" / "0.json").write_text("a")
    first = digest(tmp_path / "here" / "train", tmp_path)
    assert first and digest(tmp_path / "there [1]" / "train", tmp_path) == first
    os.utime(tmp_path / "here" / "train" / "0.json", ns=(1, 1))
    assert digest(tmp_path / "here" / "train", tmp_path) == first


def test_contents_are_read_once_as_long_as_size_and_time_stay(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("a")
    digests = Digests(tmp_path)
    first = digests.of(str(tmp_path / "file"))
    digests.save()

    def never(*_):
        raise AssertionError("read again")

    monkeypatch.setattr("pipeline.digests._read", never)
    assert digest(tmp_path / "file", tmp_path) == first
    os.utime(tmp_path / "file", ns=(1, 1))
    with pytest.raises(AssertionError, match="read again"):
        digest(tmp_path / "file", tmp_path)
    for damaged in ("[]", "[", '{"file": 5}'):
        (tmp_path / ".digests.json").write_text(damaged)
        with pytest.raises(AssertionError, match="read again"):
            digest(tmp_path / "file", tmp_path)

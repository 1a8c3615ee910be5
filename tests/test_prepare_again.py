"""Preparation that is repeated, or goes on where it was broken off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from raw_inputs import prepare, story_flags, write, write_stories

from data.prepare import writing
from support.errors import UserError


@pytest.fixture
def stories(tmp_path) -> Path:
    return write_stories(tmp_path)


def test_a_second_run_changes_nothing_and_a_different_one_is_refused(stories, capsys):
    prepare("stories", stories / "out", *story_flags(stories))
    before = (stories / "out" / "train" / "0.json").stat().st_mtime_ns
    prepare("stories", stories / "out", *story_flags(stories))
    assert (stories / "out" / "train" / "0.json").stat().st_mtime_ns == before
    assert "already prepared" in capsys.readouterr().out
    with pytest.raises(UserError, match="--force"):
        prepare("stories", stories / "out", *story_flags(stories), "--units", "sentences")
    assert (stories / "out" / "train" / "0.json").stat().st_mtime_ns == before
    prepare("stories", stories / "out", *story_flags(stories), "--units", "sentences", "--force")
    assert (stories / "out" / "train" / "0.json").stat().st_mtime_ns != before


def test_an_interrupted_run_is_taken_up_and_gives_the_same(tmp_path, monkeypatch):
    rows = [
        {"id": str(i), "article": [f"sentence {i} ."] if i % 3 else [], "abstract": ["a ."]}
        for i in range(25)
    ]
    source = write(tmp_path / "train.jsonl", "\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(writing, "_PIECE", 4)
    prepare("jsonl", tmp_path / "whole", "--train", source, "--workers", 1)

    written: list[str] = []
    real = writing.write_article

    def failing(path, article):
        if article.id == "17" and not written:
            written.append(path)
            raise KeyboardInterrupt
        real(path, article)

    monkeypatch.setattr(writing, "write_article", failing)
    with pytest.raises(KeyboardInterrupt):
        prepare("jsonl", tmp_path / "broken", "--train", source, "--workers", 1)
    assert not (tmp_path / "broken" / "train").exists()
    kept = (tmp_path / "broken" / ".preparing" / "train" / "3.json").stat().st_mtime_ns
    write(tmp_path / "broken" / ".preparing" / "train" / ".17.json.abcd0123.tmp", "left by kill -9")
    prepare("jsonl", tmp_path / "broken", "--train", source, "--workers", 1)
    assert (tmp_path / "broken" / "train" / "3.json").stat().st_mtime_ns == kept
    for name in ["manifest.tsv", "vocab_cnt.pkl", *(f"train/{i}.json" for i in range(25))]:
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert len(list((tmp_path / "broken" / "train").iterdir())) == 25
    assert not (tmp_path / "broken" / ".preparing").exists()


STATE = Path(".preparing") / "train.json"


def interrupted(folder: Path, monkeypatch) -> Path:
    """A preparation of ten documents that ended after six of them, in pieces of three."""
    rows = [{"id": str(i), "article": [f"sentence {i} ."] if i % 4 else [], "abstract": ["a ."]} for i in range(10)]
    source = write(folder / "train.jsonl", "\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(writing, "_PIECE", 3)
    real = writing.write_article
    prepare("jsonl", folder / "whole", "--train", source, "--workers", 1)

    def failing(path, article):
        if article.id == "7":
            raise KeyboardInterrupt
        real(path, article)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(writing, "write_article", failing)
        prepare("jsonl", folder / "out", "--train", source, "--workers", 1)
    return source


def assert_whole(folder: Path) -> None:
    names = {path.relative_to(folder / "whole") for path in (folder / "whole").rglob("*") if path.is_file()}
    assert names == {path.relative_to(folder / "out") for path in (folder / "out").rglob("*") if path.is_file()}
    for name in names:
        assert (folder / "out" / name).read_bytes() == (folder / "whole" / name).read_bytes(), name


def test_an_unfinished_preparation_in_pieces_of_another_size_begins_anew(tmp_path, monkeypatch):
    source = interrupted(tmp_path, monkeypatch)
    assert json.loads((tmp_path / "out" / STATE).read_text())["piece"] == 3
    monkeypatch.setattr(writing, "_PIECE", 5)
    prepare("jsonl", tmp_path / "out", "--train", source, "--workers", 1)
    assert_whole(tmp_path)


@pytest.mark.parametrize(
    "done", [5, [1], {"0": 5}, {"0": [[], []], "x": [[], []]}, {"0": [["a"], []]}, {"9": [[], []]}, {"0": [[]]}]
)
def test_a_damaged_record_of_an_unfinished_preparation_loses_no_article(tmp_path, monkeypatch, done, capsys):
    source = interrupted(tmp_path, monkeypatch)
    state = json.loads((tmp_path / "out" / STATE).read_text())
    write(tmp_path / "out" / STATE, json.dumps(state | {"done": done}))
    prepare("jsonl", tmp_path / "out", "--train", source, "--workers", 1)
    assert_whole(tmp_path)
    assert "note: 3 of them have no text (0.json, 4.json, 8.json)" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "[", "[]", "[1]", '"a"', "[" * 100_000])
def test_an_unreadable_record_of_an_unfinished_preparation_begins_anew(tmp_path, monkeypatch, content):
    source = interrupted(tmp_path, monkeypatch)
    write(tmp_path / "out" / STATE, content)
    prepare("jsonl", tmp_path / "out", "--train", source, "--workers", 1)
    assert_whole(tmp_path)


def test_an_article_that_vanished_from_an_unfinished_preparation_is_written_again(tmp_path, monkeypatch):
    source = interrupted(tmp_path, monkeypatch)
    (tmp_path / "out" / ".preparing" / "train" / "1.json").unlink()
    prepare("jsonl", tmp_path / "out", "--train", source, "--workers", 1)
    assert_whole(tmp_path)


@pytest.mark.parametrize("content", ["[", "[]", "[1]", '{"train": 5}', '{"train": {"articles": "many"}}'])
def test_a_damaged_record_of_what_is_prepared_is_named(stories, content):
    prepare("stories", stories / "out", *story_flags(stories))
    write(stories / "out" / "prepared.json", content)
    before = (stories / "out" / "train" / "0.json").stat().st_mtime_ns
    with pytest.raises(UserError, match=r"prepared\.json"):
        prepare("stories", stories / "out", *story_flags(stories))
    assert (stories / "out" / "train" / "0.json").stat().st_mtime_ns == before


def test_any_number_of_workers_gives_the_same(stories):
    prepare("stories", stories / "one", *story_flags(stories), "--workers", 1)
    prepare("stories", stories / "three", *story_flags(stories), "--workers", 3)
    for path in sorted((stories / "one").rglob("*.json")):
        assert path.read_bytes() == (stories / "three" / path.relative_to(stories / "one")).read_bytes()

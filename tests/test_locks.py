"""Two commands never write into one directory."""

from __future__ import annotations

import os
import signal

import pytest
from commands import call
from other_writer import other_writer
from training_runs import EXTRACTOR

from support.errors import UserError
from support.locks import only_writer


def test_a_directory_has_one_writer_at_a_time(tmp_path):
    with other_writer(tmp_path / "run"):
        for _ in range(2):
            told = pytest.raises(UserError, match=r"another process is writing into .*run; wait")
            with told, only_writer(tmp_path / "run"):
                pass
    with only_writer(tmp_path / "run"):
        assert os.listdir(tmp_path / "run") == [".lock"]
    assert os.listdir(tmp_path / "run") == []


def test_a_killed_writer_holds_nothing_though_its_children_live_on(tmp_path):
    with other_writer(tmp_path) as (process, child):
        process.kill()
        process.wait()
        os.kill(child, 0)  # it lives
        with only_writer(tmp_path):
            os.kill(child, signal.SIGKILL)


def test_a_training_that_runs_is_left_alone(monkeypatch, data, tmp_path):
    flags = [*EXTRACTOR, "--data_dir", data, "--path", tmp_path / "run", "--max_steps"]
    with other_writer(tmp_path / "run"), pytest.raises(UserError, match="another process is writing into"):
        call(monkeypatch, "train_extractor_ml.py", *flags, 1)
    assert os.listdir(tmp_path / "run") == []
    call(monkeypatch, "train_extractor_ml.py", *flags, 1)
    with other_writer(tmp_path / "run"), pytest.raises(UserError, match="another process is writing into"):
        call(monkeypatch, "train_extractor_ml.py", *flags, 2, "--resume")


def test_a_decoding_that_runs_is_left_alone(golden, tmp_path, complaint, decode):
    flags = ["--path", tmp_path / "out", "--data_dir", golden / "data", "--test", "--n_ext", 2]
    with other_writer(tmp_path / "out"):
        assert "another process is writing into" in complaint("decode_baselines", *flags)
    assert os.listdir(tmp_path / "out") == []
    decode("decode_baselines", *flags)
    assert ".lock" not in os.listdir(tmp_path / "out")

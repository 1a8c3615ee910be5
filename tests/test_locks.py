"""Two commands never write into one directory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest
from commands import call, launch
from kills import struck
from other_writer import other_writer
from training_runs import EXTRACTOR

from support.errors import UserError
from support.files import atomic_directory
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


@pytest.mark.parametrize(
    ("owner", "name", "n", "left"),
    [(Path, "rename", 1, "old"), (Path, "rename", 2, "old"), (shutil, "rmtree", 1, "new")],
)
def test_a_directory_is_whole_after_a_kill_and_the_next_writer_clears_what_was_left(tmp_path, owner, name, n, left):
    def write(text: str, there: str = "") -> None:
        with atomic_directory(tmp_path / "out") as folder:
            assert not there or (tmp_path / "out/file").read_text() == there
            (folder / "file").write_text(text)

    write("old")
    users = [tmp_path / ".out.original", tmp_path / ".out.more.a_b9x012.new", tmp_path / ".other.a_b9x012.new"]
    for folder in users:
        folder.mkdir()
    assert struck(partial(write, "new"), owner, name, n) == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == len(users) + 2
    write("newer", left)
    assert (tmp_path / "out/file").read_text() == "newer"
    assert (tmp_path / "out").stat().st_mode == users[0].stat().st_mode  # not that of a secret
    assert set(tmp_path.iterdir()) == {tmp_path / "out", *users}


def test_a_directory_replaces_neither_a_file_nor_a_link_and_says_so_before_any_work(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("mine")
    for name in ("link", "file"):
        with pytest.raises(NotADirectoryError, match="a link or a file"), atomic_directory(tmp_path / name):
            pytest.fail("the work had begun")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "file", "link"]


def test_a_directory_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/file").write_text("old")
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.suffix == ".new":
            raise OSError("refused")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="refused"), atomic_directory(tmp_path / "out"):
        pass
    assert (tmp_path / "out/file").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_writers_of_directories_in_one_folder_take_turns(tmp_path):
    """Each removes what a kill left, which must not be what the other writes."""
    code = "import sys\nfrom support.files import atomic_directory\nwith atomic_directory(sys.argv[1]): pass"
    with atomic_directory(tmp_path / "out") as folder:
        other = launch("-c", code, tmp_path / "out", stderr=subprocess.PIPE)
        assert other.stderr is not None and "this one waits for it" in other.stderr.readline()
        assert folder.exists()
    assert other.wait(timeout=60) == 0

"""A reproduction that is stopped or killed while its stages run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.__main__ import in_use
from support.errors import UserError

ROOT = Path(__file__).parents[1]


RUN_A_LONG_STAGE = """
import sys, pathlib
from pipeline.__main__ import reproduce
from pipeline.stage import Stage
from support.errors import run
folder = pathlib.Path(sys.argv[1])
code = '''
import os, pathlib, signal, sys, time
def save(*_):
    time.sleep(0.5)
    pathlib.Path(sys.argv[1], "saved").touch()
    os._exit(1)
signal.signal(signal.SIGINT, save)
signal.signal(signal.SIGTERM, save)
pathlib.Path(sys.argv[1], "pid").write_text(str(os.getpid()))
time.sleep(60)
'''
stage = Stage(name="long", command=("-c", code, str(folder)), outputs=(str(folder / "never"),))
run(lambda: reproduce([stage], [], folder / "runs", 1))
"""


@pytest.fixture
def long_run(tmp_path):
    """A process of its own, the id of its stage's process, and the folder of runs."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", RUN_A_LONG_STAGE, tmp_path]
    process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    pid = tmp_path / "pid"
    wait_until(lambda: pid.exists() and pid.read_text())
    yield process, int(pid.read_text()), tmp_path / "runs"
    process.kill()
    process.wait()


def wait_until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no death signal")
def test_processes_of_a_killed_run_die_with_it(long_run):
    process, pid, runs = long_run
    assert is_alive(pid)
    process.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_alive(pid))
    with in_use(runs):
        pass


@pytest.mark.parametrize("by_keyboard", [True, False])
def test_a_stopped_run_lets_its_stages_save_their_state(long_run, tmp_path, by_keyboard):
    process, pid, _ = long_run
    if by_keyboard:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.terminate()
    assert process.wait(timeout=60) == 130
    assert (tmp_path / "saved").exists() and not is_alive(pid)


def test_a_folder_has_one_run_at_a_time(long_run, monkeypatch):
    monkeypatch.setattr("pipeline.__main__._WAIT", 0.3)
    with pytest.raises(UserError, match="another run is at work"), in_use(long_run[2]):
        pass

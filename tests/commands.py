"""Running the project's scripts, in this process or as a user would."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def call(monkeypatch, script: str, *arguments: object) -> None:
    """Runs the script's main here; far quicker than a new process."""
    monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
    importlib.import_module(script.removesuffix(".py")).main()


def launch(*command: object, **options) -> subprocess.Popen:
    """Starts `python <command>` as a user would."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    arguments = [sys.executable, *map(str, command)]
    return subprocess.Popen(arguments, cwd=ROOT, env=environment, text=True, preexec_fn=_mind_hangups, **options)


def _mind_hangups() -> None:
    """Although the tests themselves may run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def complaint(*command: object) -> str:
    """The one line with which a command refuses bad input."""
    process = launch(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 2, stderr
    lines = [line for line in stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and lines[0].startswith("error: "), stderr
    return lines[0]

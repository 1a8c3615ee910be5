"""Running the project's scripts, in this process or as a user would."""

from __future__ import annotations

import importlib.util
import io
import os
import runpy
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def call(monkeypatch: pytest.MonkeyPatch, script: str, *arguments: object) -> None:
    """Runs the script's main here; far quicker than a new process."""
    monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
    importlib.import_module(script.removesuffix(".py")).main()


def run_here(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `python <command>` does and prints, in this process; far quicker than a new one."""
    first, *arguments = map(str, command)
    if first == "-m":
        file, arguments = _file_of(arguments[0]), arguments[1:]
    else:
        file = str(ROOT / first)
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DATA", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", [file, *arguments])
        patch.setattr(sys, "path", [*sys.path])
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]), pytest.raises(SystemExit) as stopped:
            runpy.run_path(file, run_name="__main__")
            sys.exit(0)
    output, errors = (stream.buffer.getvalue().decode() for stream in streams)
    code = stopped.value.code
    return subprocess.CompletedProcess([file, *arguments], code if isinstance(code, int) else 1, output, errors)


def _file_of(module: str) -> str:
    found = importlib.util.find_spec(module)
    if found is not None and found.submodule_search_locations is not None:
        found = importlib.util.find_spec(f"{module}.__main__")
    assert found is not None and found.origin is not None, f"there is no module {module}"
    return found.origin


def launch(*command: object, **options: Any) -> subprocess.Popen:
    """Starts `python <command>` as a user would."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    arguments = [sys.executable, *map(str, command)]
    return subprocess.Popen(arguments, cwd=ROOT, env=environment, text=True, preexec_fn=_mind_hangups, **options)


def _mind_hangups() -> None:
    """Although the tests themselves may run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def complaint(*command: object) -> str:
    """The one line with which a command refuses bad input."""
    done = run_here(*command)
    assert done.returncode == 2, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and lines[0].startswith("error: "), done.stderr
    return lines[0]

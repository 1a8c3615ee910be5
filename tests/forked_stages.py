"""`python forked_stages.py ...` is `python -m pipeline ...`, whose stages need not start Python and import torch: they
are forks of this process, which has."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import gensim.models  # noqa: F401
import torch

from pipeline import __main__ as pipeline
from pipeline import runner
from support.errors import run


class Fork:
    """What the runner needs of subprocess.Popen."""

    def __init__(
        self,
        command: list[str],
        cwd: Path,
        env: Mapping[str, str],
        stdout: IO[bytes],
        stderr: IO[bytes],
        preexec_fn: Callable[[], None],
        **_same_in_a_fork: object,
    ) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid:
            return
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            preexec_fn()
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update(env)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
            torch.set_num_threads(int(env["OMP_NUM_THREADS"]))
            code = _run_python(command[1:])
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            code = 1
        finally:
            os._exit(code)


def _run_python(arguments: list[str]) -> int:
    """`python ARGUMENTS`, for a script or a module."""
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    runner.subprocess = SimpleNamespace(Popen=Fork, DEVNULL=subprocess.DEVNULL)  # type: ignore[assignment]
    run(pipeline.main)

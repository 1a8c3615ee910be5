"""Processes that a signal strikes at a chosen point, the same in every run of a test."""

from __future__ import annotations

import itertools
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from commands import launch


def struck(run: Callable[[], object], owner: Any, name: str, n: int, by: signal.Signals = signal.SIGKILL) -> int:
    """Runs `run` in a forked process that gets the signal at its n-th call of `owner.name` -> its exit code,
    as of subprocess. Not for what trains: gradients may fail in a process that is forked from one that had some.
    """
    child = os.fork()
    if child == 0:
        try:
            _strike(owner, name, n, by)
            run()
        except SystemExit as stop:
            os._exit(stop.code if isinstance(stop.code, int) else 1)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def struck_script(owner: str, name: str, n: int, by: signal.Signals, script: str, *flags: object) -> int:
    """The same for a script, in a process of its own; `owner` is written as module:class."""
    command = f"from kills import run_struck; run_struck({owner!r}, {name!r}, {n}, {int(by)})"
    process = launch("-c", f"import sys; sys.path.append({str(Path(__file__).parent)!r}); {command}", script, *flags)
    return process.wait(timeout=180)


def run_struck(owner: str, name: str, n: int, by: int) -> None:
    _strike(resolve_name(owner), name, n, signal.Signals(by))
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")


def _strike(owner: Any, name: str, n: int, by: signal.Signals) -> None:
    calls, real, process = itertools.count(1), getattr(owner, name), os.getpid()

    def counted(*arguments: Any, **options: Any) -> Any:
        if next(calls) == n:
            os.kill(process, by)
        return real(*arguments, **options)

    setattr(owner, name, counted)

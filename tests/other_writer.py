"""Another process that holds the lock of a directory."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = """
import os, sys, time
from support.locks import only_writer
with only_writer(sys.argv[1]):
    child = os.fork()
    if child == 0:
        time.sleep(600)
    print("held by", child, flush=True)
    sys.stdin.read()
    os.kill(child, 9)
"""


@contextlib.contextmanager
def other_writer(directory: Path) -> Iterator[tuple[subprocess.Popen, int]]:
    """The process, and the number of a child that it has forked."""
    command = [sys.executable, "-c", CODE, str(directory)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        _, _, child = process.stdout.readline().rpartition("held by ")
        yield process, int(child)

"""Processes that write to one place take turns."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def one_at_a_time(path: Path, waiting: str) -> Iterator[None]:
    """Holds `path`, a folder or a lock file, as soon as no other process does; `waiting` is printed where one does.

    The system frees the lock even when its holder is killed.
    """
    how = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, how, 0o666)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot lock
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(waiting, file=sys.stderr)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

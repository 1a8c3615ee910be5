"""Processes that would write to one place: refused, or taken in turn. The system frees a lock with its process."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from support.errors import UserError

LOCK_FILE = ".lock"


@contextlib.contextmanager
def only_writer(directory: str | Path) -> Iterator[None]:
    """Makes the directory and holds its lock; refuses if another process does.

    The lock is a process's own: workers forked from it do not keep it alive after a kill.
    """
    path = Path(directory) / LOCK_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # before it is freed, so that nobody locks a name that is about to vanish


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    while True:
        with open(path, "w") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    message = f"another process is writing into {path.parent}; wait for it, or give another --path"
                    raise UserError(message) from None
            else:  # some network file systems cannot lock at all: then there is none
                if not _is_at(path, file.fileno()):
                    continue  # its last holder has just removed it
            yield
            return


def _is_at(path: Path, descriptor: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


@contextlib.contextmanager
def one_at_a_time(path: Path, waiting: str, seconds: float = math.inf, refusal: str = "") -> Iterator[int]:
    """Holds `path`, a folder or a lock file, as soon as no other process does, and gives its descriptor.

    Where one does, `waiting` is printed; after `seconds` of waiting, `refusal` is raised. The lock is shared with
    processes that inherit the descriptor, so that after a kill the next one waits for them, too.
    """
    how = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, how, 0o666)
    try:
        if not _try_lock(descriptor):
            print(waiting, file=sys.stderr)
            end = time.monotonic() + seconds
            while not _try_lock(descriptor):
                if time.monotonic() > end:
                    raise UserError(refusal)
                time.sleep(0.2)
        yield descriptor
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # some network file systems cannot lock at all: then there is none
    return True


def files_in(directory: Path) -> list[str]:
    """What lies in a directory beside its lock; nothing, if there is none."""
    return [name for name in os.listdir(directory) if name != LOCK_FILE] if directory.exists() else []

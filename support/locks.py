"""One writer for a directory: a lock that the system frees with its process, however that ends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
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


def files_in(directory: Path) -> list[str]:
    """What lies in a directory beside its lock; nothing, if there is none."""
    return [name for name in os.listdir(directory) if name != LOCK_FILE] if directory.exists() else []

"""Files that are either whole or absent: every write goes to a temporary name and is then renamed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from support.errors import UserError
from support.locks import one_at_a_time

_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}\.tmp")


@contextlib.contextmanager
def atomic_file(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file that appears under `path` only when the block ends without an error."""
    path = Path(path)
    with naming(path):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
                yield file
            os.chmod(temporary, 0o666 & ~_UMASK)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """A failed write names this file, not none or a temporary one."""
    try:
        yield
    except OSError as error:
        known = error.filename is not None and not _TEMPORARY.fullmatch(os.path.basename(os.fsdecode(error.filename)))
        if error.errno is not None and not known:
            error.filename, error.filename2 = str(path), None
        raise


def remove_leftovers(*folders: Path) -> None:
    """Temporary files of a run that was killed while it wrote; nobody else may be writing there."""
    for folder in folders:
        for path in folder.glob(".*.tmp"):
            if _TEMPORARY.fullmatch(path.name):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_directory(path: str | Path) -> Iterator[Path]:
    """A directory that replaces `path` only when the block ends without an error; a link or a file is never replaced.

    Writers in one folder take turns, so that each can remove what a kill has left of its own directory.
    """
    path = Path(path)
    if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
        raise NotADirectoryError(errno.ENOTDIR, "this is a link or a file, where a folder is to be written", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(path.parent, f"another process is writing into {path.parent}; this one waits for it"):
        _clear_leftovers(path)
        new = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new"))
        try:
            yield new
            os.chmod(new, 0o777 & ~_UMASK)
            if path.is_dir():
                path.rename(new.with_suffix(".old"))  # as a whole: a kill must not leave half of it
            new.rename(path)
        finally:
            _clear_leftovers(path)


def _clear_leftovers(path: Path) -> None:
    """An old directory that nothing has replaced returns; all else that a kill or an error left is removed."""
    leftover = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.(new|old)")
    for found in filter(leftover.fullmatch, os.listdir(path.parent)):
        if found.endswith(".old") and not os.path.lexists(path):
            (path.parent / found).rename(path)
        else:
            shutil.rmtree(path.parent / found, ignore_errors=True)


def open_file(
    path: str | Path,
    mode: str = "r",
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    buffering: int = -1,
) -> IO[Any]:
    """Opens a file to read or append; a pipe or device, for which one may wait for ever, is an OSError."""
    return open(path, mode, buffering, encoding=encoding, errors=errors, newline=newline, opener=_open_at_once)


def _open_at_once(path: str, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
            return descriptor
        os.close(descriptor)
    except OSError as error:
        if error.errno != errno.ENXIO:  # of a pipe that nobody reads
            raise
    raise OSError(errno.EINVAL, "a pipe or device, not a file", path)


def read_json(path: str | Path) -> Any:
    try:
        with open_file(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, or endless nesting
        raise UserError(f"{path} is not readable JSON ({error})") from None


def is_number(value: Any) -> bool:
    """One that can be computed with: JSON as it is read also has NaN, infinities and whole numbers of 4,000 digits."""
    return type(value) in (int, float) and abs(value) < 2**63


def write_json(path: str | Path, value: Any) -> None:
    """Indented by 4 and ASCII-escaped, as all released files are."""
    with atomic_file(path) as file:
        json.dump(value, file, indent=4)


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_UMASK = _read_umask()

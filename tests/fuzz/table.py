"""Rows, cells and what is demanded of a cell.

A command that reads a damaged file either ends as if nothing had happened (exit code 0, the outputs of the
undamaged run), or says in one line which file is bad (exit code 2) and leaves its outputs as they were. Where the
damaged file is still a valid one of its format, its values have changed: then exit code 0 may come with any output.
Never a traceback, never a hang, never a file that is written in half.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.operations import Change, changes, operations
from support.errors import run

PATIENCE = 20  # seconds after which a command is said to hang
EXAMPLES = 4  # of each cell, with a fixed seed
PHASES = (Phase.generate, Phase.shrink)


@dataclass(frozen=True)
class File:
    """One that a command reads."""

    kind: str  # as the table calls it
    path: str  # in the row's folder; a pattern, where names are not known before
    format: str  # a key of operations.CONTENTS
    valid: Callable[[bytes], bool]  # whether this content is such a file, perhaps with other values
    optional: bool = False  # whether the command may go on without it


@dataclass(frozen=True)
class Row:
    """A command, the folder in which it runs, and what it reads and writes there."""

    command: str
    main: Callable[[], int | None]
    arguments: str  # {} stands for the folder
    build: Callable[[Path], None]  # fills the folder
    files: tuple[File, ...]
    outputs: tuple[str, ...] = ()  # patterns in the folder; what is printed to stdout, if there is none
    finds: bool = False  # whether bad files are its findings: exit code 1, and named on stdout


@dataclass(frozen=True)
class Cell:
    row: Row
    file: File
    operation: str

    @property
    def name(self) -> str:
        return f"{self.row.command} | {self.file.kind} | {self.operation}"


class Outcome(NamedTuple):
    code: int
    stdout: str
    stderr: str


def cells(rows: tuple[Row, ...]) -> list[Cell]:
    return [Cell(row, file, operation) for row in rows for file in row.files for operation in operations(file.format)]


def explore(cell: Cell, seconds: float = 0) -> int:
    """Demands what is due of EXAMPLES changes with a fixed seed, and of others while the seconds last."""
    end, tried = time.monotonic() + seconds, 0
    content = _find(_built(cell.row), cell.file).read_bytes()

    def demand(change: Change) -> None:
        nonlocal tried
        tried += 1
        _demand(cell, change)

    sparing = settings(
        max_examples=EXAMPLES, deadline=None, database=None, phases=PHASES, suppress_health_check=list(HealthCheck)
    )
    look = sparing(given(changes(cell.file.format, cell.operation, content))(demand))
    for number in itertools.takewhile(lambda number: number == 0 or time.monotonic() < end, itertools.count()):
        seed(number)(look)()
    return tried


def _demand(cell: Cell, change: Change) -> None:
    row, file = cell.row, cell.file
    with _copy(_built(row)) as folder:
        path = _find(folder, file)
        change(path)
        before = _outputs(row, folder)
        outcome = _call(row, folder)
        after = _outputs(row, folder) if row.outputs else {"": outcome.stdout.replace(str(folder), "").encode()}
        note = f"{cell.name}: {outcome}"
        assert not list(folder.rglob("*.tmp")), note
        assert not (Path.cwd() / "evil-was-here").exists(), note
        if outcome.code == 0:
            assert after == _undamaged(row) or _still_valid(file, path), note
        elif outcome.code == 1 and row.finds:
            assert path.name in outcome.stdout, note
        else:
            assert outcome.code == 2 and outcome.stderr.count("\n") == 1, note
            assert outcome.stderr.startswith("error: ") and path.name in outcome.stderr, note
            assert not row.outputs or after == before, note


def _find(folder: Path, file: File) -> Path:
    return next(iter(folder.glob(file.path)))


def _still_valid(file: File, path: Path) -> bool:
    return file.valid(path.read_bytes()) if path.is_file() else file.optional


def _call(row: Row, folder: Path) -> Outcome:
    """Runs the command here; any exception but that of `sys.exit` is a traceback to its user."""
    stdout, stderr, argv = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = [row.command, *row.arguments.replace("{}", str(folder)).split()]
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr), _time_limit():
            run(row.main)
    except SystemExit as end:
        return Outcome(int(end.code or 0), stdout.getvalue(), stderr.getvalue())
    finally:
        sys.argv = argv
    raise AssertionError("run always exits")


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def hang(*_: object) -> None:
        raise AssertionError(f"it hangs: {PATIENCE} s are over")

    former = signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def _outputs(row: Row, folder: Path) -> dict[str, bytes]:
    found = (path for pattern in row.outputs for path in folder.glob(pattern) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@contextlib.contextmanager
def _copy(source: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as parent:
        yield Path(shutil.copytree(source, Path(parent) / "work"))


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def _built(row: Row) -> Path:
    folder = Path(tempfile.mkdtemp(dir=_home().name))
    row.build(folder)
    return folder


@cache
def _undamaged(row: Row) -> dict[str, bytes]:
    with _copy(_built(row)) as folder:
        outcome = _call(row, folder)
        assert outcome.code == 0, outcome
        return _outputs(row, folder) if row.outputs else {"": outcome.stdout.replace(str(folder), "").encode()}

"""Rows, cells and what is demanded of a cell.

A command that reads a damaged file either ends as if nothing had happened (exit code 0, the outputs of the
undamaged run), or says in one line which file is bad (exit code 2) and leaves all files as they were. Where the
damaged file is still a valid one of its format, its values have changed: then exit code 0 may come with any output,
and the line need not name it. Never a traceback, never a hang, never a file that is written in half, never an input
that is changed. Hidden files (stores, locks) may come and go.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.operations import Change, changes, operations
from support.errors import run

PATIENCE = 60  # seconds after which a command is said to hang
EXAMPLES = 2  # of a cell, with a fixed seed: the simplest, which hypothesis always takes first, and another
MORE = 10  # at a time, where there are minutes
_GROWING = (".jsonl", ".parts", ".finished")
PHASES = (Phase.generate, Phase.shrink)


@dataclass(frozen=True)
class File:
    """One that a command reads."""

    kind: str  # as the table calls it
    path: str  # in the row's folder; a pattern, where names are not known before
    format: str  # a key of operations.CONTENTS
    valid: Callable[[bytes], bool]  # whether this content is such a file, perhaps with other values
    optional: bool = False  # whether the command may go on without it
    without: tuple[str, ...] = ()  # operations that are no damage to it


@dataclass(frozen=True)
class Row:
    """A command, the folder in which it runs, and what it reads and writes there."""

    command: str  # its first word is the script or module
    main: Callable[[], int | None]
    arguments: str  # {} stands for the folder
    build: Callable[[Path], None]  # fills the folder
    files: tuple[File, ...]
    outputs: tuple[str, ...] = ()  # patterns in the folder; what is printed to stdout, if there is none
    own: tuple[str, ...] = ()  # patterns of what else it may write
    finds: bool = False  # whether bad files are its findings: exit code 1, and named on stdout
    every: int = 1  # of a costly one, every n-th cell is tried whenever the tests run
    lines: int = 1  # at most: more where each of several files that are given may have its own
    resumable: bool = False  # whether what a run leaves that stopped over bad values is to stay


@dataclass(frozen=True)
class Cell:
    row: Row
    file: File
    operation: str

    @property
    def name(self) -> str:
        return f"{self.row.command} | {self.file.kind} | {self.operation}"


class Hang(BaseException):
    """Which no command can take for an error of its own."""


class Outcome(NamedTuple):
    code: int
    stdout: str
    stderr: str


def cells(rows: tuple[Row, ...]) -> list[Cell]:
    return [
        Cell(row, file, operation)
        for row in rows
        for file in row.files
        for operation in operations(file.format)
        if operation not in file.without
    ]


def sampled(all_cells: list[Cell]) -> list[Cell]:
    """What there is time for whenever the tests run; other operations for every file of a costly command."""
    counted: Counter[int] = Counter()
    chosen = []
    for cell in all_cells:
        if counted[cell.row.every] % cell.row.every == 0:
            chosen.append(cell)
        counted[cell.row.every] += 1
    return chosen


def explore(cell: Cell, seconds: float = 0) -> int:
    """Demands what is due of a few changes with a fixed seed, and of others while the seconds last."""
    end, tried = time.monotonic() + seconds, 0
    content = _find(_built(cell.row.build), cell.file).read_bytes()

    def demand(change: Change) -> None:
        nonlocal tried
        tried += 1
        _demand(cell, change)

    strategy = changes(cell.file.format, cell.operation, content)
    for number in itertools.takewhile(lambda number: number == 0 or time.monotonic() < end, itertools.count()):
        sparing = settings(
            max_examples=MORE if number else EXAMPLES,
            deadline=None,
            database=None,
            phases=PHASES,
            suppress_health_check=list(HealthCheck),
        )
        seed(number)(sparing(given(strategy)(demand)))()
        if tried == 1:  # there is no other
            break
    return tried


def _demand(cell: Cell, change: Change) -> None:
    row, file = cell.row, cell.file
    with _copy(_built(row.build)) as folder:
        path = _find(folder, file)
        change(path)
        before = _files(folder)
        outcome = _call(row, folder)
        after = _files(folder)
        note = f"{cell.name}: {outcome}"
        assert not list(folder.rglob("*.tmp")), note
        assert not (Path.cwd() / "evil-was-here").exists(), note
        assert _inputs(row, before).items() <= after.items(), note
        only_values = _still_valid(file, path)
        if outcome.code == 0:
            assert _told(row, folder, outcome) == _undamaged(row) or only_values, note
        elif outcome.code == 1 and row.finds:
            assert path.name in outcome.stdout, note
        else:
            lines = outcome.stderr.splitlines()
            assert outcome.code == 2 and 1 <= len(lines) <= row.lines, note
            assert all(line.startswith("error: ") for line in lines), note
            assert only_values or _is_named(cell, path, outcome.stderr), note
            assert _inputs(row, after) == _inputs(row, before), note
            assert _contents(after) == _contents(before) or (only_values and row.resumable), note


def _find(folder: Path, file: File) -> Path:
    return next(iter(folder.glob(file.path)))


def _is_named(cell: Cell, path: Path, message: str) -> bool:
    """With its folder, as many are called meta.json; of a missing one that may be all, as some have no name."""
    return path.parent.name in message and (path.name in message or cell.operation == "missing")


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
        raise Hang(f"{PATIENCE} s are over")

    former = signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, 1)  # again, should the first be lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def _told(row: Row, folder: Path, outcome: Outcome) -> dict[str, bytes]:
    """What the command is run for."""
    if not row.outputs:
        return {"": outcome.stdout.replace(str(folder), "").encode()}
    found = (path for pattern in row.outputs for path in folder.glob(pattern) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _files(folder: Path) -> dict[str, bytes]:
    """The content of files, and the names of folders, which end in a slash."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    seen = {name: path for name, path in found.items() if not name.startswith(".") and "/." not in name}
    contents = {name: path.read_bytes() for name, path in seen.items() if path.is_file()}
    return contents | {f"{name}/": b"" for name, path in seen.items() if path.is_dir()}


def _inputs(row: Row, files: dict[str, bytes]) -> dict[str, bytes]:
    """What no run may change."""
    patterns = (*row.outputs, *row.own)
    return {name: files[name] for name in files if not any(fnmatch(name, pattern) for pattern in patterns)}


def _contents(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without folders."""
    return {name: content for name, content in files.items() if not name.endswith("/")}


@contextlib.contextmanager
def _copy(source: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as parent:
        yield Path(shutil.copytree(source, Path(parent) / "work", copy_function=_link_or_copy))


def _link_or_copy(source: str, target: str) -> None:
    """Quicker than a copy: files are replaced, not written in their place, but for those that grow line by line."""
    if source.endswith(_GROWING):
        shutil.copy2(source, target)
    else:
        os.link(source, target)


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def _built(build: Callable[[Path], None]) -> Path:
    folder = Path(tempfile.mkdtemp(dir=_home().name))
    with contextlib.redirect_stdout(io.StringIO()):
        build(folder)
    return folder


@cache
def _undamaged(row: Row) -> dict[str, bytes]:
    return ends_well(row)


def ends_well(row: Row) -> dict[str, bytes]:
    """What the command tells when nothing is damaged."""
    with _copy(_built(row.build)) as folder:
        outcome = _call(row, folder)
        assert outcome.code == 0, outcome
        return _told(row, folder, outcome)

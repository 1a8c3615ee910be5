"""A stage of the reproduction: a command with what it reads and writes. Paths may be glob patterns."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.errors import UserError
from support.files import read_json


@dataclass(frozen=True)
class Found:
    """An argument that is known once earlier stages are done: the path that a pattern matches."""

    pattern: str

    def value(self) -> str:
        matches = glob.glob(self.pattern)
        if len(matches) != 1:
            raise UserError(f"{len(matches)} files match {self.pattern}, but one is needed")
        return matches[0]


@dataclass(frozen=True)
class Chosen:
    """An argument that is known once earlier stages are done: the number that a JSON file has under `name`."""

    path: str
    name: str

    def value(self) -> str:
        return str(read_json(self.path)[self.name])


Argument = str | Found | Chosen


@dataclass(frozen=True, kw_only=True)
class Stage:
    name: str
    command: tuple[Argument, ...]  # what follows `python`
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...]  # what tells whether the stage is done, and later stages read
    minutes: float = 0.1  # estimate
    alone: bool = False  # nothing runs beside it: its speed is measured, and it uses all cores
    prints: str | None = None  # file that gets what the command prints
    figures: str | None = None  # pattern of what its log tells of the result; None: the last line
    resumes: str | None = None  # file without which --resume has nothing to go on with
    replaces: tuple[str, ...] = ()  # set aside where the stage starts anew
    anew: tuple[str, ...] = ()  # flags for a start where old results are in the way

    def arguments(self) -> list[str]:
        return [part if isinstance(part, str) else part.value() for part in self.command]


def flags(values: Mapping[str, object]) -> list[str]:
    """{"lr": 0.1, "coverage": True} -> --lr 0.1 --coverage"""
    parts = []
    for name, value in values.items():
        parts += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return parts


def needs(stage: Stage, stages: Iterable[Stage]) -> list[Stage]:
    """The stages that write what this one reads."""
    return [other for other in stages if other is not stage and set(other.outputs) & set(stage.inputs)]


def with_needs(targets: Sequence[Stage], stages: Sequence[Stage]) -> list[Stage]:
    """The targets and all that they need, in the order of `stages`."""
    wanted: list[Stage] = []
    queue = list(targets)
    while queue:
        stage = queue.pop()
        if stage not in wanted:
            wanted.append(stage)
            queue += needs(stage, stages)
    return [stage for stage in stages if stage in wanted]


def files(pattern: str) -> Iterator[os.DirEntry[str] | Path]:
    """All files under what matches, hidden ones left out."""
    for match in sorted(glob.glob(pattern)):
        if os.path.isdir(match):
            yield from _walk(match)
        else:
            yield Path(match)


def _walk(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from _walk(entry.path)
            else:
                yield entry


def signature(pattern: str) -> str:
    """Changes when a file under the pattern appears, goes or is written; empty if there is none."""
    digest, n = hashlib.blake2b(digest_size=12), 0
    for n, file in enumerate(files(pattern), 1):  # noqa: B007
        status = file.stat()
        digest.update(f"{os.fspath(file)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest() if n else ""

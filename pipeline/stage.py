"""A stage of the reproduction: a command with what it reads and writes.

Paths may have wildcards in their last part alone, so that folders can be called anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.errors import UserError
from support.files import read_json
from training.config import MAY_CHANGE


@dataclass(frozen=True)
class Found:
    """An argument that is known once earlier stages are done: the path that a pattern matches."""

    pattern: str

    def value(self) -> str:
        found = matches(self.pattern)
        if len(found) != 1:
            raise UserError(f"{len(found)} files match {self.pattern}, but one is needed")
        return str(found[0])


@dataclass(frozen=True)
class Chosen:
    """An argument that is known once earlier stages are done: the number that a JSON file has under `name`."""

    path: str
    name: str

    def value(self) -> str:
        value = read_json(self.path)
        if not isinstance(value, dict) or not isinstance(value.get(self.name), int):
            raise UserError(f"{self.path} has no number {self.name}: remove it, and it is made again")
        return str(value[self.name])


Argument = str | Found | Chosen


@dataclass(frozen=True, kw_only=True)
class Stage:
    name: str
    command: tuple[Argument, ...]  # what follows `python`
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...]  # what tells whether the stage is done, and later stages read
    kind: str = ""  # for which a preset has flags and minutes
    minutes: float = 0.1  # estimate
    alone: bool = False  # nothing runs beside it, because its speed is measured
    all_cores: bool = False  # it uses them all by itself, so that nothing is gained by running others beside it
    prints: str | None = None  # file that gets what the command prints
    figures: str | None = None  # pattern of what its log tells of the result; None: the last line
    resumes: str | None = None  # file without which --resume has nothing to go on with
    replaces: tuple[str, ...] = ()  # set aside where the stage starts anew
    anew: tuple[str, ...] = ()  # flags for a start where old results are in the way
    adopted: tuple[str, ...] = ()  # outputs that, lying there without a record of the stage, count as made by it

    def arguments(self) -> list[str]:
        return [part if isinstance(part, str) else part.value() for part in self.command]

    def settings(self) -> list[str]:
        """The command without what leaves its result as it is: where things lie, and what a resumed run may change."""
        kept: list[str] = []
        skips_value = False
        for part in self.command:
            is_flag = isinstance(part, str) and part.startswith("--")
            if is_flag:
                skips_value = str(part)[2:].replace("-", "_") in MAY_CHANGE
            if isinstance(part, str) and not skips_value and not Path(part).is_absolute():
                kept.append(part)
            skips_value = skips_value and is_flag
        return kept


def flags(values: Mapping[str, object]) -> list[str]:
    """{"lr": 0.1, "coverage": True} -> --lr 0.1 --coverage"""
    parts = []
    for name, value in values.items():
        parts += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return parts


def matches(pattern: str) -> list[Path]:
    """What is called so, or else what the last part matches."""
    path = Path(pattern)
    return [path] if path.exists() else sorted(path.parent.glob(path.name))


def needs(stage: Stage, stages: Iterable[Stage]) -> list[Stage]:
    """The stages that write what this one reads."""
    return [other for other in stages if other is not stage and set(other.outputs) & set(stage.inputs)]


def with_needs(
    targets: Sequence[Stage], stages: Sequence[Stage], needs_nothing: Callable[[Stage], bool] = lambda _: False
) -> list[Stage]:
    """The targets and all that they need, in the order of `stages`."""
    wanted: list[Stage] = []
    queue = list(targets)
    while queue:
        stage = queue.pop()
        if stage not in wanted:
            wanted.append(stage)
            queue += [] if needs_nothing(stage) else needs(stage, stages)
    return [stage for stage in stages if stage in wanted]

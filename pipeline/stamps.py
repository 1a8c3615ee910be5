"""What is done, and what must be done again: <runs>/stages/<stage>.json, written when a stage starts, runs and ends.

A stage is done if its settings and the contents of its inputs are those of the time when it ended, and its outputs
are as it left them. Where things lie and when they were written does not matter, nor flags that a resumed training
may change. A finished model (or word vectors) that is not what its record tells of, because it was put into its place
from another machine or trained on by hand, is adopted: it is done whatever it was made from, and needs nothing, until
the stage is forced. A half-trained one goes on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.digests import Digests
from pipeline.stage import Stage, matches
from support.errors import UserError
from support.files import is_number, read_json, write_json
from training.record import TrainingRecord


class State(Enum):
    DONE = "done"
    FOUND = "found"  # made elsewhere, to be adopted
    BEGUN = "begun"  # with these settings and inputs, but not ended
    OLD = "out of date"
    NEW = "to do"


class Usage(NamedTuple):
    """What a stage took, all its starts together."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0  # of its largest process

    def plus(self, other: Usage) -> Usage:
        seconds, cpu_seconds = self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds
        return Usage(seconds, cpu_seconds, max(self.peak_bytes, other.peak_bytes))

    def to_json(self) -> dict[str, float]:
        return {
            "seconds": round(self.seconds, 1),
            "cpu_seconds": round(self.cpu_seconds, 1),
            "peak_bytes": self.peak_bytes,
        }


class Stamps:
    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.folder = runs / "stages"
        self._digests = Digests(self.folder)

    def state(self, stage: Stage) -> State:
        stamp = self._read(stage)
        ended = "outputs" in stamp
        whole = bool(stage.adopted) and not missing(stage.adopted)
        if stamp.get("adopted") and whole:
            return State.DONE
        if "inputs" not in stamp:  # no record, or one of an earlier version
            if stamp and not ended and not stamp.get("adopted"):
                return State.BEGUN
            if not ended and _is_half_trained(stage):
                return State.BEGUN
            return State.FOUND if whole else State.NEW
        same = (stamp["settings"], stamp["inputs"]) == (stage.settings(), self._inputs(stage))
        if ended and stamp["outputs"] != self._outputs(stage):
            if _is_half_trained(stage):
                return State.BEGUN if same else State.OLD
            return State.FOUND if whole else State.OLD
        if not same:
            return State.OLD
        return State.DONE if ended else State.BEGUN

    def needs_nothing(self, stage: Stage) -> bool:
        """Adopted, or about to be."""
        state = self.state(stage)
        return state == State.FOUND or (state == State.DONE and bool(self._read(stage).get("adopted")))

    def begun(self, name: str) -> bool:
        """Whether a stage of this name was ever started here."""
        return (self.folder / f"{name}.json").exists()

    def minutes(self, stage: Stage) -> float:
        """What it took the last time, or the estimate."""
        stamp = self._read(stage)
        return self.usage(stage).seconds / 60 if "outputs" in stamp or "adopted" in stamp else stage.minutes

    def usage(self, stage: Stage) -> Usage:
        stamp = self._read(stage)
        return Usage(**{name: stamp[name] for name in Usage._fields if name in stamp})

    def begin(self, stage: Stage, state: State) -> tuple[list[str], Usage]:
        """Returns the flags for this start, and what earlier ones took that it goes on from; results of other inputs
        are set aside, not deleted."""
        resume = state == State.BEGUN and stage.resumes is not None and Path(stage.resumes).exists()
        before = self.usage(stage) if resume else Usage()
        in_the_way = state == State.OLD
        if not resume:
            self._set_aside(stage)
        self._write(stage, {"settings": stage.settings(), "inputs": self._inputs(stage), **before.to_json()})
        if resume:
            return ["--resume"], before
        return list(stage.anew) if in_the_way else [], before

    def goes_on(self, stage: Stage, usage: Usage) -> None:
        """What it took so far, should all be killed."""
        self._write(stage, {**self._read(stage), **usage.to_json()})

    def end(self, stage: Stage, usage: Usage) -> None:
        self._digests.look_again()
        self._write(stage, {**self._read(stage), **usage.to_json(), "outputs": self._outputs(stage)})

    def adopt(self, stage: Stage) -> None:
        self._write(stage, {"adopted": True, **self.usage(stage).to_json()})

    def _inputs(self, stage: Stage) -> list[str]:
        return [self._digests.of(pattern) for pattern in stage.inputs]

    def _outputs(self, stage: Stage) -> list[str]:
        return [self._digests.of(pattern) for pattern in stage.outputs]

    def _set_aside(self, stage: Stage) -> None:
        """To the next free <runs>/replaced/<stage>/<n>."""
        found = [path for pattern in stage.replaces for path in matches(pattern)]
        if found:
            folders = (self.runs / "replaced" / stage.name / str(n) for n in itertools.count(1))
            folder = next(path for path in folders if not path.exists())
            folder.mkdir(parents=True)
            for path in found:
                path.rename(folder / path.name)
            self._digests.look_again()

    def _path(self, stage: Stage) -> Path:
        return self.folder / f"{stage.name}.json"

    def _read(self, stage: Stage) -> dict[str, Any]:
        path = self._path(stage)
        stamp = read_json(path) if path.exists() else {}
        numbers = [stamp.get(name, 0) for name in Usage._fields] if isinstance(stamp, dict) else [None]
        whole = all(map(is_number, numbers))
        if not whole or ("inputs" in stamp) != ("settings" in stamp):
            raise UserError(f"{path} is damaged: remove it, and the stage is repeated (a finished model is adopted)")
        return stamp

    def _write(self, stage: Stage, stamp: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self._path(stage), stamp)
        self._digests.save()


def missing(patterns: Iterable[str]) -> list[str]:
    """Those of which nothing is there."""
    return [pattern for pattern in patterns if not matches(pattern)]


def _is_half_trained(stage: Stage) -> bool:
    """Has something to go on with, and no word of its end."""
    if not (stage.adopted and stage.resumes and Path(stage.resumes).exists()):
        return False
    return not TrainingRecord.read(Path(stage.resumes).parent).finished

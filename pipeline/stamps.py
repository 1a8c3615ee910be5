"""What is done, and what must be done again: <runs>/stages/<stage>.json, written when a stage starts and when it ends.

A stage is done if its command and its inputs are those of the time when it ended, and its outputs are as it left them.
"""

from __future__ import annotations

import hashlib
import shutil
from enum import Enum
from glob import glob
from pathlib import Path
from typing import Any

from pipeline.stage import Stage, signature
from support.files import read_json, write_json


class State(Enum):
    DONE = "done"
    BEGUN = "begun"  # with this command and these inputs, but not ended
    OLD = "out of date"
    NEW = "to do"


class Stamps:
    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.folder = runs / "stages"
        self._signatures: dict[str, str] = {}  # until the next stage ends

    def state(self, stage: Stage) -> State:
        stamp = self._read(stage)
        if not stamp:
            return State.NEW
        if stamp["key"] != self._key(stage):
            return State.OLD
        if "outputs" not in stamp:
            return State.BEGUN
        return State.DONE if stamp["outputs"] == self._outputs(stage) else State.OLD

    def begun(self, name: str) -> bool:
        """Whether a stage of this name was ever started here."""
        return (self.folder / f"{name}.json").exists()

    def minutes(self, stage: Stage) -> float:
        """What it took the last time, or the estimate."""
        return float(self._read(stage).get("seconds", 60 * stage.minutes)) / 60

    def begin(self, stage: Stage, state: State) -> list[str]:
        """Returns the flags for this start; results of other inputs are set aside, not deleted."""
        resume = state == State.BEGUN and stage.resumes is not None and Path(stage.resumes).exists()
        in_the_way = state == State.OLD
        if not resume:
            self._set_aside(stage)
        self._write(stage, {})
        if resume:
            return ["--resume"]
        return list(stage.anew) if in_the_way else []

    def end(self, stage: Stage, seconds: float, cpu_seconds: float) -> None:
        self._signatures.clear()
        times = {"seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1)}
        self._write(stage, {"outputs": self._outputs(stage), **times})

    def missing(self, stage: Stage) -> list[str]:
        """Outputs that are not there."""
        self._signatures.clear()
        return [pattern for pattern in stage.outputs if not self._signature(pattern)]

    def _key(self, stage: Stage) -> str:
        inputs = [self._signature(pattern) for pattern in stage.inputs]
        return hashlib.blake2b(repr((stage.command, inputs)).encode(), digest_size=12).hexdigest()

    def _outputs(self, stage: Stage) -> list[str]:
        return [self._signature(pattern) for pattern in stage.outputs]

    def _signature(self, pattern: str) -> str:
        if pattern not in self._signatures:
            self._signatures[pattern] = signature(pattern)
        return self._signatures[pattern]

    def _set_aside(self, stage: Stage) -> None:
        """To <runs>/replaced/<stage>, instead of what was there before."""
        found = [Path(match) for pattern in stage.replaces for match in glob(pattern)]
        if found:
            folder = self.runs / "replaced" / stage.name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for path in found:
                path.rename(folder / path.name)
            self._signatures.clear()

    def _path(self, stage: Stage) -> Path:
        return self.folder / f"{stage.name}.json"

    def _read(self, stage: Stage) -> dict[str, Any]:
        return read_json(self._path(stage)) if self._path(stage).exists() else {}

    def _write(self, stage: Stage, more: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self._path(stage), {"key": self._key(stage), **more})

"""training.json: what a training read, and what it took, over all its legs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from support.errors import UserError
from support.files import is_number, read_json, write_json

FILE = "training.json"
SPLITS = ("train", "val")


@dataclass(frozen=True)
class TrainingRecord:
    inputs: dict[str, str] = field(default_factory=dict)  # digests of the splits and of models that are only read
    updates: int = 0
    seconds: float = 0.0  # with validations, up to the last save
    peak_memory_mb: int = 0  # of the first process
    finished: bool = False  # validation stopped improving, or --max_steps was reached

    @classmethod
    def read(cls, directory: Path) -> TrainingRecord:
        """An empty one, if there is none."""
        path = directory / FILE
        if not path.exists():
            return cls()
        content = read_json(path)
        if not _is_record(content):
            raise UserError(f"{path} is not the record of a training; is it damaged?")
        return cls(**content)

    def write(self, directory: Path) -> None:
        write_json(directory / FILE, asdict(self))

    def must_have_read(self, inputs: dict[str, str], directory: Path) -> None:
        """Refuses to go on with other articles, labels or models than the run began with."""
        for name, digest in inputs.items():
            if self.inputs.get(name, digest) != digest:
                what = f"{name} split (articles or labels)" if name in SPLITS else name
                raise UserError(f"{directory} was started with another {what}; use that again, or a new --path")


def _is_record(content: Any) -> bool:
    if not isinstance(content, dict) or content.keys() != asdict(TrainingRecord()).keys():
        return False
    inputs = content["inputs"]
    return (
        isinstance(inputs, dict)
        and all(isinstance(digest, str) for digest in inputs.values())
        and is_number(content["seconds"])
        and all(type(content[name]) is int and is_number(content[name]) for name in ("updates", "peak_memory_mb"))
        and isinstance(content["finished"], bool)
    )

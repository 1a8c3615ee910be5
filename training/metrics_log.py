"""Curves of a run: metrics.jsonl, one JSON object a line, and the same numbers for TensorBoard."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from support.files import atomic_file, naming, open_file


class MetricsLog:
    """Lines {"step": n, "loss": ...} for updates and {"step": n, "val_metric": ...} for validations."""

    def __init__(self, directory: Path, net: str) -> None:
        self.net = net
        self.path = directory / "metrics.jsonl"
        self.file = self._open()
        self.board = _Board(directory / "log")

    def _open(self) -> IO[str]:
        return open_file(self.path, "a", encoding="utf-8", buffering=1)

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.board.close()

    def training(self, step: int, values: Mapping[str, float]) -> None:
        self._write(step, values, "")

    def validation(self, step: int, values: Mapping[str, float]) -> None:
        self._write(step, values, "val_")
        self.board.flush()

    def _write(self, step: int, values: Mapping[str, float], prefix: str) -> None:
        self.board.write(step, {f"{prefix}{key}_{self.net}": value for key, value in values.items()})
        named = {prefix + key: float(f"{value:.6g}") for key, value in values.items()}
        with naming(self.path):
            self.file.write(json.dumps({"step": step, **named}) + "\n")

    def forget_after(self, step: int, validated_at: int) -> None:
        """Drops what a killed run wrote after the point it is resumed from."""
        self.file.close()
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        kept = [line for line in lines if _step(line) <= (validated_at if '"val_' in line else step)]
        with atomic_file(self.path) as file:
            file.writelines(line + "\n" for line in kept)
        self.file = self._open()


class _Board:
    """A TensorBoard file, written without tensorboardX's thread, for which one would wait for ever on a full disk."""

    def __init__(self, folder: Path) -> None:
        from tensorboardX.event_file_writer import EventsWriter  # slow to import, and readers of a log do not need it

        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.file = EventsWriter(str(folder / "events"))

    def write(self, step: int, values: Mapping[str, float]) -> None:
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        points = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        with naming(self.folder):
            self.file.write_event(Event(wall_time=time.time(), step=step, summary=Summary(value=points)))

    def flush(self) -> None:
        with naming(self.folder):
            self.file.flush()

    def close(self) -> None:
        with naming(self.folder):
            self.file.close()


def _step(line: str) -> float:
    values = _values(line)
    return values["step"] if values else float("inf")


def _values(line: str) -> dict[str, float] | None:
    """None of the line that a kill cut off, or of anything else than numbers with a step."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    numbers = values.values() if isinstance(values, dict) and "step" in values else [None]
    return values if all(isinstance(number, int | float) for number in numbers) else None


def read_metrics(path: str | Path) -> list[dict[str, float]]:
    with open_file(path, encoding="utf-8", errors="replace") as file:
        return [values for line in file if (values := _values(line))]

"""Curves of a run: metrics.jsonl, one JSON object a line, and the same numbers for TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from support.files import atomic_file


class MetricsLog:
    """Lines {"step": n, "loss": ...} for updates and {"step": n, "val_metric": ...} for validations."""

    def __init__(self, directory: Path, net: str) -> None:
        from tensorboardX import SummaryWriter  # slow to import, and readers of a log do not need it

        self.net = net
        self.path = directory / "metrics.jsonl"
        self.file = open(self.path, "a", encoding="utf-8", buffering=1)  # noqa: SIM115
        self.board = SummaryWriter(str(directory / "log"))

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.board.close()

    def training(self, step: int, values: Mapping[str, float]) -> None:
        self._write(step, values, "")

    def validation(self, step: int, values: Mapping[str, float]) -> None:
        self._write(step, values, "val_")

    def _write(self, step: int, values: Mapping[str, float], prefix: str) -> None:
        for key, value in values.items():
            self.board.add_scalar(f"{prefix}{key}_{self.net}", value, step)
        named = {prefix + key: float(f"{value:.6g}") for key, value in values.items()}
        self.file.write(json.dumps({"step": step, **named}) + "\n")

    def forget_after(self, step: int, validated_at: int) -> None:
        """Drops what a killed run wrote after the point it is resumed from."""
        self.file.close()
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        kept = [line for line in lines if _step(line) <= (validated_at if '"val_' in line else step)]
        with atomic_file(self.path) as file:
            file.writelines(line + "\n" for line in kept)
        self.file = open(self.path, "a", encoding="utf-8", buffering=1)  # noqa: SIM115


def _step(line: str) -> float:
    values = _values(line)
    return values["step"] if values else float("inf")


def _values(line: str) -> dict[str, float] | None:
    """None of the line that a kill cut off, or of anything else than numbers with a step."""
    try:
        values = json.loads(line)
    except ValueError:
        return None
    numbers = values.values() if isinstance(values, dict) and "step" in values else [None]
    return values if all(isinstance(number, int | float) for number in numbers) else None


def read_metrics(path: str | Path) -> list[dict[str, float]]:
    with open(path, encoding="utf-8", errors="replace") as file:
        return [values for line in file if (values := _values(line))]

"""Worked numbers as Markdown tables, with so few digits that every machine prints the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | Tensor, digits: int = 2) -> str:
    text = f"{float(value):.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def vector(values: Iterable[float] | Tensor, digits: int = 2) -> str:
    return f"({', '.join(number(value, digits) for value in values)})"


def ids(values: Iterable[int] | Tensor) -> str:
    return " ".join(str(int(value)) for value in values)

"""`PYTHONPATH=.:tests python -m fuzz [--minutes 60] [--only check]`: the table of what is tried, with its counts."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from fuzz.rows import ROWS
from fuzz.table import Cell, Hang, cells, explore
from support.errors import run
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags:
    minutes: float = flag(0.0, "to look for longer than the fixed examples take", at_least=0)
    only: str = flag("", "cells whose name contains this")


def main() -> int:
    flags = parse(Flags, __doc__ or "")
    chosen = [cell for cell in cells(ROWS) if flags.only in cell.name]
    began = time.monotonic()
    found = {cell: _try(cell, 60 * flags.minutes / len(chosen)) for cell in chosen}
    print(render(found, "command", "file", by=lambda cell: (cell.row.command, cell.file.kind)), end="\n\n")
    print(render(found, "kind of file", by=lambda cell: (cell.file.format,)))
    minutes, failed = (time.monotonic() - began) / 60, sum(count == 0 for count in found.values())
    print(f"{sum(found.values()):,} changes in {len(found)} cells, {minutes:.1f} minutes; {failed} cells failed")
    return 1 if failed else 0


def _try(cell: Cell, seconds: float) -> int:
    """The number of changes that were survived or named; 0 if one was not."""
    try:
        return explore(cell, seconds)
    except (Exception, Hang) as error:
        print(f"FAILED {cell.name}: {error!r}"[:2000], flush=True)
        return 0


def render(tried: dict[Cell, int], *heads: str, by: Callable[[Cell], tuple[str, ...]]) -> str:
    """Counts: a line for each kind of cell, a column for each operation."""
    operations = list(dict.fromkeys(cell.operation for cell in tried))
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for cell, count in tried.items():
        counts[by(cell)][cell.operation] += count
    table = [[*heads, *operations]]
    table += [[*line, *(str(of.get(operation, "")) for operation in operations)] for line, of in counts.items()]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return "\n".join(map(str.rstrip, rows))


if __name__ == "__main__":
    run(main)

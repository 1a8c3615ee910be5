"""Long work shows how far it is: a bar on a terminal, a line every half minute in a log."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


def progress(
    items: Iterable[Any] | None,
    label: str,
    total: int | None = None,
    unit: str = "it",
    initial: int = 0,
    passing: bool = False,
) -> tqdm[Any]:
    """Iterate over it, or give None and call `update(n)`; a `passing` bar vanishes when it is full."""
    from tqdm import tqdm  # what shows no progress does not need it

    terminal = sys.stderr.isatty()
    return tqdm(
        items,
        desc=label,
        total=total,
        unit=unit,
        initial=initial,
        mininterval=0.2 if terminal else 30,
        delay=0 if terminal else 30,
        dynamic_ncols=terminal,
        leave=terminal and not passing,
        disable=not terminal and total is not None and total < 1000,
    )

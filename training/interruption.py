"""Ctrl-C and SIGTERM while training: they are only noted, and acted on between updates, so nothing is half done."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, TypeVar

Item = TypeVar("Item")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Notes the signals inside its `with` block; a job in the background would otherwise ignore Ctrl-C."""

    def __init__(self) -> None:
        self.came = False
        self._before: list[Any] = []

    def __enter__(self) -> Interruption:
        self._before = [signal.signal(number, self._note) for number in _SIGNALS]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(_SIGNALS, self._before, strict=True):
            signal.signal(number, handler)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.came = True

    def between(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, until a signal came."""
        for item in items:
            if self.came:
                raise KeyboardInterrupt
            yield item

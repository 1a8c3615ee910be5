"""Ctrl-C, SIGTERM and a lost terminal while training: they are only noted, and acted on between updates, so nothing is
half done."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, TypeVar

Item = TypeVar("Item")


class Interruption:
    """Notes the signals inside its `with` block; a job in the background would otherwise ignore Ctrl-C."""

    def __init__(self) -> None:
        self.came = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        signals = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
            signals.append(signal.SIGHUP)
        self._before = {number: signal.signal(number, self._note) for number in signals}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.came = True
        if number == signal.SIGHUP:
            _forget_terminal()

    def between(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, until a signal came."""
        for item in items:
            if self.came:
                raise KeyboardInterrupt
            yield item


def _forget_terminal() -> None:
    """Writing to a terminal that is gone would be an error before everything is saved."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)

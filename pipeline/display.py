"""What a terminal shows: a line for each stage when it ends, and below, while they run, what is running."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable


class Display:
    def __init__(self) -> None:
        self._live = sys.stdout.isatty()

    def line(self, text: str) -> None:
        self._clear()
        print(text, flush=True)

    def running(self, stages: Iterable[tuple[str, float]]) -> None:
        """Names and seconds since the start; nothing where there is no terminal."""
        if self._live:
            text = "   ".join(f"{name} {clock(seconds)}" for name, seconds in stages)
            self._clear()
            print(f"... {text}"[: shutil.get_terminal_size().columns - 1], end="", flush=True)

    def _clear(self) -> None:
        if self._live:
            print("\r\033[K", end="")


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def memory(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f} GB" if n_bytes else ""

"""How long this process has been in a function, for reports of speed."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Stopwatch:
    def __init__(self) -> None:
        self.seconds = 0.0

    def times(self, function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def timed(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        return timed

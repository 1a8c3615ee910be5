"""What only makes a CPU fast.

A kernel replaces one whole function of model/, or a class that prepares once and is then called for every step. It has
the same signature, its docstring is the formula, and tests/test_kernels.py holds it to the plain one, forward and
backward. The plain one is the paper, what every other device runs, and all that a reader needs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from torch import Tensor

Plain = TypeVar("Plain", bound=Callable[..., Any])


class Kernel(NamedTuple):
    plain: Callable[..., Any]
    fast: Callable[..., Any]


KERNELS: dict[str, Kernel] = {}  # by the plain one's module and name


def on_cpu(fast: Callable[..., Any]) -> Callable[[Plain], Plain]:
    """Decorates the plain one; the first tensor among its arguments tells which of both is called."""

    def decorate(plain: Plain) -> Plain:
        KERNELS[f"{plain.__module__}.{plain.__qualname__}"] = Kernel(plain, fast)

        @functools.wraps(plain, updated=())
        def chosen(*args: Any) -> Any:
            tensor = next(argument for argument in args if isinstance(argument, Tensor))
            return (fast if tensor.device.type == "cpu" else plain)(*args)

        return chosen  # type: ignore[return-value]

    return decorate

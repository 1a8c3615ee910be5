"""Work on many files in several processes, results in order."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from support.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def chunks(count: int, size: int) -> list[range]:
    """0 .. count-1 in consecutive ranges."""
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def map_in_order(function: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """`function` must be importable, since it may run in a spawned process; workers die with their parent."""
    workers = min(workers, len(items))
    if workers <= 1:
        yield from map(function, items)
        return
    try:
        with ProcessPoolExecutor(workers, initializer=_watch_parent) as pool:
            yield from pool.map(function, items)
    except BrokenProcessPool:
        raise UserError("a worker process was killed, perhaps for want of memory; try --workers 1") from None


def _watch_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)

"""Work on many files in several processes, results in order, with a bar that tells how far it is."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice, tee
from typing import TypeVar

from support.errors import UserError
from support.progress import progress

Item = TypeVar("Item")
Piece = TypeVar("Piece", bound=Sized)
Result = TypeVar("Result")


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_pieces(
    function: Callable[[Piece], Result],
    pieces: Iterable[Piece],
    workers: int,
    label: str,
    total: int | None,
    unit: str = "article",
) -> Iterator[tuple[Piece, Result]]:
    """Each piece of `total` articles with its result; the bar counts the articles of finished pieces."""
    to_do, given = tee(pieces)
    with progress(None, label, total, unit) as bar:
        for piece, result in zip(given, map_in_order(function, to_do, workers), strict=True):
            yield piece, result
            bar.update(len(piece))


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """`function` must be importable, since it may run in a spawned process; workers die with their parent.

    Items are taken only a few ahead of the results, so that they may come from a long stream.
    """
    items = iter(items)
    first = list(islice(items, max(workers, 1)))
    items = chain(first, items)
    if len(first) <= 1:
        yield from map(function, items)
        return
    try:
        with ProcessPoolExecutor(len(first), initializer=_watch_parent) as pool:
            yield from _results(pool, function, items, ahead=len(first) + 2)
    except BrokenProcessPool:
        raise UserError("a worker process was killed, perhaps for want of memory; try --workers 1") from None


def _results(
    pool: ProcessPoolExecutor, function: Callable[[Item], Result], items: Iterator[Item], ahead: int
) -> Iterator[Result]:
    pending: deque[Future[Result]] = deque(pool.submit(function, item) for item in islice(items, ahead))
    try:
        while pending:
            yield pending.popleft().result()
            pending.extend(pool.submit(function, item) for item in islice(items, 1))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _watch_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)

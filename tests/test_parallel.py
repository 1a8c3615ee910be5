from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from tiny_data import kill_when

from support.errors import UserError
from support.parallel import map_in_order, map_pieces


def slow_first(number: int) -> int:
    time.sleep(0.2 if number == 0 else 0)
    return number * number


def complain(number: int) -> int:
    if number == 2:
        raise UserError("file 2 is bad")
    return number


def vanish(number: int) -> int:
    if number == 2:
        os._exit(9)
    return number


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers):
    assert list(map_in_order(slow_first, range(6), workers)) == [0, 1, 4, 9, 16, 25]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_users_error_in_a_worker_arrives_as_it_is(workers):
    with pytest.raises(UserError, match="file 2 is bad"):
        list(map_in_order(complain, range(6), workers))


def test_a_worker_that_dies_is_told():
    with pytest.raises(UserError, match="killed"):
        list(map_in_order(vanish, range(6), 2))


@pytest.mark.parametrize("workers", [1, 2])
def test_every_piece_comes_with_its_result(workers):
    pieces = [range(3), range(3, 6), range(6, 7)]
    assert list(map_pieces(sum, iter(pieces), workers, "adding", 7)) == list(zip(pieces, [3, 12, 6], strict=True))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_long_stream_is_read_a_few_items_ahead_of_the_results(workers):
    taken: list[int] = []

    def stream():
        for number in range(1000):
            taken.append(number)
            yield number

    results = map_in_order(abs, stream(), workers)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert 5 <= len(taken) <= 5 + 2 * workers + 2
    assert isinstance(results, Generator)
    results.close()


LONG_WORK = """
import os, sys, time
from pathlib import Path
from support.parallel import map_in_order

def leave_trace(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(60)

list(map_in_order(leave_trace, sys.argv[1:] * 2, 2))
"""


def test_workers_die_with_their_parent(tmp_path):
    assert kill_when(lambda: len(os.listdir(tmp_path)) == 2, "-c", LONG_WORK, str(tmp_path))
    deadline = time.monotonic() + 60
    while any(alive(int(name)) for name in os.listdir(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(int(name)) for name in os.listdir(tmp_path))


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False

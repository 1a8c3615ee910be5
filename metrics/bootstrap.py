"""Averages and confidence intervals of ROUGE-1.5.5: the mean and the 2.5 % tails of 1,000 bootstrap means.

The script draws with Perl's drand48 after `srand(i)` for sample i, so its numbers can be had to the last
digit: the same draws, and sums taken in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SAMPLES = 1000
_TAIL = 25  # of 1,000 sorted means on each side of the 95 % interval
_MULTIPLIER, _INCREMENT, _MASK = np.uint64(0x5DEECE66D), np.uint64(0xB), np.uint64((1 << 48) - 1)
_SEED_LOW_BITS = np.uint64(0x330E)


class Averages(NamedTuple):
    """Each (metric, recall/precision/F), rounded to the five decimals that ROUGE prints."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def aggregate(scores: np.ndarray, ids: Sequence[int] | None = None) -> Averages:
    """Averages of (documents, ...) scores; `ids` are the numbers in the file names, by default 0, 1, 2 ..."""
    table = scores[_script_order(range(len(scores)) if ids is None else ids)].reshape(len(scores), -1)
    means = np.sort(_sample_sums(table) / len(scores), axis=0)  # (SAMPLES, metrics * 3)
    mean = np.add.accumulate(means)[-1] / SAMPLES
    rounded = (_round(row).reshape(scores.shape[1:]) for row in (mean, means[_TAIL], means[-_TAIL - 1]))
    return Averages(*rounded)


def _sample_sums(table: np.ndarray) -> np.ndarray:
    """(documents, columns) -> (SAMPLES, columns): all samples advance together, one draw at a time.

    The order of additions is the script's: it decides the last digit where a mean lies between two of them.
    """
    state = (np.arange(SAMPLES, dtype=np.uint64) << np.uint64(16)) + _SEED_LOW_BITS
    sums = np.zeros((SAMPLES, table.shape[1]))
    for _ in range(len(table)):
        state = (state * _MULTIPLIER + _INCREMENT) & _MASK
        draw = (state.astype(np.float64) * 2.0**-48 * len(table)).astype(np.int64)
        sums += table[draw]
    return sums


def _script_order(ids: Sequence[int]) -> np.ndarray:
    """The script sorts its tasks by name, "1" "10" "2"; tasks are numbered in the order of the file names."""
    by_file_name = sorted(range(len(ids)), key=lambda i: f"{ids[i]}.")
    by_task_name = sorted(range(len(ids)), key=lambda task: f"{task + 1}.")
    return np.array(by_file_name)[by_task_name]


def _round(values: np.ndarray) -> np.ndarray:
    return np.array([round(float(value), 5) for value in values])

"""The text that ROUGE-1.5.5 prints, written from our averages and read from the script's output."""

from __future__ import annotations

import re

import numpy as np

from metrics.bootstrap import Averages
from metrics.rouge import METRICS

_RULE = "-" * 45
_DOTS = "." * 45
_AVERAGE = re.compile(r"^1 ROUGE-\w Average_[RPF]: (\S+) \(95%-conf\.int\. (\S+) - (\S+)\)$", re.MULTILINE)
_DOCUMENT = re.compile(r"^1 ROUGE-(\w) Eval (\d+)\.1 R:(\S+) P:(\S+) F:(\S+)\n", re.MULTILINE)


def report(averages: Averages) -> str:
    """As the script prints it for one system of the name "1"."""
    lines = []
    for m, metric in enumerate(METRICS):
        lines.append(_RULE)
        for k, measure in enumerate("RPF"):
            mean, low, high = (values[m, k] for values in averages)
            lines.append(f"1 {metric.upper()} Average_{measure}: {mean:.5f} (95%-conf.int. {low:.5f} - {high:.5f})")
    return "\n".join(lines) + "\n"


def read_averages(text: str) -> Averages:
    """ValueError if the text is none of the script's."""
    numbers = np.array(_AVERAGE.findall(text), dtype=np.float64)  # (metrics * 3, mean/low/high)
    return Averages(*numbers.T.reshape(3, len(METRICS), 3))


def split_documents(text: str) -> tuple[str, np.ndarray]:
    """Parts the output of the script's -d into what it prints without -d, and (tasks, metric, R/P/F).

    ValueError if the text is none of the script's.
    """
    found = _DOCUMENT.findall(text)
    tasks = sorted({int(task) for _, task, *_ in found})
    if len(found) != len(tasks) * len(METRICS) or tasks != [*range(1, len(tasks) + 1)]:
        raise ValueError(f"{len(found)} scores of {len(tasks)} tasks")
    scores = np.zeros((len(tasks), len(METRICS), 3))
    for metric, task, *values in found:
        scores[int(task) - 1, METRICS.index(f"rouge-{metric.lower()}")] = [float(value) for value in values]
    return _DOCUMENT.sub("", text).replace(_DOTS + "\n", ""), scores

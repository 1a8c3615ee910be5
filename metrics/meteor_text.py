"""The text that the METEOR jar prints, written from statistics."""

from __future__ import annotations

import numpy as np

from metrics import meteor

_HEAD = """Meteor version: 1.5

Eval ID:        meteor-1.5-wo-en-norm-0.85_0.2_0.6_0.75-ex_st_sy_pa-1.0_0.6_0.8_0.6

Language:       English
Format:         plaintext
Task:           Ranking
Modules:        exact stem synonym paraphrase
Weights:        1.0 0.6 0.8 0.6
Parameters:     0.85 0.2 0.6 0.75
"""
_COLUMNS = """
           Test Matches                  Reference Matches
Stage      Content  Function    Total    Content  Function    Total
"""


def report(statistics: np.ndarray) -> str:
    """Segments first, then the system as a whole."""
    scores = meteor.score(statistics)
    segments = [f"Segment {i} score:\t{float(score)!r}" for i, score in enumerate(scores, start=1)]
    return "\n".join([_HEAD, *segments, "", system(statistics)])


def system(statistics: np.ndarray) -> str:
    """The part below the segments."""
    total = statistics.sum(axis=0)
    precision, recall = (float(value) for value in meteor.precision_recall(total))
    with np.errstate(divide="ignore", invalid="ignore"):
        f1 = float(np.divide(2 * precision * recall, precision + recall))
        f_mean = float(1.0 / (np.divide(1.0 - meteor.ALPHA, precision) + np.divide(meteor.ALPHA, recall)))
    numbers = {
        "Test words": int(total[meteor.TEST_WORDS]),
        "Reference words": int(total[meteor.REFERENCE_WORDS]),
        "Chunks": int(total[meteor.CHUNKS]),
        "Precision": precision,
        "Recall": recall,
        "f1": f1,
        "fMean": f_mean,
        "Fragmentation penalty": float(meteor.penalty(total)),
    }
    lines = [f"{name + ':':<24}{value!r}" for name, value in numbers.items()]
    final = f"{'Final score:':<24}{float(meteor.score(total))!r}"
    return "\n".join(["System level statistics:", "", _stages(total), "", *lines, "", final]) + "\n"


def _stages(total: np.ndarray) -> str:
    columns = (meteor.TEST_CONTENT, meteor.TEST_FUNCTION, meteor.REFERENCE_CONTENT, meteor.REFERENCE_FUNCTION)
    matches = np.stack([total[column] for column in columns], axis=1).astype(int)  # (stages, 4)
    names = ["1", "2", "3", "4", "Total"]
    rows = [_stage(name, row) for name, row in zip(names, [*matches, matches.sum(axis=0)], strict=True)]
    return _COLUMNS + "\n".join(rows)


def _stage(name: str, row: np.ndarray) -> str:
    test_content, test_function, reference_content, reference_function = row
    return (
        f"{name:<8}{test_content:>10}{test_function:>10}{test_content + test_function:>9}"
        f"{reference_content:>11}{reference_function:>10}{reference_content + reference_function:>9}"
    )

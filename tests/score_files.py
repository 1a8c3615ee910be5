"""What evaluation leaves in `scores.json`."""

from __future__ import annotations

from pathlib import Path

from metrics.scores import RougeScores, load_scores


def rouge_of(path: Path) -> RougeScores:
    scores = load_scores(path).rouge
    assert scores is not None, f"{path} has no ROUGE"
    return scores

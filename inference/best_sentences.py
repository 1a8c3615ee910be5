"""Which of the sentences that were extracted make a shorter summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def best_sentences(line: dict[str, Any], k: int, by_score: bool) -> Sequence[int]:
    """The places of k sentences of an alignment line: the first, or, of ff-ext, whose sentences are in document
    order, those of the highest scores."""
    sentences = line["sentences"]
    if not by_score:
        return range(min(k, len(sentences)))
    return sorted(sorted(range(len(sentences)), key=lambda i: -sentences[i]["extraction_score"])[:k])

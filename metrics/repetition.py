"""Repeated n-grams: the share of a summary's n-grams that it has said before (Sec. 3.3, Sec. 6.2).

    python -m metrics.repetition decoded/rl decoded/rl_rerank --data_dir data

Sentences are joined and one ratio is taken over all documents; a summary that has an n-gram three times
repeats it twice, as the reranking of Sec. 3.3 counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from metrics.ngram_table import Count, run_table
from metrics.ngrams import ngrams
from support.errors import run


def repeated(texts: Sequence[Sequence[str]], _article: Sequence[str], order: int) -> list[Count]:
    """For each text: how many of its n-grams occurred in it before."""
    counts = []
    for text in texts:
        found = list(ngrams(text, order))
        counts.append(Count(len(found) - len(set(found)), len(found)))
    return counts


def main() -> None:
    run_table(repeated, "repetition", __doc__ or "")


if __name__ == "__main__":
    run(main)

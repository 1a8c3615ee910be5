"""Novel n-grams: the share of a summary's n-grams that its article does not have (Sec. 7.1, Table 6).

    python -m metrics.novelty decoded/rl_rerank --data_dir data

The definition that gives the paper's row for the reference summaries: sentences are joined, so that n-grams
cross their boundaries; every occurrence counts; one ratio is taken over all documents.
"""

from __future__ import annotations

from collections.abc import Sequence

from metrics.ngram_table import Count, run_table
from metrics.ngrams import ngrams
from support.errors import run


def novel(texts: Sequence[Sequence[str]], article: Sequence[str], order: int) -> list[Count]:
    """For each text: how many of its n-grams are not in the article."""
    known = set(ngrams(article, order))
    counts = []
    for text in texts:
        found = list(ngrams(text, order))
        counts.append(Count(sum(ngram not in known for ngram in found), len(found)))
    return counts


def main() -> None:
    run_table(novel, "novelty", __doc__ or "")


if __name__ == "__main__":
    run(main)

"""Proxy labels (Sec. 3.1, Eq. 6): for each abstract sentence the article sentence that recalls most of it.

As released, a sentence is used once, recall is that of ROUGE-L on tokens as they are, and the first of
equally good sentences wins. F1 can take the place of recall.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cytoolz import partition_all
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

from data.articles import article_path, count_articles, read_article, split_directory, write_article
from support.files import remove_leftovers
from support.locks import one_at_a_time
from support.parallel import available_cores, map_pieces

_PIECE = 250  # articles labelled at a time by a worker

# ROUGE-L of LCS lengths (T, N) with the numbers of words of T abstract and N article sentences, (T, 1) and (N,).
Measure = Callable[[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]
MEASURES: dict[str, Measure] = {
    "recall": lambda common, target, source: common / np.maximum(target, 1),
    "f1": lambda common, target, source: 2 * common / np.maximum(target + source, 1),
}


class Labels(NamedTuple):
    extracted: list[int]  # the t-th abstract sentence's article sentence
    score: list[float]  # its ROUGE-L


class LabelCounts(NamedTuple):
    """What a labelling run did."""

    labelled: int
    kept: int  # had labels already


def proxy_labels(article: list[str], abstract: list[str], measure: str = "recall") -> Labels:
    """Eq. 6, greedily and without replacement; ends when either text runs out of sentences."""
    sources = [sentence.split() for sentence in article]
    targets = [sentence.split() for sentence in abstract[: len(sources)]]
    if not targets:
        return Labels([], [])
    common = cdist(targets, sources, scorer=LCSseq.similarity, dtype=np.int32)  # (T, N) lengths of the LCS
    rouge, labels = MEASURES[measure], Labels([], [])
    scores = rouge(common, _lengths(targets)[:, None], _lengths(sources))
    for row in scores:
        best = int(row.argmax())
        labels.extracted.append(best)
        labels.score.append(float(row[best]))
        scores[:, best] = -1  # never twice
    return labels


def _lengths(sentences: list[list[str]]) -> NDArray[np.int64]:
    return np.array([len(sentence) for sentence in sentences])


def label_split(
    data_dir: str | Path, split: str, workers: int | None = None, force: bool = False, measure: str = "recall"
) -> LabelCounts:
    """Adds labels to every JSON file of a split that has none which fit, or to all if `force`."""
    folder = split_directory(data_dir, split)
    total = count_articles(folder)
    with one_at_a_time(folder, f"{folder} is being labelled by another process; this one waits for it"):
        remove_leftovers(folder)
        label = partial(_label, str(data_dir), split, force, measure)
        pieces = partition_all(_PIECE, range(total))
        done = map_pieces(label, pieces, workers or available_cores(), f"labelling {split}", total)
        labelled = sum(count for _, count in done)
    return LabelCounts(labelled, total - labelled)


def _label(data_dir: str, split: str, force: bool, measure: str, indices: tuple[int, ...]) -> int:
    labelled = 0
    for index in indices:
        path = article_path(data_dir, split, index)
        article = read_article(path)
        if force or not article.labels_fit:
            labels = proxy_labels(article.article, article.abstract, measure)
            write_article(path, dataclasses.replace(article, **labels._asdict()))
            labelled += 1
    return labelled

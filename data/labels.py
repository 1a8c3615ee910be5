"""Proxy labels (Sec. 3.1, Eq. 6): for each abstract sentence the article sentence that recalls most of it.

As released, a sentence is used once, recall is that of ROUGE-L on tokens as they are, and the first of
equally good sentences wins.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist
from tqdm import tqdm

from data.articles import Article, article_path, count_articles, read_article, split_directory, write_article
from support.parallel import available_cores, chunks, map_in_order
from support.progress import progress


class Labels(NamedTuple):
    extracted: list[int]  # the t-th abstract sentence's article sentence
    score: list[float]  # its ROUGE-L recall


class Summary(NamedTuple):
    """What a labelling run did."""

    labelled: int
    kept: int  # had labels already


def proxy_labels(article: list[str], abstract: list[str]) -> Labels:
    """Eq. 6, greedily and without replacement; ends when either text runs out of sentences."""
    sources = [sentence.split() for sentence in article]
    targets = [sentence.split() for sentence in abstract[: len(sources)]]
    if not targets:
        return Labels([], [])
    common = cdist(targets, sources, scorer=LCSseq.similarity, dtype=np.int32)  # (T, N) lengths of the LCS
    labels = Labels([], [])
    for target, row in zip(targets, common, strict=True):
        best = int(row.argmax())
        labels.extracted.append(best)
        labels.score.append(int(row[best]) / len(target) if target else 0.0)
        common[:, best] = -1  # never twice
    return labels


def label_split(data_dir: str | Path, split: str, workers: int | None = None, force: bool = False) -> Summary:
    """Adds labels to every JSON file of a split that has none, or to all if `force`."""
    folder = split_directory(data_dir, split)
    total = count_articles(folder)
    for leftover in folder.glob(".*.json.*"):  # half-written by a run that was killed
        leftover.unlink(missing_ok=True)
    jobs = [_Chunk(str(data_dir), split, indices, force) for indices in chunks(total, 250)]
    labelled = 0
    bar: tqdm[Any] = progress(None, f"labelling {split}", total, "article")
    with bar:
        for job, done in zip(jobs, map_in_order(_label, jobs, workers or available_cores()), strict=True):
            labelled += done
            bar.update(len(job.indices))
    return Summary(labelled, total - labelled)


class _Chunk(NamedTuple):
    data_dir: str
    split: str
    indices: range
    force: bool


def _label(job: _Chunk) -> int:
    labelled = 0
    for index in job.indices:
        path = article_path(job.data_dir, job.split, index)
        article = read_article(path)
        if job.force or not _has_labels(article):
            labels = proxy_labels(article.article, article.abstract)
            write_article(path, dataclasses.replace(article, **labels._asdict()))
            labelled += 1
    return labelled


def _has_labels(article: Article) -> bool:
    """Whether there are labels that fit the text."""
    if article.extracted is None or article.score is None:
        return False
    steps = min(len(article.article), len(article.abstract))
    in_text = {label for label in article.extracted if 0 <= label < len(article.article)}
    return len(article.extracted) == len(article.score) == len(in_text) == steps

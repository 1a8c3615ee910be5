"""`python -m data.count_words D` counts the words of D/train into D/vocab_cnt.pkl, for vocabularies."""

from __future__ import annotations

import argparse
import os
import pickle
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from data.articles import article_path, count_articles, read_article, split_directory
from data.vocabulary import COUNTS_FILE
from support.errors import UserError, run
from support.files import atomic_file
from support.parallel import available_cores, chunks, map_in_order
from support.progress import progress


class _Chunk(NamedTuple):
    data_dir: str
    indices: range


def count_words(data_dir: str | Path, workers: int | None = None) -> Counter[str]:
    """Whitespace tokens of the training articles and abstracts, in the order in which they first occur."""
    total = count_articles(split_directory(data_dir, "train"))
    jobs = [_Chunk(str(data_dir), indices) for indices in chunks(total, 500)]
    counter: Counter[str] = Counter()
    bar: tqdm[Any] = progress(None, "counting words", total, "article")
    with bar:
        for job, counts in zip(jobs, map_in_order(_count, jobs, workers or available_cores()), strict=True):
            counter.update(counts)
            bar.update(len(job.indices))
    return counter


def write_word_counts(data_dir: str | Path, workers: int | None = None) -> str:
    """Counts the training split into `vocab_cnt.pkl`; returns a line that tells of it."""
    counter = count_words(data_dir, workers)
    path = Path(data_dir) / COUNTS_FILE
    with atomic_file(path, "wb") as file:
        pickle.dump(counter, file)
    return f"{path}: {len(counter):,} words, {counter.total():,} tokens"


def _count(job: _Chunk) -> Counter[str]:
    counter: Counter[str] = Counter()
    for index in job.indices:
        article = read_article(article_path(job.data_dir, "train", index))
        for sentence in article.article + article.abstract:
            counter.update(sentence.split())
    return counter


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m data.count_words", description=__doc__)
    parser.add_argument("data_dir", nargs="?", default=os.environ.get("DATA"), help="data set root, or $DATA")
    parser.add_argument("--workers", type=int, help="processes (default: one per core)")
    flags = parser.parse_args()
    if not flags.data_dir:
        raise UserError("which data set? give its directory, or set $DATA")
    print(write_word_counts(flags.data_dir, flags.workers))


if __name__ == "__main__":
    run(main)

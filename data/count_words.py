"""`python -m data.count_words D` counts the words of D/train into D/vocab_cnt.pkl, for vocabularies."""

from __future__ import annotations

import argparse
import os
import pickle
from collections import Counter
from functools import partial
from pathlib import Path

from cytoolz import concat, partition_all

from data.articles import article_path, count_articles, read_article, split_directory
from data.vocabulary import COUNTS_FILE
from support.errors import UserError, run
from support.files import atomic_file
from support.parallel import available_cores, map_pieces

_PIECE = 500  # articles counted at a time by a worker


def count_words(data_dir: str | Path, workers: int | None = None) -> Counter[str]:
    """Whitespace tokens of the training articles and abstracts, in the order in which they first occur."""
    total = count_articles(split_directory(data_dir, "train"))
    pieces = partition_all(_PIECE, range(total))
    counted = map_pieces(partial(_count, data_dir), pieces, workers or available_cores(), "counting words", total)
    counter: Counter[str] = Counter()
    for _, counts in counted:
        counter.update(counts)
    return counter


def write_word_counts(data_dir: str | Path, workers: int | None = None) -> str:
    """Counts the training split into `vocab_cnt.pkl`; returns a line that tells of it."""
    counter = count_words(data_dir, workers)
    path = Path(data_dir) / COUNTS_FILE
    with atomic_file(path, "wb") as file:
        pickle.dump(counter, file)
    return f"{path}: {len(counter):,} words, {counter.total():,} tokens"


def _count(data_dir: str | Path, indices: tuple[int, ...]) -> Counter[str]:
    articles = (read_article(article_path(data_dir, "train", index)) for index in indices)
    sentences = concat(article.article + article.abstract for article in articles)
    return Counter(concat(sentence.split() for sentence in sentences))


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

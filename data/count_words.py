"""`python -m data.count_words D` counts the words of D/train into D/vocab_cnt.pkl, for vocabularies."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cytoolz import concat, partition_all

from data.articles import article_path, count_articles, read_article, split_directory
from data.vocabulary import COUNTS_FILE
from support.errors import run
from support.files import atomic_file
from support.flags import flag, parse
from support.parallel import available_cores, map_pieces

_PIECE = 500  # articles counted at a time by a worker


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA", positional=True)
    workers: int = flag(available_cores(), "processes", at_least=1)


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
    flags = parse(Flags, __doc__ or "", prog="python -m data.count_words")
    print(write_word_counts(flags.data_dir, flags.workers))


if __name__ == "__main__":
    run(main)

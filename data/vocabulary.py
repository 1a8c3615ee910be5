"""Words and their ids: 0-3 are special whatever their spelling, then the words of training by frequency."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from support.errors import UserError
from support.files import atomic_file
from support.pickles import load_pickle

SPECIAL_NAMES = ("<pad>", "<unk>", "<start>", "<end>")
N_SPECIAL = len(SPECIAL_NAMES)
COUNTS_FILE = "vocab_cnt.pkl"


class Vocabulary:
    def __init__(self, words: list[str]) -> None:
        """`words` by id, the special names first."""
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def word_to_id(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    @classmethod
    def from_counter(cls, counter: Counter[str], vsize: int) -> Vocabulary:
        """The vsize most frequent words; what equals a special name in the text is not in the vocabulary."""
        return cls([*SPECIAL_NAMES, *itertools.islice(words_by_frequency(counter), min(vsize, len(counter)))])

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """A pickled dict word -> id, as written by `save` or by the released code."""
        ids = load_pickle(path)
        _check_table(path, ids, "ids")
        if len(ids) < N_SPECIAL or sorted(ids.values()) != list(range(len(ids))):
            raise UserError(f"{path} is not a vocabulary: its {len(ids)} ids must be 0, 1, 2, ..., each once")
        return cls(sorted(ids, key=ids.__getitem__))

    def save(self, path: str | Path) -> None:
        with atomic_file(path, "wb") as file:
            pickle.dump(self.word_to_id, file, protocol=4)  # which the released code's Python can read


def words_by_frequency(counter: Counter[str]) -> Iterator[str]:
    """Most frequent first, ties in the order of counting, without the special names."""
    return (word for word, _ in counter.most_common() if word not in SPECIAL_NAMES)


def load_word_counts(data_dir: str | Path) -> Counter[str]:
    """How often each word occurs in the training split; there must be one, for a vocabulary."""
    counts = read_word_counts(data_dir)
    if counts.keys() <= set(SPECIAL_NAMES):
        path = Path(data_dir) / COUNTS_FILE
        raise UserError(f"{path} counts no word; `python -m data.count_words {data_dir}` builds it again")
    return counts


def read_word_counts(data_dir: str | Path) -> Counter[str]:
    path = Path(data_dir) / COUNTS_FILE
    if not path.exists():
        raise UserError(f"{path} does not exist; `python -m data.count_words {data_dir}` builds it")
    counts = load_pickle(path)
    _check_table(path, counts, "counts")
    return Counter(counts)


def _check_table(path: str | Path, table: Any, values: str) -> None:
    if not isinstance(table, dict):
        raise UserError(f"{path} holds a {type(table).__name__}, expected a dict from words to {values}")
    for word, value in table.items():
        if type(word) is not str or type(value) is not int:
            raise UserError(f"{path}: entry {word!r}: {value!r} is not a word with an integer")

"""Texts as flat arrays: all words in a row, and where sentences and documents begin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from cytoolz import concat
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Documents:
    words: NDArray[np.int32]  # word ids of all sentences in a row
    sentence_offsets: Ints  # sentence i is words[sentence_offsets[i] : sentence_offsets[i + 1]]
    document_offsets: Ints  # document d holds sentences document_offsets[d] : document_offsets[d + 1]

    def __len__(self) -> int:
        return len(self.document_offsets) - 1

    @property
    def n_sentences(self) -> int:
        return len(self.sentence_offsets) - 1

    @property
    def sentence_counts(self) -> Ints:
        """Sentences of each document."""
        return np.diff(self.document_offsets)

    @property
    def sentence_lengths(self) -> Ints:
        """Words of each sentence."""
        return np.diff(self.sentence_offsets)

    def sentence_counts_of(self, documents: Ints) -> Ints:
        return self.document_offsets[documents + 1] - self.document_offsets[documents]

    def sentence_lengths_of(self, sentences: Ints) -> Ints:
        return self.sentence_offsets[sentences + 1] - self.sentence_offsets[sentences]

    def sentence_range(self, document: int) -> range:
        """Indices of the document's sentences."""
        return range(int(self.document_offsets[document]), int(self.document_offsets[document + 1]))

    def sentence(self, index: int) -> NDArray[np.int32]:
        return self.words[self.sentence_offsets[index] : self.sentence_offsets[index + 1]]

    def document(self, document: int) -> list[NDArray[np.int32]]:
        """The word ids of the document's sentences."""
        return [self.sentence(index) for index in self.sentence_range(document)]


class TextEncoder:
    """Numbers words by first occurrence; tokens are `lower().split()`."""

    def __init__(self, first: int = 0) -> None:
        self._ids: defaultdict[str, int] = defaultdict()
        self._ids.default_factory = lambda: len(self._ids) + first

    @property
    def vocabulary(self) -> list[str]:
        return list(self._ids)

    def encode(self, sentences: Iterable[str]) -> list[list[int]]:
        number = self._ids.__getitem__
        return [list(map(number, sentence.lower().split())) for sentence in sentences]


def pack(documents: list[list[list[int]]]) -> Documents:
    sentences = list(concat(documents))
    words = np.fromiter(concat(sentences), np.int32)
    return Documents(words, offsets(list(map(len, sentences))), offsets(list(map(len, documents))))


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """start, start + 1, ... of each piece, all in a row."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)


def cut(lengths: Ints, limit: int | None) -> Ints:
    return lengths if limit is None else np.minimum(lengths, limit)


def offsets(lengths: Iterable[int] | Ints) -> Ints:
    """Lengths of consecutive pieces -> where each begins, and the end."""
    lengths = np.asarray(lengths, np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])

"""The abstractor is frozen during reinforcement learning, so a sentence's rewriting is computed once.

Rows of a fixed-size table, overwritten in the order of their age, so that memory is bounded by design.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.documents import Ints
from support.files import atomic_file

Rewrite = Callable[[Ints], list[NDArray[np.int32]]]


class RewritingCache:
    """Sentences are numbered over all splits that share the cache: `slice_of(split's first number)`."""

    def __init__(self, n_sentences: int, max_words: int, capacity: int) -> None:
        capacity = max(1, min(capacity, n_sentences))
        self.row_of = np.full(n_sentences, -1, np.int32)
        self.sentence_in = np.full(capacity, -1, np.int64)
        self.words = np.zeros((capacity, max_words), np.int32)
        self.lengths = np.zeros(capacity, np.int32)
        self.next_row = 0
        self.hits = self.misses = 0

    def through(self, rewrite: Rewrite, first: int = 0) -> Rewrite:
        """`rewrite`, asked only for what is not known yet; its sentence 0 has number `first` here."""

        def cached(sentences: Ints) -> list[NDArray[np.int32]]:
            rows = self.row_of[sentences + first]
            missing = np.flatnonzero(rows < 0)
            self.misses += len(missing)
            self.hits += len(sentences) - len(missing)
            found = [self.words[row, : self.lengths[row]].copy() for row in rows]
            if len(missing):
                fresh = rewrite(sentences[missing])
                for position, words in zip(missing, fresh, strict=True):
                    found[position] = words
                self._remember(sentences[missing] + first, fresh)
            return found

        return cached

    def take_hit_rate(self) -> float:
        """The share of look-ups answered since the last call."""
        rate = self.hits / max(1, self.hits + self.misses)
        self.hits = self.misses = 0
        return rate

    def _remember(self, sentences: Ints, rewritings: list[NDArray[np.int32]]) -> None:
        capacity = len(self.sentence_in)
        sentences, rewritings = sentences[-capacity:], rewritings[-capacity:]
        rows = (self.next_row + np.arange(len(sentences))) % capacity
        evicted = self.sentence_in[rows]
        self.row_of[evicted[evicted >= 0]] = -1
        self.sentence_in[rows] = sentences
        self.row_of[sentences] = rows
        self.lengths[rows] = [len(words) for words in rewritings]
        for row, words in zip(rows, rewritings, strict=True):
            self.words[row, : len(words)] = words
        self.next_row = int(rows[-1] + 1) % capacity

    def save(self, path: str | Path, signature: str) -> None:
        used = np.flatnonzero(self.sentence_in >= 0)
        with atomic_file(path, "wb") as file:
            np.savez(
                file,
                signature=np.array(signature),
                sentences=self.sentence_in[used],
                words=self.words[used],
                lengths=self.lengths[used],
            )

    def load(self, path: str | Path, signature: str) -> bool:
        """Takes over what `save` left, if it is of the same abstractor and data; False if not."""
        if not Path(path).exists():
            return False
        with np.load(path) as content:
            if str(content["signature"]) != signature:
                return False
            rows = [words[:n] for words, n in zip(content["words"], content["lengths"], strict=True)]
            self._remember(content["sentences"], rows)
        return True

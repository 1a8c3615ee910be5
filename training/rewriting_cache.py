"""The abstractor is frozen during reinforcement learning, so a sentence's rewriting is computed once.

Rows of a fixed-size table, overwritten in the order of their age, so that memory is bounded by design.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.documents import Ints
from inference.rewriting import Rewrite
from support.errors import UserError
from support.files import atomic_file, open_file


class RewritingCache:
    """Sentences are numbered over all splits that share the cache."""

    def __init__(self, n_sentences: int, max_words: int, capacity: int) -> None:
        capacity = max(1, min(capacity, n_sentences))
        self.row_of = np.full(n_sentences, -1, np.int32)
        self.sentence_in = np.full(capacity, -1, np.int64)
        self.words = np.zeros((capacity, max_words), np.int32)
        self.lengths = np.zeros(capacity, np.int32)
        self.next_row = 0
        self.hits = self.misses = 0

    def through(self, rewrite: Rewrite, first: int = 0) -> Rewrite:
        """`rewrite`, a function of single sentences, asked only for what is not known yet.

        Its sentence 0 has number `first` here.
        """

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
        sentences, words, lengths = self.sentence_in[used], self.words[used], self.lengths[used]
        digest = np.array(_digest(sentences, words, lengths))
        with atomic_file(path, "wb") as file:
            np.savez(
                file,
                signature=np.array(signature),
                digest=digest,
                sentences=sentences,
                words=words,
                lengths=lengths,
            )

    def load(self, path: str | Path, signature: str) -> bool:
        """Takes over what `save` left, if it is of the same abstractor and data; False if not."""
        if not Path(path).exists():
            return False
        try:
            with open_file(path, "rb") as file, np.load(file) as content:
                known, digest = str(content["signature"]), str(content["digest"])
                sentences, words, lengths = (content[name] for name in ("sentences", "words", "lengths"))
        except KeyError:
            raise self._unreadable(path, "it is damaged, or of an earlier version") from None
        except Exception as error:  # a damaged file can raise almost anything
            raise self._unreadable(path, type(error).__name__) from None
        if known != signature:
            return False
        if _digest(sentences, words, lengths) != digest:
            raise self._unreadable(path, "its numbers have changed")
        if len(sentences):
            self._remember(sentences, [row[:n] for row, n in zip(words, lengths, strict=True)])
        return True

    def _unreadable(self, path: str | Path, reason: str) -> UserError:
        return UserError(f"{path} holds no rewritings ({reason}); delete it, or give another --rewritings")


def _digest(*arrays: NDArray[Any]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(f"{array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def check_place(path: str | Path) -> None:
    """Before training, not after it."""
    folder = Path(path).parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"--rewritings {path} cannot be written; give a file in a folder that exists")

"""Whole articles and summaries as single sequences, for the flat baseline (See et al., 2017)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from data.batching import join_pairs, parts
from data.collate import ALL_ROWS, collate_pairs
from data.documents import Documents, Ints, cut
from data.store import TokenStore
from data.vocabulary import Vocabulary
from model.batches import UNK, RewritingBatch
from support.errors import UserError


class FlatStore(TokenStore):
    """A store in which every text is one long sentence; the words lie where they lay."""

    @classmethod
    def of(cls, store: TokenStore) -> FlatStore:
        return cls(
            store.name,
            _flat(store.articles),
            _flat(store.abstracts),
            np.zeros_like(store.label_offsets),
            store.labels[:0],
            store._load_lexicon,
            store._folder,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, super().__reduce__()


def _flat(texts: Documents) -> Documents:
    return Documents(texts.words, texts.sentence_offsets[texts.document_offsets], np.arange(len(texts) + 1))


def _rebuild(build: Callable[..., TokenStore], arguments: tuple[Any, ...]) -> FlatStore:
    return FlatStore.of(build(*arguments))


class FlatData:
    """Pairs of an article's first words and its summary's; neither may be empty."""

    together = 1  # a batch of whole summaries is large enough

    def __init__(self, store: TokenStore, vocabulary: Vocabulary, max_art: int = 400, max_sum: int = 100) -> None:
        self.store, self.word_map, self.V = FlatStore.of(store), store.map_to(vocabulary), len(vocabulary)
        self.max_art, self.max_sum = max_art, max_sum
        lengths = self.store.articles.sentence_lengths, self.store.abstracts.sentence_lengths
        self.indices = np.flatnonzero((lengths[0] > 0) & (lengths[1] > 0))
        if len(self.indices) == 0:
            raise UserError(f"{store.name} has no article with an abstract")
        self._source_lengths = cut(lengths[0][self.indices], max_art)
        self._target_lengths = cut(lengths[1][self.indices], max_sum)

    def __len__(self) -> int:
        return len(self.indices)

    def hyper_batches(self, random: np.random.Generator | None) -> list[Ints]:
        keys = self._source_lengths, self._target_lengths
        return [part[np.lexsort([key[part] for key in keys])] for part in parts(len(self), random)]

    def collate(self, items: Ints, rank: int, world: int) -> RewritingBatch:
        rows = slice(rank, None, world) if world > 1 else ALL_ROWS
        pairs = np.stack([self.indices[items]] * 2, axis=1)
        batch = collate_pairs(self.store, self.word_map, pairs, self.V, self.max_art, self.max_sum, rows)
        return copyable_targets(batch, self.V)

    def collate_together(self, batches: list[Ints]) -> RewritingBatch:
        return join_pairs([self.collate(items, 0, 1) for items in batches])


def copyable_targets(batch: RewritingBatch, V: int) -> RewritingBatch:
    """A target outside the vocabulary that its own article lacks can be neither generated nor copied: it is UNK."""
    copyable = (batch.targets[:, :, None] == batch.source.extended[:, None]).any(2)
    return batch._replace(targets=batch.targets.masked_fill((batch.targets >= V) & ~copyable, UNK))

"""Store -> batches: sentences are gathered, mapped to model ids and padded without a loop over tokens.

Throughout, `word_map` is `store.map_to(vocabulary)` and `V` is `len(vocabulary)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from data.documents import Documents, Ints, cut, offsets, ranges
from data.store import TokenStore
from model.batches import END, PAD, START, UNK, ArticleBatch, ExtractionBatch, RewritingBatch, SourceBatch
from model.windows import MIN_WIDTH

ALL_ROWS = slice(None)


class Sources(NamedTuple):
    """Sentences to rewrite, and the words behind their extended ids."""

    batch: SourceBatch
    extra_words: Ints  # (B, max n_extra) lexicon id of extended id V + x in that row; -1 where there is none


def collate_articles(
    store: TokenStore,
    word_map: NDArray[np.int32],
    indices: Ints,
    max_words: int | None = None,
    max_sentences: int | None = None,
) -> ArticleBatch:
    """Articles, none of them empty; a sentence without words stays all PAD."""
    counts = cut(store.articles.sentence_counts_of(indices), max_sentences)
    assert counts.all(), "an article without sentences cannot be encoded"
    sentences = ranges(store.articles.document_offsets[indices], counts)
    words, lengths = gather(store.articles, sentences, max_words)
    longest = np.maximum.reduceat(lengths, offsets(counts)[:-1])
    widths = np.repeat(np.maximum(longest, MIN_WIDTH), counts)
    return ArticleBatch(
        words=torch.from_numpy(pad(word_map[words], lengths, int(widths.max()))),
        lengths=torch.from_numpy(lengths),
        widths=torch.from_numpy(widths),
        counts=torch.from_numpy(counts),
    )


def collate_extraction(
    store: TokenStore,
    word_map: NDArray[np.int32],
    indices: Ints,
    max_words: int | None = 100,
    max_sentences: int | None = 60,
) -> ExtractionBatch:
    """Articles with their proxy labels; labels beyond the last kept sentence are dropped."""
    starts = store.label_offsets[indices]
    lengths = store.label_offsets[indices + 1] - starts
    labels = store.labels[ranges(starts, lengths)]
    if max_sentences is not None:
        kept = labels < max_sentences
        lengths = np.bincount(np.repeat(np.arange(len(indices)), lengths)[kept], minlength=len(indices))
        labels = labels[kept]
    targets = pad(labels, lengths, max(1, int(lengths.max())), fill=-1)
    articles = collate_articles(store, word_map, indices, max_words, max_sentences)
    return ExtractionBatch(articles, torch.from_numpy(targets))


def collate_sources(
    store: TokenStore,
    word_map: NDArray[np.int32],
    sentence_indices: Ints,
    V: int,
    max_words: int | None = None,
    shared: bool = True,
) -> Sources:
    """Sentences of `store.articles` to rewrite; one without words becomes a single PAD.

    Words outside the vocabulary are numbered from V by first occurrence: over the whole batch if `shared`, as
    released, or else row by row, so that a row does not depend on its neighbours.
    """
    words, lengths = gather(store.articles, sentence_indices, max_words)
    extra = _ExtraWords.number(words, lengths, word_map, shared)
    return Sources(_source_batch(words, lengths, word_map, extra, V), extra.table)


def collate_pairs(
    store: TokenStore,
    word_map: NDArray[np.int32],
    pairs: Ints,
    V: int,
    max_art: int | None = 100,
    max_abs: int | None = 30,
    rows: slice = ALL_ROWS,
) -> RewritingBatch:
    """Pairs (n, 2) of an article sentence and the abstract sentence it becomes, as indices of sentences.

    Rows are sorted by target length, longest first.  `rows` keeps a process's share of the batch; the numbers
    of words outside the vocabulary are still those of the whole, so that processes together train as one.
    """
    words, lengths = gather(store.articles, pairs[:, 0], max_art)
    extra = _ExtraWords.number(words, lengths, word_map, shared=True)
    source = _source_batch(words, lengths, word_map, extra, V)
    target_words, target_lengths = gather(store.abstracts, pairs[:, 1], max_abs)
    inputs, targets, steps = _targets(target_words, target_lengths, word_map, extra, V)
    longest_first = torch.argsort(steps, descending=True, stable=True)
    return _select(RewritingBatch(source, inputs, targets, steps), longest_first[rows])


class _ExtraWords(NamedTuple):
    """Words outside the vocabulary, numbered by first occurrence in their owner: batch or row."""

    known: Ints  # the distinct words, sorted
    numbers: Ints  # their numbers; meaningful for look-ups where the batch is the owner
    in_text: Ints  # the number of each such token of the text
    counts: Ints  # (B,)
    table: Ints  # (B, max count) word of each number, -1 where there is none

    @classmethod
    def number(
        cls, words: NDArray[np.int32], lengths: Ints, word_map: NDArray[np.int32], shared: bool
    ) -> _ExtraWords:
        B = len(lengths)
        unknown = word_map[words] == UNK
        owner = np.zeros(1, np.int64) if shared else np.repeat(np.arange(B), lengths)[unknown]
        keys = owner * len(word_map) + words[unknown]
        known, first, place = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        counts = np.bincount(known // len(word_map), minlength=1 if shared else B)
        begins = offsets(counts)[:-1]
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        numbers = ranks - begins[known // len(word_map)]
        table = pad(known[order] % len(word_map), counts, int(counts.max(initial=0)), fill=-1)
        table = np.broadcast_to(table, (B, table.shape[1]))
        return cls(known, numbers, numbers[place], np.broadcast_to(counts, B), table)

    def look_up(self, words: NDArray[np.int32], V: int) -> Ints:
        """Extended ids of words outside the vocabulary, UNK for those the batch's sources lack."""
        if len(self.known) == 0:
            return np.full(len(words), UNK)
        place = np.minimum(np.searchsorted(self.known, words), len(self.known) - 1)
        return np.where(self.known[place] == words, V + self.numbers[place], UNK)


def _source_batch(
    words: NDArray[np.int32], lengths: Ints, word_map: NDArray[np.int32], extra: _ExtraWords, V: int
) -> SourceBatch:
    ids = word_map[words]
    extended = ids.astype(np.int64)
    extended[ids == UNK] = V + extra.in_text
    S = max(1, int(lengths.max()))
    return SourceBatch(
        words=torch.from_numpy(pad(ids, lengths, S)),
        extended=torch.from_numpy(pad(extended, lengths, S)),
        lengths=torch.from_numpy(np.maximum(lengths, 1)),
        n_extra=torch.from_numpy(extra.counts.copy()),
    )


def _targets(
    words: NDArray[np.int32], lengths: Ints, word_map: NDArray[np.int32], extra: _ExtraWords, V: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Decoder inputs (B, T), targets (B, T) and their steps (B,), END included."""
    ids = word_map[words].astype(np.int64)
    T = int(lengths.max()) + 1
    inputs = np.concatenate([np.full((len(lengths), 1), START), pad(ids, lengths, T - 1)], axis=1)
    unknown = ids == UNK
    ids[unknown] = extra.look_up(words[unknown], V)
    targets = pad(ids, lengths, T)
    targets[np.arange(len(lengths)), lengths] = END
    return torch.from_numpy(inputs), torch.from_numpy(targets), torch.from_numpy(lengths + 1)


def _select(batch: RewritingBatch, rows: Tensor) -> RewritingBatch:
    """The rows in that order, padded no wider than they need."""
    words, extended, lengths, n_extra = batch.source
    S, T = int(lengths[rows].max()), int(batch.lengths[rows].max())
    source = SourceBatch(words[rows, :S], extended[rows, :S], lengths[rows], n_extra[rows])
    return RewritingBatch(source, batch.inputs[rows, :T], batch.targets[rows, :T], batch.lengths[rows])


def gather(texts: Documents, sentences: Ints, max_words: int | None) -> tuple[NDArray[np.int32], Ints]:
    """The sentences' words in a row, and the sentences' lengths."""
    lengths = cut(texts.sentence_lengths_of(sentences), max_words)
    return texts.words[ranges(texts.sentence_offsets[sentences], lengths)], lengths


def pad(values: NDArray[np.integer], lengths: Ints, width: int, fill: int = PAD) -> Ints:
    """Rows of the given lengths in a row -> (rows, width)."""
    matrix = np.full((len(lengths), width), fill, np.int64)
    matrix[np.arange(width) < lengths[:, None]] = values
    return matrix

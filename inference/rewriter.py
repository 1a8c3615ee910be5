"""Rewriting the sentences of a token store: sentence numbers in, word ids out, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from data.collate import collate_sources
from data.documents import Ints, offsets
from data.store import TokenStore
from data.vocabulary import Vocabulary
from model.batches import UNK, SourceBatch, in_one_transfer
from model.beam_search import RELEASED, Rules, beam_search
from model.copy_network import CopyNetwork
from model.greedy_search import Rewritings, greedy_search
from model.word_choice import WordChoice
from support.devices import decoding_on


class Rewriting(NamedTuple):
    """One way to rewrite a sentence."""

    words: NDArray[np.int32]  # lexicon ids of the store, minus (model id + 1) for words that it lacks
    score: float | None = None  # log probability; in beam search with its penalties
    copied: NDArray[np.float32] | None = None  # per word, the share of its probability that comes from copying
    replaced: NDArray[np.bool_] | None = None  # per word, whether it stands for an UNK


class WordTable(NamedTuple):
    """The way between a store's words and a model's."""

    to_model: NDArray[np.int32]  # lexicon id -> model id
    to_lexicon: NDArray[np.int32]  # model id -> lexicon id, negative for words the store lacks

    @classmethod
    def between(cls, store: TokenStore, vocabulary: Vocabulary) -> WordTable:
        return cls(store.map_to(vocabulary), store.map_from(vocabulary))


class Rewriter:
    """The frozen abstractor as a function of sentence numbers.

    With `shared`, words outside the vocabulary are numbered over all sentences of a call (or of a group), as the
    released code does, so that a rewriting can depend on its neighbours; without, it is a function of the
    sentence alone.
    """

    def __init__(
        self,
        abstractor: CopyNetwork,
        vocabulary: Vocabulary,
        store: TokenStore,
        *,
        max_words: int = 30,
        max_batch: int | None = None,
        shared: bool = False,
        beam: int = 1,
        diversity: float = 1.0,
        rules: Rules = RELEASED,
        max_source_words: int | None = None,
    ) -> None:
        self.abstractor, self.vocabulary, self.store = abstractor, vocabulary, store
        self.table = WordTable.between(store, vocabulary)
        self.max_words, self.max_source_words, self.shared = max_words, max_source_words, shared
        self.beam, self.diversity, self.rules = beam, diversity, rules
        self.device = abstractor.embedding.weight.device
        self.limits = decoding_on(self.device)
        self.max_batch = max(1, (max_batch or self.limits.rows) // beam)
        self._choice = WordChoice(abstractor.embedding.weight.detach(), abstractor.extra_logit)

    def __call__(self, sentences: Ints) -> list[NDArray[np.int32]]:
        """Sentence numbers in `store.articles` -> the best rewritings' lexicon ids."""
        return [hypotheses[0].words for hypotheses in self.hypotheses([sentences])]

    def hypotheses(self, groups: Sequence[Ints]) -> list[list[Rewriting]]:
        """The hypotheses of every sentence, group after group; each group numbers its own unknown words."""
        rewritten = [[_NOTHING] for group in groups for _ in group]
        begins = offsets([len(group) for group in groups])
        for batch in _batches_by_length(self._collate(groups, begins[:-1]), self.max_batch, self.limits.source_words):
            for row, found in zip(batch.rows.tolist(), self._decode(batch), strict=True):
                rewritten[row] = found
        return rewritten

    @property
    def own(self) -> list[str]:
        return self.vocabulary.words

    def _collate(self, groups: Sequence[Ints], begins: Ints) -> list[_Sources]:
        """Sentences without words are left out: nothing comes of them."""
        articles, collated = self.store.articles, []
        for sentences, begin in zip(groups, begins, strict=True):
            wordy = np.flatnonzero(articles.sentence_lengths_of(sentences))
            if len(wordy):
                chosen = sentences[wordy]
                V = self.abstractor.vocab_size
                batch, extra = collate_sources(
                    self.store, self.table.to_model, chosen, V, self.max_source_words, self.shared
                )
                collated.append(_Sources(begin + wordy, articles.sentence_offsets[chosen], extra, batch))
        return collated

    def _decode(self, sources: _Sources) -> Iterator[list[Rewriting]]:
        """The hypotheses of each row, best first."""
        found = Rewritings(*in_one_transfer(self._search(sources.batch.to(self.device))))
        words, attended, copied = (x.numpy() for x in (found.words, found.attended, found.copied))
        replaced = words == UNK
        ids = self._lexicon_ids(words, attended, sources)
        for row, (lengths, scores) in enumerate(zip(found.lengths.tolist(), found.scores.tolist(), strict=True)):
            yield [
                Rewriting(ids[row, k, :n], score, copied[row, k, :n], replaced[row, k, :n])
                for k, (n, score) in enumerate(zip(lengths, scores, strict=True))
            ]

    def _search(self, batch: SourceBatch) -> Rewritings:
        """In float32 always, also within training with --amp: a sentence's rewriting depends on nothing else."""
        shared = self._choice, self.limits.ask_every
        with torch.autocast(self.device.type, enabled=False):
            if self.beam == 1 and self.rules == RELEASED:
                return greedy_search(self.abstractor, batch, self.max_words, *shared)
            return beam_search(self.abstractor, batch, self.max_words, self.beam, self.diversity, self.rules, *shared)

    def _lexicon_ids(self, words: Ints, attended: Ints, sources: _Sources) -> NDArray[np.int32]:
        """Extended ids (B, K, T) -> lexicon ids; UNK becomes the source word looked at most (A.2)."""
        looked_at = self.store.articles.words[sources.first_words[:, None, None] + attended]
        V = self.abstractor.vocab_size
        ids = self.table.to_lexicon[np.minimum(words, V - 1)]
        outside = np.nonzero(words >= V)
        ids[outside] = sources.extra_words[outside[0], words[outside] - V]
        return np.where(words == UNK, looked_at, ids)


_NOTHING = Rewriting(np.zeros(0, np.int32), 0.0, np.zeros(0, np.float32), np.zeros(0, np.bool_))


class _Sources(NamedTuple):
    """Sentences to decode together."""

    rows: Ints  # (B,) their numbers in the caller's list
    first_words: Ints  # (B,) where they begin in the store
    extra_words: Ints  # (B, max n_extra) lexicon ids behind the extended ids
    batch: SourceBatch


def _batches_by_length(groups: list[_Sources], max_batch: int, max_words: int) -> Iterator[_Sources]:
    """Narrow batches of similar length and bounded size, across groups."""
    if not groups:
        return
    lengths = torch.cat([group.batch.lengths for group in groups])
    group_of = torch.repeat_interleave(torch.tensor([len(group.rows) for group in groups]))
    row_of = torch.cat([torch.arange(len(group.rows)) for group in groups])
    order = torch.argsort(lengths, stable=True)
    end = len(order)
    while end > 0:
        width = int(lengths[order[end - 1]])
        begin = max(0, end - max(1, min(max_batch, max_words // width)))
        rows = order[begin:end]
        members = [(group, row_of[rows[group_of[rows] == g]]) for g, group in enumerate(groups)]
        yield _join([_select(group, chosen, width) for group, chosen in members if len(chosen)])
        end = begin


def _select(sources: _Sources, rows: Tensor, width: int) -> _Sources:
    words, extended, lengths, n_extra = sources.batch
    batch = SourceBatch(words[rows, :width], extended[rows, :width], lengths[rows], n_extra[rows])
    at = rows.numpy()
    return _Sources(sources.rows[at], sources.first_words[at], sources.extra_words[at], batch)


def _join(parts: list[_Sources]) -> _Sources:
    """One batch of several groups' sentences; each keeps the numbers of its own group."""
    width = max(part.batch.words.size(1) for part in parts)
    most = max(part.extra_words.shape[1] for part in parts)
    padded = [(0, width - part.batch.words.size(1)) for part in parts]
    batch = SourceBatch(
        torch.cat([F.pad(part.batch.words, by) for part, by in zip(parts, padded, strict=True)]),
        torch.cat([F.pad(part.batch.extended, by) for part, by in zip(parts, padded, strict=True)]),
        torch.cat([part.batch.lengths for part in parts]),
        torch.cat([part.batch.n_extra for part in parts]),
    )
    extra = [np.pad(part.extra_words, ((0, 0), (0, most - part.extra_words.shape[1]))) for part in parts]
    rows, first_words = (np.concatenate([part[i] for part in parts]) for i in range(2))
    return _Sources(rows, first_words, np.concatenate(extra), batch)

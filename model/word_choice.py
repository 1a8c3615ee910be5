"""A network's next-word distribution, evaluated only where a choice can fall.

The copy mixture differs from the plain softmax only at the source's words. So its best words are among the best
words of the softmax, the source's words, and a few extended ids of no source position; the distribution over the
extended vocabulary is never built.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from model.batches import SourceBatch, take
from model.copy_network import PROBABILITY_FLOOR, CopyNetwork, DecoderStep, extended_partition
from model.vocabulary_top import VocabularyTop

IMPOSSIBLE = -PROBABILITY_FLOOR  # "probability" of a word that is listed twice: its logarithm is -inf


class SourceWords(NamedTuple):
    """The source's words as candidates, prepared once a batch."""

    ids: Tensor  # (B, S) extended ids
    slots: Tensor  # (B, S) the first position that holds the same word
    embedding: Tensor  # (B, S, E), zero outside the vocabulary
    outside: Tensor  # (B, S) True for extended ids
    spare: Tensor  # (B, k) the first extended ids that are not among the source's words
    n_extra: Tensor  # (B,)

    @classmethod
    def of(cls, network: CopyNetwork, source: SourceBatch, k: int) -> SourceWords:
        extended = source.extended
        outside = extended >= network.vocab_size
        slots = _first_places(extended)
        embedding = network.embedding(extended.masked_fill(outside, 0)).masked_fill(outside[:, :, None], 0)
        spare = _unused(extended - network.vocab_size, k) + network.vocab_size
        return cls(extended, slots, embedding, outside, spare, source.n_extra)

    def select(self, rows: Tensor) -> SourceWords:
        return SourceWords(*(take(field, rows) for field in self))


class Candidates(NamedTuple):
    words: Tensor  # (R, C) extended ids
    probabilities: Tensor  # (R, C) of the mixture; `IMPOSSIBLE` for a word that another column has
    copied: Tensor  # (R, S) how much of it comes from copying, for the first S candidates: the source's words

    def share_copied(self, chosen: Tensor) -> Tensor:
        """chosen: (R, K) columns -> (R, K), how much of their probability comes from copying."""
        sources = self.copied.size(1)
        copied = self.copied.gather(1, chosen.clamp(max=sources - 1)) * (chosen < sources)
        return copied / self.probabilities.gather(1, chosen).clamp(min=PROBABILITY_FLOOR)


class WordChoice(NamedTuple):
    """What a search for the k most probable words of every step prepares once."""

    network: CopyNetwork
    vocabulary: VocabularyTop
    source: SourceWords
    k: int

    @classmethod
    def of(
        cls, network: CopyNetwork, source: SourceBatch, k: int, vocabulary: VocabularyTop | None = None
    ) -> WordChoice:
        vocabulary = vocabulary or VocabularyTop(network.embedding.weight)
        return cls(network, vocabulary, SourceWords.of(network, source, k), k)

    def select(self, rows: Tensor) -> WordChoice:
        return self._replace(source=self.source.select(rows))

    def candidates(self, step: DecoderStep) -> Candidates:
        """Words among which are the k most probable ones of the mixture, each once."""
        network, source = self.network, self.source
        B = len(source.ids)

        def by_source(x: Tensor) -> Tensor:
            return x.view(B, -1, x.size(-1))  # (B, K, ...) the K decoders of each source

        output = step.state.output  # (R, E)
        top, top_words, partition = (by_source(x) for x in self.vocabulary(output, self.k))
        partition = extended_partition(partition, source.n_extra[:, None, None], network.extra_logit)  # (B, K, 1)
        p_copy = by_source(torch.sigmoid(step.copy)[:, None])
        p_generate = 1 - p_copy

        source_logits = torch.bmm(by_source(output), source.embedding.mT)  # (B, K, S)
        source_logits.masked_fill_(source.outside[:, None], network.extra_logit)
        attention = by_source(step.attention)
        slots = source.slots[:, None].expand(attention.shape)
        copied = torch.zeros_like(attention).scatter_add_(2, slots, attention).mul_(p_copy)
        from_source = torch.exp(source_logits - partition).mul_(p_generate).add_(copied)
        again = source.slots != torch.arange(source.slots.size(1), device=output.device)  # (B, S)

        listed = (top_words[..., None] == source.ids[:, None, None]).any(3)  # (B, K, k) among the source's words
        generated = p_generate * torch.exp(top - partition)
        absent = source.spare >= network.vocab_size + source.n_extra[:, None]  # (B, k)
        spared = p_generate * torch.exp(network.extra_logit - partition)  # (B, K, 1)

        def joined(*parts: Tensor) -> Tensor:
            """(B, n) or (B, K, n) each -> (R, all of n)"""
            wide = [part if part.dim() == 3 else part[:, None] for part in parts]
            return torch.cat([part.expand(-1, attention.size(1), -1) for part in wide], 2).flatten(0, 1)

        words = joined(source.ids, top_words, source.spare)
        probabilities = joined(from_source, generated, spared.expand(-1, -1, absent.size(1)))
        probabilities.masked_fill_(joined(again, listed, absent), IMPOSSIBLE)
        return Candidates(words, probabilities, copied.flatten(0, 1))


def log_probability(probability: Tensor) -> Tensor:
    return torch.log(probability + PROBABILITY_FLOOR)


def _first_places(ids: Tensor) -> Tensor:
    """(B, S) -> (B, S), the first place of the same id in the row."""
    ordered, places = ids.sort(dim=1, stable=True)
    begins = F.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)
    first = torch.arange(ids.size(1), device=ids.device).where(begins, 0).cummax(1).values
    return torch.empty_like(ids).scatter_(1, places, places.gather(1, first))


def _unused(numbers: Tensor, k: int) -> Tensor:
    """numbers: (B, S) -> (B, k), the smallest from 0 that are not in the row."""
    limit = numbers.size(1) + k
    used = torch.zeros(len(numbers), limit + 1, dtype=torch.uint8, device=numbers.device)
    used.scatter_(1, numbers.where((numbers >= 0) & (numbers < limit), limit), 1)
    return used[:, :limit].sort(dim=1, stable=True).indices[:, :k]

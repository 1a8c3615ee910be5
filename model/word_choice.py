"""The abstractor's next-word distribution, evaluated only where a choice can fall.

The copy mixture differs from the plain softmax only at the source's words. So its best words are among the best
words of the softmax, the source's words, and one extended id that stands for those of no source position; the
distribution over the extended vocabulary is never built.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.abstractor import EXTRA_LOGIT, PROBABILITY_FLOOR, Abstractor, DecoderStep, extended_partition

_VOCABULARY_TILE = 4096  # logits of a batch for so many words stay in the processor's cache


class SourceWords(NamedTuple):
    """The source's words as candidates, prepared once a batch."""

    ids: Tensor  # (B, S) extended ids
    slots: Tensor  # (B, S) the first position that holds the same word
    embedding: Tensor  # (B, S, E), zero outside the vocabulary
    outside: Tensor  # (B, S) True for extended ids
    n_extra: Tensor  # (B,)

    def select(self, rows: Tensor) -> SourceWords:
        return SourceWords(*(field[rows] for field in self))


class Candidates(NamedTuple):
    words: Tensor  # (B, C) extended ids
    probabilities: Tensor  # (B, C) of the mixture; 0 for a word that an earlier column has
    copied: Tensor  # (B, S) how much of it comes from copying, for the first S candidates: the source's words

    def share_copied(self, chosen: Tensor) -> Tensor:
        """chosen: (B, K) columns -> (B, K), how much of their probability comes from copying."""
        sources = self.copied.size(1)
        copied = self.copied.gather(1, chosen.clamp(max=sources - 1)) * (chosen < sources)
        return copied / self.probabilities.gather(1, chosen).clamp(min=PROBABILITY_FLOOR)


def source_words(abstractor: Abstractor, extended: Tensor, n_extra: Tensor) -> SourceWords:
    outside = extended >= abstractor.vocab_size
    slots = (extended[:, :, None] == extended[:, None]).to(torch.uint8).argmax(2)
    embedding = abstractor.embedding.weight[extended.masked_fill(outside, 0)].masked_fill(outside[:, :, None], 0)
    return SourceWords(extended, slots, embedding, outside, n_extra)


def candidates(abstractor: Abstractor, step: DecoderStep, source: SourceWords, k: int) -> Candidates:
    """Words among which are the k most probable ones of the mixture, each once."""
    output = step.state.output  # (B, E)
    top, top_words, partition = top_of_vocabulary(output, abstractor.embedding.weight, k)
    partition = extended_partition(partition, source.n_extra)[:, None]
    p_copy = torch.sigmoid(step.copy)[:, None]
    source_logits = torch.bmm(source.embedding, output[:, :, None]).squeeze(2)
    source_logits = source_logits.masked_fill(source.outside, EXTRA_LOGIT)
    copied = torch.zeros_like(step.attention).scatter_add_(1, source.slots, step.attention)
    copied *= p_copy
    from_source = (1 - p_copy) * torch.exp(source_logits - partition) + copied
    first = source.slots == torch.arange(source.slots.size(1), device=output.device)
    generated = (1 - p_copy) * torch.exp(top - partition)
    unseen = (1 - p_copy) * torch.exp(EXTRA_LOGIT - partition)
    spare, spare_probability = _spare_extended_ids(abstractor.vocab_size, source, unseen, k)
    other_words = torch.cat([top_words, spare], 1)
    other = torch.cat([generated, spare_probability], 1)
    again = (other_words[:, :, None] == source.ids[:, None]).any(2)  # counted among the source's words
    words = torch.cat([source.ids, other_words], 1)
    return Candidates(words, torch.cat([from_source * first, other.masked_fill(again, 0)], 1), copied)


def _spare_extended_ids(vocab_size: int, source: SourceWords, probability: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The first extended ids, which other sentences of the batch may have brought in: (B, k), and their probability."""
    offsets = torch.arange(k, device=probability.device)
    exists = offsets < source.n_extra[:, None]
    return (vocab_size + offsets).expand(len(probability), -1), probability * exists


def log_probability(probability: Tensor) -> Tensor:
    return torch.log(probability + PROBABILITY_FLOOR)


def top_of_vocabulary(outputs: Tensor, embedding: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The k largest logits o . E_v (B, k), their ids (B, k), and the log partition (B,), streamed over tiles of E."""
    if outputs.is_cuda:
        logits = outputs @ embedding.T
        return *logits.topk(k, 1), logits.logsumexp(1)
    tops, words, partitions = [], [], []
    for start in range(0, len(embedding), _VOCABULARY_TILE):
        logits = outputs @ embedding[start : start + _VOCABULARY_TILE].T  # (B, tile)
        top, index = logits.max(1, keepdim=True) if k == 1 else logits.topk(min(k, logits.size(1)), 1)
        tops.append(top)
        words.append(index + start)
        peak = top[:, :1]
        partitions.append(logits.sub_(peak).exp_().sum(1).log_() + peak.squeeze(1))
    top, index = torch.cat(tops, 1).topk(k, 1)
    return top, torch.cat(words, 1).gather(1, index), torch.stack(partitions, 1).logsumexp(1)

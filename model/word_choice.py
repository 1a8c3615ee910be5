"""A network's next-word distribution, evaluated only where a choice can fall.

The copy mixture differs from the plain softmax only at the source's words. So its best words are among the best
words of the softmax, the source's words, and a few extended ids of no source position; the distribution over the
extended vocabulary is never built.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.batches import SourceBatch
from model.copy_network import PROBABILITY_FLOOR, CopyNetwork, DecoderStep, extended_partition

_TILE = 2048  # logits of a batch for so many words stay in the processor's cache
IMPOSSIBLE = -PROBABILITY_FLOOR  # "probability" of a word that is listed twice: its logarithm is -inf
_SAFE_EXPONENT = 80.0  # exp neither overflows nor vanishes in float32


class SourceWords(NamedTuple):
    """The source's words as candidates, prepared once a batch."""

    ids: Tensor  # (B, S) extended ids
    slots: Tensor  # (B, S) the first position that holds the same word
    embedding: Tensor  # (B, S, E), zero outside the vocabulary
    outside: Tensor  # (B, S) True for extended ids
    spare: Tensor  # (B, k) the first extended ids that are not among the source's words
    n_extra: Tensor  # (B,)

    def select(self, rows: Tensor) -> SourceWords:
        return SourceWords(*(field[rows] for field in self))


class Candidates(NamedTuple):
    words: Tensor  # (R, C) extended ids
    probabilities: Tensor  # (R, C) of the mixture; `IMPOSSIBLE` for a word that another column has
    copied: Tensor  # (R, S) how much of it comes from copying, for the first S candidates: the source's words

    def share_copied(self, chosen: Tensor) -> Tensor:
        """chosen: (R, K) columns -> (R, K), how much of their probability comes from copying."""
        sources = self.copied.size(1)
        copied = self.copied.gather(1, chosen.clamp(max=sources - 1)) * (chosen < sources)
        return copied / self.probabilities.gather(1, chosen).clamp(min=PROBABILITY_FLOOR)


def source_words(network: CopyNetwork, source: SourceBatch, k: int) -> SourceWords:
    """For the choice of k words at a time."""
    extended = source.extended
    outside = extended >= network.vocab_size
    slots = (extended[:, :, None] == extended[:, None]).to(torch.uint8).argmax(2)
    embedding = network.embedding(extended.masked_fill(outside, 0)).masked_fill(outside[:, :, None], 0)
    spare = _unused(extended - network.vocab_size, k) + network.vocab_size
    return SourceWords(extended, slots, embedding, outside, spare, source.n_extra)


def _unused(numbers: Tensor, k: int) -> Tensor:
    """numbers: (B, S) -> (B, k), the smallest from 0 that are not in the row."""
    limit = numbers.size(1) + k
    used = torch.zeros(len(numbers), limit + 1, dtype=torch.uint8, device=numbers.device)
    used.scatter_(1, numbers.where((numbers >= 0) & (numbers < limit), limit), 1)
    return used[:, :limit].sort(dim=1, stable=True).indices[:, :k]


def candidates(network: CopyNetwork, step: DecoderStep, source: SourceWords, k: int) -> Candidates:
    """Words among which are the k most probable ones of the mixture, each once."""
    output = step.state.output  # (R, E)
    top, top_words, partition = top_of_vocabulary(output, network.embedding.weight, k)
    partition = extended_partition(partition, source.n_extra, network.extra_logit)[:, None]
    p_copy = torch.sigmoid(step.copy)[:, None]

    source_logits = torch.bmm(source.embedding, output[:, :, None]).squeeze(2)  # (R, S)
    source_logits = source_logits.masked_fill(source.outside, network.extra_logit)
    copied = torch.zeros_like(step.attention).scatter_add_(1, source.slots, step.attention).mul_(p_copy)
    from_source = (1 - p_copy) * torch.exp(source_logits - partition) + copied
    again = source.slots != torch.arange(source.slots.size(1), device=output.device)

    listed = (top_words[:, :, None] == source.ids[:, None]).any(2)  # among the source's words
    generated = (1 - p_copy) * torch.exp(top - partition)
    absent = source.spare >= network.vocab_size + source.n_extra[:, None]
    spared = ((1 - p_copy) * torch.exp(network.extra_logit - partition)).expand(absent.shape)

    words = torch.cat([source.ids, top_words, source.spare], 1)
    probabilities = torch.cat([from_source, generated, spared], 1)
    impossible = torch.cat([again, listed, absent], 1)
    return Candidates(words, probabilities.masked_fill(impossible, IMPOSSIBLE), copied)


def log_probability(probability: Tensor) -> Tensor:
    return torch.log(probability + PROBABILITY_FLOOR)


def top_of_vocabulary(outputs: Tensor, embedding: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The k largest logits o . E_v (R, k), their ids (R, k), and the log partition (R,)."""
    if outputs.is_cuda:
        return _top_of_all(outputs, embedding, k)
    tile = min(_TILE, len(embedding))
    logits = outputs.new_empty(len(outputs), tile)
    largest = outputs.new_full(logits.shape, float("-inf"))  # of words v, v + tile, v + 2 tile, ...
    total = torch.zeros_like(largest)  # of their exp
    for start in range(0, len(embedding), tile):
        rows = embedding[start : start + tile]
        now = torch.mm(outputs, rows.T, out=logits) if len(rows) == tile else outputs @ rows.T
        here = slice(len(rows))
        torch.maximum(largest[:, here], now, out=largest[:, here])
        total[:, here] += now.exp_()
    peaks = largest.amax(1).abs()
    if not bool((peaks < _SAFE_EXPONENT).all()):
        return _top_of_all(outputs, embedding, k)
    return *_top_of_classes(outputs, embedding, largest, k), total.sum(1).log()


def _top_of_classes(outputs: Tensor, embedding: Tensor, largest: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest logits are among those of the k classes (words that are equal modulo the tile) with the
    largest maxima; only these are multiplied again."""
    tile = largest.size(1)
    classes = largest.argmax(1, keepdim=True) if k == 1 else largest.topk(min(k, tile), 1).indices  # (R, k)
    members = torch.arange(0, len(embedding), tile)
    words = (classes[:, :, None] + members).flatten(1)  # (R, k * members)
    known = words < len(embedding)
    logits = torch.bmm(embedding[words.where(known, 0)], outputs[:, :, None]).squeeze(2)
    top, index = logits.masked_fill(~known, float("-inf")).topk(min(k, len(embedding)), 1)
    return top, words.gather(1, index)


def _top_of_all(outputs: Tensor, embedding: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    logits = outputs @ embedding.T
    return *logits.topk(min(k, len(embedding)), 1), logits.logsumexp(1)

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
from model.vocabulary_softmax import LOG2_E

_TILE, _ROWS = 2048, 512  # the logits of so many words and hypotheses stay in the processor's cache
IMPOSSIBLE = -PROBABILITY_FLOOR  # "probability" of a word that is listed twice: its logarithm is -inf
_SAFE_EXPONENT = 100.0  # a sum of exp2 neither overflows nor vanishes in float32


class SourceWords(NamedTuple):
    """The source's words as candidates, prepared once a batch."""

    ids: Tensor  # (B, S) extended ids
    slots: Tensor  # (B, S) the first position that holds the same word
    embedding: Tensor  # (B, S, E), zero outside the vocabulary
    outside: Tensor  # (B, S) True for extended ids
    spare: Tensor  # (B, k) the first extended ids that are not among the source's words
    n_extra: Tensor  # (B,)

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
    B = len(source.ids)

    def by_source(x: Tensor) -> Tensor:
        return x.view(B, -1, x.size(-1))  # (B, K, ...) the K decoders of each source

    output = step.state.output  # (R, E)
    top, top_words, partition = (by_source(x) for x in top_of_vocabulary(output, network.embedding.weight, k))
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


def top_of_vocabulary(outputs: Tensor, embedding: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The k largest logits o . E_v (R, k), their ids (R, k), and the log partition (R, 1)."""
    if outputs.is_cuda:
        return _top_of_all(outputs, embedding, k)
    blocks = [_top_by_tiles(block, embedding, k) for block in outputs.split(_ROWS)]
    return blocks[0] if len(blocks) == 1 else _joined(blocks)


def _joined(blocks: list[tuple[Tensor, Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    top, words, partition = zip(*blocks, strict=True)
    return torch.cat(top), torch.cat(words), torch.cat(partition)


def _top_by_tiles(outputs: Tensor, embedding: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The product one tile of words after the other; all logits are never there at once."""
    V = len(embedding)
    tile = -(-V // -(-V // _TILE) // 16) * 16  # tiles of nearly equal size, rows aligned to the cache's lines
    logits = outputs.new_empty(len(outputs), tile)
    largest = outputs.new_full(logits.shape, float("-inf"))  # of words v, v + tile, v + 2 tile, ...
    total = outputs.new_zeros(len(outputs))
    scaled = outputs * LOG2_E
    for start in range(0, V, tile):
        rows = embedding[start : start + tile]
        here = slice(len(rows))
        now = torch.mm(scaled, rows.T, out=logits[:, here])
        torch.maximum(largest[:, here], now, out=largest[:, here])
        total += now.exp2_().sum(1)
    if not bool((largest.amax(1).abs() < _SAFE_EXPONENT).all()):
        return _top_of_all(outputs, embedding, k)
    return *_top_of_classes(outputs, embedding, largest, k), total.log()[:, None]


def _top_of_classes(outputs: Tensor, embedding: Tensor, largest: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest logits are among those of the k classes (words that are equal modulo the tile) with the
    largest maxima; only these are multiplied again."""
    tile = largest.size(1)
    classes = largest.argmax(1, keepdim=True) if k == 1 else largest.topk(min(k, tile), 1).indices  # (R, k)
    members = torch.arange(0, len(embedding), tile)
    words = (classes[:, :, None] + members).flatten(1)  # (R, k * members)
    known = words < len(embedding)
    rows = F.embedding(words.where(known, 0), embedding)  # (R, k * members, E)
    logits = torch.bmm(outputs[:, None], rows.mT).squeeze(1)
    top, index = logits.masked_fill(~known, float("-inf")).topk(min(k, len(embedding)), 1)
    return top, words.gather(1, index)


def _top_of_all(outputs: Tensor, embedding: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    logits = outputs @ embedding.T
    return *logits.topk(min(k, len(embedding)), 1), logits.logsumexp(1, keepdim=True)

"""The best next words of a copy mixture, evaluated only where they can lie.

The copy mixture differs from the plain softmax only at the source's words. So its best words are among the best
words of the softmax, the source's words, and a few extended ids of no source position; the distribution over the
extended vocabulary is never built.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from model.batches import END, SourceBatch
from model.copy_network import IMPOSSIBLE, extended_partition, mixture
from model.kernels.vocabulary_top import VocabularyTop


class CandidateChoice:
    """P(w) = (1 - p_copy) softmax(o E^T)_w + p_copy (attention on w): the k words of the largest."""

    def __init__(self, embedding: Tensor, extra_logit: float) -> None:
        self.embedding, self.extra_logit, self.top = embedding, extra_logit, VocabularyTop(embedding)

    def among(self, source: SourceBatch, k: int) -> SourceCandidates:
        V, extended = len(self.embedding), source.extended
        outside = extended >= V
        known = F.embedding(extended.masked_fill(outside, 0), self.embedding).masked_fill(outside[:, :, None], 0)
        spare = _unused(extended - V, k) + V
        absent = spare >= V + source.n_extra[:, None]
        words = SourceWords(extended, _first_positions(extended), known, outside, spare, absent, source.n_extra)
        return SourceCandidates(words, self, k)


class SourceWords(NamedTuple):
    """The words of B sources as candidates, prepared once a batch."""

    ids: Tensor  # (B, S) extended ids
    first: Tensor  # (B, S) the first position that holds the same word
    embedding: Tensor  # (B, S, E), zero outside the vocabulary
    outside: Tensor  # (B, S) True for extended ids
    spare: Tensor  # (B, k) the first extended ids that are not among the source's words
    absent: Tensor  # (B, k) True where that row has fewer
    n_extra: Tensor  # (B,)


class SourceCandidates(NamedTuple):
    source: SourceWords
    choice: CandidateChoice
    k: int

    def select(self, rows: Tensor) -> SourceCandidates:
        return self._replace(source=SourceWords(*(field.index_select(0, rows) for field in self.source)))

    def __call__(self, o: Tensor, p_copy: Tensor, attention: Tensor, end: bool = True) -> tuple[Tensor, Tensor, Tensor]:
        """The k best of all candidates, each of which is considered once."""
        words, probabilities, copied = self.candidates(o, p_copy, attention)
        if not end:
            probabilities.masked_fill_(words == END, IMPOSSIBLE)
        if self.k == 1:
            best, column = probabilities.max(1, keepdim=True)
        else:
            best, column = probabilities.topk(self.k, 1)
        sources = copied.size(1)
        by_copying = copied.gather(1, column.clamp(max=sources - 1)) * (column < sources)
        return words.gather(1, column), best, by_copying

    def candidates(self, o: Tensor, p_copy: Tensor, attention: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """-> words (R, C), the source's first; their probabilities (R, C), `IMPOSSIBLE` for a word that another column
        has; and what of it comes from copying, of the source's words (R, S)."""
        source, extra_logit = self.source, self.choice.extra_logit

        def by_source(x: Tensor) -> Tensor:
            return x.view(len(source.ids), -1, x.size(-1))  # (B, K, ...) the K decoders of each source

        o_by_source, p_copy, attention = by_source(o), by_source(p_copy[:, None]), by_source(attention)
        top, top_words, partition = (by_source(x) for x in self.choice.top(o, self.k))
        partition = extended_partition(partition, source.n_extra[:, None, None], extra_logit)  # (B, K, 1)

        logits = torch.bmm(o_by_source, source.embedding.mT)  # (B, K, S)
        logits.masked_fill_(source.outside[:, None], extra_logit)
        seen = torch.zeros_like(attention).scatter_add_(2, source.first[:, None].expand(attention.shape), attention)
        from_source = mixture(p_copy, torch.exp(logits - partition), seen)
        again = source.first != torch.arange(source.first.size(1))  # (B, S)

        listed = (top_words[..., None] == source.ids[:, None, None]).any(3)  # (B, K, k) among the source's words
        generated = (1 - p_copy) * torch.exp(top - partition)
        spared = (1 - p_copy) * torch.exp(extra_logit - partition)  # (B, K, 1)

        def joined(*parts: Tensor) -> Tensor:
            """(B, n) or (B, K, n) each -> (R, all of n)"""
            wide = [part if part.dim() == 3 else part[:, None] for part in parts]
            return torch.cat([part.expand(-1, attention.size(1), -1) for part in wide], 2).flatten(0, 1)

        words = joined(source.ids, top_words, source.spare)
        probabilities = joined(from_source, generated, spared.expand(-1, -1, source.spare.size(1)))
        probabilities.masked_fill_(joined(again, listed, source.absent), IMPOSSIBLE)
        return words, probabilities, (p_copy * seen).flatten(0, 1)


def _first_positions(ids: Tensor) -> Tensor:
    """(B, S) -> (B, S), the first position of the same id in the row."""
    ordered, positions = ids.sort(dim=1, stable=True)
    begins = F.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)
    first = torch.arange(ids.size(1)).where(begins, 0).cummax(1).values
    return torch.empty_like(ids).scatter_(1, positions, positions.gather(1, first))


def _unused(numbers: Tensor, k: int) -> Tensor:
    """numbers: (B, S) -> (B, k), the smallest from 0 that are not in the row."""
    limit = numbers.size(1) + k
    used = torch.zeros(len(numbers), limit + 1, dtype=torch.uint8)
    used.scatter_(1, numbers.where((numbers >= 0) & (numbers < limit), limit), 1)
    return used[:, :limit].sort(dim=1, stable=True).indices[:, :k]

"""The most probable next words of the copy mixture, which is all that a search asks of a step."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.batches import END, SourceBatch, mask_of
from model.copy_network import IMPOSSIBLE, mixture
from model.kernels import on_cpu
from model.kernels.candidates import CandidateChoice


@on_cpu(CandidateChoice)
class WordChoice:
    """Made once for a frozen matrix (V, E); then once a batch, and called for every step."""

    def __init__(self, embedding: Tensor, extra_logit: float) -> None:
        self.embedding, self.extra_logit = embedding, extra_logit

    def among(self, source: SourceBatch, k: int) -> ExtendedVocabulary:
        widest = max(k, int(source.n_extra.max()))  # so that there are k words to choose from
        exists = mask_of(source.n_extra, widest).to(self.embedding.device)  # (B, X - V)
        logits = self.embedding.new_full(exists.shape, self.extra_logit).masked_fill_(~exists, float("-inf"))
        return ExtendedVocabulary(source.extended, logits, ~exists, self.embedding, k)


class ExtendedVocabulary(NamedTuple):
    """V words and, for each of B sources, those words of the batch's sources that lie outside the vocabulary."""

    ids: Tensor  # (B, S) the sources' words
    extra_logits: Tensor  # (B, X - V)
    absent: Tensor  # (B, X - V) True for numbers that the source does not use
    embedding: Tensor  # (V, E)
    k: int

    def select(self, rows: Tensor) -> ExtendedVocabulary:
        ids, extra_logits, absent = (field.index_select(0, rows) for field in self[:3])
        return self._replace(ids=ids, extra_logits=extra_logits, absent=absent)

    def __call__(self, o: Tensor, p_copy: Tensor, attention: Tensor, end: bool = True) -> tuple[Tensor, Tensor, Tensor]:
        """o: (R, E), p_copy: (R,), attention: (R, S) of R = B * K decoders; without `end`, END is not considered
        -> the k best words (R, k), their probabilities, and how much of these comes from copying."""
        probabilities, copied = self.distribution(o, p_copy, attention)
        if not end:
            probabilities[:, END] = IMPOSSIBLE
        if self.k == 1:
            best, words = probabilities.max(1, keepdim=True)
        else:
            best, words = probabilities.topk(self.k, 1)
        return words, best, p_copy[:, None] * copied.gather(1, words)

    def distribution(self, o: Tensor, p_copy: Tensor, attention: Tensor) -> tuple[Tensor, Tensor]:
        """P(w) of the extended vocabulary, `IMPOSSIBLE` where absent, and the attention on w: (R, X) both."""
        B, K = len(self.ids), len(o) // len(self.ids)
        ids, extra_logits, absent = (field[:, None].expand(-1, K, -1) for field in self[:3])  # (B, K, ...)
        logits = torch.cat([(o @ self.embedding.T).unflatten(0, (B, K)), extra_logits], 2)  # (B, K, X)
        copied = torch.zeros_like(logits).scatter_add_(2, ids, attention.unflatten(0, (B, K)))
        probabilities = mixture(p_copy.view(B, K, 1), logits.softmax(2), copied)
        probabilities[:, :, len(self.embedding) :].masked_fill_(absent, IMPOSSIBLE)
        return probabilities.flatten(0, 1), copied.flatten(0, 1)

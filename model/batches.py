"""What the networks read: typed batches of padded word ids.  Batch first; PAD = 0 fills; masks are True where real.

Lengths and counts stay on the CPU wherever the words go: they shape the work, and nobody has to wait for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

PAD, UNK, START, END = range(4)


class ArticleBatch(NamedTuple):
    """B articles as one flat list of their M sentences, in order.

    A sentence's code depends on its article's longest sentence, because the convolution's max also sees padding
    up to there; `widths` says how far.
    """

    words: Tensor  # (M, W) ids, right-padded
    lengths: Tensor  # (M,) words in each sentence, on the CPU
    widths: Tensor  # (M,) words in the longest sentence of the same article, at least MIN_WIDTH
    counts: Tensor  # (B,) sentences in each article, at least 1, on the CPU

    def to(self, device: torch.device) -> ArticleBatch:
        words, widths = (field.to(device, non_blocking=True) for field in (self.words, self.widths))
        return self._replace(words=words, widths=widths)


class ExtractionBatch(NamedTuple):
    """Articles with their proxy labels (Eq. 6)."""

    articles: ArticleBatch
    targets: Tensor  # (B, T) index of the t-th extracted sentence, -1 after the last, on the CPU

    def to(self, device: torch.device) -> ExtractionBatch:
        return self._replace(articles=self.articles.to(device))


class SourceBatch(NamedTuple):
    """B sentences to rewrite.  Extended ids number words outside the vocabulary from V upwards."""

    words: Tensor  # (B, S) ids, UNK outside the vocabulary
    extended: Tensor  # (B, S) ids in the extended vocabulary
    lengths: Tensor  # (B,) at least 1, on the CPU
    n_extra: Tensor  # (B,) extended ids that exist for this row, X - V, on the CPU

    def to(self, device: torch.device) -> SourceBatch:
        words, extended = (field.to(device, non_blocking=True) for field in (self.words, self.extended))
        return self._replace(words=words, extended=extended)


class RewritingBatch(NamedTuple):
    """Sentence pairs for the abstractor (Sec. 3.1), rows sorted by target length, longest first."""

    source: SourceBatch
    inputs: Tensor  # (B, T) START and the target's words, UNK outside the vocabulary
    targets: Tensor  # (B, T) the target's words in the extended vocabulary, then END; PAD after
    lengths: Tensor  # (B,) target steps, END included, on the CPU

    def to(self, device: torch.device) -> RewritingBatch:
        inputs, targets = (field.to(device, non_blocking=True) for field in (self.inputs, self.targets))
        return RewritingBatch(self.source.to(device), inputs, targets, self.lengths)


def in_one_transfer(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors on the CPU, for which their device is waited for once; their numbers must fit float64."""
    moved = torch.cat([tensor.flatten().double() for tensor in tensors]).cpu()
    parts = zip(moved.split([tensor.numel() for tensor in tensors]), tensors, strict=True)
    return [part.view(tensor.shape).to(tensor.dtype) for part, tensor in parts]


def mask_of(lengths: Tensor, size: int | None = None) -> Tensor:
    """(B,) lengths -> (B, size) bool, True where real."""
    size = int(lengths.max()) if size is None else size
    return torch.arange(size, device=lengths.device) < lengths[:, None]

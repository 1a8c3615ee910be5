"""What the networks read: typed batches of padded word ids.  Batch first; PAD = 0 fills; masks are True where real."""

from __future__ import annotations

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
    lengths: Tensor  # (M,) words in each sentence
    widths: Tensor  # (M,) words in the longest sentence of the same article, at least MIN_WIDTH
    counts: Tensor  # (B,) sentences in each article, at least 1

    def to(self, device: torch.device) -> ArticleBatch:
        return ArticleBatch(*(field.to(device, non_blocking=True) for field in self))


class ExtractionBatch(NamedTuple):
    """Articles with their proxy labels (Eq. 6)."""

    articles: ArticleBatch
    targets: Tensor  # (B, T) index of the t-th extracted sentence, -1 after the last

    def to(self, device: torch.device) -> ExtractionBatch:
        return ExtractionBatch(self.articles.to(device), self.targets.to(device, non_blocking=True))


class SourceBatch(NamedTuple):
    """B sentences to rewrite.  Extended ids number words outside the vocabulary from V upwards."""

    words: Tensor  # (B, S) ids, UNK outside the vocabulary
    extended: Tensor  # (B, S) ids in the extended vocabulary
    lengths: Tensor  # (B,) at least 1
    n_extra: Tensor  # (B,) extended ids that exist for this row, X - V

    def to(self, device: torch.device) -> SourceBatch:
        return SourceBatch(*(field.to(device, non_blocking=True) for field in self))


class RewritingBatch(NamedTuple):
    """Sentence pairs for the abstractor (Sec. 3.1), rows sorted by target length, longest first."""

    source: SourceBatch
    inputs: Tensor  # (B, T) START and the target's words, UNK outside the vocabulary
    targets: Tensor  # (B, T) the target's words in the extended vocabulary, then END; PAD after
    lengths: Tensor  # (B,) target steps, END included

    def to(self, device: torch.device) -> RewritingBatch:
        rest = (field.to(device, non_blocking=True) for field in self[1:])
        return RewritingBatch(self.source.to(device), *rest)


def take(field: Tensor, rows: Tensor | slice) -> Tensor:
    """Rows of a tensor; several times faster than indexing with a tensor on a CPU."""
    return field[rows] if isinstance(rows, slice) else field.index_select(0, rows)


def mask_of(lengths: Tensor, size: int | None = None) -> Tensor:
    """(B,) lengths -> (B, size) bool, True where real."""
    size = int(lengths.max()) if size is None else size
    return torch.arange(size, device=lengths.device) < lengths[:, None]

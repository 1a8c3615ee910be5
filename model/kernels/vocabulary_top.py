"""The best words of a softmax over a large vocabulary and its partition, which is all that a search needs of it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from model.kernels.tied_softmax import LOG2_E

_TILE, _ROWS = 2048, 256  # the logits of so many words and hypotheses stay in the processor's cache
_SAFE_EXPONENT = 100.0  # a sum of exp2 neither overflows nor vanishes in float32

Top = tuple[Tensor, Tensor, Tensor]  # the k largest logits o . E_v (R, k), their ids (R, k), the log partition (R, 1)


class VocabularyTop:
    """Made once for a frozen matrix (V, E), which is multiplied faster with columns that lie together."""

    def __init__(self, embedding: Tensor) -> None:
        V = len(embedding)
        self.embedding = embedding
        self.width = -(-V // -(-V // _TILE) // 16) * 16  # tiles of nearly equal size, rows aligned to cache lines
        self._tiles = [tile.T.contiguous() for tile in embedding.split(self.width)]

    def __call__(self, outputs: Tensor, k: int) -> Top:
        """outputs: (R, E)"""
        blocks = [self._by_tiles(block, k) for block in outputs.split(_ROWS)]
        return blocks[0] if len(blocks) == 1 else _joined(blocks)

    def _of_all(self, outputs: Tensor, k: int) -> Top:
        logits = outputs @ self.embedding.T
        return *logits.topk(min(k, len(self.embedding)), 1), logits.logsumexp(1, keepdim=True)

    def _by_tiles(self, outputs: Tensor, k: int) -> Top:
        """The product one tile of words after the other; all logits are never there at once."""
        logits = outputs.new_empty(len(outputs), self.width)
        largest = outputs.new_full(logits.shape, float("-inf"))  # of words v, v + width, v + 2 width, ...
        total = outputs.new_zeros(len(outputs))
        scaled = outputs * LOG2_E
        for tile in self._tiles:
            here = slice(tile.size(1))
            now = torch.mm(scaled, tile, out=logits[:, here])
            torch.maximum(largest[:, here], now, out=largest[:, here])
            total += now.exp2_().sum(1)
        if not bool((largest.amax(1).abs() < _SAFE_EXPONENT).all()):
            return self._of_all(outputs, k)
        return *self._top_of_classes(outputs, largest, k), total.log()[:, None]

    def _top_of_classes(self, outputs: Tensor, largest: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k largest logits are among those of the k classes (words that are equal modulo the width) with the
        largest maxima; only these are multiplied again."""
        V = len(self.embedding)
        classes = largest.argmax(1, keepdim=True) if k == 1 else largest.topk(min(k, self.width), 1).indices  # (R, k)
        words = (classes[:, :, None] + torch.arange(0, V, self.width)).flatten(1)  # (R, k * members)
        known = words < V
        rows = F.embedding(words.where(known, 0), self.embedding)  # (R, k * members, E)
        logits = torch.bmm(outputs[:, None], rows.mT).squeeze(1)
        top, index = logits.masked_fill(~known, float("-inf")).topk(min(k, V), 1)
        return top, words.gather(1, index)


def _joined(blocks: list[Top]) -> Top:
    top, words, partition = zip(*blocks, strict=True)
    return torch.cat(top), torch.cat(words), torch.cat(partition)

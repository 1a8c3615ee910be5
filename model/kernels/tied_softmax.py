"""The embedding matrix as input and as softmax over a large vocabulary, as far as a loss needs it.

The (R, V) distribution is never built: the loss needs the log partition and the targets' logits. The product is done
tile by tile, so that it stays in the processor's cache, and the matrix gets one gradient for all of its uses.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

LOG2_E = 1.4426950408889634  # e^x = 2^(x LOG2_E); exp2 takes half the time of exp
_TILE = 896  # words whose logits stay in the cache; columns of rows of 4,096 bytes would compete for places there
_SAFE = 2.0**100  # between its inverse and it, sums of exponentials are exact enough in float32


def look_up_together(embedding: Tensor, *words: Tensor) -> tuple[Tensor, ...]:
    """The matrix itself, for the softmax, and E_w for every word w of each of `words`."""
    embedding, rows = _LookUp.apply(embedding, torch.cat([ids.flatten() for ids in words]))
    parts = rows.split([ids.numel() for ids in words])
    return embedding, *(part.unflatten(0, ids.shape) for part, ids in zip(parts, words, strict=True))


def tiled_log_partition_and_logit(outputs: Tensor, embedding: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """log sum_v exp(o . E_v) and o . E_target, both (R,)."""
    return _LogPartitionAndLogit.apply(outputs, embedding, targets)


class _LookUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, embedding, ids):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(ids)
        return embedding.view_as(embedding), embedding.index_select(0, ids)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_embedding, grad_rows):  # type: ignore[no-untyped-def]
        (ids,) = ctx.saved_tensors
        return grad_embedding.index_add(0, ids, grad_rows), None


class _LogPartitionAndLogit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, outputs, embedding, targets):  # type: ignore[no-untyped-def]
        logit = (outputs * embedding.index_select(0, targets)).sum(1)
        shift, tiles, total = _exponentials(outputs, embedding)
        ctx.save_for_backward(outputs, embedding, targets, total, *tiles)
        return shift + total.log(), logit

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_partition, grad_logit):  # type: ignore[no-untyped-def]
        outputs, embedding, targets, total, *tiles = ctx.saved_tensors
        scale = (grad_partition / total)[:, None]
        scaled = outputs * scale
        grad_outputs, grad_embedding = torch.zeros_like(outputs), torch.empty_like(embedding)
        width = tiles[0].size(1)
        for exponentials, words, grad_words in zip(
            tiles, embedding.split(width), grad_embedding.split(width), strict=True
        ):
            grad_outputs.addmm_(exponentials, words)
            torch.mm(exponentials.T, scaled, out=grad_words)
        grad_outputs.mul_(scale).addcmul_(embedding.index_select(0, targets), grad_logit[:, None])
        grad_embedding.index_add_(0, targets, outputs * grad_logit[:, None])
        return grad_outputs, grad_embedding, None


def _exponentials(outputs: Tensor, embedding: Tensor) -> tuple[Tensor, list[Tensor], Tensor]:
    """A shift (R,), exp(o . E_v - shift) as tiles of (R, words), and their sum (R,)."""
    scaled, total, tiles = outputs * LOG2_E, outputs.new_zeros(len(outputs)), []
    for words in embedding.split(_TILE):
        tiles.append((scaled @ words.T).exp2_())
        total += tiles[-1].sum(1)
    if bool(((total > 1 / _SAFE) & (total < _SAFE)).all()):
        return torch.zeros_like(total), tiles, total
    weights = outputs @ embedding.T
    top = weights.amax(1)
    weights.sub_(top[:, None]).exp_()
    return top, [weights], weights.sum(1)

"""Additive attention over sources of hundreds of words: one decoder at a time, so that its (S, A) numbers stay in the
processor's cache, and none of them is kept for the backward pass.

v . tanh(x) = 2 v . sigmoid(2x) - sum(v); the softmax ignores the last term, and the sigmoid is several times faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from model.pointer_generator import DocumentMemory


def attention_by_row(
    queries: Tensor, memory: DocumentMemory, coverage: Tensor, v: Tensor, w_c: Tensor | None
) -> tuple[Tensor, Tensor]:
    """softmax over i of v . tanh(k_i + q_t (+ w_c c_i)) -> weights (R, S), and the context sum_i a_i h_i (R, M)"""
    return _Attention.apply(queries, *memory, coverage, v, w_c)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, queries, keys, values, padding, coverage, v, w_c):  # type: ignore[no-untyped-def]
        weights, context = attention_forward(queries, keys, values, padding, coverage, v, w_c)
        ctx.save_for_backward(queries, keys, values, coverage, v, w_c, weights)
        return weights, context

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_weights, grad_context):  # type: ignore[no-untyped-def]
        queries, keys, values, coverage, v, w_c, weights = ctx.saved_tensors
        sums = AttentionSums.zeros(keys, values, v, w_c)
        grads = attention_backward(queries, keys, values, coverage, v, w_c, weights, grad_weights, grad_context, sums)
        return grads[0], sums.keys, sums.values, None, grads[1], sums.v, sums.w_c


class AttentionSums(NamedTuple):
    """Gradients of what all rows and steps share, added up in place."""

    keys: Tensor
    values: Tensor
    v: Tensor
    w_c: Tensor | None

    @classmethod
    def zeros(cls, keys: Tensor, values: Tensor, v: Tensor, w_c: Tensor | None) -> AttentionSums:
        rest = None if w_c is None else torch.zeros_like(w_c)
        return cls(torch.zeros_like(keys), torch.zeros_like(values), torch.zeros_like(v), rest)


def attention_forward(
    queries: Tensor, keys: Tensor, values: Tensor, padding: Tensor, coverage: Tensor, v: Tensor, w_c: Tensor | None
) -> tuple[Tensor, Tensor]:
    """-> weights (R, S), context (R, M)"""
    owners = _owners(queries, keys)
    weights, hidden = padding.repeat_interleave(len(queries) // len(keys), 0), torch.empty_like(keys[0])
    doubled, doubled_v, doubled_w_c = 2 * queries, 2 * v, None if w_c is None else 2 * w_c
    for row, owner in enumerate(owners):
        _sigmoid_(hidden, keys[owner], doubled[row], coverage[row], doubled_w_c)
        weights[row].addmv_(hidden, doubled_v)
    weights = weights.softmax(1)
    context = values.new_empty(len(queries), values.size(2))
    for row, owner in enumerate(owners):
        torch.mv(values[owner].T, weights[row], out=context[row])
    return weights, context


def attention_backward(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    coverage: Tensor,
    v: Tensor,
    w_c: Tensor | None,
    weights: Tensor,
    grad_weights: Tensor,
    grad_context: Tensor,
    sums: AttentionSums,
) -> tuple[Tensor, Tensor | None]:
    """-> gradients of queries and coverage; the others are added to `sums`."""
    owners = _owners(queries, keys)
    grad = grad_weights.clone()
    for row, owner in enumerate(owners):
        grad[row].addmv_(values[owner], grad_context[row])
        sums.values[owner].addr_(weights[row], grad_context[row])
    grad = weights * (grad - (weights * grad).sum(1, keepdim=True))  # (R, S) of the scores
    grad_queries, grad_coverage = torch.empty_like(queries), None if w_c is None else torch.empty_like(coverage)
    hidden, slope = torch.empty_like(keys[0]), torch.empty_like(keys[0])
    doubled, doubled_w_c = 2 * queries, None if w_c is None else 2 * w_c
    for row, owner in enumerate(owners):
        _sigmoid_(hidden, keys[owner], doubled[row], coverage[row], doubled_w_c)
        sums.v.addmv_(hidden.T, grad[row], alpha=2)
        torch.addcmul(hidden, hidden, hidden, value=-1, out=slope).mul_(4 * v)  # d (v . tanh(x)) / dx
        torch.mv(slope.T, grad[row], out=grad_queries[row])
        sums.keys[owner].addcmul_(slope, grad[row, :, None])
        if w_c is not None and grad_coverage is not None and sums.w_c is not None:
            torch.mv(slope, w_c, out=grad_coverage[row]).mul_(grad[row])
            sums.w_c.addmv_(slope.T, grad[row] * coverage[row])
    return grad_queries, grad_coverage


def _owners(queries: Tensor, keys: Tensor) -> list[int]:
    """Of each of R queries, which of B sources it asks."""
    return [row * len(keys) // len(queries) for row in range(len(queries))]


def _sigmoid_(out: Tensor, keys: Tensor, doubled: Tensor, coverage: Tensor, doubled_w_c: Tensor | None) -> None:
    torch.add(doubled, keys, alpha=2, out=out)
    if doubled_w_c is not None:
        out.addr_(coverage, doubled_w_c)
    out.sigmoid_()

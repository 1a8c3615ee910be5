"""The attention of See et al. (2017): additive, with an optional coverage vector, over sources of hundreds of words.

Every score is v . tanh(x) = 2 v . sigmoid(2x) - sum(v); the softmax ignores the last term, and a CPU computes the
sigmoid several times faster than tanh. So keys, queries and coverage weights are doubled where they are made.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from model.attention import xavier
from model.batches import mask_of, take
from model.rnn import small_uniform
from model.step_gradients import hand_on


class AttentionMemory(NamedTuple):
    """B encoded sources."""

    keys: Tensor  # (B, S, A) 2 (W_h h_i + b_attn)
    values: Tensor  # (B, S, M) h_i
    padding: Tensor  # (B, S) 0 where real, -inf where padded
    gradients: _Gradients

    def select(self, rows: Tensor | slice) -> AttentionMemory:
        keys, values, padding = (take(field, rows) for field in self[:3])
        return AttentionMemory(keys, values, padding, self.gradients)


class CoverageAttention(nn.Module):
    """softmax over i of v . tanh(W_h h_i + W_s s_t + w_c c_i + b_attn); w_c only with coverage."""

    def __init__(self, memory_size: int, query_size: int, coverage: bool) -> None:
        super().__init__()
        self.key_weight = xavier(memory_size, memory_size)  # W_h
        self.query_weight = xavier(query_size, memory_size)  # W_s
        self.bias = nn.Parameter(torch.zeros(memory_size))
        self.v = small_uniform(memory_size)
        self.coverage_weight = small_uniform(memory_size) if coverage else None  # w_c

    def remember(self, outputs: Tensor, lengths: Tensor) -> AttentionMemory:
        """outputs: (B, S, M)"""
        keys = 2 * (outputs @ self.key_weight + self.bias)
        gradients = _Gradients(keys, outputs)
        keys, outputs = hand_on(gradients.take, keys, outputs)
        padding = torch.zeros_like(keys[:, :, 0]).masked_fill_(~mask_of(lengths, keys.size(1)), float("-inf"))
        return AttentionMemory(keys, outputs, padding, gradients)

    def forward(self, memory: AttentionMemory, query: Tensor, coverage: Tensor) -> tuple[Tensor, Tensor]:
        """query: (R, H), coverage: (R, S), R = B * K decoders -> weights (R, S), context (R, M)."""
        query = 2 * (query @ self.query_weight)
        w_c = None if self.coverage_weight is None else 2 * self.coverage_weight
        attend = _attend if query.device.type == "cpu" else _attend_by_torch
        return attend(memory, query, 2 * self.v, None if w_c is None else coverage, w_c)


def _attend_by_torch(
    memory: AttentionMemory, query: Tensor, v: Tensor, coverage: Tensor | None, w_c: Tensor | None
) -> tuple[Tensor, Tensor]:
    B = len(memory.keys)
    hidden = memory.keys[:, None] + query.view(B, -1, 1, query.size(1))  # (B, K, S, A)
    if coverage is not None and w_c is not None:
        hidden = hidden + coverage.view(B, -1, coverage.size(1), 1) * w_c
    weights = (torch.sigmoid(hidden) @ v + memory.padding[:, None]).softmax(2)  # (B, K, S)
    return weights.flatten(0, 1), torch.bmm(weights, memory.values).flatten(0, 1)


def _attend(
    memory: AttentionMemory, query: Tensor, v: Tensor, coverage: Tensor | None, w_c: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The same for CPUs: one decoder at a time, so that its (S, A) numbers stay in the cache and none is kept."""
    return _Attend.apply(memory.keys, memory.values, query, v, coverage, w_c, memory.padding, memory.gradients)


class _Gradients:
    """Where all steps of a backward pass add up the gradients of keys and values, in place.

    Autograd alone would make and add two tensors as large as the memory at every step.
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self.of = keys.detach(), values.detach()
        self._sums: tuple[Tensor, Tensor] | None = None

    def sums(self) -> tuple[Tensor, Tensor]:
        if self._sums is None:
            self._sums = torch.zeros_like(self.of[0]), torch.zeros_like(self.of[1])
        return self._sums

    def take(self, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        """Once; what is given, where autograd has added up (`_attend_by_torch`)."""
        sums, self._sums = self._sums, None
        return sums or given


class _Attend(torch.autograd.Function):
    """The sigmoids are computed again in the backward pass."""

    @staticmethod
    def forward(ctx, keys, values, query, v, coverage, w_c, padding, gradients):  # type: ignore[no-untyped-def]
        owners = [row * len(keys) // len(query) for row in range(len(query))]
        weights, hidden = padding.repeat_interleave(len(query) // len(keys), 0), torch.empty_like(keys[0])
        for row, source in enumerate(owners):
            _sigmoid_(hidden, keys[source], query[row], coverage, w_c, row)
            weights[row].addmv_(hidden, v)
        weights = weights.softmax(1)
        context = values.new_empty(len(query), values.size(2))
        for row, source in enumerate(owners):
            torch.mv(values[source].T, weights[row], out=context[row])
        ctx.save_for_backward(keys, values, query, v, coverage, w_c, weights)
        ctx.owners, ctx.gradients = owners, gradients
        return weights, context

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_weights, grad_context):  # type: ignore[no-untyped-def]
        keys, values, query, v, coverage, w_c, weights = ctx.saved_tensors
        sum_keys, sum_values = ctx.gradients.sums()
        grad = grad_weights.clone()
        for row, source in enumerate(ctx.owners):
            grad[row].addmv_(values[source], grad_context[row])
            sum_values[source].addr_(weights[row], grad_context[row])
        grad = weights * (grad - (weights * grad).sum(1, keepdim=True))  # (R, S) of the scores
        grad_v, grad_query = torch.zeros_like(v), torch.empty_like(query)
        grad_coverage = None if coverage is None else torch.empty_like(coverage)
        grad_w_c = None if w_c is None else torch.zeros_like(w_c)
        hidden = torch.empty_like(keys[0])
        slope = torch.empty_like(hidden)
        for row, source in enumerate(ctx.owners):
            _sigmoid_(hidden, keys[source], query[row], coverage, w_c, row)
            grad_v.addmv_(hidden.T, grad[row])
            torch.addcmul(hidden, hidden, hidden, value=-1, out=slope).mul_(v)  # d (v . sigmoid(x)) / dx
            torch.mv(slope.T, grad[row], out=grad_query[row])
            sum_keys[source].addcmul_(slope, grad[row, :, None])
            if grad_coverage is not None and grad_w_c is not None:
                torch.mv(slope, w_c, out=grad_coverage[row]).mul_(grad[row])
                grad_w_c.addmv_(slope.T, grad[row] * coverage[row])
        return None, None, grad_query, grad_v, grad_coverage, grad_w_c, None, None


def _sigmoid_(out: Tensor, keys: Tensor, query: Tensor, coverage: Tensor | None, w_c: Tensor | None, row: int) -> None:
    torch.add(keys, query, out=out)
    if coverage is not None and w_c is not None:
        out.addr_(coverage[row], w_c)
    out.sigmoid_()

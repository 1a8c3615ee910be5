"""What every step of a recurrence uses: weights to multiply with, a memory to attend to.

Autograd would make a gradient of the whole weight or memory at every step, and add them up. On a CPU, the steps only
put away what they multiplied, and the gradient is one product over all of them. One object serves one pass.
Whatever the way of adding up, `hand_on` is what calls for the sum when the last step's backward is done.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from model.attention import attend
from model.batches import take
from model.lstm_cell import lstm_cell

Cell = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]  # inputs, h, c -> h, c
Gradients = Callable[..., tuple[Tensor | None, ...]]
_Steps = list[tuple[Tensor, ...]]


class StepLinear:
    """x W^T + b"""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._steps: _Steps | None = None
        self.weight, self.bias = weight, bias
        if _deferred(weight):
            steps: _Steps = []
            biases = () if bias is None else (bias,)
            self.weight, *biased = hand_on(lambda *given: _weight_gradients(steps)[: len(given)], weight, *biases)
            self.bias = biased[0] if biased else None
            self._steps = steps

    def __call__(self, inputs: Tensor) -> Tensor:
        if self._steps is None:
            return F.linear(inputs, self.weight, self.bias)
        return _Linear.apply(inputs, self.weight, self.bias, self._steps)


class StepAttention:
    """Attention over keys (B, S, H) that are the values too; `select` gives one for some of the rows."""

    def __init__(self, keys: Tensor, padding: Tensor) -> None:
        self._steps: _Steps | None = None
        self.keys, self.padding = keys, padding
        if _deferred(keys):
            steps: _Steps = []
            shape = keys.shape
            (self.keys,) = hand_on(lambda _: (_keys_gradient(steps, shape),), keys)
            self._steps = steps

    def __call__(self, queries: Tensor) -> tuple[Tensor, Tensor]:
        """(B * K, H) -> weights (B * K, S), context (B * K, H)"""
        if self._steps is None:
            return attend(self.keys, queries, self.padding)
        return _Attend.apply(queries, self.keys, self.padding, self._steps)

    def select(self, rows: Tensor | slice) -> StepAttention:
        chosen = StepAttention.__new__(StepAttention)
        chosen.keys, chosen.padding, chosen._steps = take(self.keys, rows), take(self.padding, rows), self._steps
        return chosen


def step_cell(cell: nn.LSTMCell) -> Cell:
    """The LSTM cell as a function of inputs, h and c."""
    if cell.weight_ih.device.type != "cpu":
        return lambda inputs, h, c: cell(inputs, (h, c))
    gates = StepLinear(torch.cat([cell.weight_ih, cell.weight_hh], 1), cell.bias_ih + cell.bias_hh)
    return lambda inputs, h, c: lstm_cell(gates(torch.cat([inputs, h], 1)), c)


def _deferred(shared: Tensor) -> bool:
    return shared.device.type == "cpu" and shared.requires_grad and torch.is_grad_enabled()


def hand_on(gradients: Gradients, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The same tensors; `gradients` is asked for theirs after the backward of all that used them. It is given what
    autograd has added up itself, None where nothing."""
    return _HandOn.apply(gradients, *tensors)


class _HandOn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gradients, *tensors):  # type: ignore[no-untyped-def]
        ctx.gradients = gradients
        ctx.set_materialize_grads(False)
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    @once_differentiable
    def backward(ctx, *given):  # type: ignore[no-untyped-def]
        return None, *ctx.gradients(*given)


def _weight_gradients(steps: _Steps) -> tuple[Tensor, Tensor]:
    """Of weight and bias."""
    inputs, grads = (torch.cat(parts) for parts in zip(*steps, strict=True))
    steps.clear()
    return grads.T @ inputs, grads.sum(0)


def _keys_gradient(steps: _Steps, shape: torch.Size) -> Tensor:
    """The sum over steps of scores' gradient x query and weights x context's gradient, as one product."""
    B, S, H = shape
    left = steps[0][0].new_zeros(2 * len(steps), B, S)
    right = left.new_zeros(2 * len(steps), B, H)
    for t, (grad_scores, queries, weights, grad_context) in enumerate(steps):
        rows = len(queries)
        left[2 * t, :rows], left[2 * t + 1, :rows] = grad_scores, weights
        right[2 * t, :rows], right[2 * t + 1, :rows] = queries, grad_context
    steps.clear()
    return torch.bmm(left.permute(1, 2, 0), right.transpose(0, 1))


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, weight, bias, steps):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(inputs, weight)
        ctx.steps = steps
        return F.linear(inputs, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        inputs, weight = ctx.saved_tensors
        ctx.steps.append((inputs, grad))
        return grad @ weight, None, None, None


class _Attend(torch.autograd.Function):
    """One query for each of the first rows of the keys."""

    @staticmethod
    def forward(ctx, queries, keys, padding, steps):  # type: ignore[no-untyped-def]
        weights, context = attend(keys, queries, padding)
        ctx.save_for_backward(queries, keys, weights)
        ctx.steps = steps
        return weights, context

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_weights, grad_context):  # type: ignore[no-untyped-def]
        queries, keys, weights = ctx.saved_tensors
        grad = torch.baddbmm(grad_weights[:, None], grad_context[:, None], keys.mT).squeeze(1)
        grad = weights * (grad - (weights * grad).sum(1, keepdim=True))  # (B, S), of the scores
        ctx.steps.append((grad, queries, weights, grad_context))
        return torch.bmm(grad[:, None], keys).squeeze(1), None, None, None

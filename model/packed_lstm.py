"""An LSTM layer over sequences of different lengths for CPUs: both directions in one batch, no work on padding.

torch's own CPU kernels either treat packed sequences one direction and one step's weight gradient at a time, or
compute on all padding. Here every product that does not depend on the recurrence is done once for all steps.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from model.batches import mask_of


class Packing(NamedTuple):
    """Where each word of a batch lies when steps follow each other and finished sequences drop out."""

    sequence: Tensor  # (R,) which row of the batch
    forward_step: Tensor  # (R,) which position of it, read from the left
    backward_step: Tensor  # (R,) and read from the right
    last: Tensor  # (B,) place of each sequence's last step
    rank: Tensor  # (B,) rows of the batch, longest first
    sizes: list[int]  # how many sequences take each step

    @classmethod
    def of(cls, lengths: Tensor) -> Packing:
        lengths, rank = lengths.sort(descending=True, stable=True)
        step, row = mask_of(lengths).T.nonzero(as_tuple=True)  # (R,) step-major
        sizes = torch.bincount(step)
        last = (sizes.cumsum(0) - sizes)[lengths - 1] + torch.arange(len(lengths))
        return cls(rank[row], step, lengths[row] - 1 - step, last.scatter(0, rank, last), rank, sizes.tolist())


def packed_lstm_layer(
    inputs: Tensor, packing: Packing, weights: list[list[Tensor]], h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """inputs: (B, N, I); weights: for each direction w_ih, w_hh, b_ih, b_hh; h, c: (D, B, H) initial states
    -> outputs (B, N, D*H), zero where padded; final h and c (D, B, H)."""
    steps = [packing.forward_step, packing.backward_step][: len(weights)]
    gates = torch.stack(
        [
            F.linear(inputs[packing.sequence, step], w_ih, b_ih + b_hh)
            for step, (w_ih, _, b_ih, b_hh) in zip(steps, weights, strict=True)
        ]
    )  # (D, R, 4H)
    recurrent = torch.stack([w_hh for _, w_hh, _, _ in weights])  # (D, 4H, H)
    hs, cs = _Recurrence.apply(gates, recurrent, h[:, packing.rank], c[:, packing.rank], packing.sizes)
    outputs = [
        inputs.new_zeros(*inputs.shape[:2], h.size(2)).index_put((packing.sequence, step), direction)
        for step, direction in zip(steps, hs, strict=True)
    ]
    return torch.cat(outputs, 2), hs[:, packing.last], cs[:, packing.last]


class _Recurrence(torch.autograd.Function):
    """gates: (D, R, 4H) from the inputs, in the order i f g o; weight: (D, 4H, H); h, c: (D, B, H)
    -> all states h and c, (D, R, H)."""

    @staticmethod
    def forward(ctx, gates, weight, h, c, sizes):  # type: ignore[no-untyped-def]
        directions, total, hidden = gates.size(0), gates.size(1), h.size(2)
        gates = gates.clone()
        hs, cs, tanh_cs = (gates.new_empty(directions, total, hidden) for _ in range(3))
        transposed = weight.mT.contiguous()
        h0, c0 = h, c
        start = 0
        for size in sizes:
            now = slice(start, start + size)
            gate = gates[:, now].baddbmm_(h[:, :size], transposed)
            gate[..., : 2 * hidden].sigmoid_()
            gate[..., 2 * hidden : 3 * hidden].tanh_()
            gate[..., 3 * hidden :].sigmoid_()
            i, f, g, o = gate.chunk(4, -1)
            torch.mul(f, c[:, :size], out=cs[:, now])
            c = cs[:, now].addcmul_(i, g)
            torch.tanh(c, out=tanh_cs[:, now])
            h = torch.mul(o, tanh_cs[:, now], out=hs[:, now])
            start += size
        ctx.save_for_backward(gates, weight, h0, c0, hs, cs, tanh_cs)
        ctx.sizes = sizes
        ctx.set_materialize_grads(False)
        return hs, cs

    @staticmethod
    def backward(ctx, grad_hs, grad_cs):  # type: ignore[no-untyped-def]
        gates, weight, h0, c0, hs, cs, tanh_cs = ctx.saved_tensors
        hidden, sizes = h0.size(2), ctx.sizes
        grad_gates = torch.empty_like(gates)
        previous_hs = torch.empty_like(hs)
        dh, dc = torch.zeros_like(h0), torch.zeros_like(c0)
        end = gates.size(1)
        for t in reversed(range(len(sizes))):
            size = sizes[t]
            now = slice(end - size, end)
            before = slice(end - size - sizes[t - 1], end - sizes[t - 1]) if t else None
            previous_c = cs[:, before][:, :size] if before else c0
            previous_hs[:, now] = hs[:, before][:, :size] if before else h0
            dh_now, dc_now = dh[:, :size], dc[:, :size]
            if grad_hs is not None:
                dh_now += grad_hs[:, now]
            if grad_cs is not None:
                dc_now += grad_cs[:, now]
            i, f, g, o = gates[:, now].chunk(4, -1)
            di, df, dg, do = grad_gates[:, now].chunk(4, -1)
            tanh_c = tanh_cs[:, now]
            torch.mul(dh_now, tanh_c, out=do)
            dc_now += torch.ops.aten.tanh_backward(dh_now * o, tanh_c)
            torch.mul(dc_now, g, out=di)
            torch.mul(dc_now, previous_c, out=df)
            torch.ops.aten.tanh_backward(dc_now * i, g, grad_input=dg)
            dc_now *= f
            grad = grad_gates[:, now]
            _sigmoid_backward_(grad[..., : 2 * hidden], gates[:, now][..., : 2 * hidden])  # i and f
            _sigmoid_backward_(do, o)
            dh_now.copy_(torch.bmm(grad, weight))
            end -= size
        return grad_gates, torch.bmm(grad_gates.mT, previous_hs), dh, dc, None


def _sigmoid_backward_(grad: Tensor, output: Tensor) -> None:
    grad.copy_(torch.ops.aten.sigmoid_backward(grad, output))

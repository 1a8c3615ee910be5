"""An LSTM over sequences of different lengths: both directions in one batch, no work on padding.

torch's own CPU kernels either treat packed sequences one direction and one step's weight gradient at a time, or
compute on all padding. Here every product that does not depend on the recurrence is done once for all steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from model.kernels.lstm_cell import cell_backward_, cell_forward_

if TYPE_CHECKING:
    from model.rnn import Packing

_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def packed_lstm(inputs: Tensor, lstm: nn.LSTM, packing: Packing, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """i f g o = W_ih x + b_ih + W_hh h + b_hh;  c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' = sigmoid(o) tanh(c')."""
    directions = 1 + lstm.bidirectional
    hs, cs = [], []
    for layer in range(lstm.num_layers):
        suffixes = [f"_l{layer}", f"_l{layer}_reverse"][:directions]
        weights = [[getattr(lstm, name + suffix) for name in _WEIGHTS] for suffix in suffixes]
        own = slice(layer * directions, (layer + 1) * directions)
        inputs, last_h, last_c = _layer(inputs, packing, weights, h[own], c[own])
        hs.append(last_h)
        cs.append(last_c)
    return inputs, torch.cat(hs), torch.cat(cs)


def _layer(
    inputs: Tensor, packing: Packing, weights: list[list[Tensor]], h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """inputs: (B, N, I); weights: for each direction w_ih, w_hh, b_ih, b_hh; h, c: (D, B, H) initial states
    -> outputs (B, N, D*H), zero where padded; final h and c (D, B, H)."""
    (B, N), D = inputs.shape[:2], len(weights)
    lengths, rank = packing.lengths, packing.rank
    from_right = lengths[packing.row] - 1 - packing.step
    positions = packing.row * N + torch.stack([packing.step, from_right][:D])  # (D, R) of each direction's words
    words = inputs.flatten(0, 1).index_select(0, positions.flatten()).unflatten(0, positions.shape)  # (D, R, I)
    w_ih, w_hh, b_ih, b_hh = (torch.stack(parts) for parts in zip(*weights, strict=True))
    sizes = packing.sizes
    hs, cs = _Recurrence.apply(words, w_ih, w_hh, b_ih + b_hh, h[:, rank], c[:, rank], sizes.tolist())
    beside = (positions * D + torch.arange(D)[:, None]).flatten()  # the directions of a word stand side by side
    outputs = inputs.new_zeros(B * N * D, h.size(2)).index_copy(0, beside, hs.flatten(0, 1))
    last = (sizes.cumsum(0) - sizes)[lengths - 1] + rank.argsort()  # (B,) each sequence's last step
    return outputs.view(B, N, -1), hs[:, last], cs[:, last]


class _Recurrence(torch.autograd.Function):
    """words: (D, R, I); w_ih: (D, 4H, I), w_hh: (D, 4H, H), bias: (D, 4H), gates in the order i f g o; h, c: (D, B, H)
    -> all states h and c, (D, R, H)."""

    @staticmethod
    def forward(ctx, words, w_ih, w_hh, bias, h, c, sizes):  # type: ignore[no-untyped-def]
        directions, total, hidden = words.size(0), words.size(1), h.size(2)
        gates = torch.baddbmm(bias[:, None], words, w_ih.mT)
        hs, cs, tanh_cs = (gates.new_empty(directions, total, hidden) for _ in range(3))
        transposed = w_hh.mT.contiguous()
        h0, c0 = h, c
        start = 0
        for size in sizes:
            now = slice(start, start + size)
            gate = gates[:, now].baddbmm_(h[:, :size], transposed)
            cell_forward_(gate, c[:, :size], cs[:, now], tanh_cs[:, now], hs[:, now])
            h, c = hs[:, now], cs[:, now]
            start += size
        ctx.save_for_backward(words, w_ih, w_hh, gates, h0, c0, hs, cs, tanh_cs)
        ctx.sizes = sizes
        ctx.set_materialize_grads(False)
        return hs, cs

    @staticmethod
    def backward(ctx, grad_hs, grad_cs):  # type: ignore[no-untyped-def]
        words, w_ih, w_hh, gates, h0, c0, hs, cs, tanh_cs = ctx.saved_tensors
        sizes = ctx.sizes
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
            cell_backward_(grad_gates[:, now], dc_now, dh_now, gates[:, now], previous_c, tanh_cs[:, now])
            dh_now.copy_(torch.bmm(grad_gates[:, now], w_hh))
            end -= size
        grad_w_ih, grad_w_hh = (torch.bmm(grad_gates.mT, x) for x in (words, previous_hs))
        return torch.bmm(grad_gates, w_ih), grad_w_ih, grad_w_hh, grad_gates.sum(1), dh, dc, None

"""Convolution over word ids by look-up: a window's value is the sum of its words' tap products.

A batch of articles holds far fewer distinct words than positions, so each word is multiplied with the taps of all
filters once; a window then only adds rows of that table. The max keeps one window a filter, so the backward pass
touches those rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_SENTENCES_AT_ONCE = 96  # their windows stay in the processor's cache


def convolve_distinct_words(
    words: Tensor, lengths: Tensor, widths: Tensor, embedding: nn.Embedding, filters: Sequence[nn.Conv1d]
) -> Tensor:
    """max_t relu(conv_k(words))_t for every filter k; bias and relu commute with the max."""
    distinct, positions = words.unique(return_inverse=True)
    weight = torch.cat([conv.weight.permute(1, 2, 0).flatten(1) for conv in filters], 1)  # (E, 12C)
    taps = embedding(distinct) @ weight  # (U, 12C)
    bias = torch.cat([cast(Tensor, conv.bias) for conv in filters])  # (3C,)
    windows = [conv.kernel_size[0] for conv in filters]
    return (max_over_windows(taps, positions, lengths, widths, windows) + bias).relu()


def max_over_windows(
    taps: Tensor, positions: Tensor, lengths: Tensor, widths: Tensor, windows: Sequence[int]
) -> Tensor:
    """taps: (U, sum(windows) * C), one block of C columns a tap; positions: (M, W) rows of `taps`;
    lengths, widths: (M,)  ->  (M, len(windows) * C), the largest window value a filter, before bias and relu."""
    return _MaxOverWindows.apply(taps, positions, lengths, widths, tuple(windows))


class _MaxOverWindows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, taps, positions, lengths, widths, windows):  # type: ignore[no-untyped-def]
        n_taps = sum(windows)
        channels = taps.size(1) // n_taps
        table = taps.view(-1, channels)  # row u * n_taps + tap
        rows = positions * n_taps
        maxima = taps.new_empty(len(positions), len(windows) * channels)
        starts = positions.new_empty(maxima.shape) if taps.requires_grad else None  # of the largest windows
        order = lengths.argsort()
        for chunk in order.split(_SENTENCES_AT_ONCE):
            first_tap = 0
            for i, window in enumerate(windows):
                # Beyond a sentence's words one window of padding alone is enough: all others equal it.
                last = torch.minimum(lengths[chunk], widths[chunk] - window)[:, None]
                start = torch.arange(int(last.max()) + 1).minimum(last)  # (m, n) repeats change no maximum
                words = start[:, :, None] + torch.arange(window)  # (m, n, k)
                index = rows[chunk].gather(1, words.flatten(1)).view(-1, window)
                index += torch.arange(first_tap, first_tap + window)
                values = F.embedding_bag(index, table, mode="sum").view(*start.shape, channels)
                columns = slice(i * channels, (i + 1) * channels)
                largest = values.amax(1)
                maxima[chunk, columns] = largest
                if starts is not None:
                    starts[chunk, columns] = start.gather(1, _first_equal_(values, largest))
                first_tap += window
        ctx.save_for_backward(rows, starts)
        ctx.windows, ctx.shape = windows, taps.shape
        return maxima

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        rows, starts = ctx.saved_tensors
        channels = grad.size(1) // len(ctx.windows)
        column = torch.arange(channels)
        grad_taps = grad.new_zeros(ctx.shape)
        flat = grad_taps.view(-1)
        first_tap = 0
        for i, window in enumerate(ctx.windows):
            columns = slice(i * channels, (i + 1) * channels)
            start, upstream = starts[:, columns], grad[:, columns].reshape(-1)
            for tap in range(window):
                row = rows.gather(1, start + tap) + (first_tap + tap)  # (M, C)
                flat.scatter_add_(0, (row * channels + column).view(-1), upstream)
            first_tap += window
        return grad_taps, None, None, None, None


def _first_equal_(values: Tensor, largest: Tensor) -> Tensor:
    """values: (m, n, C), which are overwritten, largest: (m, C) -> the first place of it (m, C); faster than argmax."""
    countdown = torch.arange(values.size(1) - 1, -1, -1, dtype=values.dtype)[:, None]
    equal = torch.eq(values, largest[:, None], out=values)  # 1 or 0
    return (countdown[0] - equal.mul_(countdown).amax(1)).long()

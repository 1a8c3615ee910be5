"""Recurrent parts that the extractor and the abstractor share."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from model.batches import mask_of
from model.kernels import on_cpu
from model.kernels.packed_lstm import packed_lstm

INITIAL_STATE_RANGE = 1e-2


def small_uniform(*size: int, bound: float = INITIAL_STATE_RANGE) -> nn.Parameter:
    return nn.Parameter(torch.empty(*size).uniform_(-bound, bound))


class Packing(NamedTuple):
    """The items of a padded batch without its padding, step by step: all first items, then all second ones, ...;
    sequences in the order of `rank`.  Always on the CPU."""

    row: Tensor  # (R,) the item's sequence
    step: Tensor  # (R,) its position there
    lengths: Tensor  # (B,)
    rank: Tensor  # (B,) sequences, longest first
    sizes: Tensor  # (N,) sequences that have an n-th item

    @classmethod
    def of(cls, lengths: Tensor) -> Packing:
        ordered, rank = lengths.sort(descending=True, stable=True)
        step, place = mask_of(ordered).T.nonzero(as_tuple=True)
        return cls(rank[place], step, lengths, rank, torch.bincount(step))

    def pack(self, padded: Tensor) -> Tensor:
        """(B, N, ...) -> (R, ...)"""
        return padded.flatten(0, 1).index_select(0, self.positions(padded.size(1)).to(padded.device))

    def positions(self, width: int) -> Tensor:
        """(R,) where the items lie in a flattened (B, width)."""
        return self.row * width + self.step


class BiLSTM(nn.Module):
    """LSTM over padded sequences with learned initial states (B.2); with one direction it reads from the left."""

    def __init__(self, input_size: int, hidden: int, layers: int = 1, bidirectional: bool = True) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.initial_h = small_uniform(layers * self.directions, hidden)
        self.initial_c = small_uniform(layers * self.directions, hidden)
        self.lstm = nn.LSTM(input_size, hidden, layers, batch_first=True, bidirectional=bidirectional)

    def forward(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """inputs: (B, N, I), lengths: (B,) on the CPU -> outputs (B, N, D*H), zero where padded; the final h and c,
        (L, B, D*H), forward half first."""
        h, c = (state[:, None].expand(-1, len(inputs), -1) for state in (self.initial_h, self.initial_c))
        outputs, h, c = packed(inputs, self.lstm, Packing.of(lengths), h, c)
        return outputs, self._join_directions(h), self._join_directions(c)

    def _join_directions(self, states: Tensor) -> Tensor:
        """(L*D, B, H) -> (L, B, D*H)"""
        return states.unflatten(0, (-1, self.directions)).transpose(1, 2).flatten(2)


@on_cpu(packed_lstm)
def packed(inputs: Tensor, lstm: nn.LSTM, packing: Packing, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The LSTM on the items alone.  inputs: (B, N, I), h, c: (L*D, B, H) initial states -> outputs (B, N, D*H), zero
    where padded; final h and c (L*D, B, H)."""
    size = inputs.shape[:2]
    rank, unrank, positions = (
        index.to(inputs.device) for index in (packing.rank, packing.rank.argsort(), packing.positions(size[1]))
    )
    items = PackedSequence(inputs.flatten(0, 1).index_select(0, positions), packing.sizes)
    found, (h, c) = lstm(items, (h.index_select(1, rank), c.index_select(1, rank)))
    outputs = found.data.new_zeros(size.numel(), found.data.size(1)).index_copy(0, positions, found.data)
    return outputs.unflatten(0, size), h.index_select(1, unrank), c.index_select(1, unrank)

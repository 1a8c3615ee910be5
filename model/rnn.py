"""Recurrent parts that the extractor and the abstractor share."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from model.packed_lstm import Packing, packed_lstm_layer

States = tuple[Tensor, Tensor]

INITIAL_STATE_RANGE = 1e-2
_LSTM_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def small_uniform(*size: int, bound: float = INITIAL_STATE_RANGE) -> nn.Parameter:
    return nn.Parameter(torch.empty(*size).uniform_(-bound, bound))


class BiLSTM(nn.Module):
    """LSTM over padded sequences with learned initial states (B.2), bidirectional unless told otherwise."""

    def __init__(self, input_size: int, hidden: int, layers: int = 1, bidirectional: bool = True) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.initial_h = small_uniform(layers * self.directions, hidden)
        self.initial_c = small_uniform(layers * self.directions, hidden)
        self.lstm = nn.LSTM(input_size, hidden, layers, batch_first=True, bidirectional=bidirectional)

    def forward(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """inputs: (B, N, I), lengths: (B,) on the CPU -> outputs (B, N, 2H), zero where padded; states (L*2, B, H)."""
        size = (self.initial_h.size(0), inputs.size(0), self.initial_h.size(1))
        states = self.initial_h[:, None].expand(size), self.initial_c[:, None].expand(size)
        return (self.on_cpu if inputs.device.type == "cpu" else self.by_torch)(inputs, lengths, states)

    def by_torch(self, inputs: Tensor, lengths: Tensor, states: States) -> tuple[Tensor, States]:
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        packed, (h, c) = self.lstm(packed, (states[0].contiguous(), states[1].contiguous()))
        outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=inputs.size(1))
        return outputs, (h, c)

    def on_cpu(self, inputs: Tensor, lengths: Tensor, states: States) -> tuple[Tensor, States]:
        packing = Packing.of(lengths)
        hs, cs = [], []
        for layer in range(self.lstm.num_layers):
            suffixes = [f"_l{layer}", f"_l{layer}_reverse"][: self.directions]
            weights = [[getattr(self.lstm, name + suffix) for name in _LSTM_WEIGHTS] for suffix in suffixes]
            own = slice(layer * self.directions, (layer + 1) * self.directions)
            inputs, h, c = packed_lstm_layer(inputs, packing, weights, states[0][own], states[1][own])
            hs.append(h)
            cs.append(c)
        return inputs, (torch.cat(hs), torch.cat(cs))


def join_directions(states: Tensor, directions: int) -> Tensor:
    """Final states (L*D, B, H) -> (L, B, D*H), forward half first."""
    layers, batch, hidden = states.size(0) // directions, states.size(1), states.size(2)
    return states.view(layers, directions, batch, hidden).transpose(1, 2).reshape(layers, batch, directions * hidden)

"""Pointer network with glimpse (Sec. 2.1.2, Eq. 1-5): the only pointing code.

Teacher forcing, greedy extraction, policy sampling and the critic all go through `PointerDecoder`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.attention import AdditiveAttention, masked_softmax
from model.rnn import small_uniform

State = tuple[Tensor, Tensor]


class SentenceMemory(NamedTuple):
    """What the decoder can point at."""

    rows: Tensor  # (B, N, 2H) h_j
    mask: Tensor  # (B, N) True where there is a sentence
    pointing_keys: Tensor  # (B, N, H) W_p1 h_j
    glimpse_keys: Tensor  # (B, N, H) W_g1 h_j


class PointerDecoder(nn.Module):
    """The decoder LSTM (z_t) and its 2-hop attention over the sentence representations h_j."""

    def __init__(self, memory_size: int, hidden: int, layers: int = 1) -> None:
        super().__init__()
        self.initial_h = small_uniform(layers, hidden)
        self.initial_c = small_uniform(layers, hidden)
        self.initial_input = small_uniform(memory_size, bound=0.1)
        self.pointing = AdditiveAttention(memory_size, hidden)
        self.glimpse = AdditiveAttention(memory_size, hidden)
        self.lstm = nn.LSTM(memory_size, hidden, layers, batch_first=True)

    def remember(self, rows: Tensor, mask: Tensor) -> SentenceMemory:
        return SentenceMemory(rows, mask, self.pointing.keys(rows), self.glimpse.keys(rows))

    def start(self, batch: int) -> tuple[Tensor, State]:
        """The input of the first step (B, 2H) and the initial state."""
        h, c = (state[:, None].expand(-1, batch, -1).contiguous() for state in (self.initial_h, self.initial_c))
        return self.initial_input.expand(batch, -1), (h, c)

    def forward(self, memory: SentenceMemory, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """inputs: (B, T, 2H), the sentences chosen so far -> unmasked scores u^t_j (B, T, N) and the new state."""
        z, state = self.lstm(inputs, state)  # (B, T, H)
        a = self.glimpse(memory.glimpse_keys, z)  # (B, T, N)  Eq. 3
        alpha = masked_softmax(a, memory.mask[:, None])  # Eq. 4
        e = alpha @ memory.glimpse_keys  # (B, T, H)  Eq. 5
        return self.pointing(memory.pointing_keys, e), state  # Eq. 1

    def teacher_forcing(self, memory: SentenceMemory, chosen: Tensor) -> Tensor:
        """chosen: (B, T) sentence indices, any valid index after the last -> scores (B, T, N)."""
        first, state = self.start(len(chosen))
        inputs = torch.cat([first[:, None], gather_rows(memory.rows, chosen[:, :-1])], 1)  # (B, T, 2H)
        return self(memory, inputs, state)[0]

    def step(self, memory: SentenceMemory, previous: Tensor, state: State, selectable: Tensor) -> tuple[Tensor, State]:
        """previous: (B, 2H), selectable: (B, N) not yet chosen -> scores (B, N), -inf elsewhere (Eq. 1)."""
        scores, state = self(memory, previous[:, None], state)
        return scores.squeeze(1).masked_fill(~selectable, float("-inf")), state


def gather_rows(rows: Tensor, index: Tensor) -> Tensor:
    """rows: (B, N, D), index: (B, T) -> (B, T, D)"""
    return rows.gather(1, index[:, :, None].expand(-1, -1, rows.size(2)))

"""The abstractor network (Sec. 2.2, A.2): encoder-aligner-decoder with copy mechanism."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.attention import BilinearAttention
from model.batches import PAD, SourceBatch, mask_of
from model.copy_network import EXTRA_LOGIT, CopyGate, CopyNetwork, DecoderStep
from model.rnn import BiLSTM, join_directions


class SourceMemory(NamedTuple):
    """The encoded source sentences."""

    keys: Tensor  # (B, S, H) projected encoder outputs: keys and values of the attention
    padding: Tensor  # (B, S) 0 where real, -inf where padded
    extended: Tensor  # (B, S) source words as extended ids
    n_extra: Tensor  # (B,) X - V

    def select(self, rows: Tensor | slice) -> SourceMemory:
        return SourceMemory(*(field[rows] for field in self))


class DecoderState(NamedTuple):
    h: Tensor  # (L, B, H)
    c: Tensor  # (L, B, H)
    output: Tensor  # (B, E) o_t, fed back into the next input

    def select(self, rows: Tensor | slice) -> DecoderState:
        return DecoderState(self.h[:, rows], self.c[:, rows], self.output[rows])


class Abstractor(CopyNetwork):
    """Rewrites one sentence; the embedding matrix is shared by encoder, decoder and output projection (A.2)."""

    extra_logit = EXTRA_LOGIT

    def __init__(
        self,
        vocab_size: int = 30004,
        emb_dim: int = 128,
        n_hidden: int = 256,
        bidirectional: bool = True,
        n_layer: int = 1,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=PAD)
        self.encoder = BiLSTM(emb_dim, n_hidden, n_layer, bidirectional)
        encoded = n_hidden * self.encoder.directions
        self.attention = BilinearAttention(encoded, n_hidden)
        self.decoder = nn.ModuleList(
            [nn.LSTMCell(2 * emb_dim if layer == 0 else n_hidden, n_hidden) for layer in range(n_layer)]
        )
        self.initial_h = nn.Linear(encoded, n_hidden, bias=False)
        self.initial_c = nn.Linear(encoded, n_hidden, bias=False)
        self.projection = nn.Sequential(
            nn.Linear(2 * n_hidden, n_hidden), nn.Tanh(), nn.Linear(n_hidden, emb_dim, bias=False)
        )
        self.copy_gate = CopyGate(n_hidden, n_hidden, 2 * emb_dim)

    def encode(self, source: SourceBatch) -> tuple[SourceMemory, DecoderState]:
        outputs, (h, c) = self.encoder(self.embedding(source.words), source.lengths.cpu())
        keys = self.attention.keys(outputs)  # (B, S, H), zero where padded
        real = mask_of(source.lengths, source.words.size(1))
        padding = torch.zeros_like(keys[:, :, 0]).masked_fill_(~real, float("-inf"))
        h, c = (join_directions(state, self.encoder.directions) for state in (h, c))
        h, c = self.initial_h(h), self.initial_c(c)  # (L, B, H)
        mean = keys.sum(1) / source.lengths[:, None]
        output = self.projection(torch.cat([h[-1], mean], 1))
        return SourceMemory(keys, padding, source.extended, source.n_extra), DecoderState(h, c, output)

    def step(self, embedded: Tensor, state: DecoderState, memory: SourceMemory) -> DecoderStep:
        """embedded: (B, E), the previous word."""
        inputs = hidden = torch.cat([embedded, state.output], 1)  # (B, 2E) input feeding
        hs, cs = [], []
        for cell, h, c in zip(self.decoder, state.h, state.c, strict=True):
            hidden, c = cell(hidden, (h, c))
            hs.append(hidden)
            cs.append(c)
        attention, context = self.attention(memory.keys, hidden, memory.padding)
        output = self.projection(torch.cat([hidden, context], 1))  # (B, E)
        copy = self.copy_gate(context, hidden, inputs)
        return DecoderStep(DecoderState(torch.stack(hs), torch.stack(cs), output), attention, copy)

"""The abstractor network (Sec. 2.2, A.2): encoder-aligner-decoder with copy mechanism."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from model.attention import BilinearAttention
from model.batches import PAD, SourceBatch, mask_of, take
from model.copy_network import EXTRA_LOGIT, CopyGate, CopyNetwork, DecoderStep
from model.rnn import BiLSTM, join_directions
from model.step_gradients import Cell, StepAttention, StepLinear, step_cell


class StepWeights(NamedTuple):
    """What every decoder step multiplies with."""

    cells: list[Cell]
    query: StepLinear
    hidden: StepLinear
    output: StepLinear

    def read_out(self, h: Tensor, context: Tensor) -> Tensor:
        """o = W_2 tanh(W_1 [h; context] + b): (B, E)"""
        return self.output(torch.tanh(self.hidden(torch.cat([h, context], 1))))


class SourceMemory(NamedTuple):
    """The encoded source sentences."""

    attention: StepAttention  # over the projected encoder outputs (B, S, H), which are keys and values
    extended: Tensor  # (B, S) source words as extended ids
    n_extra: Tensor  # (B,) X - V
    weights: StepWeights

    def select(self, rows: Tensor | slice) -> SourceMemory:
        extended, n_extra = take(self.extended, rows), take(self.n_extra, rows)
        return SourceMemory(self.attention.select(rows), extended, n_extra, self.weights)


class DecoderState(NamedTuple):
    h: tuple[Tensor, ...]  # of each layer (R, H)
    c: tuple[Tensor, ...]
    output: Tensor  # (R, E) o_t, fed back into the next input

    def select(self, rows: Tensor | slice) -> DecoderState:
        h, c = (tuple(take(layer, rows) for layer in layers) for layers in (self.h, self.c))
        return DecoderState(h, c, take(self.output, rows))


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

    def read(self, source: SourceBatch, embedded: Tensor) -> tuple[SourceMemory, DecoderState]:
        outputs, (h, c) = self.encoder(embedded, source.lengths.cpu())
        keys = self.attention.keys(outputs)  # (B, S, H), zero where padded
        real = mask_of(source.lengths, source.words.size(1))
        padding = torch.zeros_like(keys[:, :, 0]).masked_fill_(~real, float("-inf"))
        h, c = (join_directions(state, self.encoder.directions) for state in (h, c))
        h, c = self.initial_h(h), self.initial_c(c)  # (L, B, H)
        mean = keys.sum(1) / source.lengths[:, None]
        weights = self._step_weights()
        memory = SourceMemory(StepAttention(keys, padding), source.extended, source.n_extra, weights)
        return memory, DecoderState(tuple(h), tuple(c), weights.read_out(h[-1], mean))

    def step(self, embedded: Tensor, state: DecoderState, memory: SourceMemory) -> DecoderStep:
        inputs = hidden = torch.cat([embedded, state.output], 1)  # (R, 2E) input feeding
        weights = memory.weights
        hs, cs = [], []
        for cell, h, c in zip(weights.cells, state.h, state.c, strict=True):
            hidden, c = cell(hidden, h, c)
            hs.append(hidden)
            cs.append(c)
        attention, context = memory.attention(weights.query(hidden))
        copy = self.copy_gate(context, hidden, inputs)
        state = DecoderState(tuple(hs), tuple(cs), weights.read_out(hidden, context))
        return DecoderStep(state, attention, copy)

    def _step_weights(self) -> StepWeights:
        first, _, last = self.projection
        return StepWeights(
            cells=[step_cell(cast(nn.LSTMCell, cell)) for cell in self.decoder],
            query=StepLinear(self.attention.query_weight.T),
            hidden=StepLinear(cast(Tensor, first.weight), cast(Tensor, first.bias)),
            output=StepLinear(cast(Tensor, last.weight)),
        )

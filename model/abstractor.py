"""The abstractor network (Sec. 2.2, A.2): encoder-aligner-decoder with copy mechanism."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.attention import BilinearAttention, padding_of
from model.batches import PAD, SourceBatch
from model.copy_network import EXTRA_LOGIT, CopyGate, CopyNetwork
from model.kernels import on_cpu
from model.kernels.abstractor_steps import abstractor_steps
from model.rnn import BiLSTM, Packing


class SourceMemory(NamedTuple):
    """The encoded source sentences."""

    keys: Tensor  # (B, S, H) h_i, projected encoder outputs, zero where padded; values too
    padding: Tensor  # (B, S) 0 where real, -inf where padded

    def select(self, rows: Tensor) -> SourceMemory:
        return SourceMemory(*(field.index_select(0, rows) for field in self))


class DecoderState(NamedTuple):
    h: tuple[Tensor, ...]  # of each layer (R, H)
    c: tuple[Tensor, ...]
    output: Tensor  # (R, E) o_t, fed back into the next input

    def select(self, rows: Tensor) -> DecoderState:
        h, c = (tuple(layer.index_select(0, rows) for layer in layers) for layers in (self.h, self.c))
        return DecoderState(h, c, self.output.index_select(0, rows))


class RewritingStep(NamedTuple):
    """What R steps say about the next word."""

    inputs: Tensor  # (R, 2E) the previous word and o_{t-1}
    z: Tensor  # (R, H) z_t, the decoder's hidden state
    attention: Tensor  # (R, S)
    context: Tensor  # (R, H)
    output: Tensor  # (R, E) o_t


class Abstractor(CopyNetwork):
    """Rewrites one sentence; the embedding matrix is shared by encoder, decoder and output projection (A.2)."""

    Step = RewritingStep
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
        outputs, h, c = self.encoder(embedded, source.lengths)
        keys = self.attention.keys(outputs)  # (B, S, H)
        h, c = self.initial_h(h), self.initial_c(c)  # (L, B, H)
        mean = keys.sum(1) / source.lengths[:, None].to(keys.device)
        first = self.projection(torch.cat([h[-1], mean], 1))  # (B, E)
        return SourceMemory(keys, padding_of(keys, source.lengths)), DecoderState(tuple(h), tuple(c), first)

    def step(self, embedded: Tensor, state: DecoderState, memory: SourceMemory) -> tuple[DecoderState, RewritingStep]:
        inputs = z = torch.cat([embedded, state.output], 1)  # (R, 2E) input feeding
        hs, cs = [], []
        for cell, h, c in zip(self.decoder, state.h, state.c, strict=True):
            z, c = cell(z, (h, c))  # (R, H)
            hs.append(z)
            cs.append(c)
        attention, context = self.attention(z, memory.keys, memory.padding)
        output = self.projection(torch.cat([z, context], 1))  # (R, E)  W_2 tanh(W_1 [z; context] + b)
        return DecoderState(tuple(hs), tuple(cs), output), RewritingStep(inputs, z, attention, context, output)

    @on_cpu(abstractor_steps)
    def teacher_forcing(
        self, embedded: Tensor, state: DecoderState, memory: SourceMemory, packing: Packing
    ) -> tuple[Tensor, ...]:
        return super().teacher_forcing(embedded, state, memory, packing)

    def generator(self, step: RewritingStep) -> tuple[Tensor, Tensor]:
        return step.output, self.copy_gate(step.context, step.z, step.inputs)

"""The pointer-generator network of See et al. (2017), the flat baseline of the paper's Tables 1, 4, 5 and 6.

It reads the beginning of an article as one sequence and writes the whole summary as another. Equations are those of
"Get To The Point"; their p_gen is 1 - p_copy here. Sizes are the abstractor's, as in the paper's comparison (B.3), and
so is the tied output projection: the V' of their Eq. 4 is the embedding matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.batches import PAD, SourceBatch, take
from model.copy_network import CopyGate, CopyNetwork, DecoderStep
from model.coverage_attention import AttentionMemory, CoverageAttention
from model.rnn import BiLSTM, join_directions


class DocumentMemory(NamedTuple):
    """The encoded articles."""

    attention: AttentionMemory
    extended: Tensor  # (B, S) article words as extended ids

    def select(self, rows: Tensor | slice) -> DocumentMemory:
        return DocumentMemory(self.attention.select(rows), take(self.extended, rows))


class DecoderState(NamedTuple):
    h: Tensor  # (B, H) s_t
    c: Tensor  # (B, H)
    context: Tensor  # (B, 2H) h*_t, part of the next input
    coverage: Tensor  # (B, S) c_t, the sum of all attention so far (Eq. 10)
    output: Tensor  # (B, E) what the vocabulary is compared with

    def select(self, rows: Tensor | slice) -> DecoderState:
        return DecoderState(*(take(field, rows) for field in self))


class PointerGenerator(CopyNetwork):
    """With `coverage` the attention knows where it has been (Eq. 11), and looking there again is penalised (Eq. 12)."""

    extra_logit = float("-inf")  # words outside the vocabulary are only copied (Eq. 9)

    def __init__(
        self, vocab_size: int = 30004, emb_dim: int = 128, n_hidden: int = 256, coverage: bool = False
    ) -> None:
        super().__init__()
        self.coverage = coverage
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=PAD)
        self.encoder = BiLSTM(emb_dim, n_hidden)
        self.initial_h = nn.Linear(2 * n_hidden, n_hidden)
        self.initial_c = nn.Linear(2 * n_hidden, n_hidden)
        self.attention = CoverageAttention(2 * n_hidden, n_hidden, coverage)
        self.merge = nn.Linear(emb_dim + 2 * n_hidden, emb_dim)
        self.decoder = nn.LSTMCell(emb_dim, n_hidden)
        self.projection = nn.Linear(3 * n_hidden, emb_dim)
        self.copy_gate = CopyGate(2 * n_hidden, n_hidden, emb_dim)

    def read(self, source: SourceBatch, embedded: Tensor) -> tuple[DocumentMemory, DecoderState]:
        outputs, final = self.encoder(embedded, source.lengths.cpu())
        h, c = (join_directions(state, directions=2).squeeze(0) for state in final)  # (B, 2H)
        h, c = torch.relu(self.initial_h(h)), torch.relu(self.initial_c(c))
        memory = DocumentMemory(self.attention.remember(outputs, source.lengths), source.extended)
        context, coverage = torch.zeros_like(outputs[:, 0]), torch.zeros_like(outputs[:, :, 0])
        return memory, DecoderState(h, c, context, coverage, output=context[:, :0])

    def step(self, embedded: Tensor, state: DecoderState, memory: DocumentMemory) -> DecoderStep:
        inputs = self.merge(torch.cat([embedded, state.context], 1))  # (B, E) x_t
        h, c = self.decoder(inputs, (state.h, state.c))
        attention, context = self.attention(memory.attention, h, state.coverage)  # Eq. 1-3, 11
        output = self.projection(torch.cat([h, context], 1))  # Eq. 4, V[s_t, h*_t] + b
        copy = self.copy_gate(context, h, inputs)  # Eq. 8
        penalty = torch.minimum(attention, state.coverage).sum(1) if self.coverage else None  # Eq. 12
        following = DecoderState(h, c, context, state.coverage + attention, output)
        return DecoderStep(following, attention, copy, penalty)

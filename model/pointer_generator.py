"""The pointer-generator network of See et al. (2017), the flat baseline of the paper's Tables 1, 4, 5 and 6.

It reads the beginning of an article as one sequence and writes the whole summary as another. Their p_gen is 1 - p_copy
here. Sizes are the abstractor's, as in the paper's comparison (B.3), and so is the tied output projection: the V' of
See et al., Eq. 4 is the embedding matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.attention import AdditiveAttention, additive_scores, padding_of
from model.batches import PAD, SourceBatch
from model.copy_network import CopyGate, CopyNetwork
from model.kernels import on_cpu
from model.kernels.attention_by_row import attention_by_row
from model.kernels.pointer_generator_steps import pointer_generator_steps
from model.rnn import BiLSTM, Packing, small_uniform


class DocumentMemory(NamedTuple):
    """The encoded articles."""

    keys: Tensor  # (B, S, A) W_h h_i + b_attn
    values: Tensor  # (B, S, M) h_i
    padding: Tensor  # (B, S) 0 where real, -inf where padded

    def select(self, rows: Tensor) -> DocumentMemory:
        return DocumentMemory(*(field.index_select(0, rows) for field in self))


class DecoderState(NamedTuple):
    h: Tensor  # (R, H) s_t
    c: Tensor  # (R, H)
    context: Tensor  # (R, 2H) h*_t, part of the next input
    coverage: Tensor  # (R, S) c_t, the sum of all attention so far (See et al., Eq. 10)

    def select(self, rows: Tensor) -> DecoderState:
        return DecoderState(*(field.index_select(0, rows) for field in self))


class SummaryStep(NamedTuple):
    """What R steps say about the next word."""

    inputs: Tensor  # (R, E) x_t
    z: Tensor  # (R, H) s_t
    attention: Tensor  # (R, S)
    context: Tensor  # (R, 2H)
    coverage: Tensor  # (R, S) before the step


class CoverageAttention(AdditiveAttention):
    """softmax over i of v . tanh(W_h h_i + W_s s_t + w_c c_i + b_attn) (See et al., Eq. 1, 2 and, with w_c, 11)."""

    def __init__(self, memory_size: int, query_size: int, coverage: bool) -> None:
        super().__init__(memory_size, memory_size, query_size)
        self.bias = nn.Parameter(torch.zeros(memory_size))
        self.coverage_weight = small_uniform(memory_size) if coverage else None  # w_c

    def keys(self, memory: Tensor) -> Tensor:
        return super().keys(memory) + self.bias

    def forward(  # type: ignore[override]
        self, queries: Tensor, memory: DocumentMemory, coverage: Tensor
    ) -> tuple[Tensor, Tensor]:
        """queries: (R, H), coverage: (R, S), R = B * K decoders -> weights (R, S), context (R, M)"""
        return attend(queries @ self.query_weight, memory, coverage, self.v, self.coverage_weight)


@on_cpu(attention_by_row)
def attend(
    queries: Tensor, memory: DocumentMemory, coverage: Tensor, v: Tensor, w_c: Tensor | None
) -> tuple[Tensor, Tensor]:
    """softmax over i of v . tanh(k_i + q_t (+ w_c c_i)) -> weights (R, S), and the context sum_i a_i h_i (R, M)"""
    queries, coverage = (field.unflatten(0, (len(memory.keys), -1)) for field in (queries, coverage))  # (B, K, ...)
    scores = additive_scores(memory.keys, queries, v, None if w_c is None else coverage, w_c)
    weights = (scores + memory.padding[:, None]).softmax(2)  # (B, K, S)
    return weights.flatten(0, 1), torch.bmm(weights, memory.values).flatten(0, 1)


class PointerGenerator(CopyNetwork):
    """With `coverage` the attention knows where it has been (See et al., Eq. 11), and looking there again is penalised
    (See et al., Eq. 12)."""

    Step = SummaryStep
    extra_logit = float("-inf")  # words outside the vocabulary are only copied (See et al., Eq. 9)

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
        outputs, h, c = self.encoder(embedded, source.lengths)
        h, c = torch.relu(self.initial_h(h.squeeze(0))), torch.relu(self.initial_c(c.squeeze(0)))  # (B, H)
        keys = self.attention.keys(outputs)
        memory = DocumentMemory(keys, outputs, padding_of(keys, source.lengths))
        return memory, DecoderState(h, c, torch.zeros_like(outputs[:, 0]), torch.zeros_like(outputs[:, :, 0]))

    def step(self, embedded: Tensor, state: DecoderState, memory: DocumentMemory) -> tuple[DecoderState, SummaryStep]:
        inputs = self.merge(torch.cat([embedded, state.context], 1))  # (R, E) x_t
        z, c = self.decoder(inputs, (state.h, state.c))
        attention, context = self.attention(z, memory, state.coverage)  # See et al., Eq. 1-3, 11
        following = DecoderState(z, c, context, state.coverage + attention)
        return following, SummaryStep(inputs, z, attention, context, state.coverage)

    @on_cpu(pointer_generator_steps)
    def teacher_forcing(
        self, embedded: Tensor, state: DecoderState, memory: DocumentMemory, packing: Packing
    ) -> tuple[Tensor, ...]:
        return super().teacher_forcing(embedded, state, memory, packing)

    def generator(self, step: SummaryStep) -> tuple[Tensor, Tensor]:
        o = self.projection(torch.cat([step.z, step.context], 1))  # (R, E)  See et al., Eq. 4, V[s_t, h*_t] + b
        return o, self.copy_gate(step.context, step.z, step.inputs)  # See et al., Eq. 8

    def penalty(self, step: SummaryStep) -> Tensor | None:
        return torch.minimum(step.attention, step.coverage).sum(1) if self.coverage else None  # See et al., Eq. 12

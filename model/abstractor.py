"""The abstractor network (Sec. 2.2, A.2): encoder-aligner-decoder with copy mechanism.

The word distribution is a mixture over the extended vocabulary,
    P(w) = (1 - p_copy) softmax(o E^T)_w + p_copy sum of the attention on w's positions,
where words outside the vocabulary that stand in the source get the constant logit `EXTRA_LOGIT` in the softmax.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.attention import BilinearAttention
from model.batches import PAD, RewritingBatch, SourceBatch, mask_of
from model.rnn import BiLSTM, join_directions, small_uniform
from model.vocabulary_softmax import log_partition_and_logit

EXTRA_LOGIT = 1e-6
PROBABILITY_FLOOR = 1e-8  # log(P + floor), as released


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


class DecoderStep(NamedTuple):
    state: DecoderState
    attention: Tensor  # (B, S)
    copy: Tensor  # (B,) logit of p_copy


class CopyGate(nn.Module):
    """logit of p_copy = v_c . context + v_s . z + v_i . w + b (A.2)"""

    def __init__(self, context_size: int, state_size: int, input_size: int) -> None:
        super().__init__()
        self.v_context = small_uniform(context_size)
        self.v_state = small_uniform(state_size)
        self.v_input = small_uniform(input_size)
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, context: Tensor, state: Tensor, inputs: Tensor) -> Tensor:
        return context @ self.v_context + state @ self.v_state + inputs @ self.v_input + self.b


class Abstractor(nn.Module):
    """Rewrites one sentence; the embedding matrix is shared by encoder, decoder and output projection (A.2)."""

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

    @property
    def vocab_size(self) -> int:
        return self.embedding.num_embeddings

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

    def forward(self, batch: RewritingBatch) -> Tensor:
        """-log P(w_m | w_<m) of every target word, END included (Sec. 3.1), step by step in one flat list: (R,)."""
        memory, state = self.encode(batch.source)
        embedded = self.embedding(batch.inputs)  # (B, T, E)
        outputs, copied, copy_logits, targets = [], [], [], []
        for t, rows in enumerate(rows_per_step(batch.lengths)):
            if rows < len(memory.keys):  # rows are sorted: the longest stay
                memory, state = memory.select(slice(rows)), state.select(slice(rows))
            state, attention, copy = self.step(embedded[:rows, t], state, memory)
            target = batch.targets[:rows, t]
            outputs.append(state.output)
            copied.append((attention * (memory.extended == target[:, None])).sum(1))
            copy_logits.append(copy)
            targets.append(target)
        sizes = [len(rows) for rows in outputs]
        n_extra = torch.cat([batch.source.n_extra[:rows] for rows in sizes])
        return self._negative_log_likelihood(
            torch.cat(outputs), torch.cat(copied), torch.cat(copy_logits), torch.cat(targets), n_extra
        )

    def _negative_log_likelihood(
        self, outputs: Tensor, copied: Tensor, copy: Tensor, targets: Tensor, n_extra: Tensor
    ) -> Tensor:
        """All (R,) but outputs (R, E).  `copied` is the attention on the target's positions."""
        known = targets < self.vocab_size
        partition, logit = log_partition_and_logit(outputs, self.embedding.weight, targets.where(known, PAD))
        partition = extended_partition(partition, n_extra)
        logit = logit.where(known, EXTRA_LOGIT)
        generated = torch.exp(logit - partition)
        p_copy = torch.sigmoid(copy)
        return -torch.log((1 - p_copy) * generated + p_copy * copied + PROBABILITY_FLOOR)


def extended_partition(partition: Tensor, n_extra: Tensor) -> Tensor:
    """The log partition over V words and n_extra words of constant logit; all (R,)."""
    return partition + torch.log1p(n_extra * torch.exp(EXTRA_LOGIT - partition))


def rows_per_step(lengths: Tensor) -> list[int]:
    """Sorted lengths (longest first) -> how many rows still need each step."""
    counts = torch.bincount(lengths.cpu(), minlength=1)
    return (len(lengths) - counts.cumsum(0))[:-1].tolist()


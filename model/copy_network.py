"""Encoder-decoders that generate words or copy them: the abstractor (A.2) and the pointer-generator (See et al., 2017).

The word distribution is a mixture over the extended vocabulary,
    P(w) = (1 - p_copy) softmax(o E^T)_w + p_copy sum of the attention on w's positions,
where words outside the vocabulary that stand in the source have the constant logit `extra_logit` in the softmax.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from model.batches import PAD, RewritingBatch, SourceBatch
from model.kernels import on_cpu
from model.kernels.tied_softmax import look_up_together, tiled_log_partition_and_logit
from model.rnn import Packing, small_uniform

EXTRA_LOGIT = 1e-6  # as released
PROBABILITY_FLOOR = 1e-8  # log(P + floor), as released
IMPOSSIBLE = -PROBABILITY_FLOOR  # "probability" of a word that does not exist: its logarithm is -inf


def mixture(p_copy: Tensor, generated: Tensor, copied: Tensor) -> Tensor:
    """P(w) = (1 - p_copy) P_vocabulary(w) + p_copy (attention on w)"""
    return (1 - p_copy) * generated + p_copy * copied


def copied_share(probability: Tensor, by_copying: Tensor) -> Tensor:
    return by_copying / probability.clamp(min=PROBABILITY_FLOOR)


def log_probability(probability: Tensor) -> Tensor:
    return torch.log(probability + PROBABILITY_FLOOR)


class CopyGate(nn.Module):
    """p_copy = sigmoid(v_c . context + v_s . z + v_i . w + b) (A.2)"""

    def __init__(self, context_size: int, state_size: int, input_size: int) -> None:
        super().__init__()
        self.v_context = small_uniform(context_size)
        self.v_state = small_uniform(state_size)
        self.v_input = small_uniform(input_size)
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, context: Tensor, z: Tensor, inputs: Tensor) -> Tensor:
        return torch.sigmoid(context @ self.v_context + z @ self.v_state + inputs @ self.v_input + self.b)


class CopyNetwork(nn.Module, ABC):
    """A subclass says how it reads the source, steps on and turns a step into words; loss and searches follow."""

    Step: ClassVar[Any]  # what R steps say about the next word, `attention` (R, S) among it
    embedding: nn.Embedding  # of encoder, decoder and output projection
    extra_logit: ClassVar[float]

    @property
    def vocab_size(self) -> int:
        return self.embedding.num_embeddings

    @abstractmethod
    def read(self, source: SourceBatch, embedded: Tensor) -> tuple[Any, Any]:
        """embedded: (B, S, E) -> the memory and the first state, both with `select(rows)`."""

    @abstractmethod
    def step(self, embedded: Tensor, state: Any, memory: Any) -> tuple[Any, Any]:
        """embedded: (R, E), the previous words of R = B * K decoders, K for each of the memory's B sources -> the next
        state, and a `Step`."""

    @abstractmethod
    def generator(self, step: Any) -> tuple[Tensor, Tensor]:
        """What one step of a search, or all steps of teacher forcing, say about the word -> o (R, E), p_copy (R,)."""

    def penalty(self, step: Any) -> Tensor | None:
        """(R,) what the steps add to their words' losses."""
        return None

    def encode(self, source: SourceBatch) -> tuple[Any, Any]:
        return self.read(source, self.embedding(source.words))

    def teacher_forcing(self, embedded: Tensor, state: Any, memory: Any, packing: Packing) -> tuple[Tensor, ...]:
        """embedded: (B, T, E), the targets' words, rows longest first -> all steps as the fields of one `Step`."""
        steps = []
        for words in embedded.unbind(1):
            state, step = self.step(words, state, memory)
            steps.append(step)
        return tuple(packing.pack(torch.stack(field, 1)) for field in zip(*steps, strict=True))

    def forward(self, batch: RewritingBatch) -> Tensor:
        """-log P(w_m | w_<m) of every target word, END included (Sec. 3.1), step by step in one flat list: (R,)."""
        embedding, read, embedded = look_up(self.embedding.weight, batch.source.words, batch.inputs)
        memory, state = self.read(batch.source, read)
        packing = Packing.of(batch.lengths)
        step = self.Step(*self.teacher_forcing(embedded, state, memory, packing))
        o, p_copy = self.generator(step)
        targets = packing.pack(batch.targets)  # (R,)
        n_extra = batch.source.n_extra[packing.row].to(o.device)
        generated = self._generated(o, embedding, targets, n_extra)
        extended = batch.source.extended.index_select(0, packing.row.to(o.device))  # (R, S)
        copied = (step.attention * (extended == targets[:, None])).sum(1)
        losses = -log_probability(mixture(p_copy, generated, copied))
        penalty = self.penalty(step)
        return losses if penalty is None else losses + penalty

    def _generated(self, o: Tensor, embedding: Tensor, targets: Tensor, n_extra: Tensor) -> Tensor:
        """The targets' share of the softmax.  o: (R, E), targets, n_extra: (R,) -> (R,)"""
        known = targets < self.vocab_size
        partition, logit = log_partition_and_logit(o, embedding, targets.where(known, PAD))
        logit = logit.where(known, self.extra_logit)
        return torch.exp(logit - extended_partition(partition, n_extra, self.extra_logit))


def extended_partition(partition: Tensor, n_extra: Tensor, extra_logit: float = EXTRA_LOGIT) -> Tensor:
    """The log partition over V words and n_extra words of constant logit; all (R,)."""
    return torch.logaddexp(partition, n_extra.log() + extra_logit)


@on_cpu(look_up_together)
def look_up(embedding: Tensor, *words: Tensor) -> tuple[Tensor, ...]:
    """embedding: (V, E), each of words: (...) -> the matrix again, for the softmax, and the words' rows (..., E)."""
    return embedding, *(F.embedding(ids, embedding) for ids in words)


@on_cpu(tiled_log_partition_and_logit)
def log_partition_and_logit(outputs: Tensor, embedding: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """outputs: (R, E), embedding: (V, E), targets: (R,) ids below V
    -> log sum_v exp(o . E_v) and o . E_target, both (R,), at the embedding's precision whatever autocast says."""
    with torch.autocast(outputs.device.type, enabled=False):
        logits = outputs.to(embedding.dtype) @ embedding.T  # (R, V)
        return logits.logsumexp(1), logits.gather(1, targets[:, None]).squeeze(1)

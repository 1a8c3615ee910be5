"""Encoder-decoders that generate words or copy them: the abstractor (A.2) and the pointer-generator (See et al., 2017).

The word distribution is a mixture over the extended vocabulary,
    P(w) = (1 - p_copy) softmax(o E^T)_w + p_copy sum of the attention on w's positions,
where words outside the vocabulary that stand in the source have the constant logit `extra_logit` in the softmax.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from model.batches import PAD, RewritingBatch, SourceBatch
from model.rnn import small_uniform
from model.vocabulary_softmax import log_partition_and_logit, look_up

EXTRA_LOGIT = 1e-6  # as released
PROBABILITY_FLOOR = 1e-8  # log(P + floor), as released


class DecoderStep(NamedTuple):
    state: Any  # with `output` (R, E), o in the mixture, and `select(rows)`
    attention: Tensor  # (R, S)
    copy: Tensor  # (R,) logit of p_copy
    penalty: Tensor | None = None  # (R,) what the step adds to its word's loss


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


class CopyNetwork(nn.Module, ABC):
    """A subclass says how it reads the source and takes a step; the loss and the searches follow."""

    embedding: nn.Embedding  # of encoder, decoder and output projection
    extra_logit: ClassVar[float]

    @property
    def vocab_size(self) -> int:
        return self.embedding.num_embeddings

    @abstractmethod
    def read(self, source: SourceBatch, embedded: Tensor) -> tuple[Any, Any]:
        """embedded: (B, S, E) -> the memory, with `extended` (B, S) and `select(rows)`, and the first state."""

    @abstractmethod
    def step(self, embedded: Tensor, state: Any, memory: Any) -> DecoderStep:
        """embedded: (R, E), the previous words of R = B * K decoders, K for each of the memory's B sources."""

    def encode(self, source: SourceBatch) -> tuple[Any, Any]:
        return self.read(source, self.embedding(source.words))

    def forward(self, batch: RewritingBatch) -> Tensor:
        """-log P(w_m | w_<m) of every target word, END included (Sec. 3.1), step by step in one flat list: (R,)."""
        embedding, (read, embedded) = look_up(self.embedding.weight, batch.source.words, batch.inputs)
        memory, state = self.read(batch.source, read)
        outputs, copied, copy_logits, targets, penalties = [], [], [], [], []
        for t, rows in enumerate(rows_per_step(batch.lengths)):
            if rows < len(memory.extended):  # rows are sorted: the longest stay
                memory, state = memory.select(slice(rows)), state.select(slice(rows))
            state, attention, copy, penalty = self.step(embedded[:rows, t], state, memory)
            target = batch.targets[:rows, t]
            outputs.append(state.output)
            copied.append((attention * (memory.extended == target[:, None])).sum(1))
            copy_logits.append(copy)
            targets.append(target)
            penalties.extend([] if penalty is None else [penalty])
        sizes = [len(rows) for rows in outputs]
        n_extra = torch.cat([batch.source.n_extra[:rows] for rows in sizes])
        losses = self._negative_log_likelihood(
            embedding, torch.cat(outputs), torch.cat(copied), torch.cat(copy_logits), torch.cat(targets), n_extra
        )
        return losses + torch.cat(penalties) if penalties else losses

    def _negative_log_likelihood(
        self, embedding: Tensor, outputs: Tensor, copied: Tensor, copy: Tensor, targets: Tensor, n_extra: Tensor
    ) -> Tensor:
        """All (R,) but embedding (V, E), outputs (R, E).  `copied` is the attention on the target's positions."""
        known = targets < self.vocab_size
        partition, logit = log_partition_and_logit(outputs, embedding, targets.where(known, PAD))
        partition = extended_partition(partition, n_extra, self.extra_logit)
        logit = logit.where(known, self.extra_logit)
        generated = torch.exp(logit - partition)
        p_copy = torch.sigmoid(copy)
        return -torch.log((1 - p_copy) * generated + p_copy * copied + PROBABILITY_FLOOR)


def extended_partition(partition: Tensor, n_extra: Tensor, extra_logit: float = EXTRA_LOGIT) -> Tensor:
    """The log partition over V words and n_extra words of constant logit; all (R,)."""
    return torch.logaddexp(partition, n_extra.log() + extra_logit)


def rows_per_step(lengths: Tensor) -> list[int]:
    """Sorted lengths (longest first) -> how many rows still need each step."""
    counts = torch.bincount(lengths.cpu(), minlength=1)
    return (len(lengths) - counts.cumsum(0))[:-1].tolist()

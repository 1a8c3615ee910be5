"""The extractors trained by maximum likelihood: rnn-ext (Sec. 2.1) and ff-ext (A.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from model.batches import ArticleBatch, ExtractionBatch, in_one_transfer, mask_of
from model.pointer import PointerDecoder, gather_rows
from model.rnn import BiLSTM
from model.sentence_encoder import SENTENCE_ENCODERS


class Extraction(NamedTuple):
    """An article's chosen sentences in the order of the summary."""

    sentences: list[int]
    scores: Sequence[float | None]  # log probability of the choice (rnn-ext, agent), logit (ff-ext), or nothing


class HierarchicalEncoder(nn.Module):
    """Sentence representations h_j in the context of their article (Sec. 2.1.1)."""

    def __init__(
        self,
        vocab_size: int = 30004,
        emb_dim: int = 128,
        conv_hidden: int = 100,
        lstm_hidden: int = 256,
        lstm_layer: int = 1,
        bidirectional: bool = True,
        sentence_encoder: str = "cnn",
    ) -> None:
        super().__init__()
        self.sentence_encoder = SENTENCE_ENCODERS[sentence_encoder](vocab_size, emb_dim, conv_hidden)
        self.article_encoder = BiLSTM(self.sentence_encoder.output_size, lstm_hidden, lstm_layer, bidirectional)
        self.memory_size = lstm_hidden * self.article_encoder.directions

    def encode(self, articles: ArticleBatch) -> tuple[Tensor, Tensor]:
        """-> h (B, N, 2H), zero where padded; mask (B, N)"""
        r = self.sentence_encoder(articles)  # (M, 3C)
        mask = mask_of(articles.counts)  # (B, N)
        padded = r.new_zeros(mask.numel(), r.size(1)).index_copy(0, _positions(mask).to(r.device), r)
        h, _, _ = self.article_encoder(padded.unflatten(0, mask.shape), articles.counts)
        return h, mask.to(r.device)


class RnnExtractor(HierarchicalEncoder):
    """rnn-ext: the pointer network trained on proxy labels (Sec. 3.1)."""

    def __init__(self, lstm_hidden: int = 256, lstm_layer: int = 1, **encoder: Any) -> None:
        super().__init__(lstm_hidden=lstm_hidden, lstm_layer=lstm_layer, **encoder)
        self.pointer = PointerDecoder(self.memory_size, lstm_hidden, lstm_layer)

    def forward(self, batch: ExtractionBatch) -> Tensor:
        """Cross entropy of every label step, in one flat list: (number of labels,)."""
        memory = self.pointer.remember(*self.encode(batch.articles))
        labelled = batch.targets >= 0
        labels, chosen, at = (
            index.to(memory.rows.device)
            for index in (batch.targets[labelled], batch.targets.clamp(min=0), _positions(labelled))
        )
        scores = self.pointer.teacher_forcing(memory, chosen)  # (B, T, N)
        scores = scores.masked_fill(~memory.mask[:, None], float("-inf"))
        return F.cross_entropy(scores.flatten(0, 1).index_select(0, at), labels, reduction="none")  # Eq. 2

    @torch.no_grad()
    def extract(self, articles: ArticleBatch, k: int) -> list[Extraction]:
        """The k best sentences of each article in the order of choice, none twice; all, if there are fewer."""
        memory = self.pointer.remember(*self.encode(articles))
        selectable = memory.mask.clone()
        previous, state = self.pointer.start(len(selectable))
        scores = memory.rows.new_empty(len(selectable), min(k, selectable.size(1)))
        chosen = torch.empty_like(scores, dtype=torch.int64)
        for t in range(scores.size(1)):
            logits, state = self.pointer.step(memory, previous, state, selectable)
            scores[:, t], best = logits.log_softmax(1).max(1)
            chosen[:, t] = best
            selectable.scatter_(1, best[:, None], False)
            previous = gather_rows(memory.rows, best[:, None]).squeeze(1)
        return _extractions(chosen, scores, articles.counts)


class FfExtractor(HierarchicalEncoder):
    """ff-ext: an independent decision for every sentence, summarised in their own order (A.4, Eq. 13-14)."""

    def __init__(self, **encoder: Any) -> None:
        super().__init__(**encoder)
        self.sentence_score = nn.Linear(self.memory_size, 1)  # W_c, b
        self.document = nn.Linear(self.memory_size, self.memory_size)  # W_d, b_d

    def logits(self, articles: ArticleBatch) -> tuple[Tensor, Tensor]:
        """-> logits of P(d_j = 1) (B, N), mask (B, N)"""
        h, mask = self.encode(articles)
        mean = h.sum(1) / mask.sum(1, keepdim=True)  # (B, 2H)
        x = torch.tanh(self.document(mean))  # (B, 2H)  Eq. 14
        return self.sentence_score(h).squeeze(2) + torch.bmm(h, x[:, :, None]).squeeze(2), mask

    def forward(self, batch: ExtractionBatch) -> Tensor:
        """Binary cross entropy of every sentence, in one flat list: (M,)."""
        logits, _ = self.logits(batch.articles)
        real = mask_of(batch.articles.counts)  # (B, N)
        labels = torch.zeros(len(real), real.size(1) + 1)
        labels.scatter_(1, batch.targets.remainder(labels.size(1)), 1.0)  # -1 goes to the extra last column
        at, labels = (x.to(logits.device) for x in (_positions(real), labels[:, :-1][real]))
        flat = logits.flatten().index_select(0, at)
        return F.binary_cross_entropy_with_logits(flat, labels.to(flat.dtype), reduction="none")

    @torch.no_grad()
    def extract(self, articles: ArticleBatch, k: int) -> list[Extraction]:
        """The k best sentences in document order (Eq. 13); all of them if there are fewer."""
        logits, mask = self.logits(articles)
        logits = logits.masked_fill(~mask, float("-inf"))
        best = logits.topk(min(k, logits.size(1))).indices
        best = best.masked_fill(~mask.gather(1, best), logits.size(1)).sort(1).values  # Eq. 13; padding goes last
        return _extractions(best, logits.gather(1, best.clamp(max=logits.size(1) - 1)), articles.counts)


def _positions(mask: Tensor) -> Tensor:
    """Where a mask is True, as numbers of its flattened elements."""
    return mask.flatten().nonzero().squeeze(1)


def _extractions(chosen: Tensor, scores: Tensor, counts: Tensor) -> list[Extraction]:
    """chosen, scores: (B, k), counts: (B,)"""
    chosen, scores = in_one_transfer([chosen, scores])
    table = zip(chosen.tolist(), scores.tolist(), counts.tolist(), strict=True)
    return [Extraction(sentences[:n], values[:n]) for sentences, values, n in table]

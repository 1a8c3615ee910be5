"""The extractors trained by maximum likelihood: rnn-ext (Sec. 2.1) and ff-ext (A.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from model.batches import ArticleBatch, ExtractionBatch, mask_of
from model.pointer import PointerDecoder, pick
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
        counts = articles.counts.cpu()
        mask = mask_of(counts).to(r.device)  # (B, N)
        padded = r.new_zeros(*mask.shape, r.size(1)).masked_scatter(mask[:, :, None], r)  # (B, N, 3C)
        h, _ = self.article_encoder(padded, counts)
        return h, mask


class RnnExtractor(HierarchicalEncoder):
    """rnn-ext: the pointer network trained on proxy labels (Sec. 3.1)."""

    def __init__(self, lstm_hidden: int = 256, lstm_layer: int = 1, **encoder: Any) -> None:
        super().__init__(lstm_hidden=lstm_hidden, lstm_layer=lstm_layer, **encoder)
        self.pointer = PointerDecoder(self.memory_size, lstm_hidden, lstm_layer)

    def forward(self, batch: ExtractionBatch) -> Tensor:
        """Cross entropy of every label step, in one flat list: (number of labels,)."""
        memory = self.pointer.remember(*self.encode(batch.articles))
        scores = self.pointer.teacher_forcing(memory, batch.targets.clamp(min=0))  # (B, T, N)
        scores = scores.masked_fill(~memory.mask[:, None], float("-inf"))
        labelled = batch.targets >= 0
        return F.cross_entropy(scores[labelled], batch.targets[labelled], reduction="none")

    @torch.no_grad()
    def extract(self, articles: ArticleBatch, k: int) -> list[Extraction]:
        """The k best sentences of each article in the order of choice, none twice; all, if there are fewer."""
        memory = self.pointer.remember(*self.encode(articles))
        free = memory.mask.clone()
        previous, state = self.pointer.start(len(free))
        scores = memory.rows.new_empty(len(free), min(k, free.size(1)))
        chosen = torch.empty_like(scores, dtype=torch.int64)
        for t in range(scores.size(1)):
            logits, state = self.pointer.step(memory, previous, state, free)
            scores[:, t], best = logits.log_softmax(1).max(1)
            chosen[:, t] = best
            free.scatter_(1, best[:, None], False)
            previous = pick(memory.rows, best[:, None]).squeeze(1)
        return _extractions(chosen, scores, articles.counts)


class FfExtractor(HierarchicalEncoder):
    """ff-ext: an independent decision for every sentence (A.4, Eq. 13-14)."""

    def __init__(self, **encoder: Any) -> None:
        super().__init__(**encoder)
        self.sentence_score = nn.Linear(self.memory_size, 1)  # W_c, b
        self.document = nn.Linear(self.memory_size, self.memory_size)  # W_d, b_d

    def logits(self, articles: ArticleBatch) -> tuple[Tensor, Tensor]:
        """-> logits (B, N), mask (B, N)"""
        h, mask = self.encode(articles)
        mean = h.sum(1) / mask.sum(1, keepdim=True)
        x = torch.tanh(self.document(mean))  # (B, 2H)
        return self.sentence_score(h).squeeze(2) + torch.bmm(h, x[:, :, None]).squeeze(2), mask

    def forward(self, batch: ExtractionBatch) -> Tensor:
        """Binary cross entropy of every sentence, in one flat list: (M,)."""
        logits, mask = self.logits(batch.articles)
        labels = torch.zeros_like(logits[:, :1]).expand(-1, logits.size(1) + 1).clone()
        labels.scatter_(1, batch.targets.remainder(labels.size(1)), 1.0)  # -1 goes to the extra last column
        return F.binary_cross_entropy_with_logits(logits[mask], labels[:, :-1][mask], reduction="none")

    @torch.no_grad()
    def extract(self, articles: ArticleBatch, k: int) -> list[Extraction]:
        """The k best sentences in document order (A.4); all of them if there are fewer."""
        logits, mask = self.logits(articles)
        logits = logits.masked_fill(~mask, float("-inf"))
        best = logits.topk(min(k, logits.size(1))).indices
        best = best.masked_fill(~mask.gather(1, best), logits.size(1)).sort(1).values  # padding goes last
        return _extractions(best, logits.gather(1, best.clamp(max=logits.size(1) - 1)), articles.counts)


def _extractions(chosen: Tensor, scores: Tensor, counts: Tensor) -> list[Extraction]:
    """chosen, scores: (B, k), counts: (B,)"""
    table = zip(chosen.tolist(), scores.tolist(), counts.tolist(), strict=True)
    return [Extraction(sentences[:n], values[:n]) for sentences, values, n in table]

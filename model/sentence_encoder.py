"""Convolutional sentence encoder (Sec. 2.1.1, A.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from model.batches import PAD, ArticleBatch
from model.word_convolution import max_over_windows

WINDOWS = (3, 4, 5)


class SentenceEncoder(nn.Module):
    """r_j = [max_t relu(conv_k(words of sentence j))_t  for k in 3, 4, 5].

    The max also sees windows that reach into the padding, up to the length of the article's longest sentence:
    the released weights depend on it.
    """

    def __init__(self, vocab_size: int, emb_dim: int, channels: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=PAD)
        self.convolutions = nn.ModuleList([nn.Conv1d(emb_dim, channels, k) for k in WINDOWS])
        self.output_size = len(WINDOWS) * channels

    def filters(self) -> list[nn.Conv1d]:
        return [cast(nn.Conv1d, convolution) for convolution in self.convolutions]

    def forward(self, batch: ArticleBatch) -> Tensor:
        """M sentences -> (M, 3C)"""
        return self.convolve_distinct_words(batch) if batch.words.device.type == "cpu" else self.convolve(batch)

    def convolve(self, batch: ArticleBatch) -> Tensor:
        """The formula as it stands; what a GPU does best."""
        embedded = self.embedding(batch.words).mT  # (M, E, W)
        codes = []
        for window, convolution in zip(WINDOWS, self.filters(), strict=True):
            activation = convolution(embedded).relu()  # (M, C, W - k + 1)
            starts = torch.arange(activation.size(2), device=activation.device)
            inside = starts <= batch.widths[:, None] - window  # (M, W - k + 1)
            codes.append((activation * inside[:, None]).amax(2))
        return torch.cat(codes, 1)

    def convolve_distinct_words(self, batch: ArticleBatch) -> Tensor:
        """The same numbers with each distinct word of the batch multiplied once; several times faster on a CPU."""
        distinct, positions = batch.words.unique(return_inverse=True)
        weight = torch.cat([conv.weight.permute(1, 2, 0).flatten(1) for conv in self.filters()], 1)  # (E, 12C)
        taps = self.embedding(distinct) @ weight  # (U, 12C)
        bias = torch.cat([cast(Tensor, conv.bias) for conv in self.filters()])  # (3C,)
        return (max_over_windows(taps, positions, batch.lengths, batch.widths, WINDOWS) + bias).relu()


# By their name in `net_args`: modules made from (vocabulary, embedding, channels), with `embedding`, `output_size` and
# a forward from an ArticleBatch of M sentences to (M, output_size).
SENTENCE_ENCODERS: dict[str, Callable[[int, int, int], Any]] = {"cnn": SentenceEncoder}

"""Convolutional sentence encoder (Sec. 2.1.1, A.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from model.batches import PAD, ArticleBatch
from model.kernels import on_cpu
from model.kernels.word_convolution import convolve_distinct_words
from model.windows import WINDOWS


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

    def forward(self, batch: ArticleBatch) -> Tensor:
        """M sentences -> (M, 3C)"""
        filters = [cast(nn.Conv1d, convolution) for convolution in self.convolutions]
        return convolve(batch.words, batch.lengths, batch.widths, self.embedding, filters)


@on_cpu(convolve_distinct_words)
def convolve(
    words: Tensor, lengths: Tensor, widths: Tensor, embedding: nn.Embedding, filters: Sequence[nn.Conv1d]
) -> Tensor:
    """words: (M, W) ids, lengths, widths: (M,)
    -> (M, 3C), max_t relu(conv_k(words))_t for every filter k; windows end before `widths`"""
    embedded = embedding(words).mT  # (M, E, W)
    codes = []
    for convolution in filters:
        activation = convolution(embedded).relu()  # (M, C, W - k + 1)
        starts = torch.arange(activation.size(2), device=activation.device)
        inside = starts <= widths[:, None] - convolution.kernel_size[0]  # (M, W - k + 1)
        codes.append((activation * inside[:, None]).amax(2))
    return torch.cat(codes, 1)


# By their name in `net_args`: modules made from (vocabulary, embedding, channels), with `embedding`, `output_size` and
# a forward from an ArticleBatch of M sentences to (M, output_size).
SENTENCE_ENCODERS: dict[str, Callable[[int, int, int], Any]] = {"cnn": SentenceEncoder}

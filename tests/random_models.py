"""Small networks with lively random weights, and sentences for them."""

from __future__ import annotations

import torch

from model.abstractor import Abstractor
from model.batches import END, SourceBatch


def random_abstractor(seed: int, vocab_size: int = 20, layers: int = 1) -> Abstractor:
    """Float64, so that near ties do not decide a test; with every other seed sentences end early."""
    torch.manual_seed(seed)
    abstractor = Abstractor(vocab_size, emb_dim=8, n_hidden=6, n_layer=layers).double().eval()
    for parameter in abstractor.parameters():
        parameter.data.copy_(torch.randn_like(parameter) * 0.9)
    abstractor.embedding.weight.data[END] *= 0.5 if seed % 2 else 2.0
    return abstractor


def random_source(seed: int, batch: int, vocab_size: int = 20, n_extra: int = 4, longest: int = 9) -> SourceBatch:
    torch.manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (batch,))
    extended = torch.randint(4, vocab_size + n_extra, (batch, int(lengths.max())))
    extended.masked_fill_(torch.arange(extended.size(1)) >= lengths[:, None], 0)
    words = extended.masked_fill(extended >= vocab_size, 1)
    return SourceBatch(words, extended, lengths, torch.full((batch,), n_extra))

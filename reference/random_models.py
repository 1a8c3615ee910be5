"""Small networks with lively random weights, and sentences for them."""

from __future__ import annotations

import math

import torch
from torch import nn

from model.abstractor import Abstractor
from model.actor_critic import ActorCritic
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


def paper_sizes(vocab_size: int, words: int = 17) -> tuple[ActorCritic, Abstractor]:
    """Networks of the paper's sizes with random weights; sentences end after about that many words."""
    torch.manual_seed(0)
    agent, abstractor = ActorCritic(vocab_size=vocab_size).eval(), Abstractor(vocab_size).eval()
    _add_clock(abstractor, words)
    return agent, abstractor


@torch.no_grad()
def _add_clock(abstractor: Abstractor, words: int) -> None:
    """Decoder unit 0 counts steps from a start that differs by sentence; beyond a limit END is certain."""
    cell, (first, _, last) = abstractor.decoder[0], abstractor.projection
    assert isinstance(cell, nn.LSTMCell) and isinstance(first, nn.Linear) and isinstance(last, nn.Linear)
    H = cell.hidden_size
    pace = 0.03
    for gate, bias in enumerate((10.0, 10.0, pace, 10.0)):  # input, forget, cell, output
        for weight in (cell.weight_ih, cell.weight_hh):
            weight[gate * H].zero_()
        cell.bias_ih[gate * H], cell.bias_hh[gate * H] = bias, 0.0
    abstractor.initial_c.weight[0] = 1.5 * pace * torch.randn(abstractor.initial_c.in_features)
    first.weight[0].zero_()
    first.weight[0, 0] = 200.0
    first.bias[0] = -200.0 * float(math.tanh(pace * (words + 4)))
    last.weight[0].zero_()
    last.weight[0, 0] = 6.0
    last.weight[:, 0] *= torch.arange(last.out_features) == 0
    abstractor.embedding.weight[:, 0] = 0.0
    abstractor.embedding.weight[END] = 0.0
    abstractor.embedding.weight[END, 0] = 10.0

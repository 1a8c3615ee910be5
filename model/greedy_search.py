"""Greedy rewriting (Sec. 6.2: "standard greedy decoding"): many sentences at once, finished ones leave the batch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.batches import END, START, UNK, SourceBatch
from model.copy_network import CopyNetwork, copied_share, log_probability
from model.word_choice import WordChoice

SHRINK_AT = 0.9  # running share of the batch below which finished rows are dropped


class Rewritings(NamedTuple):
    """K ways to rewrite each of B sentences, best first; END and what follows are not words of them."""

    words: Tensor  # (B, K, T) extended ids
    lengths: Tensor  # (B, K)
    attended: Tensor  # (B, K, T) the source position looked at most, for replacing UNK
    scores: Tensor  # (B, K) log probability of all words and END
    copied: Tensor  # (B, K, T) the share of the word's probability that comes from copying


@torch.no_grad()
def greedy_search(
    network: CopyNetwork,
    source: SourceBatch,
    max_words: int,
    choice: WordChoice | None = None,
    ask_every: int = 1,
) -> Rewritings:
    """`choice`: the network's, where many searches share it; `ask_every`: steps between two looks at which sentences
    have ended, for which a GPU would have to be waited for."""
    memory, state = network.encode(source)
    choose = (choice or WordChoice(network.embedding.weight, network.extra_logit)).among(source, k=1)
    words = torch.full_like(source.words[:, :1], END).repeat(1, max_words)  # (B, T)
    attended = torch.zeros_like(words)
    probabilities, copied = (network.embedding.weight.new_zeros(words.shape) for _ in range(2))
    rows = torch.arange(len(words), device=words.device)  # of the original batch, that are still running
    ended = torch.zeros_like(rows, dtype=torch.bool)
    previous = torch.full_like(rows, START)
    for t in range(max_words):
        state, step = network.step(network.embedding(previous), state, memory)
        word, probability, by_copying = choose(*network.generator(step), step.attention)
        word = word.squeeze(1).masked_fill(ended, END)
        words[rows, t] = word
        attended[rows, t] = step.attention.argmax(1)
        probabilities[rows, t] = probability.squeeze(1)
        copied[rows, t] = by_copying.squeeze(1)
        ended = word == END
        previous = word.masked_fill(word >= network.vocab_size, UNK)
        if (t + 1) % ask_every == 0:
            alive = (~ended).nonzero().squeeze(1)
            if len(alive) == 0:
                break
            if len(alive) < SHRINK_AT * len(ended):
                rows, previous, ended = rows[alive], previous[alive], ended[alive]
                memory, state, choose = memory.select(alive), state.select(alive), choose.select(alive)
    lengths = ((words == END).cumsum(1) == 0).sum(1)  # words before the first END
    taken = torch.arange(max_words, device=words.device) <= lengths[:, None]
    scores = (log_probability(probabilities) * taken).sum(1)
    share = copied_share(probabilities, copied)
    return Rewritings(*(result[:, None] for result in (words, lengths, attended, scores, share)))

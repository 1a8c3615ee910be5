"""Greedy rewriting (Sec. 6.2: "standard greedy decoding"): many sentences at once, finished ones leave the batch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.batches import END, START, UNK, SourceBatch
from model.copy_network import CopyNetwork
from model.vocabulary_top import VocabularyTop
from model.word_choice import WordChoice, log_probability

_SHRINK_AT = 0.9  # running share of the batch below which finished rows are dropped


class Rewritings(NamedTuple):
    """K ways to rewrite each of B sentences, best first; END and what follows are not words of them."""

    words: Tensor  # (B, K, T) extended ids
    lengths: Tensor  # (B, K)
    attended: Tensor  # (B, K, T) the source position looked at most, for replacing UNK
    scores: Tensor  # (B, K) log probability of all words and END
    copied: Tensor  # (B, K, T) the share of the word's probability that comes from copying


@torch.no_grad()
def greedy_search(
    network: CopyNetwork, source: SourceBatch, max_words: int, vocabulary: VocabularyTop | None = None
) -> Rewritings:
    """`vocabulary`: that of the network, where many searches share it."""
    memory, state = network.encode(source)
    choice = WordChoice.of(network, source, 1, vocabulary)
    batch, device = len(source.words), source.words.device
    words = torch.full((batch, max_words), END, device=device)
    attended = torch.zeros_like(words)
    copied = state.output.new_zeros(batch, max_words)
    log_probs = state.output.new_zeros(batch)
    lengths = torch.full((batch,), max_words, device=device)
    rows = torch.arange(batch, device=device)  # of the original batch, that are still running
    running = torch.ones_like(rows, dtype=torch.bool)
    previous = torch.full_like(rows, START)
    for t in range(max_words):
        step = network.step(network.embedding(previous), state, memory)
        state = step.state
        options = choice.candidates(step)
        probability, best = options.probabilities.max(1, keepdim=True)
        word = options.words.gather(1, best).squeeze(1)
        words[rows, t] = word.where(running, END)
        attended[rows, t] = step.attention.argmax(1)
        copied[rows, t] = options.share_copied(best).squeeze(1)
        log_probs[rows] += log_probability(probability).squeeze(1) * running
        ended = running & (word == END)
        lengths[rows] = torch.where(ended, t, lengths[rows])
        running = running & ~ended
        previous = word.masked_fill(word >= network.vocab_size, UNK)
        alive = int(running.sum())
        if alive == 0:
            break
        if alive < _SHRINK_AT * len(running):
            keep = running.nonzero().squeeze(1)
            rows, previous, running = rows[keep], previous[keep], running[keep]
            memory, state, choice = memory.select(keep), state.select(keep), choice.select(keep)
    return Rewritings(*(result[:, None] for result in (words, lengths, attended, log_probs, copied)))

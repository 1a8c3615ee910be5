"""Beam search with diversity and trigram avoidance (Sec. 3.3, 6.2), many sentences at once on tensors.

Released semantics, on which the reranking depends:
 - the child of rank r (0, 1, ...) among its parent's candidates loses r times `diversity`, for good;
 - candidates are ranked by score / length, where START counts, and END too if they end;
 - they are taken in that order until K unfinished ones are kept. One that repeats a trigram gets the score
   `REPEATED` after the ranking, but is taken like any other;
 - a sentence is done with K finished hypotheses, which are ordered by score / length, now without END;
 - at the length limit the finished hypotheses come first, then the unfinished ones without their last word.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.batches import END, START, UNK, SourceBatch
from model.copy_network import CopyNetwork, copied_share, log_probability
from model.greedy_search import SHRINK_AT, Rewritings
from model.word_choice import WordChoice

REPEATED = -1e9
_TRIGRAM_BITS = 21  # three extended ids in one 64-bit integer


class Rules(NamedTuple):
    """What other networks' searches do otherwise; by default as above."""

    avoid_trigrams: bool = True
    min_words: int = 0  # END is not considered before
    children: int = 1  # K times so many next words of each hypothesis are considered
    end_counts: bool = False  # in the length by which finished hypotheses are ordered
    cut_unfinished: bool = True  # an unfinished hypothesis loses its last word


RELEASED = Rules()


@torch.no_grad()
def beam_search(
    network: CopyNetwork,
    source: SourceBatch,
    max_words: int,
    beam: int,
    diversity: float = 1.0,
    rules: Rules = RELEASED,
    choice: WordChoice | None = None,
    ask_every: int = 1,
) -> Rewritings:
    """K = beam hypotheses of every sentence, best first; scores are float64, -inf where there are fewer than K.
    `choice` and `ask_every` as in `greedy_search`."""
    n_children = rules.children * beam
    memory, state = network.encode(source)
    choose = (choice or WordChoice(network.embedding.weight, network.extra_logit)).among(source, n_children)
    beams = Beams(len(source.words), max_words, beam, diversity, source.words.device, rules)
    for t in range(max_words):
        previous = beams.last_words().flatten()
        previous = previous.masked_fill(previous >= network.vocab_size, UNK)
        state, step = network.step(network.embedding(previous), state, memory)
        words, probabilities, copied = choose(*network.generator(step), step.attention, t >= rules.min_words)
        share = copied_share(probabilities, copied)
        parents = beams.grow(Children(words, log_probability(probabilities), step.attention.argmax(1), share))
        state = state.select(parents)
        if (t + 1) % ask_every == 0:
            running = beams.running()
            alive = running.nonzero().squeeze(1)
            if len(alive) == 0:
                break
            if len(alive) < SHRINK_AT * len(running):
                beams.keep(alive)
                memory, choose = memory.select(alive), choose.select(alive)
                state = state.select((beam * alive[:, None] + torch.arange(beam, device=alive.device)).flatten())
    return beams.results()


class Children(NamedTuple):
    """The best C next words of R hypotheses, best first."""

    words: Tensor  # (R, C)
    log_probs: Tensor  # (R, C)
    attended: Tensor  # (R,) the source position looked at most
    copied: Tensor  # (R, C)


class Sequences(NamedTuple):
    """Hypotheses, n of each of B sentences."""

    words: Tensor  # (B, n, T)
    attended: Tensor  # (B, n, T)
    copied: Tensor  # (B, n, T)
    scores: Tensor  # (B, n) float64
    lengths: Tensor  # (B, n) words

    @classmethod
    def empty(cls, batch: int, n: int, max_words: int, device: torch.device) -> Sequences:
        words = torch.full((batch, n, max_words), END, device=device)
        scores = torch.zeros(batch, n, dtype=torch.float64, device=device)
        return cls(
            words,
            torch.zeros_like(words),
            torch.zeros(words.shape, device=device),
            scores,
            words.new_zeros(batch, n),
        )

    def gather(self, index: Tensor) -> Sequences:
        """index: (B, m) -> m hypotheses of each sentence"""
        deep = index[:, :, None].expand(-1, -1, self.words.size(2))
        histories = (field.gather(1, deep) for field in self[:3])
        return Sequences(*histories, *(field.gather(1, index) for field in self[3:]))

    def beside(self, other: Sequences) -> Sequences:
        return Sequences(*(torch.cat(fields, 1) for fields in zip(self, other, strict=True)))

    def select(self, rows: Tensor) -> Sequences:
        return Sequences(*(field.index_select(0, rows) for field in self))

    def ranking(self, n_marks: int) -> Tensor:
        """score / length, where START counts, and END if there are two marks"""
        return self.scores / (self.lengths + n_marks)


class Beams:
    """The bookkeeping of the search; knows no network."""

    def __init__(
        self,
        batch: int,
        max_words: int,
        beam: int,
        diversity: float,
        device: torch.device,
        rules: Rules = RELEASED,
    ) -> None:
        self.beam, self.rules, self.max_words, self.t = beam, rules, max_words, 0
        self.n_children = rules.children * beam
        self.penalties = diversity * torch.arange(self.n_children, dtype=torch.float64, device=device)  # by rank
        self.slots = torch.arange(beam, device=device)
        self.open = Sequences.empty(batch, 1, max_words, device)
        self.finished = Sequences.empty(batch, beam, max_words, device)
        self.n_finished = self.finished.lengths.new_zeros(batch)
        self.trigrams = self.open.words.new_zeros(batch, 1, max_words)
        self.repeated = torch.zeros(batch, 1, dtype=torch.bool, device=device)
        self.rows = torch.arange(batch, device=device)  # of the original batch, that are still here
        self._results = Sequences.empty(batch, beam, max_words, device)

    def last_words(self) -> Tensor:
        """(B, n)"""
        return self._word(-1)

    def running(self) -> Tensor:
        """(B,) sentences that need more steps"""
        return self.n_finished < self.beam

    def grow(self, children: Children) -> Tensor:
        """Replaces the open hypotheses by their best children; returns the children's parents as rows (B * K,)."""
        batch, n = self.open.scores.shape
        log_probs = children.log_probs.double() - self.penalties
        scores = self.open.scores[:, :, None] + log_probs.view(batch, n, -1)
        scores, order = scores.flatten(1).sort(dim=1, descending=True, stable=True)  # (B, n * C)
        words = children.words.view(batch, -1).gather(1, order)
        ends = words == END
        goes_on = ~ends
        n_open = goes_on.cumsum(1)
        visited = n_open + ends <= self.beam  # before so many were kept
        kept = _first(goes_on, self.beam)
        kept = torch.where(self.slots < n_open[:, -1:], kept, kept[:, :1])
        ending = visited & ends & self.running()[:, None]
        if ending.any():
            self._finish(ending, scores, order)
        return self._keep(kept, scores, order, words, children)

    def _keep(self, kept: Tensor, scores: Tensor, order: Tensor, words: Tensor, children: Children) -> Tensor:
        batch, n = self.open.scores.shape
        child = order.gather(1, kept)  # (B, K)
        parent, word = child // self.n_children, words.gather(1, kept)
        trigram = (((self._word(-2) << _TRIGRAM_BITS) + self._word(-1)).gather(1, parent) << _TRIGRAM_BITS) + word
        self.trigrams = self.trigrams.gather(1, parent[:, :, None].expand(-1, -1, self.max_words))
        scores = scores.gather(1, kept)
        again = (self.trigrams[:, :, : self.t] == trigram[:, :, None]).any(2) & scores.isfinite()
        self.repeated = (self.repeated.gather(1, parent) | again) & self.rules.avoid_trigrams
        self.open = self.open.gather(parent)
        self.trigrams[:, :, self.t] = trigram
        self.open.words[:, :, self.t] = word
        self.open.attended[:, :, self.t] = children.attended.view(batch, n).gather(1, parent)
        self.open.copied[:, :, self.t] = children.copied.view(batch, -1).gather(1, child).float()
        self.t += 1
        scores = scores.masked_fill(self.repeated, REPEATED)
        self.open = self.open._replace(scores=scores, lengths=torch.full_like(parent, self.t))
        return (parent + n * torch.arange(batch, device=parent.device)[:, None]).flatten()

    def _finish(self, ending: Tensor, scores: Tensor, order: Tensor) -> None:
        """Merges the hypotheses that END closes into the finished ones."""
        last = _first(ending, self.beam)  # (B, K), of which the first few end
        parent = order.gather(1, last) // self.n_children
        counts = ending.sum(1)
        scores = scores.gather(1, last).masked_fill(self.repeated.gather(1, parent), REPEATED)
        both = self.finished.beside(self.open.gather(parent)._replace(scores=scores))
        exists = torch.cat([self.slots < self.n_finished[:, None], self.slots < counts[:, None]], 1)
        ranking = both.ranking(n_marks=1 + self.rules.end_counts).masked_fill(~exists, float("-inf"))
        best = ranking.sort(dim=1, descending=True, stable=True).indices[:, : self.beam]
        self.finished = both.gather(best)
        self.n_finished = (self.n_finished + counts).clamp(max=self.beam)

    def keep(self, running: Tensor) -> None:
        """Puts the other sentences away."""
        self._store()
        self.open, self.finished = self.open.select(running), self.finished.select(running)
        self.n_finished, self.rows, self.trigrams, self.repeated = (
            field.index_select(0, running) for field in (self.n_finished, self.rows, self.trigrams, self.repeated)
        )

    def results(self) -> Rewritings:
        self._store()
        words, attended, copied, scores, lengths = self._results
        return Rewritings(words, lengths, attended, scores, copied)

    def _store(self) -> None:
        """The first K of finished and unfinished hypotheses."""
        cut = self.open._replace(lengths=(self.open.lengths - int(self.rules.cut_unfinished)).clamp(min=0))
        both = self.finished.beside(cut)
        n_finished = self.n_finished[:, None]
        index = torch.where(self.slots < n_finished, self.slots, self.slots + self.beam - n_finished)
        for result, field in zip(self._results, both.gather(index), strict=True):
            result[self.rows] = field

    def _word(self, back: int) -> Tensor:
        """(B, n) the last word (-1) or the one before; START before the first, 0 before START."""
        position = self.t + back
        if position >= 0:
            return self.open.words[:, :, position]
        return torch.full_like(self.open.lengths, START if position == -1 else 0)


def _first(flags: Tensor, k: int) -> Tensor:
    """(B, n) -> (B, k) positions of the first k that are set; if there are fewer, others follow."""
    return flags.to(torch.uint8).sort(dim=1, descending=True, stable=True).indices[:, :k]

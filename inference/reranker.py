"""Reranking (Sec. 3.3): of all combinations of the sentences' hypotheses, the one with fewest repeated bigrams.

Repeated bigrams of a summary = bigrams - distinct bigrams. Ties go to the higher (sum of scores) / (sum of words),
then to the first combination in the order of their product, where the first sentence changes slowest.

The product is not enumerated. Sentences are added one by one; of the partial summaries that agree in the bigrams
which can still come again, only the best can win, so only it is kept. That is exact for sums, and Dinkelbach's
method makes a sum of the ratio: maximise sum(score - ratio * words) with the ratio of the last solution until it
stays. Scores are integers here, so that ties are ties.

Bounded time for any number of sentences: above `ALWAYS_EXACT` of them, at most `MAX_STATES` partial summaries are
kept, the best ones so far. A summary without words loses against every other.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from heapq import nsmallest
from itertools import accumulate
from operator import or_
from typing import NamedTuple

from support.stopwatch import Stopwatch

RERANKING = Stopwatch()  # Table 5 tells its time apart
ALWAYS_EXACT = 8
MAX_STATES = 1000
MAX_ROUNDS = 50  # of Dinkelbach's method, which needs a few; without all states it might go round in circles
_SCALE = 1 << 52  # a float64 beyond 1 is a multiple of 1 / _SCALE
_RANK_BITS = 3  # of a hypothesis among the at most five of its sentence


class Hypothesis(NamedTuple):
    words: Sequence[Hashable]
    score: float


def n_candidates(n_sentences: int) -> int:
    """How many hypotheses of each sentence take part (B.2)."""
    if n_sentences <= 5:
        return 5
    if n_sentences == 6:
        return 4
    return 3 if n_sentences <= 8 else 2


class _Candidate(NamedTuple):
    rank: int
    bits: int  # bit 0: it has words; the others: bigrams that another sentence may have too
    cost: int  # its bigrams without those that are new wherever they stand
    score: int
    words: int


# A partial summary, the less the better: cost, loss, chosen ranks (the first sentence's in the highest bits).
_State = tuple[int, int, int]


@RERANKING.times
def rerank(hypotheses: Sequence[Sequence[Hypothesis]]) -> list[int]:
    """The chosen hypothesis of each sentence."""
    n = len(hypotheses)
    sentences = _candidates([sentence[: n_candidates(n)] for sentence in hypotheses])
    ranks = [0] * n
    tried: set[Fraction] = set()
    while (ratio := _ratio(sentences, ranks)) not in tried and len(tried) < MAX_ROUNDS:
        tried.add(ratio)
        ranks = _best_sum(sentences, ratio.numerator, ratio.denominator)
    return ranks


def _ratio(sentences: list[list[_Candidate]], ranks: list[int]) -> Fraction:
    chosen = [candidates[rank] for candidates, rank in zip(sentences, ranks, strict=True)]
    return Fraction(sum(c.score for c in chosen), max(1, sum(c.words for c in chosen)))


def _best_sum(sentences: list[list[_Candidate]], score: int, words: int) -> list[int]:
    """Fewest repeated bigrams, then the largest sum of (score - ratio * words); the ratio is score / words."""
    unions = [_union([candidate.bits for candidate in candidates]) for candidates in sentences]
    still_to_come = list(accumulate(reversed(unions), or_, initial=1))[-2::-1]
    states: dict[int, _State] = {0: (0, 0, 0)}  # by the bigrams they hold
    for candidates, live in zip(sentences, still_to_come, strict=True):
        options = [(c.rank, c.bits, c.cost, score * c.words - words * c.score) for c in candidates]
        grown: dict[int, _State] = {}
        for held, (cost, loss, ranks) in states.items():
            for rank, bits, more, lost in options:
                key = (held | bits) & live
                total = cost + more - ((bits & ~held) >> 1).bit_count()
                rival = grown.get(key)
                if rival is None or total <= rival[0]:
                    state = (total, loss + lost, ranks << _RANK_BITS | rank)
                    grown[key] = state if rival is None else min(state, rival)
        if len(sentences) > ALWAYS_EXACT and len(grown) > MAX_STATES:
            grown = dict(nsmallest(MAX_STATES, grown.items(), key=lambda item: item[1]))
        states = grown
    best = states[max(states)]  # bit 0 alone is left: a summary with words, if there is one
    mask = (1 << _RANK_BITS) - 1
    return [best[2] >> _RANK_BITS * i & mask for i in reversed(range(len(sentences)))]


def _candidates(hypotheses: list[Sequence[Hypothesis]]) -> list[list[_Candidate]]:
    bigrams = [[list(zip(h.words, h.words[1:], strict=False)) for h in sentence] for sentence in hypotheses]
    distinct = [[set(pairs) for pairs in sentence] for sentence in bigrams]
    forced = set().union(*(set.intersection(*sets) for sets in distinct if sets))
    owners: dict[Hashable, set[int]] = {}
    for i, sets in enumerate(distinct):
        for pair in set().union(*sets) - forced:
            owners.setdefault(pair, set()).add(i)
    shared = [pair for pair, sentences in owners.items() if len(sentences) > 1]
    bit = {pair: 2 << i for i, pair in enumerate(shared)}
    return [
        [
            _Candidate(
                rank,
                _union([bit[pair] for pair in pairs if pair in bit]) | (len(h.words) > 0),
                len(listed) - sum(pair in owners and pair not in bit for pair in pairs),
                round(h.score * _SCALE),
                len(h.words),
            )
            for rank, (h, listed, pairs) in enumerate(zip(sentence, lists, sets, strict=True))
        ]
        for sentence, lists, sets in zip(hypotheses, bigrams, distinct, strict=True)
    ]


def _union(bits: Sequence[int]) -> int:
    result = 0
    for one in bits:
        result |= one
    return result

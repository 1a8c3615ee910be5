"""Kinds of numbers that are quoted, not measured here, and those that belong to no row; report.rows has the others."""

from __future__ import annotations

from typing import NamedTuple


class RougeMeteor(NamedTuple):
    """F1 and METEOR, times 100."""

    rouge_1: float
    rouge_2: float
    rouge_l: float
    meteor: float | None = None


class Speed(NamedTuple):
    hours: float  # for the 11,490 articles of the test set, on one K40
    words_per_second: float
    reranking_hours: float = 0.0  # of these hours


class Preferences(NamedTuple):
    """Of 300 judgements each: 100 articles, three judges."""

    relevance: int
    readability: int

    @property
    def total(self) -> int:
        return self.relevance + self.readability


class Novelty(NamedTuple):
    """Novel n-grams, in percent."""

    unigrams: float
    bigrams: float
    trigrams: float
    fourgrams: float


class Training(NamedTuple):
    """B.3, on one K40; the pointer-generator was timed without coverage."""

    hours: float | None = None
    seconds_an_update: float | None = None


EQUALLY_GOOD = Preferences(43, 39)  # Table 4
REFERENCE_NOVELTY = Novelty(10.8, 47.5, 68.2, 78.2)  # Table 6
TRAINING = {  # by model
    "ext_rnn": Training(hours=1.5),
    "abstractor": Training(4.15, 0.54),
    "rl": Training(hours=15.56),
    "pointer_generator": Training(78, 3.42),  # "more than 78 hours"
}
HOURS_IN_ALL = 19.71  # abstractor and reinforcement learning; the extractor trains beside the abstractor
STOP_WEIGHT = 1.0  # of the reward of stopping (Sec. 3.2)

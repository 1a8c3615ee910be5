"""All numbers that are quoted, not measured here: the paper's tables and the README of the released models.

Rows are named as in report.rows; a row that no folder of runs can have is a system that the paper quotes.
"""

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


class Preferences(NamedTuple):
    """Of 300 judgements each: 100 articles, three judges."""

    relevance: int
    readability: int

    @property
    def total(self) -> int:
        return self.relevance + self.readability


TABLE_1 = {  # CNN/Daily Mail, original text
    "lead3": RougeMeteor(40.34, 17.70, 36.57, 22.21),
    "narayan_2018": RougeMeteor(40.0, 18.2, 36.6),
    "ff_ext": RougeMeteor(40.63, 18.35, 36.82, 22.91),
    "rnn_ext": RougeMeteor(40.17, 18.11, 36.41, 22.81),
    "rnn_ext_rl": RougeMeteor(41.47, 18.72, 37.76, 22.35),
    "pointer_generator": RougeMeteor(36.44, 15.66, 33.42, 16.65),
    "pointer_generator_coverage": RougeMeteor(39.53, 17.28, 36.38, 18.72),
    "fan_2017": RougeMeteor(39.75, 17.29, 36.54),
    "lead3_abs": RougeMeteor(37.37, 15.59, 34.82),  # Sec. 6.2, footnote
    "ff_ext_abs": RougeMeteor(39.30, 17.02, 36.93, 20.05),
    "rnn_ext_abs": RougeMeteor(38.38, 16.12, 36.04, 19.39),
    "rnn_ext_abs_rl": RougeMeteor(40.04, 17.61, 37.59, 21.00),
    "rnn_ext_abs_rl_rerank": RougeMeteor(40.88, 17.80, 38.54, 20.38),
}

TABLE_2 = {  # CNN/Daily Mail, entities anonymized
    "lead3": RougeMeteor(39.2, 15.7, 35.5),
    "nallapati_2017": RougeMeteor(39.6, 16.2, 35.3),
    "ff_ext": RougeMeteor(39.51, 16.85, 35.80),
    "rnn_ext": RougeMeteor(38.97, 16.65, 35.32),
    "rnn_ext_rl": RougeMeteor(40.13, 16.58, 36.47),
    "nallapati_2016": RougeMeteor(35.46, 13.30, 32.65),
    "fan_2017": RougeMeteor(38.68, 15.40, 35.47),
    "paulus_2017_ml": RougeMeteor(38.30, 14.81, 35.49),
    "paulus_2017": RougeMeteor(39.87, 15.82, 36.90),
    "ff_ext_abs": RougeMeteor(38.73, 15.70, 36.33),
    "rnn_ext_abs": RougeMeteor(37.58, 14.68, 35.24),
    "rnn_ext_abs_rl": RougeMeteor(38.80, 15.66, 36.37),
    "rnn_ext_abs_rl_rerank": RougeMeteor(39.66, 15.85, 37.34),
}

TABLE_3 = {  # DUC-2002, test only
    "pointer_generator_coverage": RougeMeteor(37.22, 15.78, 33.90),
    "rnn_ext_abs_rl": RougeMeteor(39.46, 17.34, 36.72),
}

TABLE_4 = {  # human evaluation
    "pointer_generator_coverage": Preferences(120, 128),
    "rnn_ext_abs_rl_rerank": Preferences(137, 133),
    "equal": Preferences(43, 39),
}

TABLE_5 = {  # speed of decoding
    "pointer_generator_coverage": Speed(12.9, 14.8),
    "rnn_ext_abs_rl": Speed(0.68, 361.3),
    "rnn_ext_abs_rl_rerank": Speed(2.00, 109.8),
}

SECONDS_PER_UPDATE = {"abstractor": 0.54, "pointer_generator": 3.42}  # B.3, training on one K40, without coverage

TABLE_6 = {  # novel 1-, 2-, 3- and 4-grams, in percent
    "pointer_generator_coverage": (0.1, 2.2, 6.0, 9.7),
    "rnn_ext_abs_rl_rerank": (0.3, 10.0, 21.7, 31.6),
    "reference": (10.8, 47.5, 68.2, 78.2),
}

RELEASED_TEST = {  # README of the released models, CNN/Daily Mail test set
    "released_acl": RougeMeteor(40.03, 17.61, 37.58, 21.00),
    "released_acl_rerank": RougeMeteor(40.88, 17.81, 38.53, 20.38),
    "released_new": RougeMeteor(40.41, 17.92, 37.87, 21.13),
    "released_new_rerank": RougeMeteor(41.20, 18.18, 38.79, 20.56),
}

RELEASED_VAL = {  # the same on the validation set
    "released_acl": RougeMeteor(41.01, 18.20, 38.57, 21.10),
    "released_acl_rerank": RougeMeteor(41.74, 18.39, 39.40, 20.45),
    "released_new": RougeMeteor(41.23, 18.45, 38.71, 21.14),
    "released_new_rerank": RougeMeteor(42.06, 18.80, 39.68, 20.58),
}

"""The rows of the tables: what each is called, how it is made, and where it stands with which numbers of the paper.

A new row is one line here: it is decoded, evaluated and shown in the tables that it names. In a folder of runs

    <runs>/decode/<row>/              CNN/Daily Mail (Table 1, 5, 6)     a decode directory, evaluated
    <runs>/decode_anonymized/<row>/   entities anonymized (Table 2)
    <runs>/decode_duc/<row>/          DUC-2002 (Table 3)
    <runs>/models/<model>/            model directories with metrics.jsonl
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from report.paper_numbers import Novelty, Preferences, RougeMeteor, Speed

ORIGINAL, ANONYMIZED, DUC, MODELS = "decode", "decode_anonymized", "decode_duc", "models"
MODELS_OF = {ORIGINAL: MODELS, ANONYMIZED: f"{MODELS}_anonymized", DUC: MODELS}  # which models made the rows
METRIC_LABELS = {"rouge-1": "R-1", "rouge-2": "R-2", "rouge-l": "R-L", "meteor": "METEOR"}
EXTRACTIVE, ABSTRACTIVE, OTHERS = "Extractive", "Abstractive", "Other systems"

SIGNIFICANT = 0.01  # p of the paired bootstrap (Sec. 6.2)
WITHOUT_RL, THAN_SEE, WITHOUT_RERANK = "*", "†", "‡"
MARKS = {
    WITHOUT_RL: "the same model without RL",
    THAN_SEE: "See et al. (2017)",
    WITHOUT_RERANK: "the same model without reranking",
}
FLAT_ROW = "pointer_generator_coverage"  # whose speed the others are compared with
SEE_ET_AL = ("see_et_al", FLAT_ROW)  # the first that is there stands for See et al. (2017)


class Parts(NamedTuple):
    """Extractor (None: the first sentences) and abstractor, each trained alone."""

    extractor: str | None
    abstractor: str | None = None
    n_sentences: int | None = None  # None: tuned on validation (B.2)

    @property
    def models(self) -> dict[str, str]:
        """Flag of decode_baselines.py -> model."""
        named = {"ext_dir": self.extractor, "abs_dir": self.abstractor}
        return {flag: model for flag, model in named.items() if model}


class Agent(NamedTuple):
    """Reinforced extractor, with the abstractor that it was trained with."""

    model: str
    beam: int = 1

    @property
    def models(self) -> dict[str, str]:
        return {"model_dir": self.model}


class Flat(NamedTuple):
    """An encoder-decoder that reads the whole article."""

    model: str

    @property
    def models(self) -> dict[str, str]:
        return {"model_dir": self.model}


Quoted = RougeMeteor | Speed | Preferences | Novelty
Numbers = TypeVar("Numbers", bound=Quoted)


class Row(NamedTuple):
    label: str
    section: str
    made_by: Parts | Agent | Flat | None = None  # None: outputs that are given, shown where they are there
    tables: Mapping[str, Quoted | None] = {}
    better_than: Mapping[str, tuple[str, ...]] = {}
    quoted: bool = False  # the paper's numbers alone


def _quoted(label: str, section: str, tables: Mapping[str, Quoted]) -> Row:
    return Row(label, section, None, tables, quoted=True)


_R = RougeMeteor
ROWS = {
    "lead3": Row(
        "lead-3",
        EXTRACTIVE,
        Parts(None, n_sentences=3),
        {"1": _R(40.34, 17.70, 36.57, 22.21), "2": _R(39.2, 15.7, 35.5)},
    ),
    "nallapati_2017": _quoted("Nallapati et al. (2017)", EXTRACTIVE, {"2": _R(39.6, 16.2, 35.3)}),
    "narayan_2018": _quoted("Narayan et al. (2018)", EXTRACTIVE, {"1": _R(40.0, 18.2, 36.6)}),
    "ff_ext": Row(
        "ff-ext", EXTRACTIVE, Parts("ext_ff"), {"1": _R(40.63, 18.35, 36.82, 22.91), "2": _R(39.51, 16.85, 35.80)}
    ),
    "rnn_ext": Row(
        "rnn-ext", EXTRACTIVE, Parts("ext_rnn"), {"1": _R(40.17, 18.11, 36.41, 22.81), "2": _R(38.97, 16.65, 35.32)}
    ),
    "rnn_ext_rl": Row(
        "rnn-ext + RL",
        EXTRACTIVE,
        Agent("rl_ext"),
        {"1": _R(41.47, 18.72, 37.76, 22.35), "2": _R(40.13, 16.58, 36.47)},
        {WITHOUT_RL: ("rnn_ext",), THAN_SEE: SEE_ET_AL},
    ),
    "nallapati_2016": _quoted("Nallapati et al. (2016)", ABSTRACTIVE, {"2": _R(35.46, 13.30, 32.65)}),
    "pointer_generator": Row(
        "pointer-generator", ABSTRACTIVE, Flat("pointer_generator"), {"1": _R(36.44, 15.66, 33.42, 16.65)}
    ),
    "pointer_generator_coverage": Row(
        "pointer-generator + coverage",
        ABSTRACTIVE,
        Flat("pointer_generator_coverage"),
        {
            "1": _R(39.53, 17.28, 36.38, 18.72),
            "3": _R(37.22, 15.78, 33.90),
            "4": Preferences(120, 128),
            "5": Speed(12.9, 14.8),
            "6": Novelty(0.1, 2.2, 6.0, 9.7),
        },
    ),
    "see_et_al": Row(
        "See et al. (2017), their outputs",
        ABSTRACTIVE,
        None,
        {"1": _R(39.53, 17.28, 36.38, 18.72), "3": _R(37.22, 15.78, 33.90), "6": Novelty(0.1, 2.2, 6.0, 9.7)},
    ),
    "see_2017_greedy": _quoted("See et al. (2017), no beam search", ABSTRACTIVE, {"1": _R(36.62, 15.12, 34.08)}),
    "fan_2017": _quoted(
        "Fan et al. (2017), controlled", ABSTRACTIVE, {"1": _R(39.75, 17.29, 36.54), "2": _R(38.68, 15.40, 35.47)}
    ),
    "paulus_2017_ml": _quoted("Paulus et al. (2017), ML", ABSTRACTIVE, {"2": _R(38.30, 14.81, 35.49)}),
    "paulus_2017": _quoted("Paulus et al. (2017), RL + ML", ABSTRACTIVE, {"2": _R(39.87, 15.82, 36.90)}),
    "lead3_abs": Row(  # the paper's numbers: Sec. 6.2, footnote
        "lead-3 + abs", ABSTRACTIVE, Parts(None, "abstractor", 3), {"1": _R(37.37, 15.59, 34.82)}
    ),
    "ff_ext_abs": Row(
        "ff-ext + abs",
        ABSTRACTIVE,
        Parts("ext_ff", "abstractor"),
        {"1": _R(39.30, 17.02, 36.93, 20.05), "2": _R(38.73, 15.70, 36.33)},
    ),
    "rnn_ext_abs": Row(
        "rnn-ext + abs",
        ABSTRACTIVE,
        Parts("ext_rnn", "abstractor"),
        {"1": _R(38.38, 16.12, 36.04, 19.39), "2": _R(37.58, 14.68, 35.24)},
    ),
    "rnn_ext_abs_rl": Row(
        "rnn-ext + abs + RL",
        ABSTRACTIVE,
        Agent("rl"),
        {
            "1": _R(40.04, 17.61, 37.59, 21.00),
            "2": _R(38.80, 15.66, 36.37),
            "3": _R(39.46, 17.34, 36.72),
            "5": Speed(0.68, 361.3),
        },
        {WITHOUT_RL: ("rnn_ext_abs",), THAN_SEE: SEE_ET_AL},
    ),
    "rnn_ext_abs_rl_rerank": Row(
        "rnn-ext + abs + RL + rerank",
        ABSTRACTIVE,
        Agent("rl", beam=5),
        {
            "1": _R(40.88, 17.80, 38.54, 20.38),
            "2": _R(39.66, 15.85, 37.34),
            "4": Preferences(137, 133),
            "5": Speed(2.00, 109.8, 0.54),
            "6": Novelty(0.3, 10.0, 21.7, 31.6),
        },
        {WITHOUT_RERANK: ("rnn_ext_abs_rl",)},
    ),
    # The released models; their README has numbers for either split.
    "released_acl": Row(
        "released acl",
        ABSTRACTIVE,
        tables={"released-test": _R(40.03, 17.61, 37.58, 21.00), "released-val": _R(41.01, 18.20, 38.57, 21.10)},
    ),
    "released_acl_rerank": Row(
        "released acl + rerank",
        ABSTRACTIVE,
        tables={"released-test": _R(40.88, 17.81, 38.53, 20.38), "released-val": _R(41.74, 18.39, 39.40, 20.45)},
    ),
    "released_new": Row(
        "released new",
        ABSTRACTIVE,
        tables={"released-test": _R(40.41, 17.92, 37.87, 21.13), "released-val": _R(41.23, 18.45, 38.71, 21.14)},
    ),
    "released_new_rerank": Row(
        "released new + rerank",
        ABSTRACTIVE,
        tables={"released-test": _R(41.20, 18.18, 38.79, 20.56), "released-val": _R(42.06, 18.80, 39.68, 20.58)},
    ),
}

MODEL_LABELS = {
    "rl": "rnn-ext + abs + RL",
    "rl_ext": "rnn-ext + RL",
    "ext_ff": "ff-ext",
    "ext_rnn": "rnn-ext",
    "abstractor": "abstractor",
    "pointer_generator": "pointer-generator",
    "pointer_generator_coverage": "pointer-generator + coverage",
}


def quoted(table: str, kind: type[Numbers]) -> dict[str, Numbers]:
    """The paper's numbers in a table, by row."""
    return {name: found for name, row in ROWS.items() if isinstance(found := row.tables.get(table), kind)}


def made_for(table: str) -> dict[str, Parts | Agent | Flat]:
    """The rows of a table that are decoded here."""
    return {name: row.made_by for name, row in ROWS.items() if table in row.tables and row.made_by}

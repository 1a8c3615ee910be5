"""The systems of the paper's tables and where their runs lie in a folder of runs.

    <runs>/decode/<row>/              CNN/Daily Mail (Table 1, 5, 6)     a decode directory, evaluated
    <runs>/decode_anonymized/<row>/   entities anonymized (Table 2)
    <runs>/decode_duc/<row>/          DUC-2002 (Table 3)
    <runs>/models/<model>/            model directories with metrics.jsonl
"""

from __future__ import annotations

from typing import NamedTuple

ORIGINAL, ANONYMIZED, DUC, MODELS = "decode", "decode_anonymized", "decode_duc", "models"

METRIC_LABELS = {"rouge-1": "R-1", "rouge-2": "R-2", "rouge-l": "R-L", "meteor": "METEOR"}
FLAT_ROWS = ("pointer_generator_coverage", "pointer_generator")  # the first that was run stands for See et al. (2017)

SIGNIFICANT = 0.01  # p of the paired bootstrap (Sec. 6.2)
WITHOUT_RL, FLAT, WITHOUT_RERANK = "*", "†", "‡"
MARKS = {
    WITHOUT_RL: "the same model without RL",
    FLAT: "the pointer-generator with coverage",
    WITHOUT_RERANK: "the same model without reranking",
}


class Row(NamedTuple):
    label: str
    abstractive: bool
    better_than: dict[str, str] = {}  # noqa: RUF012  mark -> row, as the paper tests (Sec. 6.2)
    quoted: bool = False  # a system that is not run here


ROWS = {
    "lead3": Row("lead-3", False),
    "nallapati_2017": Row("Nallapati et al. (2017)", False, quoted=True),
    "narayan_2018": Row("Narayan et al. (2018)", False, quoted=True),
    "ff_ext": Row("ff-ext", False),
    "rnn_ext": Row("rnn-ext", False),
    "rnn_ext_rl": Row("rnn-ext + RL", False, {WITHOUT_RL: "rnn_ext"}),
    "nallapati_2016": Row("Nallapati et al. (2016)", True, quoted=True),
    "pointer_generator": Row("pointer-generator", True),
    "pointer_generator_coverage": Row("pointer-generator + coverage", True),
    "fan_2017": Row("Fan et al. (2017), controlled", True, quoted=True),
    "paulus_2017_ml": Row("Paulus et al. (2017), ML", True, quoted=True),
    "paulus_2017": Row("Paulus et al. (2017), RL + ML", True, quoted=True),
    "lead3_abs": Row("lead-3 + abs", True),
    "ff_ext_abs": Row("ff-ext + abs", True),
    "rnn_ext_abs": Row("rnn-ext + abs", True),
    "rnn_ext_abs_rl": Row("rnn-ext + abs + RL", True, {WITHOUT_RL: "rnn_ext_abs", FLAT: "pointer_generator_coverage"}),
    "rnn_ext_abs_rl_rerank": Row("rnn-ext + abs + RL + rerank", True, {WITHOUT_RERANK: "rnn_ext_abs_rl"}),
    "released_acl": Row("released acl", True),
    "released_acl_rerank": Row("released acl + rerank", True),
    "released_new": Row("released new", True),
    "released_new_rerank": Row("released new + rerank", True),
}

MODEL_LABELS = {
    "rl": "rnn-ext + abs + RL",
    "rl_ext": "rnn-ext + RL",
    "ext_ff": "ff-ext",
    "ext_rnn": "rnn-ext",
    "abstractor": "abstractor",
    "pointer_generator": "pointer-generator",
}

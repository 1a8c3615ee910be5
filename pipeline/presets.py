"""Flags that differ from the scripts' defaults, by model and by kind of command, and estimated minutes.

The defaults of the scripts are the paper's hyper-parameters (B.2), so the paper's preset is nearly empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Flags = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Preset:
    flags: dict[str, Flags] = field(default_factory=dict)
    minutes: dict[str, float] = field(default_factory=dict)
    basis: str  # where the minutes come from


# See et al. (2017) add coverage for a short last phase of training. One pass of word2vec over 250 million words stands
# for the release's five: the paper names no number, and four more take longer than training an extractor. With the
# paper's stop reward, an agent that extracts lines as they are takes too many (docs/RESULTS.md#when-to-stop).
PAPER = Preset(
    flags={
        "word2vec": {"epochs": 1},
        "rl_ext": {"stop": 4},
        "pointer_generator_coverage": {"max_steps": 3000, "ckpt_freq": 500},
    },
    minutes={
        "labels": 1.5,
        "check": 1.5,
        "word2vec": 25,
        "ext_rnn": 120,
        "ext_ff": 32,
        "abstractor": 114,
        "rl": 83,
        "rl_ext": 21,
        "pointer_generator": 6000,
        "pointer_generator_coverage": 300,
        "decode_baselines": 3,
        "decode-lead3": 0.3,
        "decode-ff_ext": 0.8,
        "decode-rnn_ext": 0.8,
        "decode_full_model": 2,
        "decode-rnn_ext_rl": 0.8,
        "decode-rnn_ext_abs_rl_rerank": 7,
        "decode_pointer_generator": 240,
        "tune": 0.5,
        "evaluate": 0.6,
        "speed": 15,
        "tables": 1,
        "claims": 0.5,
    },
    basis="CNN/Daily Mail on 2 CPU cores; as measured; the rule of --patience can end a training later",
)

# The sample corpus has 6,000 articles of a small world: smaller networks, higher learning rates, fewer updates.
_WORDS: Flags = {"vsize": 2500, "emb_dim": 64}
_EXTRACTOR: Flags = {**_WORDS, "conv_hidden": 64, "lstm_hidden": 128, "max_steps": 600, "ckpt_freq": 150}
_AGENT: Flags = {"lr": 3e-4, "max_steps": 600, "ckpt_freq": 100}
_FLAT: Flags = {"lr": 2e-3, "batch": 16}
SAMPLE = Preset(
    flags={
        "word2vec": {"dim": 64, "epochs": 2, "workers": 1},
        "ext_rnn": _EXTRACTOR,
        "ext_ff": _EXTRACTOR,
        "abstractor": {**_WORDS, "n_hidden": 128, "lr": 2e-3, "max_steps": 600, "ckpt_freq": 200},
        "rl": _AGENT,
        "rl_ext": _AGENT,
        "pointer_generator": {**_WORDS, **_FLAT, "n_hidden": 128, "max_steps": 320, "ckpt_freq": 160},
        "pointer_generator_coverage": {**_FLAT, "max_steps": 60, "ckpt_freq": 60},
        "decode_baselines": {"workers": 1},
    },
    minutes={
        "word2vec": 0.6,
        "ext_rnn": 1.3,
        "ext_ff": 1,
        "abstractor": 1.3,
        "rl": 3,
        "rl_ext": 2,
        "pointer_generator": 6.5,
        "pointer_generator_coverage": 1.5,
        "evaluate": 0.2,
    },
    basis="CPU time of runs on 2 cores",
)

# For the tests: everything runs, nothing is learned.
_FEW: Flags = {"max_steps": 4, "ckpt_freq": 2, "batch": 8, "workers": 0}
_TINY: Flags = {"vsize": 200, "emb_dim": 8, **_FEW}
TINY = Preset(
    flags={
        "corpus": {"train": 24, "val": 6, "test": 6, "workers": 1},
        "labels": {"workers": 1},
        "word2vec": {"dim": 8, "epochs": 1, "workers": 1},
        "ext_rnn": {**_TINY, "conv_hidden": 8, "lstm_hidden": 8},
        "ext_ff": {**_TINY, "conv_hidden": 8, "lstm_hidden": 8},
        "abstractor": {**_TINY, "n_hidden": 8},
        "rl": _FEW,
        "rl_ext": _FEW,
        "pointer_generator": {**_TINY, "n_hidden": 8, "max_art": 60, "max_sum": 20},
        "pointer_generator_coverage": {**_FEW, "max_art": 60, "max_sum": 20},
        "decode_baselines": {"workers": 1, "max_dec_word": 8, "n_ext": 4},
        "decode_full_model": {"workers": 1, "max_dec_word": 8},
        "decode_pointer_generator": {"workers": 1, "beam": 2, "min_dec_word": 4, "max_dec_word": 8, "max_art": 60},
        "speed": {"articles": 2, "updates": 0},
    },
    basis="not measured",
)

PRESETS = {"paper": PAPER, "sample": SAMPLE, "tiny": TINY}

"""The released code's parameter names: on disk theirs, in memory ours, and this table between them.

The order of a network's rules is the order of its parameters in released files, which keys their optimizer state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

# (ours, theirs) as templates; {i} is a layer or filter number, {s} the rest of an LSTM parameter's name.
_SENTENCES = [
    ("sentence_encoder.embedding.weight", "_sent_enc._embedding.weight"),
    ("sentence_encoder.convolutions.{i}.{s}", "_sent_enc._convs.{i}.{s}"),
    ("article_encoder.initial_h", "_art_enc._init_h"),
    ("article_encoder.initial_c", "_art_enc._init_c"),
    ("article_encoder.lstm.{s}", "_art_enc._lstm.{s}"),
]


def _pointer(ours: str, theirs: str) -> list[tuple[str, str]]:
    return [
        (f"{ours}.initial_h", f"{theirs}._init_h"),
        (f"{ours}.initial_c", f"{theirs}._init_c"),
        (f"{ours}.initial_input", f"{theirs}._init_i"),
        (f"{ours}.pointing.key_weight", f"{theirs}._attn_wm"),
        (f"{ours}.pointing.query_weight", f"{theirs}._attn_wq"),
        (f"{ours}.pointing.v", f"{theirs}._attn_v"),
        (f"{ours}.glimpse.key_weight", f"{theirs}._hop_wm"),
        (f"{ours}.glimpse.query_weight", f"{theirs}._hop_wq"),
        (f"{ours}.glimpse.v", f"{theirs}._hop_v"),
    ]


NAMES = {
    "ml_ff_extractor": [
        *_SENTENCES,
        ("sentence_score.{s}", "_sent_linear.{s}"),
        ("document.{s}", "_art_linear.{s}"),
    ],
    "ml_rnn_extractor": [
        *_SENTENCES,
        *_pointer("pointer", "_extractor"),
        ("pointer.lstm.{s}", "_extractor._lstm.{s}"),
    ],
    "rnn-ext_abs_rl": [
        *_SENTENCES,
        *_pointer("actor", "_ext"),
        ("stop", "_ext._stop"),
        ("actor.lstm.{s}_l{i}", "_ext._lstm_cell._cells.{i}.{s}"),
        *_pointer("critic.decoder", "_scr"),
        ("critic.decoder.lstm.{s}_l{i}", "_scr._lstm_cell._cells.{i}.{s}"),
        ("critic.value.{s}", "_scr._score_linear.{s}"),
    ],
    "base_abstractor": [
        ("encoder.initial_h", "_init_enc_h"),
        ("encoder.initial_c", "_init_enc_c"),
        ("attention.key_weight", "_attn_wm"),
        ("attention.query_weight", "_attn_wq"),
        ("embedding.weight", "_embedding.weight"),
        ("encoder.lstm.{s}", "_enc_lstm.{s}"),
        ("decoder.{i}.{s}", "_dec_lstm._cells.{i}.{s}"),
        ("initial_h.weight", "_dec_h.weight"),
        ("initial_c.weight", "_dec_c.weight"),
        ("projection.{i}.{s}", "_projection.{i}.{s}"),
        ("copy_gate.v_context", "_copy._v_c"),
        ("copy_gate.v_state", "_copy._v_s"),
        ("copy_gate.v_input", "_copy._v_i"),
        ("copy_gate.b", "_copy._b"),
    ],
}


# A released rnn-ext that has extracted carries a second copy of its LSTM.
_UNUSED = "_extractor._lstm_cell."


def to_released(net: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Our state_dict under the released names, in the released order.

    What was never released, a whole network or a part such as another sentence encoder, keeps its names and comes last.
    """
    rules = NAMES.get(net, [])
    by_rule = sorted(state, key=lambda name: _rule_index(rules, name, 0))
    return {_rename(rules, name, 0, 1): state[name] for name in by_rule}


def from_released(net: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """A released state_dict under our names."""
    rules = NAMES.get(net, [])
    return {_rename(rules, name, 1, 0): value for name, value in state.items() if not name.startswith(_UNUSED)}


@cache
def _pattern(template: str) -> re.Pattern[str]:
    escaped = re.escape(template).replace(r"\{i\}", r"(?P<i>\d+)").replace(r"\{s\}", r"(?P<s>\w+)")
    return re.compile(escaped)


def _rule_index(rules: list[tuple[str, str]], name: str, side: int) -> int:
    matching = (index for index, rule in enumerate(rules) if _pattern(rule[side]).fullmatch(name))
    return next(matching, len(rules))


def _rename(rules: list[tuple[str, str]], name: str, source: int, target: int) -> str:
    for rule in rules:
        if match := _pattern(rule[source]).fullmatch(name):
            return rule[target].format(**match.groupdict())
    return name

"""Untrained models of a few words, in directories as training leaves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from checkpoints.directory import Meta, build_network, write_checkpoint, write_description
from checkpoints.networks import ABSTRACTOR, AGENT, FF_EXTRACTOR, POINTER_GENERATOR, RNN_EXTRACTOR
from data.vocabulary import Vocabulary, load_word_counts
from fuzz.formats import is_checkpoint, is_json, is_pickle
from fuzz.table import File

_EXTRACTOR = {"emb_dim": 4, "conv_hidden": 2, "lstm_hidden": 3, "lstm_layer": 1, "bidirectional": True}
_SIZES: dict[str, dict[str, Any]] = {
    ABSTRACTOR: {"emb_dim": 4, "n_hidden": 3, "bidirectional": True, "n_layer": 1},
    RNN_EXTRACTOR: _EXTRACTOR,
    FF_EXTRACTOR: _EXTRACTOR,
    POINTER_GENERATOR: {"emb_dim": 4, "n_hidden": 3},
}


def write_models(data_dir: Path, **directories: str) -> None:
    """rl="runs/rl", abstractor=... beside the data, whose words they know."""
    torch.set_num_threads(1)
    vocabulary = Vocabulary.from_counter(load_word_counts(data_dir), 20)
    nets = {"abs": ABSTRACTOR, "ext": RNN_EXTRACTOR, "ff": FF_EXTRACTOR, "flat": POINTER_GENERATOR}
    for name, net in nets.items():
        if name in directories:
            _write(data_dir.parent / directories[name], _meta(net, vocabulary), vocabulary)
    if "rl" in directories:
        agent = data_dir.parent / directories["rl"]
        abstractor, extractor = (_meta(net, vocabulary) for net in (ABSTRACTOR, RNN_EXTRACTOR))
        parts = {"abstractor": abstractor, "extractor": extractor}
        _write(agent, {"net": AGENT, "net_args": parts, "variant": "paper"}, vocabulary, "agent_vocab.pkl")
        _write(agent / "abstractor", abstractor, vocabulary)


def _meta(net: str, vocabulary: Vocabulary) -> Meta:
    return {"net": net, "net_args": {"vocab_size": len(vocabulary), **_SIZES[net]}}


def _write(directory: Path, meta: Meta, vocabulary: Vocabulary, vocabulary_name: str = "vocab.pkl") -> None:
    torch.manual_seed(1)
    write_description(directory, meta, vocabulary, vocabulary_name)
    write_checkpoint(directory, meta["net"], build_network(meta, directory), 0, 0)


def model_files(directory: str, vocabulary: str = "vocab.pkl", name: str = "") -> tuple[File, ...]:
    """What `load` reads of a directory."""
    called = name or directory
    return (
        File(f"{called}: meta", f"{directory}/meta.json", "json", is_json),
        File(f"{called}: vocabulary", f"{directory}/{vocabulary}", "pickle", is_pickle),
        File(f"{called}: checkpoint", f"{directory}/ckpt/ckpt-*", "checkpoint", is_checkpoint),
    )


AGENT_FILES = (*model_files("rl", "agent_vocab.pkl"), *model_files("rl/abstractor"))

"""Where the weights of a supervised training come from: new ones, or those of a trained model (`--init_from`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from torch import nn

from checkpoints.directory import Meta, build_network, load
from data.embeddings import initial_embedding
from data.vocabulary import N_SPECIAL, Vocabulary, load_word_counts
from support.errors import UserError
from support.flags import flag, given, spelling
from training.config import TrainingFlags
from training.session import optimisation_record

NEW = "the given sizes"  # what messages call them


@dataclass(frozen=True, kw_only=True)
class StartFlags(TrainingFlags):
    vsize: int = flag(30000, "vocabulary size", source="B.2", at_least=1)
    emb_dim: int = flag(128, "word embedding size", source="B.2", at_least=1)
    w2v: str | None = flag(None, "word2vec file that initialises the embedding", source="B.2")
    init_from: str | None = flag(None, "trained model of the same kind to start from; keeps its vocabulary and sizes")
    given: frozenset[str] = given()


class Start(NamedTuple):
    network: nn.Module
    vocabulary: Vocabulary
    meta: Meta


def start(flags: StartFlags, net: str, sizes: Mapping[str, Any], grows: tuple[str, ...] = ()) -> Start:
    """`sizes` are what flags say beside vocabulary and embedding; `grows` may be on here and off in --init_from."""
    return _start_from(flags, net, sizes, grows) if flags.init_from else _start_afresh(flags, net, sizes)


def _start_afresh(flags: StartFlags, net: str, sizes: Mapping[str, Any]) -> Start:
    vocabulary = Vocabulary.from_counter(load_word_counts(flags.data_dir), flags.vsize)
    meta = _meta(flags, net, {"vocab_size": len(vocabulary), "emb_dim": flags.emb_dim, **sizes})
    network = build_network(meta, NEW)
    if flags.w2v:
        embedding = next(part for part in network.modules() if isinstance(part, nn.Embedding))
        embedding.weight.data = initial_embedding(flags.w2v, vocabulary, flags.emb_dim)
    return Start(network, vocabulary, meta)


def _start_from(flags: StartFlags, net: str, sizes: Mapping[str, Any], grows: tuple[str, ...]) -> Start:
    """The trained weights, and new ones for what only this run has."""
    if flags.w2v:
        raise UserError("--init_from brings its own embedding; leave out --w2v")
    assert flags.init_from
    trained = load(flags.init_from, nets=(net,))
    kept = trained.meta["net_args"]
    _must_fit(flags, {"vsize": len(trained.vocabulary) - N_SPECIAL, **kept}, sizes.keys(), grows)
    meta = _meta(flags, net, {**kept, **{name: sizes[name] for name in grows}})
    network = build_network(meta, NEW)
    network.load_state_dict({**network.state_dict(), **trained.network.state_dict()})
    return Start(network, trained.vocabulary, meta)


def _must_fit(flags: StartFlags, kept: Mapping[str, Any], sizes: Collection[str], grows: Collection[str]) -> None:
    """A size that the command line gives and that is another than the trained model's would have no effect."""
    for field in fields(flags):
        name, value = field.name, getattr(flags, field.name)
        known = kept.get(name, field.default)
        if name in grows and known and not value:
            raise UserError(f"{flags.init_from} was trained with {name}; give --{name} to continue with it")
        decided = name in kept or name in sizes
        if decided and name not in grows and name in flags.given and value != known:
            raise UserError(f"{flags.init_from} has {name} {known}, which is kept; leave out {spelling(field)}")


def _meta(flags: StartFlags, net: str, sizes: Mapping[str, Any]) -> Meta:
    return {"net": net, "net_args": dict(sizes), "traing_params": optimisation_record(flags)}

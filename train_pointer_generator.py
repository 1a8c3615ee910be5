"""Trains the flat baseline, the pointer-generator of See et al. (2017), on whole articles and summaries.

Coverage is added to a network that has been trained without it, as theirs was:
    python train_pointer_generator.py --path runs/pg
    python train_pointer_generator.py --path runs/pg_coverage --coverage --init_from runs/pg
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from checkpoints.directory import POINTER_GENERATOR, Loaded, load
from data.embeddings import initial_embedding
from data.flat_documents import FlatData
from data.store import open_store
from data.vocabulary import Vocabulary, load_word_counts
from model.pointer_generator import PointerGenerator
from support.errors import UserError, run
from support.flags import flag, parse
from training.config import TrainingFlags
from training.session import optimisation_record, training_session
from training.supervised import MaximumLikelihood


@dataclass(frozen=True, kw_only=True)
class PointerGeneratorFlags(TrainingFlags):
    coverage: bool = flag(False, "attend with a coverage vector and penalise looking twice")
    init_from: str | None = flag(None, "trained pointer-generator to start from; its vocabulary and sizes are kept")
    vsize: int = flag(30000, "vocabulary size", source="B.3", at_least=1)
    emb_dim: int = flag(128, "word embedding size", source="B.3", at_least=1)
    w2v: str | None = flag(None, "word2vec file that initialises the embedding", source="B.2")
    n_hidden: int = flag(256, "hidden units of each LSTM", source="B.3", at_least=1)
    max_art: int = flag(400, "words kept of an article", source="B.3", at_least=1)
    max_sum: int = flag(100, "words kept of a summary", source="B.3", at_least=1)


def main() -> None:
    flags = parse(PointerGeneratorFlags, __doc__ or "")
    with training_session(flags) as session:
        vocabulary, sizes, network = start_from(flags) if flags.init_from else start_afresh(flags)
        training, validation = (
            FlatData(open_store(flags.data_dir, split), vocabulary, flags.max_art, flags.max_sum)
            for split in ("train", "val")
        )
        meta = {"net": POINTER_GENERATOR, "net_args": sizes, "traing_params": optimisation_record(flags)}
        session.claim_directory(meta, vocabulary)
        session.fit(MaximumLikelihood(POINTER_GENERATOR, network, session.device), training, validation)


Start = tuple[Vocabulary, dict[str, Any], PointerGenerator]


def start_afresh(flags: PointerGeneratorFlags) -> Start:
    vocabulary = Vocabulary.from_counter(load_word_counts(flags.data_dir), flags.vsize)
    sizes: dict[str, Any] = {
        "vocab_size": len(vocabulary),
        "emb_dim": flags.emb_dim,
        "n_hidden": flags.n_hidden,
        "coverage": flags.coverage,
    }
    network = PointerGenerator(**sizes)
    if flags.w2v:
        network.embedding.weight.data = initial_embedding(flags.w2v, vocabulary, flags.emb_dim)
    return vocabulary, sizes, network


def start_from(flags: PointerGeneratorFlags) -> Start:
    """The trained weights, and new ones for the coverage vector if only this run has one."""
    if flags.w2v:
        raise UserError("--init_from brings its own embedding; leave --w2v away")
    trained: Loaded = load(cast(str, flags.init_from), nets=(POINTER_GENERATOR,))
    if trained.meta["net_args"]["coverage"] and not flags.coverage:
        raise UserError(f"{flags.init_from} was trained with coverage; give --coverage to go on with it")
    sizes = {**trained.meta["net_args"], "coverage": flags.coverage}
    network = PointerGenerator(**sizes)
    network.load_state_dict({**network.state_dict(), **trained.network.state_dict()})
    return trained.vocabulary, sizes, network


if __name__ == "__main__":
    run(main)

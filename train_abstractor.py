"""Trains the abstractor on matched sentence pairs by maximum likelihood (Sec. 3.1, A.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkpoints.directory import ABSTRACTOR
from data.batching import RewritingData
from data.embeddings import initial_embedding
from data.store import open_store
from data.vocabulary import Vocabulary, load_word_counts
from model.abstractor import Abstractor
from support.errors import run
from support.flags import flag, parse
from training.config import TrainingFlags
from training.session import optimisation_record, training_session
from training.supervised import MaximumLikelihood


@dataclass(frozen=True, kw_only=True)
class AbstractorFlags(TrainingFlags):
    vsize: int = flag(30000, "vocabulary size", source="B.2", at_least=1)
    emb_dim: int = flag(128, "word embedding size", source="B.2", at_least=1)
    w2v: str | None = flag(None, "word2vec file that initialises the embedding", source="B.2")
    n_hidden: int = flag(256, "hidden units of each LSTM", source="B.2", at_least=1)
    n_layer: int = flag(1, "layers of each LSTM", source="B.2", at_least=1)
    bidirectional: bool = flag(True, "encoder reads forward only", spelling="--no-bi")
    max_art: int = flag(100, "words kept of an article sentence", source="B.2", at_least=1)
    max_abs: int = flag(30, "words kept of a summary sentence", source="B.2", at_least=1)


def main() -> None:
    flags = parse(AbstractorFlags, __doc__ or "")
    with training_session(flags) as session:
        vocabulary = Vocabulary.from_counter(load_word_counts(flags.data_dir), flags.vsize)
        sizes: dict[str, Any] = {
            "vocab_size": len(vocabulary),
            "emb_dim": flags.emb_dim,
            "n_hidden": flags.n_hidden,
            "bidirectional": flags.bidirectional,
            "n_layer": flags.n_layer,
        }
        network = Abstractor(**sizes)
        if flags.w2v:
            network.embedding.weight.data = initial_embedding(flags.w2v, vocabulary, flags.emb_dim)
        training, validation = (
            RewritingData(open_store(flags.data_dir, split), vocabulary, flags.max_art, flags.max_abs)
            for split in ("train", "val")
        )
        meta = {"net": ABSTRACTOR, "net_args": sizes, "traing_params": optimisation_record(flags)}
        session.claim_directory(meta, vocabulary)
        session.fit(MaximumLikelihood(ABSTRACTOR, network, session.device), training, validation)


if __name__ == "__main__":
    run(main)

"""Trains the extractor on proxy labels by maximum likelihood (Sec. 3.1): rnn-ext, or the baseline ff-ext (A.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkpoints.directory import FF_EXTRACTOR, RNN_EXTRACTOR
from data.batching import ExtractionData
from data.embeddings import initial_embedding
from data.store import open_store
from data.vocabulary import Vocabulary, load_word_counts
from model.extractor import FfExtractor, RnnExtractor
from support.errors import run
from support.flags import flag, parse
from training.config import TrainingFlags
from training.session import optimisation_record, training_session
from training.supervised import MaximumLikelihood


@dataclass(frozen=True, kw_only=True)
class ExtractorFlags(TrainingFlags):
    net_type: str = flag(
        "rnn", "pointer network or feed-forward baseline", choices=["rnn", "ff"], spelling="--net-type"
    )
    vsize: int = flag(30000, "vocabulary size", source="B.2", at_least=1)
    emb_dim: int = flag(128, "word embedding size", source="B.2", at_least=1)
    w2v: str | None = flag(None, "word2vec file that initialises the embedding", source="B.2")
    conv_hidden: int = flag(100, "filters of each convolution window", at_least=1)
    lstm_hidden: int = flag(256, "hidden units of each LSTM", source="B.2", at_least=1)
    lstm_layer: int = flag(1, "layers of each LSTM", source="B.2", at_least=1)
    bidirectional: bool = flag(True, "article encoder reads forward only", spelling="--no-bi")
    max_word: int = flag(100, "words kept of a sentence", source="B.2", at_least=1)
    max_sent: int = flag(60, "sentences kept of an article", at_least=1)


def main() -> None:
    flags = parse(ExtractorFlags, __doc__ or "")
    with training_session(flags) as session:
        vocabulary = Vocabulary.from_counter(load_word_counts(flags.data_dir), flags.vsize)
        sizes: dict[str, Any] = {
            "vocab_size": len(vocabulary),
            "emb_dim": flags.emb_dim,
            "conv_hidden": flags.conv_hidden,
            "lstm_hidden": flags.lstm_hidden,
            "lstm_layer": flags.lstm_layer,
            "bidirectional": flags.bidirectional,
        }
        net = RNN_EXTRACTOR if flags.net_type == "rnn" else FF_EXTRACTOR
        network = (RnnExtractor if flags.net_type == "rnn" else FfExtractor)(**sizes)
        if flags.w2v:
            network.sentence_encoder.embedding.weight.data = initial_embedding(flags.w2v, vocabulary, flags.emb_dim)
        training, validation = (
            ExtractionData(open_store(flags.data_dir, split), vocabulary, flags.max_word, flags.max_sent)
            for split in ("train", "val")
        )
        meta = {"net": net, "net_args": sizes, "traing_params": optimisation_record(flags)}
        session.claim_directory(meta, vocabulary)
        session.fit(MaximumLikelihood(net, network, session.device), training, validation)


if __name__ == "__main__":
    run(main)

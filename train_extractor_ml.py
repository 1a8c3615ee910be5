"""Trains the extractor on proxy labels by maximum likelihood (Sec. 3.1): rnn-ext, or the baseline ff-ext (A.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkpoints.networks import FF_EXTRACTOR, RNN_EXTRACTOR
from data.batching import ExtractionData
from model.sentence_encoder import SENTENCE_ENCODERS
from support.errors import run
from support.flags import flag, parse
from training.session import training_session
from training.start import StartFlags, start
from training.supervised import MaximumLikelihood


@dataclass(frozen=True, kw_only=True)
class ExtractorFlags(StartFlags):
    net_type: str = flag(
        "rnn", "pointer network or feed-forward baseline", choices=["rnn", "ff"], spelling="--net-type"
    )
    sentence_encoder: str = flag("cnn", "what encodes a sentence", source="A.1", choices=SENTENCE_ENCODERS)
    conv_hidden: int = flag(100, "filters of each convolution window", at_least=1)
    lstm_hidden: int = flag(256, "hidden units of each LSTM", source="B.2", at_least=1)
    lstm_layer: int = flag(1, "layers of each LSTM", source="B.2", at_least=1)
    bidirectional: bool = flag(True, "let the article encoder read forward only", spelling="--no-bi")
    max_word: int = flag(100, "words kept of a sentence", source="B.2", at_least=1)
    max_sent: int = flag(60, "sentences kept of an article", at_least=1)

    def sizes(self) -> dict[str, Any]:
        """As net_args has them; the paper's own sentence encoder is not written, so that the released code loads it."""
        names = ("conv_hidden", "lstm_hidden", "lstm_layer", "bidirectional")
        other = {} if self.sentence_encoder == "cnn" else {"sentence_encoder": self.sentence_encoder}
        return {name: getattr(self, name) for name in names} | other


def main() -> None:
    flags = parse(ExtractorFlags, __doc__ or "")
    with training_session(flags) as session:
        net = RNN_EXTRACTOR if flags.net_type == "rnn" else FF_EXTRACTOR
        network, vocabulary, meta = session.in_all(lambda: start(flags, net, flags.sizes()))
        stores = session.open_stores()
        training, validation = (ExtractionData(store, vocabulary, flags.max_word, flags.max_sent) for store in stores)
        with session.directory(meta, vocabulary, stores):
            session.fit(MaximumLikelihood(net, network, session.device), training, validation)


if __name__ == "__main__":
    run(main)

"""Trains the abstractor on matched sentence pairs by maximum likelihood (Sec. 3.1, A.2)."""

from __future__ import annotations

from dataclasses import dataclass

from checkpoints.networks import ABSTRACTOR
from data.batching import RewritingData
from support.errors import run
from support.flags import flag, parse
from training.session import training_session
from training.start import StartFlags, start
from training.supervised import MaximumLikelihood


@dataclass(frozen=True, kw_only=True)
class AbstractorFlags(StartFlags):
    n_hidden: int = flag(256, "hidden units of each LSTM", source="B.2", at_least=1)
    n_layer: int = flag(1, "layers of each LSTM", source="B.2", at_least=1)
    bidirectional: bool = flag(True, "let the encoder read forward only", spelling="--no-bi")
    max_art: int = flag(100, "words kept of an article sentence", source="B.2", at_least=1)
    max_abs: int = flag(30, "words kept of a summary sentence", source="B.2", at_least=1)


def main() -> None:
    flags = parse(AbstractorFlags, __doc__ or "")
    with training_session(flags) as session:
        sizes = {"n_hidden": flags.n_hidden, "bidirectional": flags.bidirectional, "n_layer": flags.n_layer}
        network, vocabulary, meta = session.in_all(lambda: start(flags, ABSTRACTOR, sizes))
        stores = session.open_stores()
        training, validation = (RewritingData(store, vocabulary, flags.max_art, flags.max_abs) for store in stores)
        with session.directory(meta, vocabulary, stores):
            session.fit(MaximumLikelihood(ABSTRACTOR, network, session.device), training, validation)


if __name__ == "__main__":
    run(main)

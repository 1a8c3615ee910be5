"""Trains the flat baseline, the pointer-generator of See et al. (2017), on whole articles and summaries.

Coverage is added to a network that has been trained without it, as theirs was:
    python train_pointer_generator.py --path runs/pg
    python train_pointer_generator.py --path runs/pg_coverage --coverage --init_from runs/pg
"""

from __future__ import annotations

from dataclasses import dataclass

from checkpoints.networks import POINTER_GENERATOR
from data.flat_documents import FlatData
from support.errors import run
from support.flags import flag, parse
from training.session import training_session
from training.start import StartFlags, start
from training.supervised import MaximumLikelihood


@dataclass(frozen=True, kw_only=True)
class PointerGeneratorFlags(StartFlags):
    coverage: bool = flag(False, "attend with a coverage vector and penalise attending twice")
    n_hidden: int = flag(256, "hidden units of each LSTM", source="B.3", at_least=1)
    max_art: int = flag(400, "words kept of an article", source="B.3", at_least=1)
    max_sum: int = flag(100, "words kept of a summary", source="B.3", at_least=1)


def main() -> None:
    flags = parse(PointerGeneratorFlags, __doc__ or "")
    with training_session(flags) as session:
        sizes = {"n_hidden": flags.n_hidden, "coverage": flags.coverage}
        network, vocabulary, meta = session.in_all(lambda: start(flags, POINTER_GENERATOR, sizes, grows=("coverage",)))
        stores = session.open_stores()
        training, validation = (FlatData(store, vocabulary, flags.max_art, flags.max_sum) for store in stores)
        with session.directory(meta, vocabulary, stores):
            session.fit(MaximumLikelihood(POINTER_GENERATOR, network, session.device), training, validation)


if __name__ == "__main__":
    run(main)

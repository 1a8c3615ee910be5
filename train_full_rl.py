"""Trains the extractor agent by reinforcement learning over a frozen abstractor (Sec. 3.2): rnn-ext + abs + RL.

Without --abs_dir the extracted sentences themselves are the summary: rnn-ext + RL.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from checkpoints.directory import (
    ABSTRACTOR,
    AGENT,
    RNN_EXTRACTOR,
    Loaded,
    Meta,
    load,
    load_weights,
    read_checkpoint,
    write_checkpoint,
    write_description,
)
from data.batching import ArticleData
from data.documents import Ints
from data.store import TokenStore, open_store
from inference.rewriter import Rewriter
from metrics.sentence_rouge import REWARDS
from model.abstractor import Abstractor
from model.actor_critic import ActorCritic
from model.extractor import RnnExtractor
from support.errors import run
from support.flags import flag, parse
from training.config import TrainingFlags
from training.reinforcement import ActorCriticTraining, Environment, RewardFlags, Rewrite
from training.rewriting_cache import RewritingCache
from training.session import optimisation_record, training_session


@dataclass(frozen=True, kw_only=True)
class ReinforcementFlags(TrainingFlags):
    ext_dir: str = flag(help="directory of a trained rnn-ext")
    abs_dir: str | None = flag(None, "directory of a trained abstractor; without it the agent is extractive")
    ckpt: str | None = flag(None, "checkpoint file of an agent of the same size to start from")
    variant: str = flag(
        "paper",
        "recurrent critic and detached baseline, or what the released code does",
        choices=["paper", "released"],
    )
    reward: str = flag("rouge-l", "reward of each extraction", source="Eq. 7", choices=list(REWARDS))
    stop_reward: str = flag("rouge-1", "reward of stopping", source="3.2", choices=list(REWARDS))
    stop: float = flag(1.0, "weight of the stop reward", above=0)
    gamma: float = flag(0.95, "discount factor", source="B.2", at_least=0)
    lr: float = flag(1e-4, "learning rate", source="B.2", above=0)
    ckpt_freq: int = flag(1000, "updates between validations", at_least=1)
    patience: int = flag(3, "validations without improvement before training ends", at_least=1)
    max_dec_word: int = flag(30, "words of a rewritten sentence", source="B.2", at_least=1)
    max_sent: int = flag(300, "sentences kept of an article", at_least=1)
    max_abs_batch: int | None = flag(None, "sentences rewritten at once (default: by device)", at_least=1)
    max_rewritings: int = flag(2_000_000, "rewritten sentences kept in memory, about 130 bytes each", at_least=1)
    rewritings: str | None = flag(None, "file that keeps rewritings for later runs with the same abstractor")


def main() -> None:
    flags = parse(ReinforcementFlags, __doc__ or "")
    with training_session(flags) as session:
        extractor = load(flags.ext_dir, nets=(RNN_EXTRACTOR,))
        abstractor = load(flags.abs_dir, nets=(ABSTRACTOR,), device=session.device) if flags.abs_dir else None
        meta = describe(flags, extractor, abstractor)
        agent = ActorCritic(**extractor.meta["net_args"], recurrent_critic=flags.variant == "paper")
        agent.start_from(cast(RnnExtractor, extractor.network))
        if flags.ckpt:
            load_weights(agent, AGENT, read_checkpoint(flags.ckpt)["state_dict"], Path(flags.ckpt))
        stores = [open_store(flags.data_dir, split) for split in ("train", "val")]
        training, validation = (ArticleData(store, extractor.vocabulary, flags.max_sent) for store in stores)
        session.claim_directory(meta, extractor.vocabulary, "agent_vocab.pkl")
        cache = None
        if abstractor:
            if session.processes.main:
                keep_abstractor(Path(flags.path, "abstractor"), abstractor)
            cache = rewriting_cache(flags, abstractor, stores)
            training_side, validation_side = abstractive(flags, abstractor, stores, cache)
        else:
            training_side, validation_side = (Environment(store, extractive(store)) for store in stores)
        objective = ActorCriticTraining(
            agent,
            training_side,
            validation_side,
            RewardFlags(flags.gamma, flags.reward, flags.stop_reward, flags.stop),
            detach_baseline=flags.variant == "paper",
            device=session.device,
            directory=Path(flags.path),
            cache=cache,
        )
        try:
            session.fit(objective, training, validation)
        finally:
            if cache and flags.rewritings and session.processes.main:
                cache.save(flags.rewritings, signature(flags, cast(Loaded, abstractor), stores))


def describe(flags: ReinforcementFlags, extractor: Loaded, abstractor: Loaded | None) -> Meta:
    return {
        "net": AGENT,
        "net_args": {"abstractor": abstractor and abstractor.meta, "extractor": extractor.meta},
        "train_params": {
            **optimisation_record(flags),
            "gamma": flags.gamma,
            "reward": flags.reward,
            "stop_coeff": flags.stop,
            "stop_reward": flags.stop_reward,
        },
        "variant": flags.variant,
    }


def keep_abstractor(directory: Path, abstractor: Loaded) -> None:
    """The agent's directory is complete: it carries the abstractor that it was trained over."""
    write_description(directory, abstractor.meta, abstractor.vocabulary)
    write_checkpoint(directory, ABSTRACTOR, abstractor.network, 0, 0)


def abstractive(
    flags: ReinforcementFlags, abstractor: Loaded, stores: list[TokenStore], cache: RewritingCache
) -> list[Environment]:
    environments, first = [], 0
    for store in stores:
        rewrite = Rewriter(
            cast(Abstractor, abstractor.network),
            abstractor.vocabulary,
            store,
            max_words=flags.max_dec_word,
            max_batch=flags.max_abs_batch,
            shared=flags.variant == "released",
        )
        environments.append(Environment(store, cache.through(rewrite, first)))
        first += store.articles.n_sentences
    return environments


def extractive(store: TokenStore) -> Rewrite:
    """g(d) = d (Sec. 5.2, footnote)"""

    def sentences(numbers: Ints) -> list[NDArray[np.int32]]:
        return [store.articles.sentence(int(number)) for number in numbers]

    return sentences


def rewriting_cache(flags: ReinforcementFlags, abstractor: Loaded, stores: list[TokenStore]) -> RewritingCache:
    n_sentences = sum(store.articles.n_sentences for store in stores)
    cache = RewritingCache(n_sentences, flags.max_dec_word, flags.max_rewritings)
    if flags.rewritings:
        cache.load(flags.rewritings, signature(flags, abstractor, stores))
    return cache


def signature(flags: ReinforcementFlags, abstractor: Loaded, stores: list[TokenStore]) -> str:
    """Of everything that a rewriting depends on."""
    texts = [store.articles_digest() for store in stores]
    return repr((flags.max_dec_word, flags.variant, abstractor.digest(), texts))


if __name__ == "__main__":
    run(main)

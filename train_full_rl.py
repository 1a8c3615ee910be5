"""Trains the extractor agent by reinforcement learning over a frozen abstractor (Sec. 3.2): rnn-ext + abs + RL.

Without --abs_dir the extracted sentences themselves are the summary: rnn-ext + RL.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

import torch

from checkpoints.directory import (
    ABSTRACTOR,
    AGENT,
    RNN_EXTRACTOR,
    Loaded,
    Meta,
    checkpoints,
    load,
    write_checkpoint,
    write_description,
)
from data.batching import TOGETHER, ArticleData
from data.store import TokenStore
from data.vocabulary import Vocabulary
from inference.rewriter import Rewriter
from inference.rewriting import Unchanged
from model.abstractor import Abstractor
from model.actor_critic import ActorCritic
from model.extractor import RnnExtractor
from support.errors import UserError, run
from support.flags import flag, parse
from training.config import TrainingFlags
from training.reinforcement import ActorCriticTraining, Environment
from training.rewards import RewardFlags
from training.rewriting_cache import RewritingCache, check_place
from training.session import optimisation_record, training_session


@dataclass(frozen=True, kw_only=True)
class ReinforcementFlags(TrainingFlags, RewardFlags):
    ext_dir: str | None = flag(None, "directory of a trained rnn-ext to start from")
    init_from: str | None = flag(None, "or of a trained agent; keeps its vocabulary and sizes", also="--ckpt")
    abs_dir: str | None = flag(None, "directory of a trained abstractor; without it the agent is extractive")
    variant: str = flag(
        "paper",
        "recurrent critic and detached baseline, or what the released code does",
        choices=["paper", "released"],
    )
    lr: float = flag(1e-4, "learning rate", source="B.2", above=0)
    ckpt_freq: int = flag(1000, "updates between validations", at_least=1)
    patience: int = flag(3, "validations without improvement before training ends", at_least=1)
    max_dec_word: int = flag(30, "most words of a rewritten sentence", source="B.2", at_least=1, below=10**4)
    max_sent: int = flag(300, "sentences kept of an article", at_least=1)
    max_abs_batch: int | None = flag(None, "sentences rewritten at once (default: by device)", at_least=1)
    max_rewritings: int = flag(2_000_000, "rewritten sentences kept in memory, about 130 bytes each", at_least=1)
    rewritings: str | None = flag(None, "file that keeps rewritings for later runs with the same abstractor")


def main() -> None:
    flags = parse(ReinforcementFlags, __doc__ or "")
    check(flags)
    with training_session(flags) as session:
        agent, vocabulary, extractor = session.in_all(lambda: start(flags))
        abstractor = session.in_all(lambda: load_abstractor(flags, session.device))
        stores = session.open_stores()
        together = 1 if flags.variant == "released" else TOGETHER  # whose rewritings depend on the batch
        training, validation = (ArticleData(store, vocabulary, flags.max_sent, together) for store in stores)
        models = {"abstractor": abstractor} if abstractor else {}
        meta = describe(flags, extractor, abstractor)
        with session.directory(meta, vocabulary, stores, "agent_vocab.pkl", models):
            cache = None
            if abstractor:
                kept = Path(flags.path, "abstractor")
                session.in_all(lambda: keep(kept, abstractor) if session.processes.main else None)
                cache = rewriting_cache(flags, abstractor, stores)
            training_side, validation_side = environments(flags, abstractor, stores, cache)
            objective = ActorCriticTraining(
                agent,
                training_side,
                validation_side,
                flags,
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


def check(flags: ReinforcementFlags) -> None:
    if (flags.ext_dir is None) == (flags.init_from is None):
        raise UserError("give either --ext_dir, a trained rnn-ext, or --init_from, a trained agent")
    if flags.rewritings:
        if flags.abs_dir is None or flags.variant == "released":
            raise UserError("--rewritings is for an abstractor (--abs_dir) and not for --variant released")
        check_place(flags.rewritings)


class Start(NamedTuple):
    agent: ActorCritic
    vocabulary: Vocabulary
    extractor: Meta


def start(flags: ReinforcementFlags) -> Start:
    """The agent begins as rnn-ext, or as another agent."""
    trained = load(flags.init_from or str(flags.ext_dir), nets=(AGENT if flags.init_from else RNN_EXTRACTOR,))
    extractor = trained.meta["net_args"]["extractor"] if flags.init_from else trained.meta
    agent = ActorCritic(**extractor["net_args"], recurrent_critic=flags.variant == "paper")
    if flags.init_from:
        agent.load_state_dict(trained.network.state_dict())
    else:
        agent.start_from(cast(RnnExtractor, trained.network))
    return Start(agent, trained.vocabulary, extractor)


def load_abstractor(flags: ReinforcementFlags, device: torch.device) -> Loaded | None:
    return load(flags.abs_dir, nets=(ABSTRACTOR,), device=device) if flags.abs_dir else None


def describe(flags: ReinforcementFlags, extractor: Meta, abstractor: Loaded | None) -> Meta:
    return {
        "net": AGENT,
        "net_args": {"abstractor": abstractor and abstractor.meta, "extractor": extractor},
        "train_params": {
            **optimisation_record(flags),
            "gamma": flags.gamma,
            "reward": flags.reward,
            "stop_coeff": flags.stop,
            "stop_reward": flags.stop_reward,
        },
        "variant": flags.variant,
    }


def keep(directory: Path, abstractor: Loaded) -> None:
    """The agent's directory is complete: it carries the abstractor that it was trained over, and keeps it."""
    if not checkpoints(directory):
        write_description(directory, abstractor.meta, abstractor.vocabulary)
        write_checkpoint(directory, ABSTRACTOR, abstractor.network, 0, 0)
    elif load(directory, nets=(ABSTRACTOR,)).digest() != abstractor.digest():
        raise UserError(f"{directory.parent} was started with another abstractor, which is kept in {directory}")


def environments(
    flags: ReinforcementFlags, abstractor: Loaded | None, stores: list[TokenStore], cache: RewritingCache | None
) -> list[Environment]:
    if abstractor is None:
        return [Environment.of(Unchanged(store)) for store in stores]
    found, first = [], 0
    for store in stores:
        rewriter = Rewriter(
            cast(Abstractor, abstractor.network),
            abstractor.vocabulary,
            store,
            max_words=flags.max_dec_word,
            max_batch=flags.max_abs_batch,
            shared=flags.variant == "released",
        )
        rewrite = cache.through(rewriter, first) if cache else rewriter
        found.append(Environment(store, rewrite, rewriter.own))
        first += store.articles.n_sentences
    return found


def rewriting_cache(flags: ReinforcementFlags, abstractor: Loaded, stores: list[TokenStore]) -> RewritingCache | None:
    """None where a rewriting depends on the batch's other sentences, as in the released code."""
    if flags.variant == "released":
        return None
    n_sentences = sum(store.articles.n_sentences for store in stores)
    cache = RewritingCache(n_sentences, flags.max_dec_word, flags.max_rewritings)
    if flags.rewritings:
        known = cache.load(flags.rewritings, signature(flags, abstractor, stores))
        if not known and Path(flags.rewritings).exists():
            raise UserError(f"{flags.rewritings} holds rewritings of another abstractor or of other articles")
    return cache


def signature(flags: ReinforcementFlags, abstractor: Loaded, stores: list[TokenStore]) -> str:
    """Of everything that a rewriting depends on."""
    texts = [store.texts_digest(store.articles) for store in stores]
    return repr((flags.max_dec_word, abstractor.digest(), texts))


if __name__ == "__main__":
    run(main)

"""What runs on the pretended GPU and on the CPU: updates of every kind, and what decodes, small but of any length."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from checkpoints.directory import Loaded
from checkpoints.networks import ABSTRACTOR, AGENT
from data.batching import RLBatch
from data.collate import collate_articles
from data.store import TokenStore
from data.vocabulary import Vocabulary
from decoding import Options, Summarizer
from inference.rewriter import Rewriter
from model.abstractor import Abstractor
from model.actor_critic import ActorCritic
from model.extractor import FfExtractor, RnnExtractor
from model.pointer_generator import PointerGenerator
from reference.random_batches import random_extraction, random_pairs
from support.processes import Processes
from training.config import TrainingFlags
from training.reinforcement import ActorCriticTraining, Environment, RewardFlags
from training.rewriting_cache import RewritingCache
from training.supervised import MaximumLikelihood
from training.trainer import Objective, Trainer

V = 60
EXTRACTOR = {"vocab_size": V, "emb_dim": 8, "conv_hidden": 5, "lstm_hidden": 6}
Case = Callable[..., tuple[Objective, Any]]


def trainer(objective: Objective, device: torch.device, path: Path, amp: bool = False) -> Trainer:
    flags = TrainingFlags(path=str(path), data_dir="", amp=amp)
    silent = Processes(rank=1, world=1, local_rank=0)  # only the first process writes
    return Trainer(objective, flags, silent, device, lambda _: iter(()), lambda: (_ for _ in ()))  # neither is asked


def seeded(network: Callable[..., torch.nn.Module], *args: Any, **sizes: Any) -> Any:
    torch.manual_seed(3)
    return network(*args, **sizes)


def supervised(network: Callable[..., Any], batch: Callable[..., Any], **lengths: Any) -> Case:
    def case(device: torch.device, path: Path, size: int, **other: Any) -> tuple[Objective, Any]:
        return MaximumLikelihood("test", network(), device), batch(3, size, V, **{**lengths, **other})

    return case


def articles(n: int, sentences: int, seed: int = 0) -> tuple[TokenStore, Vocabulary]:
    """Every third word lies outside the vocabulary."""
    draw = random.Random(seed)

    def text(most: int) -> list[str]:
        words = [f"w{draw.randrange(90)}" for _ in range(400)]
        return [" ".join(draw.sample(words, draw.randint(4, 9))) for _ in range(draw.randint(most // 2 + 1, most))]

    store = TokenStore.from_texts([text(sentences) for _ in range(n)], [text(4) for _ in range(n)])
    return store, Vocabulary(["<pad>", "<unk>", "<start>", "<end>", *(f"w{i}" for i in range(V - 4))])


def reinforcement(rewriting: str) -> Case:
    def case(device: torch.device, path: Path, size: int, sentences: int = 6) -> tuple[Objective, Any]:
        store, vocabulary = articles(size, sentences)
        rewrite, cache = sentences_themselves(store), None
        if rewriting != "extractive":
            rewrite = Rewriter(seeded(Abstractor, V, 8, 6).to(device).eval(), vocabulary, store, max_words=30)
        if rewriting == "cached":
            cache = RewritingCache(store.articles.n_sentences, 30, 10**4)
            rewrite = cache.through(rewrite)
            rewrite(np.arange(store.articles.n_sentences))
        environment = Environment(store, rewrite)
        objective = ActorCriticTraining(
            seeded(ActorCritic, **EXTRACTOR), environment, environment, RewardFlags(),
            detach_baseline=True, device=device, directory=path, cache=cache,
        )  # fmt: skip
        batch = RLBatch(collate_articles(store, store.map_to(vocabulary), np.arange(size)), torch.arange(size))
        objective.choose = in_order(4, batch.articles.counts, device)
        return objective, batch

    return case


def sentences_themselves(store: TokenStore) -> Callable[..., Any]:
    return lambda numbers: [store.articles.sentence(int(number)) for number in numbers]


def in_order(n: int, counts: Tensor, device: torch.device) -> Callable[[Tensor], Tensor]:
    """The first n sentences, then the stop: whatever the scores, so that rounding decides nothing."""
    steps, stop = itertools.cycle(range(n + 1)), int(counts.max())
    table = torch.arange(n + 1).expand(len(counts), -1)
    table = table.where(table < counts[:, None].clamp(max=n), stop).to(device)
    return lambda scores: table[:, next(steps)]


UPDATES: dict[str, Case] = {
    "rnn-ext": supervised(lambda: seeded(RnnExtractor, **EXTRACTOR), random_extraction),
    "ff-ext": supervised(lambda: seeded(FfExtractor, **EXTRACTOR), random_extraction),
    "abstractor": supervised(lambda: seeded(Abstractor, V, 8, 6), random_pairs),
    "abstractor, two layers": supervised(lambda: seeded(Abstractor, V, 8, 6, n_layer=2), random_pairs),
    "pointer-generator": supervised(lambda: seeded(PointerGenerator, V, 8, 6), random_pairs),
    "pointer-generator + coverage": supervised(lambda: seeded(PointerGenerator, V, 8, 6, True), random_pairs),
    "RL, nothing cached": reinforcement("fresh"),
    "RL, all cached": reinforcement("cached"),
    "RL, extractive": reinforcement("extractive"),
}


def small(name: str, device: torch.device, path: Path) -> tuple[Objective, Any]:
    """Three items of few words, where those of news articles would only take longer."""
    if name.endswith("-ext"):
        return UPDATES[name](device, path, 3, sentences=(1, 6), words=(1, 9))
    if name.startswith("RL"):
        return UPDATES[name](device, path, 3, sentences=5)
    return UPDATES[name](device, path, 3, source=(1, 7), target=(1, 5))


def summarizer(device: torch.device, vocabulary: Vocabulary, **options: Any) -> Summarizer:
    agent, abstractor = seeded(ActorCritic, **EXTRACTOR), seeded(Abstractor, V, 8, 6)
    for network in (agent, abstractor):
        for parameter in network.parameters():
            parameter.data = torch.randn_like(parameter) * 0.5
    return Summarizer(
        Loaded(agent.to(device).eval(), vocabulary, {"net": AGENT}),
        Loaded(abstractor.to(device).eval(), vocabulary, {"net": ABSTRACTOR}),
        Options(**options),
    )

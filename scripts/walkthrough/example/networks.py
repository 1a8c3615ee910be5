"""Tiny networks in float64 trained on the two articles, so that their numbers mean something.

Weights start from Python's own generator, seeded by their names: no library's random numbers act on the page.
Seed and updates were picked so that copying, an UNK and a reranking that changes the choice can all be seen.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn

from data.collate import collate_extraction, collate_pairs
from model.abstractor import Abstractor
from model.actor_critic import ActorCritic
from model.batches import ExtractionBatch, RewritingBatch
from model.extractor import FfExtractor, RnnExtractor
from scripts.walkthrough.example.corpus import Corpus

EXTRACTOR_SIZES: dict[str, Any] = {"emb_dim": 4, "conv_hidden": 2, "lstm_hidden": 3}  # the paper: 128, 100, 256
ABSTRACTOR_SIZES: dict[str, Any] = {"emb_dim": 6, "n_hidden": 8}  # the paper: 128, 256
SEED = 2
UPDATES = 44
LEARNING_RATE = 0.03  # the paper: 0.001

Network = TypeVar("Network", bound=nn.Module)


class Networks(NamedTuple):
    rnn_extractor: RnnExtractor
    ff_extractor: FfExtractor
    abstractor: Abstractor
    agent: ActorCritic
    extraction_batch: ExtractionBatch
    rewriting_batch: RewritingBatch


def train_networks(corpus: Corpus) -> Networks:
    V = len(corpus.vocabulary)
    extraction_batch = collate_extraction(corpus.store, corpus.word_map, corpus.everything)
    rewriting_batch = collate_pairs(corpus.store, corpus.word_map, corpus.pairs, V)
    rnn_extractor = seeded(RnnExtractor(vocab_size=V, **EXTRACTOR_SIZES))
    ff_extractor = seeded(FfExtractor(vocab_size=V, **EXTRACTOR_SIZES))
    abstractor = seeded(Abstractor(vocab_size=V, **ABSTRACTOR_SIZES))
    learn(rnn_extractor, extraction_batch)
    learn(ff_extractor, extraction_batch)
    learn(abstractor, rewriting_batch)
    agent = seeded(ActorCritic(vocab_size=V, **EXTRACTOR_SIZES))
    agent.start_from(rnn_extractor)
    return Networks(rnn_extractor, ff_extractor, abstractor, agent, extraction_batch, rewriting_batch)


def seeded(network: Network, scale: float = 0.5) -> Network:
    for name, parameter in network.named_parameters():
        dice = random.Random(f"{SEED} {name}")
        values = [dice.uniform(-scale, scale) for _ in range(parameter.numel())]
        parameter.data = torch.tensor(values, dtype=torch.float64).view(parameter.shape)
    return network


def learn(network: nn.Module, batch: Any) -> None:
    """Maximum likelihood (Sec. 3.1) on one batch."""
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    for _ in range(UPDATES):
        optimizer.zero_grad()
        network(batch).mean().backward()
        optimizer.step()

"""Seconds of every stage at the paper's sizes on one device: training updates and decoding, beside the paper's K40.

    scripts/bench_gpu.sh [--data_dir $DATA] [--device cuda] [--amp]

Wall time; the device is waited for before and after each measurement. The first round of each stage is not counted, the
median of the others is. Articles are those of a data set, or of the generated sample corpus; weights are random, with a
clock in the abstractor that ends sentences after about 17 words. What is printed can be pasted into docs/RESULTS.md.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from checkpoints.directory import Loaded
from checkpoints.networks import ABSTRACTOR, AGENT
from data.batching import ArticleData, training_batches
from data.flat_documents import FlatData
from data.store import TokenStore, open_store
from data.vocabulary import Vocabulary
from decoding import Options, Summarizer
from inference.flat import FlatOptions, FlatSummarizer
from inference.rewriter import Rewriter
from model.extractor import FfExtractor, RnnExtractor
from model.pointer_generator import PointerGenerator
from reference.random_batches import random_extraction, random_pairs
from reference.random_models import paper_sizes
from report.paper_numbers import TRAINING
from sample.corpus import sample_article
from scripts.bench_table5 import FLAT, FULL, RERANK, SENTENCES, TABLE_5, TEST_ARTICLES, words_an_article
from support.devices import DeviceFlags, wait_for
from support.errors import run
from support.flags import flag, parse
from training.reinforcement import ActorCriticTraining, Environment, RewardFlags

VOCABULARY, PAPER_BATCH = 30004, 32
Stage = tuple[str, Callable[[], object], float | None]  # label, one round, the paper's seconds


@dataclass(frozen=True, kw_only=True)
class Flags(DeviceFlags):
    data_dir: str | None = flag(None, "data set root (default: generated articles)", env="DATA")
    batch: int = flag(32, "items in a training batch", at_least=1)
    updates: int = flag(10, "updates to time of each network", at_least=1)
    articles: int = flag(256, "articles to decode", at_least=1)
    amp: bool = flag(False, "multiply in bfloat16 in training")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    device = flags.pick_device()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    store, vocabulary = read(flags)
    print(f"{name}, torch {torch.__version__}, {'bfloat16' if flags.amp else 'float32'}, {len(store)} articles\n")
    print("| stage | seconds | paper, one K40 |\n|---|---|---|")
    for label, once, paper in [*updates(flags, device, store, vocabulary), *decoding(flags, device, store, vocabulary)]:
        rounds = 1 if label.startswith("decoding") else flags.updates
        shown = "" if paper is None else f"{paper:.3g}"
        print(f"| {label} | {seconds(once, rounds, device):.4g} | {shown} |", flush=True)


def read(flags: Flags) -> tuple[TokenStore, Vocabulary]:
    if flags.data_dir:
        store = open_store(flags.data_dir, "val")
    else:
        written = [sample_article(0, "train", i) for i in range(max(flags.articles, flags.batch))]
        store = TokenStore.from_texts([a.article for a in written], [a.abstract for a in written])
    known = store.lexicon[:VOCABULARY]
    return store, Vocabulary([*known, *(f"<unused {i}>" for i in range(VOCABULARY - len(known)))])


def seconds(once: Callable[[], object], rounds: int, device: torch.device) -> float:
    """The median of some rounds, after one that does not count."""
    found = []
    for _ in range(rounds + 1):
        wait_for(device)
        started = time.perf_counter()
        once()
        wait_for(device)
        found.append(time.perf_counter() - started)
    return statistics.median(found[1:])


def updates(flags: Flags, device: torch.device, store: TokenStore, vocabulary: Vocabulary) -> Iterator[Stage]:
    agent, abstractor = paper_sizes(VOCABULARY)
    agent, abstractor = agent.to(device), abstractor.to(device)
    extractive = {"rnn-ext": RnnExtractor(vocab_size=VOCABULARY), "ff-ext": FfExtractor(vocab_size=VOCABULARY)}
    for name, network in extractive.items():
        items = (random_extraction(i, flags.batch, VOCABULARY) for i in range(10**6))
        yield f"{name} update, {flags.batch} articles", update(network, items, flags, device), None
    pairs = (random_pairs(i, flags.batch, VOCABULARY) for i in range(10**6))
    label = f"abstractor update, {flags.batch} pairs"
    yield label, update(abstractor, pairs, flags, device), quoted("abstractor", flags)
    flat = training_batches(FlatData(store, vocabulary), flags.batch, seed=0)
    label = f"pointer-generator update, {flags.batch} articles"
    yield label, update(PointerGenerator(VOCABULARY), flat, flags, device), quoted("pointer_generator", flags)
    _, frozen = paper_sizes(VOCABULARY)  # the one above has been trained out of its usual lengths
    rewrite = Rewriter(frozen.to(device), vocabulary, store)
    environment = Environment(store, rewrite)
    objective = ActorCriticTraining(
        agent, environment, environment, RewardFlags(),
        detach_baseline=True, device=device, directory=Path(tempfile.gettempdir()),
    )  # fmt: skip
    objective.choose = first_sentences(SENTENCES)
    batches = training_batches(ArticleData(store, vocabulary), flags.batch, seed=0)
    step = update(agent, batches, flags, device, lambda batch: objective.step(batch).losses)
    yield f"RL update, {flags.batch} articles, {SENTENCES} sentences each, nothing cached", step, None


def quoted(model: str, flags: Flags) -> float | None:
    return TRAINING[model].seconds_an_update if flags.batch == PAPER_BATCH else None


def update(
    network: nn.Module,
    batches: Iterator[Any],
    flags: Flags,
    device: torch.device,
    losses: Callable[[Any], Tensor] | None = None,
) -> Callable[[], None]:
    optimizer = torch.optim.Adam(network.to(device).train().parameters(), fused=True)

    def once() -> None:
        batch = next(batches).to(device)
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=flags.amp):
            found = (losses or network)(batch)
        found.float().mean().backward()
        nn.utils.clip_grad_norm_(network.parameters(), 2.0)
        optimizer.step()

    return once


def first_sentences(n: int) -> Callable[[Tensor], Tensor]:
    """As many as a trained agent extracts: an untrained one would go on to the end of each article."""

    steps = itertools.cycle(range(n + 1))

    def choose(scores: Tensor) -> Tensor:
        stop = scores.size(1) - 1
        left = scores[:, :stop].isfinite().any(1) & (next(steps) < n)
        return torch.where(left, scores[:, :stop].argmax(1), stop)

    return choose


def decoding(flags: Flags, device: torch.device, store: TokenStore, vocabulary: Vocabulary) -> Iterator[Stage]:
    """Table 5: seconds an article, many decoded together."""
    agent, abstractor = paper_sizes(VOCABULARY)
    parts = (
        Loaded(agent.to(device), vocabulary, {"net": AGENT}),
        Loaded(abstractor.to(device), vocabulary, {"net": ABSTRACTOR}),
    )
    articles = np.arange(min(flags.articles, len(store)))
    flat = PointerGenerator(VOCABULARY, coverage=True).to(device).eval()
    words = words_an_article(FLAT)
    systems: dict[str, tuple[str, Summarizer | FlatSummarizer]] = {
        FULL: ("rnn-ext + abs + RL", Summarizer(*parts, Options(n_sentences=SENTENCES))),
        RERANK: ("+ rerank, beam 5", Summarizer(*parts, Options(n_sentences=SENTENCES, beam=5))),
        FLAT: (
            "pointer-generator + coverage, beam 4",
            FlatSummarizer(flat, vocabulary, FlatOptions(min_words=words, max_words=words)),
        ),
    }
    for row, (label, system) in systems.items():
        paper = TABLE_5[row].hours * 3600 / TEST_ARTICLES * len(articles)
        yield f"decoding {len(articles)} articles, {label}", decoded(system.summarize, store, articles), paper


def decoded(summarize: Callable[..., Any], store: TokenStore, articles: np.ndarray) -> Callable[[], object]:
    return lambda: list(summarize(store, articles))


if __name__ == "__main__":
    run(main)

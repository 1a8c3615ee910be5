"""Table 5 measured side by side: decoding speed of the full model and of the flat baseline, and training updates (B.3).

    python -m scripts.bench_table5 --data_dir $DATA --articles 200
    python -m scripts.bench_table5 --data_dir $DATA --model_dir runs/rl --pg_dir runs/pg_coverage

All systems decode the same articles by turns, with one thread and the same limit of hypotheses decoded together;
seconds are CPU seconds. Networks without a directory have the paper's sizes and random weights, and write as many
words an article as the paper's Table 5 implies. That favours the flat baseline: its real search goes on after the
words of its best summary, until it has found four.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from cytoolz import partition_all
from torch import nn

from checkpoints.directory import Loaded, load
from checkpoints.networks import ABSTRACTOR, AGENT, POINTER_GENERATOR
from data.batching import RewritingData, training_batches
from data.documents import Ints
from data.flat_documents import FlatData
from data.store import TokenStore, open_store
from data.vocabulary import Vocabulary, load_word_counts
from decoding import Options, Summarizer
from inference.flat import FlatOptions, FlatSummarizer
from inference.summary import Summary
from model.abstractor import Abstractor
from model.actor_critic import ActorCritic
from model.pointer_generator import PointerGenerator
from report.paper_numbers import TRAINING, Speed
from report.rows import ROWS, quoted
from support.errors import run
from support.flags import flag, parse
from support.memory import keep_freed_memory

FLAT, FULL, RERANK = "pointer_generator_coverage", "rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank"
TABLE_5 = quoted("5", Speed)
TEST_ARTICLES = 11490  # what Table 5 counts
SENTENCES = 4  # that an untrained agent extracts
PIECE = 100  # articles that one system decodes before it is the next one's turn


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA")
    split: str = flag("val", "articles to decode, and batches to train on", choices=("train", "val", "test"))
    articles: int = flag(200, "how many to decode", at_least=1)
    model_dir: str | None = flag(None, "directory that train_full_rl.py wrote (default: random weights)")
    pg_dir: str | None = flag(None, "directory that train_pointer_generator.py wrote (default: random weights)")
    updates: int = flag(10, "training updates to time of each network; 0 leaves training out", at_least=0)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    keep_freed_memory()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    store = open_store(flags.data_dir, flags.split)
    vocabulary = Vocabulary.from_counter(load_word_counts(flags.data_dir), 30000)
    articles = np.arange(min(flags.articles, len(store)))
    print(f"{len(articles)} articles of {store.name}, one thread, torch {torch.__version__}")
    print(f"full model: {flags.model_dir or 'random weights'}; pointer-generator: {flags.pg_dir or 'random weights'}\n")
    systems = build_systems(flags, vocabulary)
    together = decode(systems, store, list(partition_all(PIECE, articles)))
    alone = decode(systems, store, list(partition_all(1, articles)))
    print_speeds("many articles together", together)
    print_speeds("one article at a time", alone)
    # The flat baseline's public code, which the paper timed, knows no batches in decoding; the full model's does.
    print_speeds("flat alone, others together", {**together, FLAT: alone[FLAT]})
    print_paper()
    if flags.updates:
        print_updates(training_seconds(store, vocabulary, flags.updates))


Summarize = Callable[[TokenStore, Ints], Iterable[Summary]]


def build_systems(flags: Flags, vocabulary: Vocabulary) -> dict[str, Summarize]:
    agent, abstractor = full_model(flags.model_dir, vocabulary)
    flat = load(flags.pg_dir, nets=(POINTER_GENERATOR,)) if flags.pg_dir else None
    network = cast(PointerGenerator, flat.network) if flat else PointerGenerator(len(vocabulary), coverage=True).eval()
    limits = {} if flags.pg_dir else {"min_words": words_an_article(FLAT), "max_words": words_an_article(FLAT)}
    return {
        FLAT: FlatSummarizer(network, flat.vocabulary if flat else vocabulary, FlatOptions(**limits)).summarize,
        FULL: Summarizer(agent, abstractor, full_options(flags.model_dir, FULL, beam=1)).summarize,
        RERANK: Summarizer(agent, abstractor, full_options(flags.model_dir, RERANK, beam=5)).summarize,
    }


def full_model(model_dir: str | None, vocabulary: Vocabulary) -> tuple[Loaded, Loaded]:
    if model_dir:
        agent = load(model_dir, nets=(AGENT,))
        return agent, load(Path(model_dir) / "abstractor", nets=(ABSTRACTOR,))
    size = len(vocabulary)
    return (
        Loaded(ActorCritic(vocab_size=size).eval(), vocabulary, {"net": AGENT}),
        Loaded(Abstractor(size).eval(), vocabulary, {"net": ABSTRACTOR}),
    )


def full_options(model_dir: str | None, row: str, beam: int) -> Options:
    """Random weights hardly ever choose END, so the limit is the length; a beam's hypothesis loses its last word."""
    if model_dir:
        return Options(beam=beam)
    words = round(words_an_article(row) / SENTENCES)
    return Options(beam=beam, n_sentences=SENTENCES, max_words=words + (beam > 1))


def words_an_article(row: str) -> int:
    """As the paper's Table 5 implies: time times words a second."""
    speed = TABLE_5[row]
    return round(speed.hours * 3600 * speed.words_per_second / TEST_ARTICLES)


class Measured(NamedTuple):
    seconds: float
    words: int


def decode(systems: dict[str, Summarize], store: TokenStore, pieces: list[tuple[int, ...]]) -> dict[str, Measured]:
    found = {row: Measured(0.0, 0) for row in systems}
    for summarize in systems.values():
        list(summarize(store, np.array(pieces[0])[:1]))  # binds the store
    for piece in pieces:
        for row, summarize in systems.items():
            start = time.process_time()
            words = sum(summary.n_words for summary in summarize(store, np.array(piece)))
            found[row] = Measured(found[row].seconds + time.process_time() - start, found[row].words + words)
    return found


def print_speeds(title: str, speeds: dict[str, Measured]) -> None:
    base = speeds[FLAT]
    print(f"{title:32} {'seconds':>9} {'words':>7} {'words/s':>8}   speed-up in time, in words/s")
    for row, (seconds, words) in speeds.items():
        ratio = speed_up(base.seconds / seconds, words / seconds / (base.words / base.seconds))
        print(f"  {ROWS[row].label:30} {seconds:9.1f} {words:7} {words / seconds:8.0f}   {ratio}")
    print()


def speed_up(in_time: float, in_words: float) -> str:
    return f"{in_time:.1f}x, {in_words:.1f}x"


def print_paper() -> None:
    print(f"{'the paper, one K40, test set':32} {'hours':>9} {'':7} {'words/s':>8}")
    base = TABLE_5[FLAT]
    for row, speed in TABLE_5.items():
        ratio = speed_up(base.hours / speed.hours, speed.words_per_second / base.words_per_second)
        print(f"  {ROWS[row].label:30} {speed.hours:9.2f} {'':7} {speed.words_per_second:8.1f}   {ratio}")
    print()


def training_seconds(store: TokenStore, vocabulary: Vocabulary, n: int) -> dict[str, float]:
    """Of an update, by turns; the first update of each is not counted."""
    pairs, documents = RewritingData(store, vocabulary), FlatData(store, vocabulary)
    size = len(vocabulary)
    runs = {
        "abstractor": (Abstractor(size), training_batches(pairs, 32, seed=0)),
        "pointer_generator": (PointerGenerator(size), training_batches(documents, 32, seed=0)),
        "pointer_generator_16": (PointerGenerator(size), training_batches(documents, 16, seed=0)),
    }
    optimizers = {name: torch.optim.Adam(network.parameters(), fused=True) for name, (network, _) in runs.items()}
    total = dict.fromkeys(runs, 0.0)
    for turn in range(n + 1):
        for name, (network, batches) in runs.items():
            seconds = timed_update(network, optimizers[name], next(batches))
            total[name] += seconds if turn else 0.0
    return {name: seconds / n for name, seconds in total.items()}


def timed_update(network: nn.Module, optimizer: torch.optim.Optimizer, batch: Any) -> float:
    start = time.process_time()
    optimizer.zero_grad()
    network(batch).mean().backward()
    nn.utils.clip_grad_norm_(network.parameters(), 2.0)
    optimizer.step()
    return time.process_time() - start


def print_updates(measured: dict[str, float]) -> None:
    """See et al. train with batches of 16, which the paper's comparison does not say it changed."""
    print(f"{'seconds per training update':32} {'here':>9} {'ratio':>7}   {'the paper, one K40':>18} {'ratio':>7}")
    base, quoted_base = measured["abstractor"], TRAINING["abstractor"].seconds_an_update or 0.0
    for name, label in (
        ("abstractor", "abstractor, 32 pairs"),
        ("pointer_generator", "pointer-generator, 32 articles"),
        ("pointer_generator_16", "pointer-generator, 16 articles"),
    ):
        quoted = TRAINING[name.removesuffix("_16")].seconds_an_update or 0.0
        ours = f"{measured[name]:9.2f} {measured[name] / base:6.1f}x"
        print(f"  {label:30} {ours}   {quoted:18.2f} {quoted / quoted_base:6.1f}x")


if __name__ == "__main__":
    run(main)

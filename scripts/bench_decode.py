"""Decoding speed on one core: this code against the plain loop of reference/decoding.py, in turns.

    python -m scripts.bench_decode --data_dir $DATA --articles 64

Without --model_dir the networks have the paper's sizes and random weights, but a clock in the decoder that ends
sentences after about 17 words; five sentences are extracted from every article. CPU seconds of one thread, the
best of --repeat rounds. The plain loop runs in a process of its own, since there the C library manages memory as
it does by default. The vocabulary product's share is what o E^T alone would take, at the best speed at which this
machine multiplies matrices of that shape.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from checkpoints.directory import Loaded
from checkpoints.networks import ABSTRACTOR, AGENT
from data.store import TokenStore, open_store
from data.vocabulary import Vocabulary, load_word_counts
from decoding import Options, Summarizer
from inference.summary import Summary
from support.errors import UserError, run
from support.flags import flag, parse
from support.memory import keep_freed_memory

VOCABULARY = 30000
SENTENCES = 5  # of a summary; the paper's agent extracts about as many


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA")
    split: str = flag("val", "articles to decode")
    articles: int = flag(64, "how many of them", at_least=1)
    model_dir: str | None = flag(None, "directory that train_full_rl.py wrote (default: random weights)")
    repeat: int = flag(3, "rounds, of which the fastest counts", at_least=1)
    plain: bool = flag(True, "leave the plain loop out", spelling="--no-plain")


class Timed(NamedTuple):
    seconds: float
    summaries: list[Summary]


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    print(f"{flags.articles} articles of {flags.data_dir}/{flags.split}, {flags.model_dir or 'random weights'}")
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as child:
        child.submit(int).result()  # starts it before the memory is managed otherwise
        keep_freed_memory()
        for beam in (1, 5):
            ours, plain = [], []
            for _ in range(flags.repeat):
                ours.append(timed(Summarizer.summarize, flags, beam))
                if flags.plain:
                    plain.append(child.submit(timed_plainly, flags, beam).result())
            report(flags, beam, ours, plain)


def report(flags: Flags, beam: int, ours: list[Timed], plain: list[Timed]) -> None:
    seconds, summaries = min(run.seconds for run in ours), ours[0].summaries
    lengths = [len(sentence.words) for summary in summaries for sentence in summary.sentences]
    steps = sum(lengths) + len(lengths)  # END is a step too
    limit = steps * beam * product_seconds_per_row(prepared(flags, beam)[0])
    print(
        f"{'greedy' if beam == 1 else f'beam {beam} + rerank':16} {len(summaries) / seconds:7.1f} articles/s "
        f"{sum(lengths) / seconds:7.0f} words/s  {np.mean(lengths):.1f} +- {np.std(lengths):.1f} words a sentence  "
        f"vocabulary product {limit / seconds:.0%}"
    )
    if plain:
        slower = min(run.seconds for run in plain)
        pairs = zip(summaries, plain[0].summaries, strict=True)
        equal = np.mean([one.lines() == other.lines() for one, other in pairs])
        print(
            f"{'plain loop':16} {len(summaries) / slower:7.1f} articles/s  ratio {slower / seconds:.1f}  "
            f"equal summaries {equal:.1%}"
        )


def timed_plainly(flags: Flags, beam: int) -> Timed:
    from reference.decoding import plain_summaries

    return timed(plain_summaries, flags, beam)


def timed(summarize: Callable, flags: Flags, beam: int) -> Timed:
    torch.set_num_threads(1)
    summarizer, store = prepared(flags, beam)
    articles = np.arange(min(flags.articles, len(store)))
    list(summarize(summarizer, store, articles[:1]))  # what is done once a store
    start = time.process_time()
    summaries = list(summarize(summarizer, store, articles))
    return Timed(time.process_time() - start, summaries)


@lru_cache
def prepared(flags: Flags, beam: int) -> tuple[Summarizer, TokenStore]:
    store = open_store(flags.data_dir, flags.split)
    if flags.model_dir:
        summarizer = Summarizer.from_agent(flags.model_dir, Options(beam=beam))
        if summarizer.abstractor is None:
            raise UserError(f"{flags.model_dir} has no abstractor, so there is no rewriting to measure")
        return summarizer, store
    return Summarizer(*random_model(flags.data_dir), Options(beam=beam, n_sentences=SENTENCES)), store


def random_model(data_dir: str) -> tuple[Loaded, Loaded]:
    from reference.random_models import paper_sizes

    vocabulary = Vocabulary.from_counter(load_word_counts(data_dir), VOCABULARY)
    if len(vocabulary) < VOCABULARY + 4:
        raise UserError(f"{data_dir} has fewer than {VOCABULARY:,} words: too few for the paper's sizes")
    agent, abstractor = paper_sizes(len(vocabulary))
    return Loaded(agent, vocabulary, {"net": AGENT}), Loaded(abstractor, vocabulary, {"net": ABSTRACTOR})


@torch.no_grad()
def product_seconds_per_row(summarizer: Summarizer, rows: int = 256) -> float:
    """CPU seconds of o E^T for one row of a large batch, at best."""
    assert summarizer.abstractor is not None
    weight = summarizer.abstractor.network.get_parameter("embedding.weight")
    tile = min(2048, len(weight))
    outputs, product = torch.randn(rows, weight.size(1)), torch.empty(rows, tile)
    starts, best = range(0, len(weight) - tile + 1, tile), float("inf")
    for _ in range(10):
        start = time.process_time()
        for first in starts:
            torch.mm(outputs, weight[first : first + tile].T, out=product)
        best = min(best, time.process_time() - start)
    return best / rows * len(weight) / (len(starts) * tile)


if __name__ == "__main__":
    run(main)

"""Decoding speed on one core: this code against the plain loop of tests/plain_decoding.py, interleaved.

    python -m scripts.bench_decode --data_dir $DATA --articles 64

Without --model_dir the networks have the paper's sizes and random weights, but a clock in the decoder that ends
sentences after about 17 words; five sentences are extracted from every article. CPU seconds of one thread; the
best of --repeat rounds. The last column is the share of the time that the vocabulary's matrix product alone would
take at the speed at which this machine multiplies matrices of that shape.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from data.store import TokenStore, open_store
from data.vocabulary import Vocabulary, load_word_counts
from decoding import Options, Summarizer
from inference.summary import Summary
from support.errors import run
from support.flags import flag, parse
from support.memory import keep_freed_memory
from training.model_directory import ABSTRACTOR, AGENT, Loaded

sys.path.append(str(Path(__file__).parents[1] / "tests"))

SENTENCES = 5  # of a summary; the paper's agent extracts about as many


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA")
    split: str = flag("val", "articles to decode")
    articles: int = flag(64, "how many of them", at_least=1)
    model_dir: str | None = flag(None, "directory that train_full_rl.py wrote (default: random weights)")
    repeat: int = flag(3, "rounds, of which the fastest counts", at_least=1)
    plain: bool = flag(True, "leave the plain loop out", spelling="--no-plain")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    keep_freed_memory()
    torch.set_num_threads(1)
    store = open_store(flags.data_dir, flags.split)
    articles = np.arange(min(flags.articles, len(store)))
    print(f"{len(articles)} articles of {store.name}, {flags.model_dir or 'random weights'}, torch {torch.__version__}")
    for beam in (1, 5):
        options = Options(beam=beam, n_sentences=None if flags.model_dir else SENTENCES)
        if flags.model_dir:
            summarizer = Summarizer.from_agent(flags.model_dir, options)
        else:
            summarizer = Summarizer(*random_model(flags.data_dir), options)
        measure(summarizer, store, articles, flags)


def measure(summarizer: Summarizer, store: TokenStore, articles: np.ndarray, flags: Flags) -> None:
    beam = summarizer.options.beam
    runs: list[Callable[[], list[Summary]]] = [lambda: list(summarizer.summarize(store, articles))]
    if flags.plain:
        from plain_decoding import plain_summaries

        runs.append(lambda: plain_summaries(summarizer, store, articles))
    rounds = [[timed(decode) for decode in runs] for _ in range(flags.repeat)]
    seconds = [min(row[i][0] for row in rounds) for i in range(len(runs))]
    summaries = rounds[0][0][1]
    words = sum(summary.n_words for summary in summaries)
    steps = words + sum(len(summary.sentences) for summary in summaries)  # END is a step too
    limit = steps * beam * product_seconds_per_row(summarizer)
    lengths = [len(sentence.words) for summary in summaries for sentence in summary.sentences]
    label = "greedy" if beam == 1 else f"beam {beam} + rerank"
    print(
        f"{label:16} {len(articles) / seconds[0]:7.1f} articles/s {words / seconds[0]:8.0f} words/s"
        f"  {np.mean(lengths):.1f} +- {np.std(lengths):.1f} words a sentence"
        f"  vocabulary product {limit / seconds[0]:4.0%} of the time"
    )
    if flags.plain:
        pairs = zip(summaries, rounds[0][1][1], strict=True)
        equal = np.mean([ours.lines() == theirs.lines() for ours, theirs in pairs])
        print(
            f"{'plain loop':16} {len(articles) / seconds[1]:7.1f} articles/s"
            f"  ratio {seconds[1] / seconds[0]:.1f}  equal summaries {equal:.1%}"
        )


def timed(decode: Callable[[], list[Summary]]) -> tuple[float, list[Summary]]:
    start = time.process_time()
    summaries = decode()
    return time.process_time() - start, summaries


@torch.no_grad()
def product_seconds_per_row(summarizer: Summarizer) -> float:
    """CPU seconds of o E^T for one row of a large batch, at best."""
    assert summarizer.abstractor is not None
    weight = summarizer.abstractor.network.get_parameter("embedding.weight")
    outputs = torch.randn(256, weight.size(1))
    tile = torch.empty(256, 2048)
    best = float("inf")
    for _ in range(10):
        start = time.process_time()
        for first in range(0, len(weight) - 2047, 2048):
            torch.mm(outputs, weight[first : first + 2048].T, out=tile)
        best = min(best, time.process_time() - start)
    return best / 256 * len(weight) / (len(weight) // 2048 * 2048)


def random_model(data_dir: str) -> tuple[Loaded, Loaded]:
    from random_models import paper_sizes

    vocabulary = Vocabulary.from_counter(load_word_counts(data_dir), 30000)
    agent, abstractor = paper_sizes(len(vocabulary))
    return Loaded(agent, vocabulary, {"net": AGENT}), Loaded(abstractor, vocabulary, {"net": ABSTRACTOR})


if __name__ == "__main__":
    run(main)

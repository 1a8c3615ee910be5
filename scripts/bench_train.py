"""Seconds per training step at paper sizes, on one core, and how they compare.

    python -m scripts.bench_train [--data_dir D] [--steps 5]

Each stage is timed in turns with a plain loop over articles and time steps (reference/networks.py) on the same
batches, in CPU seconds, so that ratios hold on a busy machine too. Batches come from a data set, or are random with
the lengths of news articles.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from data.batching import ExtractionData, RewritingData, training_batches
from data.store import open_store
from data.vocabulary import Vocabulary, load_word_counts
from model.abstractor import Abstractor
from model.extractor import RnnExtractor
from reference import networks as plain_networks
from reference import random_batches
from support.errors import UserError, run
from support.flags import flag, parse
from support.memory import keep_freed_memory

VOCABULARY = 30000
IN_PLACE = torch.ops.aten.addmm_, torch.ops.aten.baddbmm_  # which the counter does not know


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str | None = flag(None, "data set to take batches from; without it they are random", env="DATA")
    batch: int = flag(32, "articles, or sentence pairs, in a batch", at_least=1)
    steps: int = flag(5, "batches to time", at_least=1)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    torch.set_num_threads(1)
    keep_freed_memory()
    peak = matrix_peak()
    print(f"one core, batch {flags.batch}, best matrix product {peak:.0f} GFLOP/s")
    print(f"{'stage':12}{'ours':>10}{'plain':>10}{'ratio':>8}{'GFLOP':>8}{'of peak':>9}")
    extraction, rewriting = batches(flags)
    size = VOCABULARY + 4
    compare("extractor", RnnExtractor(vocab_size=size), plain_networks.rnn_extractor_losses, extraction, peak)
    compare("abstractor", Abstractor(vocab_size=size), plain_networks.abstractor_losses, rewriting, peak)


def compare(name: str, network: nn.Module, plain: Callable, items: list, peak: float) -> None:
    methods: tuple[Callable, Callable] = (network, partial(plain, network))
    optimizer = torch.optim.Adam(network.parameters(), 1e-3, fused=True)
    step(network, network, optimizer, items[0])  # warms up
    seconds = [0.0, 0.0]
    for item in items[1:]:
        for i, losses in enumerate(methods):
            seconds[i] += cpu_seconds(partial(step, network, losses, optimizer, item))
    with FlopCounterMode(display=False, custom_mapping=dict.fromkeys(IN_PLACE, product_flop)) as counter:
        step(network, network, optimizer, items[-1])
    gflop = counter.get_total_flops() / 1e9
    ours, theirs = (total / (len(items) - 1) for total in seconds)
    print(f"{name:12}{ours:9.3f}s{theirs:9.3f}s{theirs / ours:7.1f}x{gflop:8.1f}{gflop / ours / peak:9.0%}")


def step(network: nn.Module, losses: Callable, optimizer: torch.optim.Optimizer, batch: tuple) -> None:
    optimizer.zero_grad()
    losses(batch).mean().backward()
    nn.utils.clip_grad_norm_(network.parameters(), 2.0)
    optimizer.step()


def product_flop(_added: torch.Size, left: torch.Size, right: torch.Size, **_rest: object) -> int:
    return 2 * left.numel() * right[-1]


def cpu_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def matrix_peak(size: int = 1024, repeats: int = 10) -> float:
    a, b = torch.randn(size, size), torch.randn(size, size)
    best = min(cpu_seconds(lambda: a.mm(b)) for _ in range(repeats))
    return 2 * size**3 / best / 1e9


def batches(flags: Flags) -> tuple[list, list]:
    n = flags.steps + 1
    if flags.data_dir is None:
        size = VOCABULARY + 4
        return (
            [random_batches.random_extraction(i, flags.batch, size) for i in range(n)],
            [random_batches.random_pairs(i, flags.batch, size) for i in range(n)],
        )
    vocabulary = Vocabulary.from_counter(load_word_counts(flags.data_dir), VOCABULARY)
    if len(vocabulary) < VOCABULARY + 4:
        raise UserError(f"{flags.data_dir} has fewer than {VOCABULARY:,} words; omit --data_dir for random ones")
    store = open_store(flags.data_dir, "train")
    streams = [
        training_batches(data, flags.batch, seed=0)
        for data in (ExtractionData(store, vocabulary), RewritingData(store, vocabulary))
    ]
    extraction, rewriting = ([next(stream) for _ in range(n)] for stream in streams)
    return extraction, rewriting


if __name__ == "__main__":
    run(main)

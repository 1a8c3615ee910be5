"""Launches and host waits of every kind of step at the paper's batch sizes and the lengths of news articles, counted
on the pretended GPU (sizes of layers and vocabulary do not matter, and are small):

    python tests/launches.py
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from gpu_cases import EXTRACTOR, UPDATES, V, seeded, trainer
from pretended_gpu import GPU, Counts, pretended_gpu

from model.abstractor import Abstractor
from model.beam_search import beam_search
from model.extractor import RnnExtractor
from model.greedy_search import greedy_search
from reference.random_batches import random_articles, random_pairs
from support.devices import decoding_on

FLAT = {"source": (300, 401), "target": (50, 101)}  # an article's beginning, and its summary
Case = tuple[str, int, dict[str, Any]]  # kind of update, items in a batch, lengths if not those of random batches
CASES: tuple[Case, ...] = (
    ("rnn-ext", 32, {}),
    ("ff-ext", 32, {}),
    ("abstractor", 32, {}),
    ("RL, nothing cached", 32, {"sentences": 30}),
    ("RL, all cached", 32, {"sentences": 30}),
    ("pointer-generator", 16, FLAT),
    ("pointer-generator + coverage", 16, FLAT),
)


def rows(counts: Counts) -> Iterator[tuple[str, float, float]]:
    for name, size, lengths in CASES:
        with tempfile.TemporaryDirectory() as folder:
            objective, batch = UPDATES[name](GPU, Path(folder), size, **lengths)
            loop = trainer(objective, GPU, Path(folder))
            loop._update(batch)  # the optimizer makes its state
            counts.clear()
            loop._update(batch)
            yield f"{name} update, batch {size}", counts.launches, counts.waits
    articles, extractor = random_articles(1, 32, V).to(GPU), seeded(RnnExtractor, **EXTRACTOR).to(GPU)
    counts.clear()
    extractor.extract(articles, 4)
    yield "rnn-ext extraction, k = 4", counts.launches, counts.waits
    for name, search in searches():
        yield name, *a_step(counts, search)


def searches() -> Iterator[tuple[str, Callable[[int], object]]]:
    network = never_ending(seeded(Abstractor, V, 8, 6)).to(GPU).eval()
    source, ask_every = random_pairs(1, 32, V).source.to(GPU), decoding_on(GPU).ask_every
    yield "greedy search, a step", lambda steps: greedy_search(network, source, steps, ask_every=ask_every)
    yield "beam search of 5, a step", lambda steps: beam_search(network, source, steps, 5, ask_every=ask_every)


def never_ending(network: Abstractor) -> Abstractor:
    """All words are copied, and END is in no source: every step has all rows."""
    network.copy_gate.b.data.fill_(50)
    return network


def a_step(counts: Counts, run: Callable[[int], object], few: int = 8, many: int = 16) -> tuple[float, float]:
    """Launches and waits of one step of a loop, whatever happens before and after it."""
    found = []
    for steps in (few, many):
        counts.clear()
        run(steps)
        found.append((counts.launches, counts.waits))
    launches, waits = ((after - before) / (many - few) for before, after in zip(*found, strict=True))
    return launches, waits


def main() -> None:
    print("| step | launches | waits |\n|---|---|---|")
    with pretended_gpu() as counts:
        for name, launches, waits in rows(counts):
            print(f"| {name} | {launches:,.0f} | {waits:.3g} |", flush=True)


if __name__ == "__main__":
    main()

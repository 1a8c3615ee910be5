"""Measures the data layer on labelled articles: `python -m scripts.bench_data --data_dir D`.

Builds a token store of the training split, opens it again, and counts batches and labelled articles a second of
one core's CPU time.
"""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from data.articles import count_articles, split_directory
from data.batching import ArticleData, BatchData, ExtractionData, RewritingData, training_batches
from data.labels import label_split
from data.store import open_store
from data.vocabulary import COUNTS_FILE, Vocabulary, load_word_counts
from support.errors import run
from support.flags import flag, parse
from support.parallel import available_cores


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA")
    batch: int = flag(32, "batch size", at_least=1)
    vsize: int = flag(30000, "vocabulary size", at_least=1)
    articles: int = flag(0, "use only this many training articles, the first ones; 0 means all", at_least=0)
    workers: int = flag(available_cores(), "processes that build the store", at_least=1)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    vocabulary = Vocabulary.from_counter(load_word_counts(flags.data_dir), flags.vsize)
    total = count_articles(split_directory(flags.data_dir, "train"))
    total = min(total, flags.articles or total)
    with tempfile.TemporaryDirectory() as folder:
        root = _linked_copy(Path(flags.data_dir), Path(folder), total)
        began = time.monotonic()
        open_store(root, "train", flags.workers)
        seconds = time.monotonic() - began
        _report("store built", f"{seconds:.1f} s, {total:,} articles, {flags.workers} processes")
        _report("peak memory", f"{_peak(resource.RUSAGE_SELF)}, a worker {_peak(resource.RUSAGE_CHILDREN)}")
        began = time.monotonic()
        store = open_store(root, "train")
        _report("store opened", f"{time.monotonic() - began:.2f} s")
        _report("abstractor batches", _rate(RewritingData(store, vocabulary), flags.batch, "pairs"))
        _report("extractor batches", _rate(ExtractionData(store, vocabulary), flags.batch, "articles"))
        _report("RL batches", _rate(ArticleData(store, vocabulary), flags.batch, "articles"))
        _report("labels", _label_rate(root, min(total, 4000)))


def _linked_copy(source: Path, target: Path, total: int) -> Path:
    (target / "train").mkdir()
    for index in range(total):
        os.symlink((source / "train" / f"{index}.json").resolve(), target / "train" / f"{index}.json")
    shutil.copy(source / COUNTS_FILE, target)
    return target


def _rate(data: BatchData[object], batch_size: int, unit: str) -> str:
    batches = training_batches(data, batch_size, seed=0)
    next(batches)
    n_batches = max(1, min(2000, len(data) // batch_size))
    began = time.process_time()
    for _ in itertools.islice(batches, n_batches):
        pass
    seconds = time.process_time() - began
    rate = n_batches * batch_size / seconds
    return f"{rate:,.0f} {unit}/s, {1000 * seconds / n_batches:.2f} ms a batch of {batch_size}"


def _label_rate(root: Path, total: int) -> str:
    """Reading, matching and writing in one process, on real copies."""
    (root / "labels").mkdir()
    for index in range(total):
        shutil.copy(root / "train" / f"{index}.json", root / "labels")
    began, cpu = time.monotonic(), time.process_time()
    label_split(root, "labels", workers=1, force=True)
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    return f"{total / cpu:,.0f} articles/s of CPU time, {total / seconds:,.0f} with waiting for the disk"


def _peak(who: int) -> str:
    return f"{resource.getrusage(who).ru_maxrss / 1024:,.0f} MB"


def _report(what: str, value: str) -> None:
    print(f"{what:20}{value}", flush=True)


if __name__ == "__main__":
    run(main)

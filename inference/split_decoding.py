"""What the decode scripts share: a split decoded in parallel, resumable, and timed."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from checkpoints.directory import Loaded
from checkpoints.networks import AGENT
from data.documents import Ints
from data.store import TokenStore, open_store
from inference.output import DecodeDirectory, Line
from inference.reranker import RERANKING
from inference.summary import Summary
from support.devices import DeviceFlags, decoding_on
from support.errors import UserError
from support.flags import flag
from support.memory import keep_freed_memory
from support.parallel import available_cores, map_pieces
from support.processes import Processes, in_all, process_group, total, wait_for_all

_PIECE = 256  # articles a process takes at a time


@dataclass(frozen=True, kw_only=True)
class SplitFlags(DeviceFlags):
    path: str = flag(help="directory of the decoded summaries")
    data_dir: str = flag(help="data set root", env="DATA")
    val: bool = flag(False, "decode the validation split")
    test: bool = flag(False, "decode the test split")
    split: str | None = flag(None, "or any split by its name", choices=("train", "val", "test"))
    resume: bool = flag(False, "continue what is in --path")
    workers: int | None = flag(None, "processes on the CPU, one thread each (default: all cores)", at_least=1)

    def chosen_split(self) -> str:
        chosen = [name for name, given in (("val", self.val), ("test", self.test)) if given]
        chosen += [self.split] if self.split else []
        if len(chosen) != 1:
            raise UserError("give one of --val, --test and --split train|val|test")
        return chosen[0]


@dataclass(frozen=True, kw_only=True)
class DecodeFlags(SplitFlags):
    batch: int = flag(32, "articles whose unknown words are numbered together", at_least=1)
    batch_invariant: bool = flag(False, "number unknown words sentence by sentence: --batch does not change the output")
    max_dec_word: int = flag(30, "most words of a rewritten sentence", source="B.2", at_least=1, below=10**4)

    def settings(self) -> dict[str, Any]:
        """As log.json has them."""
        return {
            "batch": self.batch,
            "batch_invariant": self.batch_invariant,
            "max_dec_word": self.max_dec_word,
        }


class Summarizes(Protocol):
    def summarize(self, store: TokenStore, articles: Ints) -> Iterable[Summary]: ...


class Built(NamedTuple):
    """What summarizes, and the models in it."""

    summarizer: Summarizes
    abstractor: Loaded | None
    extractor: Loaded | None

    def described(self) -> dict[str, Any]:
        """As log.json has it: the models' metas, and which weights and words they have."""
        models = {"abstractor": self.abstractor, "extractor": self.extractor}
        metas = {name: model and model.meta for name, model in models.items()}
        if self.extractor and self.extractor.meta["net"] == AGENT:
            metas = {name: self.extractor.meta["net_args"][name] for name in models}
        return {**metas, **{f"{name}_checkpoint": model and model.identity() for name, model in models.items()}}


@dataclass(frozen=True, kw_only=True)
class Builder(ABC):
    """What a process must know to build what summarizes."""

    device: str = "cpu"

    @abstractmethod
    def build(self) -> Built: ...


class _Work(NamedTuple):
    """What a process must know to decode articles on its own."""

    builder: Builder
    data_dir: str
    split: str
    directory: DecodeDirectory
    one_thread: bool


class _Decoded(NamedTuple):
    lines: list[Line]
    n_words: int
    reranking_seconds: float


def decode_split(
    flags: SplitFlags, builder: Builder, directory: DecodeDirectory, settings: dict[str, Any], batch: int = 1
) -> None:
    """`settings` go to log.json; every `batch` articles are decoded together or not at all."""
    split = flags.chosen_split()
    with process_group(flags.may_use_gpu()) as processes:
        builder, workers, built, store = in_all(processes, lambda: _set_up(flags, builder, processes))
        data = {"articles": len(store), "hash": store.texts_digest(store.articles)}
        log = {**built.described(), **settings, "split": split, "data": data}
        with contextlib.ExitStack() as held:

            def claim() -> None:
                held.enter_context(directory.held())
                directory.prepare(log, flags.resume)

            in_all(processes, lambda: claim() if processes.main else None)
            done = directory.finished()
            wait_for_all()
            groups = _unfinished_groups(len(store), batch, done)
            work = _Work(builder, flags.data_dir, split, directory, workers > 1)
            pieces = list(_pieces(groups[processes.rank :: processes.world], batch, workers))
            timing = _decode(work, pieces, workers, processes)
            wait_for_all()
            if processes.main:
                directory.close(log, timing if groups else None)
                _report(directory, timing, len(done))


def _set_up(flags: SplitFlags, builder: Builder, processes: Processes) -> tuple[Builder, int, Built, TokenStore]:
    """Loads all that can turn out to be missing or broken, so that a failed start leaves nothing behind.

    What is loaded here is decoded with here or in forked workers.
    """
    device = flags.pick_device(processes)
    workers = _n_workers(flags.workers, device, processes)
    builder = replace(builder, device=str(device))
    if workers > 1:
        torch.set_num_threads(1)  # no threads that a fork would lose
    _open.cache_clear()
    return builder, workers, *_open(builder, flags.data_dir, flags.chosen_split())


def _n_workers(asked: int | None, device: torch.device, processes: Processes) -> int:
    most = decoding_on(device).workers
    if most is not None:
        if (asked or 1) > most:
            raise UserError("--workers is for the CPU; torchrun shares a split among several GPUs")
        return most
    return asked or (available_cores() if processes.world == 1 else 1)


def _unfinished_groups(n_articles: int, batch: int, done: dict[int, Line]) -> list[Ints]:
    """Whole batches of consecutive articles: which these are decides the numbers of unknown words."""
    groups = [np.arange(start, min(start + batch, n_articles)) for start in range(0, n_articles, batch)]
    return [group for group in groups if any(article not in done for article in group.tolist())]


def _pieces(groups: list[Ints], batch: int, workers: int) -> Iterator[Ints]:
    """Several groups at a time, but work for every process."""
    at_once = max(1, min(_PIECE // batch, -(-len(groups) // (4 * workers))))
    for start in range(0, len(groups), at_once):
        yield np.concatenate(groups[start : start + at_once])


def _decode(work: _Work, pieces: list[Ints], workers: int, processes: Processes) -> dict[str, Any]:
    """Decodes this process's pieces; the timing is of all processes together."""
    start = time.perf_counter()
    counted = torch.tensor([0, 0, min(workers, len(pieces)), 0.0], dtype=torch.float64)
    for _, decoded in map_pieces(partial(_decode_piece, work), pieces, workers, "decoding", sum(map(len, pieces))):
        work.directory.append(processes.rank, decoded.lines)
        counted += torch.tensor([len(decoded.lines), decoded.n_words, 0, decoded.reranking_seconds])
    *counts, reranking = total(counted).tolist()
    articles, words, ran = map(int, counts)
    seconds = time.perf_counter() - start
    return {
        "articles": articles,
        "words": words,
        "seconds": round(seconds, 3),
        "articles_per_second": round(articles / seconds, 2),
        "words_per_second": round(words / seconds, 2),
        "processes": ran,
        **({"reranking_seconds": round(reranking / ran, 3)} if reranking else {}),
    }


@lru_cache(maxsize=1)
def _open(builder: Builder, data_dir: str, split: str) -> tuple[Built, TokenStore]:
    """Once a process."""
    keep_freed_memory()
    return builder.build(), open_store(data_dir, split)


def _decode_piece(work: _Work, articles: Ints) -> _Decoded:
    if work.one_thread:
        torch.set_num_threads(1)
    built, store = _open(work.builder, work.data_dir, work.split)
    before = RERANKING.seconds
    summaries = list(built.summarizer.summarize(store, articles))
    reranking = RERANKING.seconds - before
    for summary in summaries:
        work.directory.write(summary)
    n_words = sum(summary.n_words for summary in summaries)
    return _Decoded([summary.alignment() for summary in summaries], n_words, reranking)


def _report(directory: DecodeDirectory, timing: dict[str, Any], n_done: int) -> None:
    if n_done:
        print(f"{n_done:,} articles were decoded before")
    if not timing["articles"]:
        print("nothing is left to decode")
        return
    print(
        f"{timing['articles']:,} articles in {timing['seconds']:,.1f} s: "
        f"{timing['articles_per_second']:,.1f} articles/s, {timing['words_per_second']:,.0f} words/s; "
        f"summaries in {directory.path}"
    )

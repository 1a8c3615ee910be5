"""What the decode scripts share: a split decoded in parallel, resumable, and timed."""

from __future__ import annotations

import hashlib
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from tqdm import tqdm

from data.documents import Ints
from data.parallel import available_cores, map_in_order
from data.store import TokenStore, open_store
from decoding import Options, Summarizer
from inference.output import DecodeDirectory, Line
from inference.summary import Summary
from support.errors import UserError
from support.flags import flag
from support.memory import keep_freed_memory
from support.progress import progress
from training.config import DeviceFlags
from training.distributed import Processes, process_group, total, wait_for_all
from training.model_directory import (
    ABSTRACTOR,
    AGENT,
    FF_EXTRACTOR,
    RNN_EXTRACTOR,
    Meta,
    best_checkpoint,
    read_meta,
)

_PIECE = 256  # articles a process takes at a time
_HASH_BYTES = 8
_BYTES_AT_ONCE = 1 << 23  # of a file, or of words' codes, in memory

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class SplitFlags(DeviceFlags):
    path: str = flag(help="directory of the decoded summaries")
    data_dir: str = flag(help="data set root", env="DATA")
    val: bool = flag(False, "decode the validation split")
    test: bool = flag(False, "decode the test split")
    split: str | None = flag(None, "or any split by its name", choices=("train", "val", "test"))
    resume: bool = flag(False, "go on with what is in --path")
    workers: int | None = flag(None, "processes on the CPU, one thread each (default: all cores)", at_least=1)

    def chosen_split(self) -> str:
        chosen = [name for name, given in (("val", self.val), ("test", self.test)) if given]
        chosen += [self.split] if self.split else []
        if len(chosen) != 1:
            raise UserError("give one of --val, --test and --split train|val|test")
        return chosen[0]


@dataclass(frozen=True, kw_only=True)
class DecodeFlags(SplitFlags):
    batch: int = flag(32, "articles that number their unknown words together", at_least=1)
    batch_invariant: bool = flag(False, "every sentence numbers its own, so that --batch changes nothing")
    max_dec_word: int = flag(30, "longest rewritten sentence", source="B.2", at_least=1)

    def settings(self) -> dict[str, Any]:
        """As log.json has them."""
        return {
            "batch": self.batch,
            "batch_invariant": self.batch_invariant,
            "max_dec_word": self.max_dec_word,
        }


class Summarizes(Protocol):
    def summarize(self, store: TokenStore, articles: Ints) -> Iterable[Summary]: ...


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """What a process must know to build what summarizes."""

    device: str = "cpu"
    model_dir: str | None

    @abstractmethod
    def build(self) -> Summarizes: ...

    @abstractmethod
    def metas(self) -> dict[str, Meta | None]:
        """The models' descriptions, as log.json has them."""

    def directories(self) -> dict[str, str | None]:
        """Where the models of `metas` lie; here the abstractor is all there is."""
        return {"abstractor": self.model_dir, "extractor": None}


@dataclass(frozen=True, kw_only=True)
class RewritingRecipe(Recipe):
    """An agent's directory, or those of the parts."""

    options: Options
    model_dir: str | None = None
    ext_dir: str | None = None
    abs_dir: str | None = None

    def build(self) -> Summarizer:
        if self.model_dir is not None:
            return Summarizer.from_agent(self.model_dir, self.options, self.device)
        return Summarizer.from_parts(self.ext_dir, self.abs_dir, self.options, self.device)

    def metas(self) -> dict[str, Meta | None]:
        if self.model_dir is not None:
            parts = meta_of(self.model_dir, AGENT)["net_args"]
            if not isinstance(parts, dict) or not {"abstractor", "extractor"} <= parts.keys():
                raise UserError(f"{self.model_dir}/meta.json: 'net_args' names no 'abstractor' and 'extractor'")
            return {"abstractor": parts["abstractor"], "extractor": parts["extractor"]}
        return {
            "abstractor": meta_of(self.abs_dir, ABSTRACTOR) if self.abs_dir else None,
            "extractor": meta_of(self.ext_dir, RNN_EXTRACTOR, FF_EXTRACTOR) if self.ext_dir else None,
        }

    def directories(self) -> dict[str, str | None]:
        if self.model_dir is None:
            return {"abstractor": self.abs_dir, "extractor": self.ext_dir}
        own = f"{self.model_dir}/abstractor" if self.metas()["abstractor"] else None
        return {"abstractor": own, "extractor": self.model_dir}


def meta_of(directory: str, *nets: str) -> Meta:
    meta = read_meta(directory)
    if meta["net"] not in nets:
        raise UserError(f"{directory} holds a {meta['net']}, but {' or '.join(nets)} is needed here")
    return meta


class _Piece(NamedTuple):
    """Articles that one process decodes, on its own."""

    recipe: Recipe
    data_dir: str
    split: str
    directory: DecodeDirectory
    articles: Ints
    one_thread: bool


class _Decoded(NamedTuple):
    lines: list[Line]
    n_words: int


def decode_split(
    flags: SplitFlags, recipe: Recipe, directory: DecodeDirectory, settings: dict[str, Any], batch: int = 1
) -> None:
    """`settings` go to log.json; every `batch` articles are decoded together or not at all."""
    split = flags.chosen_split()
    with process_group(flags.cuda and flags.device != "cpu") as processes:
        recipe, workers, store = _in_all(processes, lambda: _set_up(flags, recipe, processes))

        def begin() -> dict[str, Any]:
            told = {**recipe.metas(), **settings, "split": split, **_identities(recipe, store)}
            directory.prepare(told, flags.resume)
            return told

        told = _in_all(processes, lambda: begin() if processes.main else {})
        done = directory.finished()
        wait_for_all()
        groups = _unfinished_groups(len(store), batch, done)
        pieces = [
            _Piece(recipe, flags.data_dir, split, directory, articles, workers > 1)
            for articles in _pieces(groups[processes.rank :: processes.world], batch, workers)
        ]
        timing = _decode(pieces, workers, processes, sum(map(len, groups)))
        wait_for_all()
        if processes.main:
            directory.close(told, timing if groups else None)
            _report(directory, timing, len(done))


def _set_up(flags: SplitFlags, recipe: Recipe, processes: Processes) -> tuple[Recipe, int, TokenStore]:
    """Loads all that can turn out to be missing or broken, so that a failed start leaves nothing behind.

    What is loaded here is decoded with here or in forked workers.
    """
    device = flags.pick_device(processes.local_rank)
    workers = _n_workers(flags.workers, device, processes)
    recipe = replace(recipe, device=str(device))
    recipe.metas()  # refuses a wrong model before its weights are read
    if workers > 1:
        torch.set_num_threads(1)  # no threads that a fork would lose
    _open.cache_clear()
    _, store = _open(recipe, flags.data_dir, flags.chosen_split())
    return recipe, workers, store


def _in_all(processes: Processes, step: Callable[[], Result]) -> Result:
    """The result of a step, once all processes have done it; if one fails all leave, and one alone tells why."""
    error, failed = None, torch.zeros(processes.world, dtype=torch.int64)
    try:
        result = step()
    except Exception as caught:
        error, failed[processes.rank] = caught, 1
    failures = total(failed).nonzero().flatten().tolist()
    if error and failures[0] == processes.rank:
        raise error
    if failures:
        sys.exit(2)
    return result


def _identities(recipe: Recipe, store: TokenStore) -> dict[str, Any]:
    """What tells other weights and other texts from these, as log.json has it."""
    models = {f"{name}_checkpoint": _checkpoint(directory) for name, directory in recipe.directories().items()}
    return {**models, "data": {"articles": len(store), "hash": _hash_articles(store)}}


def _checkpoint(directory: str | None) -> dict[str, str] | None:
    """The file that `training.model_directory.load` reads, and the vocabulary that belongs to it."""
    if directory is None:
        return None
    agent = read_meta(directory)["net"] == AGENT
    weights = best_checkpoint(directory, highest=agent).path
    vocabulary = Path(directory, "agent_vocab.pkl" if agent else "vocab.pkl")
    return {"name": weights.name, "hash": _hash_file(weights), "vocabulary_hash": _hash_file(vocabulary)}


def _hash_file(path: Path) -> str:
    digest = _new_hash()
    with open(path, "rb") as file:
        while data := file.read(_BYTES_AT_ONCE):
            digest.update(data)
    return digest.hexdigest()


def _hash_articles(store: TokenStore) -> str:
    """Of the texts alone: copied files, labels and other word counts do not change it."""
    codes = np.frombuffer(b"".join(map(_hash_word, store.lexicon)), np.uint64)
    words, at_once, digest = store.articles.words, _BYTES_AT_ONCE // _HASH_BYTES, _new_hash()
    for start in range(0, len(words), at_once):
        digest.update(codes[words[start : start + at_once]].tobytes())
    digest.update(store.articles.sentence_offsets.tobytes())
    digest.update(store.articles.document_offsets.tobytes())
    return digest.hexdigest()


def _hash_word(word: str) -> bytes:
    return hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()


def _new_hash() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=_HASH_BYTES)


def _n_workers(asked: int | None, device: torch.device, processes: Processes) -> int:
    if device.type != "cpu":
        if (asked or 1) > 1:
            raise UserError("--workers is for the CPU; torchrun shares a split among several GPUs")
        return 1
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


def _decode(pieces: list[_Piece], workers: int, processes: Processes, n_articles: int) -> dict[str, Any]:
    """Decodes this process's pieces; the timing is of all processes together."""
    start = time.perf_counter()
    counted = torch.tensor([0, 0, min(workers, len(pieces))])
    bar: tqdm[Any] = progress(None, "decoding", n_articles // processes.world, "article")
    with bar:
        for piece, decoded in zip(pieces, map_in_order(_decode_piece, pieces, workers), strict=True):
            piece.directory.append(processes.rank, decoded.lines)
            counted += torch.tensor([len(decoded.lines), decoded.n_words, 0])
            bar.update(len(decoded.lines))
    articles, words, ran = total(counted).tolist()
    seconds = time.perf_counter() - start
    return {
        "articles": articles,
        "words": words,
        "seconds": round(seconds, 3),
        "articles_per_second": round(articles / seconds, 2),
        "words_per_second": round(words / seconds, 2),
        "processes": ran,
    }


@lru_cache(maxsize=1)
def _open(recipe: Recipe, data_dir: str, split: str) -> tuple[Summarizes, TokenStore]:
    """Once a process."""
    keep_freed_memory()
    return recipe.build(), open_store(data_dir, split)


def _decode_piece(piece: _Piece) -> _Decoded:
    if piece.one_thread:
        torch.set_num_threads(1)
    summarizer, store = _open(piece.recipe, piece.data_dir, piece.split)
    summaries = list(summarizer.summarize(store, piece.articles))
    for summary in summaries:
        piece.directory.write(summary)
    return _Decoded([summary.alignment() for summary in summaries], sum(summary.n_words for summary in summaries))


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

"""Raw documents -> OUT/<split>/<index>.json, in several processes, whole or not at all.

A split grows in OUT/.preparing and moves to its place when it is complete. OUT/.preparing/<split>.json lists
its finished chunks, so that a killed run is taken up where it ended. OUT/prepared.json says how it was made.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from data.articles import write_article
from data.prepare.documents import RawDocument, Recipe, Source
from data.prepare.tables import MANIFEST, replace_rows
from data.prepare.text_rules import to_articles
from support.errors import UserError
from support.files import read_json, write_json
from support.parallel import map_in_order
from support.progress import progress

RECORD_FILE = "prepared.json"
_STAGING = ".preparing"
_CHUNK = 500
_CHUNKS_A_WORKER = 8


@dataclass(frozen=True)
class SplitReport:
    split: str
    articles: int
    empty_articles: list[int]
    empty_abstracts: list[int]
    already_there: bool = False


class _Chunk(NamedTuple):
    directory: Path
    number: int
    documents: list[RawDocument]
    recipe: Recipe


class _Empty(NamedTuple):
    articles: list[int]
    abstracts: list[int]


@dataclass(frozen=True)
class Plan:
    format: str
    options: dict[str, Any]
    recipe: Recipe
    source: Source

    def record(self) -> dict[str, Any]:
        """Equal for two runs that would write the same split."""
        stats = [(str(path.resolve()), path.stat()) for path in self.source.inputs]
        files = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
        return {
            "format": self.format,
            "options": self.options,
            "recipe": asdict(self.recipe),
            "inputs": hashlib.sha1(json.dumps([files, self.source.total]).encode()).hexdigest(),
        }


def prepare_split(out: Path, plan: Plan, workers: int, force: bool) -> SplitReport:
    source, record = plan.source, plan.record()
    finished = _read_record(out).get(source.split)
    if (out / source.split).exists() and not force:
        if finished and finished["made_by"] == record:
            return SplitReport(source.split, finished["articles"], [], [], already_there=True)
        raise UserError(f"{out / source.split} already exists, made of something else; --force replaces it")
    staging = _Staging(out / _STAGING, source.split, record)
    rows: list[tuple[str, str]] = []
    bar: tqdm[Any] = progress(None, f"preparing {source.split}", source.total, "article")
    with bar:
        for chunk in _write_chunks(plan, staging, workers):
            rows += [(document.id, document.url) for document in chunk.documents]
            bar.update(len(chunk.documents))
    if not rows:
        raise UserError(f"there is no document for {source.split} in {source.inputs[0]}")
    replace_rows(out / MANIFEST, source.split, [(str(index), *row) for index, row in enumerate(rows)])
    finished = {"articles": len(rows), "made_by": record}
    write_json(out / RECORD_FILE, _read_record(out) | {source.split: finished})
    empty = staging.finish(out / source.split)
    return SplitReport(source.split, len(rows), empty.articles, empty.abstracts)


class _Staging:
    """The unfinished split and which of its chunks are done."""

    def __init__(self, folder: Path, split: str, made_by: dict[str, Any]) -> None:
        self.directory = folder / split
        self.done: dict[str, list[list[int]]] = {}
        self._state = folder / f"{split}.json"
        self._made_by = made_by
        state = read_json(self._state) if self._state.exists() else {}
        if state.get("made_by") == made_by:
            self.done = state["done"]
        else:
            shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True, exist_ok=True)
        for leftover in self.directory.glob(".*"):  # half-written when the run was killed
            leftover.unlink()

    def mark(self, chunk: _Chunk, empty: _Empty) -> None:
        self.done[str(chunk.number)] = list(empty)
        write_json(self._state, {"made_by": self._made_by, "done": self.done})

    def finish(self, target: Path) -> _Empty:
        if target.exists():
            shutil.rmtree(target)
        self.directory.replace(target)
        self._state.unlink()
        if not any(self._state.parent.iterdir()):
            self._state.parent.rmdir()
        in_order = [self.done[number] for number in sorted(self.done, key=int)]
        articles, abstracts = zip(*in_order, strict=True)
        return _Empty(list(chain(*articles)), list(chain(*abstracts)))


def _write_chunks(plan: Plan, staging: _Staging, workers: int) -> Iterator[_Chunk]:
    """Reads on in waves, so that few documents are in memory at a time."""
    chunks = (
        _Chunk(staging.directory, number, documents, plan.recipe)
        for number, documents in enumerate(_batched(iter(plan.source.read()), _CHUNK))
    )
    while wave := list(islice(chunks, workers * _CHUNKS_A_WORKER)):
        missing = [chunk for chunk in wave if str(chunk.number) not in staging.done]
        for chunk, empty in zip(missing, map_in_order(_write, missing, workers), strict=True):
            staging.mark(chunk, empty)
        yield from wave


def _batched(documents: Iterator[RawDocument], size: int) -> Iterator[list[RawDocument]]:
    while batch := list(islice(documents, size)):
        yield batch


def _write(chunk: _Chunk) -> _Empty:
    empty = _Empty([], [])
    for index, article in enumerate(to_articles(chunk.documents, chunk.recipe), chunk.number * _CHUNK):
        write_article(chunk.directory / f"{index}.json", article)
        if not article.article:
            empty.articles.append(index)
        if not article.abstract:
            empty.abstracts.append(index)
    return empty


def _read_record(out: Path) -> dict[str, Any]:
    path = out / RECORD_FILE
    return dict(read_json(path)) if path.exists() else {}

"""Raw documents -> OUT/<split>/<index>.json, in several processes, whole or not at all.

A split grows in OUT/.preparing and moves to its place when it is complete. OUT/.preparing/<split>.json lists
its finished pieces, so that a killed run is taken up where it ended. OUT/prepared.json says how it was made.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from cytoolz import concat, partition_all

from data.articles import write_article
from data.prepare.documents import RawDocument, Source, TextRules
from data.prepare.tables import MANIFEST, replace_rows
from data.prepare.text_rules import to_articles
from support.errors import UserError
from support.files import read_json, remove_leftovers, write_json
from support.parallel import map_pieces

RECORD_FILE = "prepared.json"
_STAGING = ".preparing"
_Piece = tuple[tuple[int, RawDocument], ...]  # consecutive documents with their indices
_PIECE = 3000  # articles written at a time by a worker; each time it starts the Stanford tokenizer anew


@dataclass(frozen=True)
class SplitReport:
    split: str
    articles: int
    empty_articles: list[int]
    empty_abstracts: list[int]
    already_there: bool = False


class _Empty(NamedTuple):
    articles: list[int]
    abstracts: list[int]


@dataclass(frozen=True)
class SplitTask:
    """A split to prepare, and all that its files depend on."""

    format: str
    options: dict[str, Any]
    rules: TextRules
    source: Source

    def record(self) -> dict[str, Any]:
        """Equal for two runs that would write the same split."""
        stats = [(str(path.resolve()), path.stat()) for path in self.source.inputs]
        files = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
        return {
            "format": self.format,
            "options": self.options,
            "recipe": asdict(self.rules),
            "inputs": hashlib.sha1(json.dumps([files, self.source.total]).encode()).hexdigest(),
        }


def prepare_split(out: Path, task: SplitTask, workers: int, force: bool) -> SplitReport:
    source, record = task.source, task.record()
    finished = _read_record(out).get(source.split, {})
    if (out / source.split).exists() and not force:
        if finished.get("made_by") == record:
            return SplitReport(source.split, finished["articles"], [], [], already_there=True)
        raise UserError(f"{out / source.split} already exists, made of something else; --force replaces it")
    staging = _Staging(out / _STAGING, source.split, record)
    rows = _write_documents(task, staging, workers)
    if not rows:
        raise UserError(f"there is no document for {source.split} in {source.inputs[0]}")
    replace_rows(out / MANIFEST, source.split, [(str(index), *row) for index, row in enumerate(rows)])
    write_json(out / RECORD_FILE, _read_record(out) | {source.split: {"articles": len(rows), "made_by": record}})
    empty = staging.finish(out / source.split)
    return SplitReport(source.split, len(rows), empty.articles, empty.abstracts)


def _write_documents(task: SplitTask, staging: _Staging, workers: int) -> list[tuple[str, str]]:
    """Writes what is not there yet; returns id and url of every document."""
    rows: list[tuple[str, str]] = []

    def missing() -> Iterator[_Piece]:
        for piece in partition_all(_PIECE, enumerate(task.source.read())):
            rows.extend((document.id, document.url) for _, document in piece)
            if not staging.has(piece):
                yield piece

    write, label = partial(_write, staging.directory, task.rules), f"preparing {task.source.split}"
    for piece, empty in map_pieces(write, missing(), workers, label, task.source.total):
        staging.mark(piece, empty)
    return rows


def _write(directory: Path, rules: TextRules, piece: _Piece) -> _Empty:
    indices, documents = zip(*piece, strict=True)
    articles = to_articles(documents, rules)
    for index, article in zip(indices, articles, strict=True):
        write_article(directory / f"{index}.json", article)
    numbered = list(zip(indices, articles, strict=True))
    return _Empty(
        [index for index, article in numbered if not article.article],
        [index for index, article in numbered if not article.abstract],
    )


class _Staging:
    """The unfinished split and which of its pieces are done."""

    def __init__(self, folder: Path, split: str, made_by: dict[str, Any]) -> None:
        self.directory = folder / split
        self._state = folder / f"{split}.json"
        self._made_by = {"made_by": made_by, "piece": _PIECE}
        self._done = _read_done(self._state, self._made_by)
        if not self._done:
            shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.directory)

    def has(self, piece: _Piece) -> bool:
        return piece[0][0] in self._done and all((self.directory / f"{index}.json").exists() for index, _ in piece)

    def mark(self, piece: _Piece, empty: _Empty) -> None:
        self._done[piece[0][0]] = empty
        write_json(self._state, self._made_by | {"done": self._done})

    def finish(self, target: Path) -> _Empty:
        if target.exists():
            shutil.rmtree(target)
        self.directory.replace(target)
        self._state.unlink()
        if not any(self._state.parent.iterdir()):
            self._state.parent.rmdir()
        articles, abstracts = zip(*(self._done[start] for start in sorted(self._done)), strict=True)
        return _Empty(list(concat(articles)), list(concat(abstracts)))


def _read_done(path: Path, made_by: dict[str, Any]) -> dict[int, _Empty]:
    """The empty texts of each finished piece by its first index; none if another preparation, or damage, lies there."""
    try:
        state = read_json(path)
        if {name: state[name] for name in made_by} != made_by:
            return {}
        done = {int(start): _Empty(*empty) for start, empty in state["done"].items()}
        return done if all(type(index) is int for index in concat(concat(done.values()))) else {}
    except (UserError, LookupError, TypeError, ValueError, AttributeError):
        return {}


def _read_record(out: Path) -> dict[str, Any]:
    """How each split was made."""
    path = out / RECORD_FILE
    if not path.exists():
        return {}
    record = read_json(path)
    if not isinstance(record, dict) or not all(
        isinstance(entry, dict) and isinstance(entry.get("articles"), int) for entry in record.values()
    ):
        raise UserError(f"{path} is not a record of prepared splits; remove it and prepare them again with --force")
    return record

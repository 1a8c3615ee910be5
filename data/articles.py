"""The source of truth: one JSON file per article, `<data_dir>/<split>/<index>.json`, indices from 0."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.errors import UserError
from support.files import atomic_file, read_json

_FILE_NAME = re.compile(r"(0|[1-9][0-9]*)\.json")
_KNOWN_FIELDS = ("id", "article", "abstract", "extracted", "score")


@dataclass(frozen=True)
class Article:
    """An article and its abstract as lists of sentences, and the proxy labels of Eq. 6 once they are made."""

    id: str
    article: list[str]
    abstract: list[str]
    extracted: list[int] | None = None
    score: list[float] | None = None
    others: dict[str, Any] = field(default_factory=dict)  # unknown fields, kept when the file is rewritten

    @property
    def unlabelled(self) -> bool:
        return self.extracted is None and self.score is None

    @property
    def labels_fit(self) -> bool:
        """A label for each abstract sentence while the article lasts, no sentence twice, scores from 0 to 1."""
        if self.extracted is None or self.score is None:
            return False
        steps = min(len(self.article), len(self.abstract))
        return (
            len(self.extracted) == len(self.score) == len(set(self.extracted)) == steps
            and all(0 <= label < len(self.article) for label in self.extracted)
            and all(0 <= score <= 1 for score in self.score)
        )


def split_directory(data_dir: str | Path, split: str) -> Path:
    return Path(data_dir) / split


def named_splits(text: str) -> list[str]:
    """Of a flag that takes several, separated by commas."""
    splits = [split for split in text.split(",") if split]
    if not splits:
        raise UserError("--split names no split; give for example --split val,test")
    return splits


def article_path(data_dir: str | Path, split: str, index: int) -> Path:
    return split_directory(data_dir, split) / f"{index}.json"


def count_articles(split_dir: str | Path) -> int:
    """The number of article files of a split, whose indices must run from 0 without a gap."""
    try:
        found = set(filter(_FILE_NAME.fullmatch, os.listdir(split_dir)))
    except FileNotFoundError:
        raise UserError(f"{split_dir} does not exist; it should hold 0.json, 1.json, ...") from None
    except OSError as error:
        raise UserError(f"{split_dir} is not a readable directory ({error.strerror})") from None
    if not found:
        raise UserError(f"{split_dir} holds no article; expected 0.json, 1.json, ...")
    gap = next((index for index in range(len(found)) if f"{index}.json" not in found), None)
    if gap is not None:
        last = max(found, key=lambda name: int(name.removesuffix(".json")))
        raise UserError(f"{split_dir}/{gap}.json is missing, though {last} exists; close the gap")
    return len(found)


def read_article(path: str | Path) -> Article:
    value = read_json(path)
    if not isinstance(value, dict):
        raise UserError(f"{path} holds a {type(value).__name__}, not an object with article and abstract")
    _check_lists(path, value)
    return Article(
        id=value.get("id", ""),
        article=value["article"],
        abstract=value["abstract"],
        extracted=value.get("extracted"),
        score=value.get("score"),
        others={name: value[name] for name in value if name not in _KNOWN_FIELDS},
    )


def write_article(path: str | Path, article: Article) -> None:
    fields = {name: getattr(article, name) for name in _KNOWN_FIELDS}
    value = {name: content for name, content in fields.items() if content is not None} | article.others
    text = json.dumps(value, indent=4)
    try:
        with atomic_file(path) as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror})") from None


def _check_lists(path: str | Path, value: dict[str, Any]) -> None:
    if not isinstance(value.get("id", ""), str):
        raise UserError(f"{path}: the field id must be a string, not {value['id']!r}")
    for name in ("article", "abstract"):
        if name not in value:
            raise UserError(f"{path} has no field {name}; expected a list of tokenised sentences")
        _check_list(path, name, value[name], (str,), "strings")
    for name, kinds, words in (("extracted", (int,), "integers"), ("score", (int, float), "numbers")):
        if value.get(name) is not None:
            _check_list(path, name, value[name], kinds, words)


def _check_list(path: str | Path, name: str, items: Any, kinds: tuple[type, ...], words: str) -> None:
    if not isinstance(items, list):
        raise UserError(f"{path}: the field {name} is a {type(items).__name__}, expected a list of {words}")
    for place, item in enumerate(items):
        if type(item) not in kinds:  # bool is an int, but not here
            raise UserError(f"{path}: item {place} of {name} is a {type(item).__name__}, expected {words}")

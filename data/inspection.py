"""What can be wrong with a data set, found file by file: the findings behind `python -m data.check`."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cytoolz import partition_all

from data.articles import Article, read_article
from data.prepare.text_rules import looks_raw
from model.windows import MIN_WIDTH
from support.errors import UserError
from support.files import open_file
from support.parallel import map_pieces

EXAMPLES = 3
_PIECE = 500  # articles inspected at a time by a worker
_ARTICLE_FILE = re.compile(r"(0|[1-9][0-9]*)\.json")
_LOOKS_LIKE_ARTICLE = re.compile(r"[0-9]+\.json")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Kind(NamedTuple):
    """A kind of finding. One that is `serious` stops training."""

    serious: bool
    what: str
    advice: str


_LABEL = "run make_extraction_labels.py --data_dir {root}"
KINDS = {
    "no file": Kind(True, "not a readable file", "a folder, a pipe or without permission; put the article there"),
    "json": Kind(True, "not readable as JSON", "restore these files, or remove them and renumber the rest"),
    "encoding": Kind(True, "not UTF-8", "save them as UTF-8, or prepare again with the right --encoding"),
    "types": Kind(True, "wrong fields or types", "see docs/FORMATS.md for what a file holds"),
    "gap": Kind(True, "missing", "number the files 0.json, 1.json, ... without a gap"),
    "bad labels": Kind(True, "labels do not fit the text", _LABEL),
    "no labels": Kind(False, "no labels yet", _LABEL),
    "stray": Kind(False, "stray name, an article to the released code", "move these files elsewhere"),
    "empty article": Kind(False, "article without words", "training skips it, its summary is empty"),
    "empty abstract": Kind(False, "abstract without words", "training skips it, evaluation counts it as is"),
    "empty sentence": Kind(False, "a sentence without words", "nothing; no pair is made of it"),
    "all short": Kind(False, f"no sentence of {MIN_WIDTH} words", "nothing, if these are articles at all"),
    "short": Kind(False, f"a sentence under {MIN_WIDTH} words", "nothing; if they abound, try other --units"),
    "damaged": Kind(False, "damaged characters (U+FFFD)", "prepare again with the right --encoding"),
    "surrogates": Kind(False, "half characters (lone surrogates)", "prepare again; outputs have ? in their place"),
    "capitals": Kind(False, "capital letters", "prepare again; models read lower case, but labels do not"),
    "glued": Kind(False, "full stops glued to words", "prepare again; it looks untokenised"),
    "same id": Kind(False, "id of another article, too", "look for articles that are there twice"),
}


@dataclass
class Findings:
    """Of some files of a split, or of all."""

    articles: int = 0
    article_sentences: int = 0
    article_words: int = 0
    abstract_sentences: int = 0
    abstract_words: int = 0
    labelled: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    ids: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, name: str) -> None:
        self.counts[kind] += 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < EXAMPLES:
            examples.append(name)

    def merge(self, other: Findings) -> None:
        for name, value in vars(other).items():
            if isinstance(value, int):
                setattr(self, name, getattr(self, name) + value)
        self.counts.update(other.counts)
        self.ids.update(other.ids)
        for kind, names in other.examples.items():
            self.examples[kind] = (self.examples.get(kind, []) + names)[:EXAMPLES]


def inspect_split(directory: Path, workers: int) -> Findings:
    names, strays = _article_names(directory)
    findings = Findings()
    pieces, label = partition_all(_PIECE, names), f"checking {directory.name}"
    for _, part in map_pieces(partial(_inspect, directory), pieces, workers, label, len(names)):
        findings.merge(part)
    present = {int(name[:-5]) for name in names}
    for index in sorted(set(range(max(present, default=-1) + 1)) - present):
        findings.add("gap", f"{index}.json")
    for name in strays:
        findings.add("stray", name)
    for name, count in findings.ids.items():
        for _ in range(count - 1):
            findings.add("same id", name)
    return findings


def _article_names(directory: Path) -> tuple[list[str], list[str]]:
    try:
        names = [entry.name for entry in os.scandir(directory)]
    except OSError as error:
        raise UserError(f"{directory} is not a readable directory ({error.strerror})") from None
    articles = sorted(filter(_ARTICLE_FILE.fullmatch, names), key=lambda name: int(name[:-5]))
    strays = [name for name in names if _LOOKS_LIKE_ARTICLE.match(name) and not _ARTICLE_FILE.fullmatch(name)]
    return articles, sorted(strays)


def _inspect(directory: Path, names: tuple[str, ...]) -> Findings:
    findings = Findings()
    for name in names:
        path = directory / name
        try:
            measured = _Measured.of(read_article(path))
        except UserError:
            findings.add(_why_unreadable(path), name)
            continue
        _add_up(measured, findings)
        for kind, holds in _CHECKS.items():
            if holds(measured):
                findings.add(kind, name)
    return findings


def _why_unreadable(path: Path) -> str:
    try:
        with open_file(path, encoding="utf-8") as file:
            json.load(file)
    except OSError:
        return "no file"
    except UnicodeDecodeError:
        return "encoding"
    except (ValueError, RecursionError):
        return "json"
    return "types"


class _Measured(NamedTuple):
    article: Article
    lengths: list[int]  # words of the article's sentences
    abstract_lengths: list[int]
    text: str

    @classmethod
    def of(cls, article: Article) -> _Measured:
        texts = article.article, article.abstract
        lengths, abstract_lengths = ([len(sentence.split()) for sentence in text] for text in texts)
        return cls(article, lengths, abstract_lengths, "\n".join(texts[0] + texts[1]))


def _add_up(measured: _Measured, findings: Findings) -> None:
    findings.articles += 1
    findings.article_sentences += len(measured.lengths)
    findings.article_words += sum(measured.lengths)
    findings.abstract_sentences += len(measured.abstract_lengths)
    findings.abstract_words += sum(measured.abstract_lengths)
    findings.labelled += measured.article.extracted is not None
    if measured.article.id:
        findings.ids[measured.article.id] += 1


_CHECKS: dict[str, Callable[[_Measured], bool]] = {
    "empty article": lambda it: not any(it.lengths),
    "empty abstract": lambda it: not any(it.abstract_lengths),
    "empty sentence": lambda it: 0 in it.lengths or 0 in it.abstract_lengths,
    "all short": lambda it: 0 < max(it.lengths, default=0) < MIN_WIDTH,
    "short": lambda it: min(it.lengths, default=MIN_WIDTH) < MIN_WIDTH,
    "damaged": lambda it: "\ufffd" in it.text,
    "surrogates": lambda it: _SURROGATE.search(it.text) is not None,
    "capitals": lambda it: it.text != it.text.lower(),
    "glued": lambda it: looks_raw(it.article.article),
    "no labels": lambda it: it.article.unlabelled,
    "bad labels": lambda it: not (it.article.unlabelled or it.article.labels_fit),
}

"""What can be wrong with a data set, found file by file: the findings behind `python -m data.check`."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from data.articles import Article, read_article
from support.errors import UserError
from support.parallel import map_in_order
from support.progress import progress

EXAMPLES = 3
_SHORT = 5  # words; the widest convolution of the sentence encoder (A.1)
_ARTICLE_FILE = re.compile(r"(0|[1-9][0-9]*)\.json")
_LOOKS_LIKE_ARTICLE = re.compile(r"[0-9]+\.json")
_CHUNK = 500


class Kind(NamedTuple):
    """A kind of finding. One that is `serious` stops training."""

    serious: bool
    what: str
    advice: str


_LABEL = "run make_extraction_labels.py --data_dir {root}"
KINDS = {
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
    "all short": Kind(False, f"no sentence of {_SHORT} words", "nothing, if these are articles at all"),
    "short": Kind(False, f"a sentence under {_SHORT} words", "nothing; if they abound, try other --units"),
    "damaged": Kind(False, "damaged characters (U+FFFD)", "prepare again with the right --encoding"),
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
        self.counts += other.counts
        self.ids += other.ids
        for kind, names in other.examples.items():
            self.examples[kind] = (self.examples.get(kind, []) + names)[:EXAMPLES]


class _Chunk(NamedTuple):
    directory: str
    names: list[str]


def inspect_split(directory: Path, workers: int) -> Findings:
    names, strays = _article_names(directory)
    jobs = [_Chunk(str(directory), names[start : start + _CHUNK]) for start in range(0, len(names), _CHUNK)]
    findings = Findings()
    bar: tqdm[Any] = progress(None, f"checking {directory.name}", len(names), "article")
    with bar:
        for job, part in zip(jobs, map_in_order(_inspect, jobs, workers), strict=True):
            findings.merge(part)
            bar.update(len(job.names))
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


def _inspect(chunk: _Chunk) -> Findings:
    findings = Findings()
    for name in chunk.names:
        path = Path(chunk.directory, name)
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
        json.loads(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError:
        return "encoding"
    except (OSError, ValueError, RecursionError):
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


def _fits(article: Article) -> bool:
    """A label for each abstract sentence while the article lasts, no sentence twice, scores from 0 to 1."""
    steps = min(len(article.article), len(article.abstract))
    extracted, score = article.extracted or [], article.score or []
    return (
        len(extracted) == len(score) == len(set(extracted)) == steps
        and all(0 <= label < len(article.article) for label in extracted)
        and all(0 <= value <= 1 for value in score)
    )


def _is_glued(article: Article) -> bool:
    """Whether most sentences end as raw text does: the full stop on the last word."""
    ends = [sentence[-2:] for sentence in article.article]
    return 2 * sum(end[:1].isalpha() and end[1:] in (".", "!", "?") for end in ends) > len(ends)


_CHECKS: dict[str, Callable[[_Measured], bool]] = {
    "empty article": lambda it: not any(it.lengths),
    "empty abstract": lambda it: not any(it.abstract_lengths),
    "empty sentence": lambda it: 0 in it.lengths or 0 in it.abstract_lengths,
    "all short": lambda it: 0 < max(it.lengths, default=0) < _SHORT,
    "short": lambda it: min(it.lengths, default=_SHORT) < _SHORT,
    "damaged": lambda it: "\ufffd" in it.text,
    "capitals": lambda it: it.text != it.text.lower(),
    "glued": lambda it: _is_glued(it.article),
    "no labels": lambda it: it.article.extracted is None and it.article.score is None,
    "bad labels": lambda it: not (it.article.extracted is it.article.score is None or _fits(it.article)),
}

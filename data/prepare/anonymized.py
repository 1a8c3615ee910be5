"""The entity-anonymized CNN/Daily Mail (Table 2): `.question` files, or jsonl with @entity markers.

A question file holds url, context, question with @placeholder, answer and entity table (`@entity1:Name`),
separated by blank lines. The questions of a url make one document:
with the answers put in, they are its highlights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from data.prepare import jsonl
from data.prepare.documents import Preparation, RawDocument, Source, TextRules, read_text, units_flag
from data.prepare.splits import split_files
from data.tokenizer import resolve
from support.errors import UserError
from support.flags import flag
from support.progress import progress

_PLACEHOLDER = "@placeholder"
_MARKER = re.compile(r"@entity\d+")


@dataclass(frozen=True, kw_only=True)
class AnonymizedFlags(jsonl.JsonlFlags):
    source: str | None = flag(None, "folder of the folders training, validation and test, or of jsonl files")
    units: str = units_flag("sentences")


class Question(NamedTuple):
    url: str
    context: str
    question: str
    answer: str
    entities: dict[str, str]  # marker -> name


@dataclass
class _Story:
    path: Path  # whose context is the article
    entities: dict[str, str]
    highlights: list[str] = field(default_factory=list)


def plan(flags: AnonymizedFlags) -> Preparation:
    sources = []
    for split, files in split_files(flags, ".question", *jsonl.SUFFIXES).items():
        questions = [path for path in files if path.suffix == ".question"]
        rows = [path for path in files if path.suffix != ".question"]
        if questions and rows:
            raise UserError(f"{split} has both {questions[0]} and {rows[0]}; keep one kind")
        read = partial(_read, questions, flags.encoding) if questions else partial(
            jsonl.read_documents, rows, flags.encoding
        )  # fmt: skip
        sources.append(Source(split, read, files))
    return Preparation(sources, TextRules(resolve(flags.tokenizer), flags.units, flags.abstract_units, True), [])


def _read(files: list[Path], encoding: str) -> Iterator[RawDocument]:
    stories: dict[str, _Story] = {}
    for path in progress(files, "questions", len(files), "file"):
        question = parse_question(read_text(path, encoding), path)
        story = stories.setdefault(question.url, _Story(path, question.entities))
        highlight = restore(question, story.entities)
        if highlight not in story.highlights:
            story.highlights.append(highlight)
    for url, story in stories.items():
        context = parse_question(read_text(story.path, encoding), story.path).context
        yield RawDocument(story.path.stem, context.split("\n"), story.highlights, url)


def parse_question(text: str, path: Path) -> Question:
    parts = [part.strip() for part in re.split(r"\n[ \t]*\n", text.strip())]
    if len(parts) < 4:
        raise UserError(f"{path} is not a question file: it needs url, context, question and answer")
    url, context, question, answer, *table = parts
    if _PLACEHOLDER not in question:
        raise UserError(f"{path} is not a question file: there is no {_PLACEHOLDER} in its question")
    pairs = (line.split(":", 1) for part in table for line in part.split("\n") if ":" in line)
    return Question(url, context, question, answer, {marker.strip(): name.strip() for marker, name in pairs})


def restore(question: Question, entities: dict[str, str]) -> str:
    """The highlight of which the question was made, in the markers of the document's own entity table."""
    markers = {name: marker for marker, name in entities.items()}
    text = " ".join(question.question.replace(_PLACEHOLDER, question.answer).split())
    return _MARKER.sub(lambda match: markers.get(question.entities.get(match[0], ""), match[0]), text)

"""Reads the three text files of this package (format: see the package's docstring)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sample.grammar import Template, parse, slots
from sample.names import ENTITIES, VALUES
from support.errors import UserError

FOLDER = Path(__file__).parent
_HEADINGS = ("story", "minor", "general", "fragment", "list")
_SPECIAL_SLOTS = {"in_place", "core"}


@dataclass
class Key:
    """One thing worth a highlight: how the article may tell it, how the summary puts it."""

    tell: list[Template] = field(default_factory=list)
    sum: list[Template] = field(default_factory=list)


@dataclass
class Story:
    name: str
    urgent: bool = False
    keys: list[Key] = field(default_factory=list)
    detail: list[Template] = field(default_factory=list)
    past: list[Template] = field(default_factory=list)
    quote: list[Template] = field(default_factory=list)


@dataclass
class Library:
    stories: list[Story] = field(default_factory=list)
    minor: list[Story] = field(default_factory=list)
    general: list[Story] = field(default_factory=list)
    fragments: dict[str, list[Template]] = field(default_factory=dict)
    lists: dict[str, Template] = field(default_factory=dict)


class _Line(NamedTuple):
    place: str
    tag: str
    text: str

    def template(self) -> Template:
        try:
            return parse(self.text)
        except UserError as error:
            raise UserError(f"{self.place}: {error}") from None


@cache
def library() -> Library:
    return read_library(FOLDER)


def read_library(folder: Path) -> Library:
    found = Library()
    lines = [line for name in ("words.txt", "fillers.txt", "stories.txt") for line in _lines(folder / name)]
    for paragraph in _paragraphs(lines):
        _read_paragraph(paragraph, found)
    known = {*ENTITIES, *VALUES, *_SPECIAL_SLOTS, *found.fragments, *found.lists}
    for line in lines:
        _check_slots(line, known)
    return found


def _lines(path: Path) -> Iterator[_Line]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            tag, _, text = line.partition(" ")
            yield _Line(f"{path.name}:{number}", tag, text.strip())


def _paragraphs(lines: list[_Line]) -> Iterator[list[_Line]]:
    paragraph: list[_Line] = []
    for line in lines:
        if line.tag in _HEADINGS and paragraph:
            yield paragraph
            paragraph = []
        paragraph.append(line)
    yield paragraph


def _read_paragraph(paragraph: list[_Line], found: Library) -> None:
    heading, *body = paragraph
    if heading.tag == "list":
        name, _, entries = heading.text.partition(" ")
        found.lists[name] = parse(entries)
    elif heading.tag == "fragment":
        found.fragments[heading.text] = [line.template() for line in body]
    elif heading.tag in ("story", "minor", "general"):
        group = {"story": found.stories, "minor": found.minor, "general": found.general}[heading.tag]
        group.append(_story(heading, body))
    else:
        raise UserError(f"{heading.place}: '{heading.tag}' before any heading ({', '.join(_HEADINGS)})")


def _story(heading: _Line, body: list[_Line]) -> Story:
    name, *marks = heading.text.split(" urgent")
    story = Story(name, urgent=bool(marks))
    for line in body:
        if line.tag == "key":
            story.keys.append(Key())
        elif line.tag in ("tell", "sum") and story.keys:
            getattr(story.keys[-1], line.tag).append(line.template())
        elif line.tag in ("detail", "past", "quote"):
            getattr(story, line.tag).append(line.template())
        else:
            raise UserError(f"{line.place}: '{line.tag}' has no meaning here")
    if heading.tag == "story" and not (story.keys and all(key.tell and key.sum for key in story.keys)):
        raise UserError(f"{heading.place}: story {name} needs keys, each with tell and sum lines")
    for key in story.keys:
        _check_highlight(heading, key)
    if not (story.detail and (story.quote or heading.tag == "general")):
        raise UserError(f"{heading.place}: {heading.tag} {name} needs detail and quote lines")
    return story


def _check_highlight(heading: _Line, key: Key) -> None:
    """One article sentence must be enough to write the highlight."""
    for summary in key.sum:
        for telling in key.tell:
            untold = {bare(slot) for slot in slots(summary)} - {bare(slot) for slot in slots(telling)}
            if untold:
                raise UserError(f"{heading.place}: a sum line uses {untold}, a tell line of its key does not")


def _check_slots(line: _Line, known: set[str]) -> None:
    for slot in slots(line.template()):
        if kind(slot) not in known:
            raise UserError(f"{line.place}: nothing is known about {{{slot}}}")


def bare(slot: str) -> str:
    """What a slot refers to in its story line: person2 for {person2+}, building for {a_building}."""
    return slot.removeprefix("a_").removeprefix("an_").removesuffix("+").removesuffix("'s")


def kind(slot: str) -> str:
    """The sort of thing that fills a slot: person for {person2+}."""
    return bare(slot).rstrip("0123456789")

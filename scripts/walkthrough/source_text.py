"""The one text behind the walkthrough and the map of the paper: Markdown with a few directives, one a paragraph.

    @code FILE SYMBOL, FILE SYMBOL | place in the paper | what it is     shows the code, and enters the map
    @map FILE SYMBOL, FILE | place in the paper | what it is             names the place, and enters the map
    @example NAME                                                        numbers of the worked example
    @differs WHAT                                                        a row of docs/DEVIATIONS.md by its first cell
    @drawing                                                             what becomes of a word

`{{NAME}}` in a sentence is a number of the worked example.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
TEXT = ROOT / "docs/walkthrough/text.md"


class Anchor(NamedTuple):
    file: str
    symbol: str | None

    def __str__(self) -> str:
        return self.file if self.symbol is None else f"{self.file}::{self.symbol}"


class Heading(NamedTuple):
    level: int
    title: str

    @property
    def slug(self) -> str:
        """As GitHub makes it."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")


class Prose(NamedTuple):
    text: str


class Place(NamedTuple):
    """Where something of the paper lives."""

    anchors: list[Anchor]
    paper: str
    what: str
    shown: bool


class Example(NamedTuple):
    name: str


class Difference(NamedTuple):
    what: str


class Drawing(NamedTuple):
    pass


Block = Heading | Prose | Place | Example | Difference | Drawing


def parse(text: str) -> list[Block]:
    return [_block(paragraph.strip("\n")) for paragraph in re.split(r"\n\s*\n", text.strip())]


def _block(paragraph: str) -> Block:
    if heading := re.fullmatch(r"(#+) (.+)", paragraph):
        return Heading(len(heading[1]), heading[2])
    directive = re.fullmatch(r"@(\w+) ?(.*)", paragraph)
    if not directive:
        return Prose(paragraph)
    kind, rest = directive.groups()
    if kind in ("code", "map"):
        anchors, paper, what = (part.strip() for part in rest.split("|"))
        return Place([_anchor(anchor) for anchor in anchors.split(",")], paper, what, shown=kind == "code")
    if kind == "drawing":
        return Drawing()
    named: dict[str, type[Example | Difference]] = {"example": Example, "differs": Difference}
    return named[kind](rest)


def _anchor(text: str) -> Anchor:
    file, *symbol = text.split()
    return Anchor(file, symbol[0] if symbol else None)

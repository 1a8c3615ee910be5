"""Summaries as text, JSON or a page, in parts that can be written as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import NamedTuple

from inference.readable import Readable
from inference.summary_page import HEAD, section
from support.web_page import FOOT


class Format(NamedTuple):
    """begin, the parts with `between` between them, end."""

    suffix: str
    part: Callable[[Readable, bool], str]  # told whether it is the only one
    begin: str = ""
    between: str = "\n"
    end: str = ""

    def whole(self, parts: Sequence[str]) -> str:
        return self.begin + self.between.join(parts) + self.end


def _text(summary: Readable, alone: bool) -> str:
    return f"{summary.text()}\n" if alone else f"== {summary.name}\n{summary.text()}\n"


def _json(summary: Readable, alone: bool) -> str:
    return indent(json.dumps(summary.record(), indent=4), "    ")


def _html(summary: Readable, alone: bool) -> str:
    return section(summary)


FORMATS = {
    "text": Format(".txt", _text),
    "json": Format(".json", _json, "[\n", ",\n", "\n]\n"),
    "html": Format(".html", _html, HEAD, "\n", FOOT),
}

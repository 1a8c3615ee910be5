"""Texts of other systems -> one sentence a line; and the texts in JSON, whatever their fields are called."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

from support.errors import UserError

_SEPARATOR = re.compile(r"<q>|<s_sep>|<sep>|</?t>|</?s>|[\t\n]", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]\w{1,30});", re.IGNORECASE)
_SEVERAL = {"references", "refs", "targets", "golds", "gold_summaries", "reference_summaries"}


def as_lines(text: str) -> str:
    """A sentence a line, one space between words, characters instead of their HTML escapes."""
    parts = (" ".join(_ENTITY.sub(_unescape, part).split()) for part in _SEPARATOR.split(text))
    return "\n".join(part for part in parts if part)


def _unescape(match: re.Match[str]) -> str:
    return html.unescape(match[0])


def find_field(item: dict[str, Any], names: Sequence[str], place: str, flag: str) -> str:
    if {"abstract", "references"} <= item.keys() and "references" in names:
        raise UserError(f"{place} has an abstract and further references: write them by make_eval_references.py first")
    for name in names:
        if name in item:
            return name
    raise UserError(f"{place} has the fields {', '.join(map(str, item))}: say by {flag} which one is meant")


def json_texts(value: Any, place: str, field: str = "") -> tuple[str, ...]:
    """A string or a list of sentences (strings, or lists of words); under a name such as `references`, several."""
    if field in _SEVERAL and isinstance(value, list):
        return tuple(text for part in value for text in json_texts(part, place)) or ("",)
    lines = value if isinstance(value, list) else [value]
    if all(isinstance(line, list) and all(isinstance(word, str) for word in line) for line in lines):
        lines = [" ".join(words) for words in lines]
    if not all(isinstance(line, str) for line in lines):
        raise UserError(f"{place}: {field or 'the value'} is neither a text nor a list of sentences")
    whole = "\n".join(lines).encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair cannot be written
    return (as_lines(whole),)

"""Templates of `{slots}` and `(alternatives|...)`, parsed once and expanded many times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from random import Random

from support.errors import UserError


@dataclass(frozen=True)
class Slot:
    name: str


@dataclass(frozen=True)
class Choice:
    options: tuple[Template, ...]


Template = tuple[str | Slot | Choice, ...]
_TOKEN = re.compile(r"\{[^{}]*\}|[(|)]|[^{}(|)]+")


@cache
def parse(text: str) -> Template:
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise UserError(f"unbalanced braces in the template: {text}")
    options, rest = _options(tokens)
    if rest or len(options) != 1 or tokens.count("(") != tokens.count(")"):
        raise UserError(f"unbalanced parentheses in the template: {text}")
    return options[0]


def _options(tokens: list[str]) -> tuple[list[Template], list[str]]:
    """Reads alternatives up to a closing parenthesis that is not theirs -> them and the unread tokens."""
    options: list[list[str | Slot | Choice]] = [[]]
    while tokens and tokens[0] != ")":
        token, tokens = tokens[0], tokens[1:]
        if token == "|":
            options.append([])
        elif token == "(":
            inner, tokens = _options(tokens)
            tokens = tokens[1:]
            options[-1].append(Choice(tuple(inner)))
        else:
            options[-1].append(Slot(token[1:-1]) if token[0] == "{" else token)
    return [tuple(option) for option in options], tokens


def expand(template: Template, rng: Random, fill: Callable[[str], str]) -> str:
    """Chooses among the alternatives and asks `fill` for each slot."""
    parts = []
    for part in template:
        if isinstance(part, Slot):
            parts.append(fill(part.name))
        elif isinstance(part, Choice):
            parts.append(expand(rng.choice(part.options), rng, fill))
        else:
            parts.append(part)
    return "".join(parts)


def slots(template: Template) -> Iterator[str]:
    for part in template:
        if isinstance(part, Slot):
            yield part.name
        elif isinstance(part, Choice):
            for option in part.options:
                yield from slots(option)


def tidy(text: str) -> str:
    """Single spaces, and no comma where an empty part has left it stranded."""
    words = text.split()
    kept = [word for word, after in pairwise([*words, "."]) if word != "," or after not in {",", ".", "--"}]
    return " ".join(kept)

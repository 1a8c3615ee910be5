"""Conventions in which outputs and references may differ: noticed, named, and on request written in one way.

notes = differences({"the references": references, "BART": summaries, "PEGASUS": others})
summaries = [normalise(text, ["brackets", "case"]) for text in summaries]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from support.errors import UserError

_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}
_BRACKET = re.compile("|".join(_BRACKETS), re.IGNORECASE)
_DOUBLE_QUOTE = re.compile("``|''|[“”„«»]")
_POUND = re.compile(r"#(?=\s*\d)")
_END = re.compile(  # of a sentence: a stop that stands apart, or one before a capital letter
    r"""(?<=\S)(?:(\ [.!?](?:\ (?:''|["”’)]|-rrb-))?)\ +|([a-z0-9)][.!?]["”’)]?)\ +(?=["“‘(]?[A-Z]))""", re.VERBOSE
)
_SMALL, _CAPITAL = re.compile("[a-z]"), re.compile("[A-Z]")
_CAPITALS = 0.005  # of small letters; in text that is lower-cased there are none
_ONE_LINE, _LONG = 0.9, 25  # that share of texts without a line break, words


class Convention(NamedTuple):
    way: Callable[[Sequence[str]], str | None]  # how the texts do it; None: they do not tell
    effect: str  # of a difference
    plain: Callable[[str], str] | None  # a text in the common way; None: there is no simple one
    common: str = ""


def _mostly(**patterns: str) -> Callable[[Sequence[str]], str | None]:
    """The way whose pattern is found most often; `_` in its name stands for a space."""
    compiled = {way.replace("_", " "): re.compile(pattern, re.IGNORECASE) for way, pattern in patterns.items()}

    def way(texts: Sequence[str]) -> str | None:
        counts = {way: sum(len(pattern.findall(text)) for text in texts) for way, pattern in compiled.items()}
        return max(counts, key=lambda way: counts[way]) if any(counts.values()) else None

    return way


def _case(texts: Sequence[str]) -> str | None:
    small, capital = (sum(len(pattern.findall(text)) for text in texts) for pattern in (_SMALL, _CAPITAL))
    return ("capitals" if capital > _CAPITALS * small else "lower case alone") if small or capital else None


def _units(texts: Sequence[str]) -> str | None:
    single = sum("\n" not in text for text in texts)
    words = sum(len(text.split()) for text in texts)
    return "one line" if single > _ONE_LINE * len(texts) and words > _LONG * len(texts) else "a line a sentence"


CONVENTIONS = {
    "brackets": Convention(
        _mostly(as_lrb=_BRACKET.pattern, as_round_ones=r"[()\[\]{}]"),
        'ROUGE counts "lrb" and "rrb" as words',
        lambda text: _BRACKET.sub(lambda match: _BRACKETS[match[0].lower()], text),
        "( )",
    ),
    "quotes": Convention(
        _mostly(as_two_characters="``|''", as_straight_ones='"', as_curly_ones="[“”„«»]"),
        "METEOR and the n-gram measures see other words",
        lambda text: re.sub("[‘’`]", "'", _DOUBLE_QUOTE.sub('"', text)),
        "\" and '",
    ),
    "currency": Convention(
        _mostly(pounds_as_a_hash=_POUND.pattern, pounds_as_such="£"),
        "METEOR and the n-gram measures see other words",
        lambda text: _POUND.sub("£", text),
        "£",
    ),
    "case": Convention(_case, "no measure here tells cases apart, others do", str.lower, "lower case"),
    "sentences": Convention(
        _units,
        "ROUGE-L of a summary in one line is another, mostly lower, number",
        lambda text: text if "\n" in text else _END.sub(lambda match: f"{match[1] or match[2]}\n", text),
        "a line a sentence, parted after . ! ?",
    ),
    "spacing": Convention(
        _mostly(punctuation_apart=r"\w [.,](?=\s|$)", punctuation_at_the_word=r"\w[.,](?=\s|$)"),
        "repetition and novelty compare words between spaces: tokenise both in one way",
        None,
    ),
}
NORMALISABLE = [name for name, convention in CONVENTIONS.items() if convention.plain]


def differences(collections: Mapping[str, Sequence[str]]) -> list[str]:
    """A line for each text collection and convention in which it is not like the first one that tells."""
    notes = []
    for topic, convention in CONVENTIONS.items():
        ways = {name: way for name, texts in collections.items() if (way := convention.way(texts))}
        standard = next(iter(ways), "")
        remedy = f" (--normalise {topic}: {convention.common})" if convention.plain else ""
        for name, way in ways.items():
            if way != ways[standard]:
                difference = f"{way} in {name}, {ways[standard]} in {standard}"
                notes.append(f"{topic}: {difference}; {convention.effect}{remedy}")
    return notes


def choose(names: str) -> list[str]:
    """Conventions by their names with commas between them, or "all"."""
    chosen = NORMALISABLE if names == "all" else [name.strip() for name in names.split(",") if name.strip()]
    for name in chosen:
        if name not in NORMALISABLE:
            raise UserError(f"--normalise {name} is not known: take all, or some of {','.join(NORMALISABLE)}")
    return [name for name in NORMALISABLE if name in chosen]


def normalise(text: str, names: Iterable[str]) -> str:
    """The text in the common way; the case is changed last, since sentences are found by it."""
    for name in sorted(names, key=lambda name: name == "case"):
        plain = CONVENTIONS[name].plain
        text = plain(text) if plain else text
    return text

"""Finds the tokens of a text again in what was written, although tokenizers respell, add and leave out."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

Span = tuple[int, int]  # begin and end

BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}
# What a token may stand for, as `fold` leaves it; longer ones first.
SPELLINGS = {
    "``": ("&quot;", "``", "‘‘", "''", '"', "“", "«", "„"),
    "''": ("&quot;", "''", '"', "”", "»", "“"),
    "```": ("“‘", "\"'", "```"),
    "'''": ("'”", "'\"", "'''"),
    "`": ("`", "'", "‘", "‹"),
    "'": ("&apos;", "'", "‘", "›"),
    "--": ("--", "–", "—", "‒", "―", "‐", "‑"),
    "...": ("...", ". . .", "…"),
    "$": ("$", "€", "¤", "₠", "\x80"),
    "#": ("#", "£", "₤"),
    "cents": ("cents", "¢"),
    "1/2": ("1/2", "½"),
    "1/4": ("1/4", "¼"),
    "3/4": ("3/4", "¾"),
    "1/3": ("1/3", "⅓"),
    "2/3": ("2/3", "⅔"),
    "&": ("&amp;", "&"),
    "<": ("&lt;", "<"),
    ">": ("&gt;", ">"),
}
_RUNS = ("...", "--")  # may be longer in the text
_UNSEEN = "\u00ad\u200b\ufeff"  # soft hyphen and the like, which tokenizers leave out
_SEARCH = 200  # characters, and
_AHEAD = 4  # tokens to look ahead for where text and tokens agree again


def find_tokens(lower: str, words: list[str]) -> list[Span | None]:
    """Begin and end of every word; equal if the tokenizer added it, None if it is not found."""
    spans: list[Span | None] = []
    position = 0
    while len(spans) < len(words):
        begin = _skip_space(lower, position)
        end = _match(lower, words[len(spans)], begin)
        if end is not None:
            spans.append((begin, end))
            position = end
            continue
        resumed = _resume(lower, words, len(spans), begin)
        if resumed is None:
            spans.append(None)
            continue
        passed, place = resumed
        passage = len(lower[begin:place].rstrip())
        if passed == 0:
            position = place
        elif passage == 0:
            spans += [(position, position)] * passed
        else:
            spans += [(begin, begin + passage)] if passed == 1 else [None] * passed
            position = begin + passage
    return spans


def _resume(lower: str, words: list[str], first: int, start: int) -> tuple[int, int] | None:
    """The number of words to pass over and the place from which the next two, or the end, match again."""
    places = [place for place in range(start, min(start + _SEARCH, len(lower)) + 1) if not _inside(lower, place)]
    for place in places:
        for passed in range(_AHEAD + 1):
            if _two_match(lower, words, first + passed, place):
                return passed, place
    alone = (place for place in places if _match(lower, words[first], place) is not None)
    return next(((0, place) for place in alone), None)


def _inside(lower: str, place: int) -> bool:
    """Whether a word would be cut here."""
    return 0 < place < len(lower) and lower[place - 1 : place + 1].isalnum()


def _two_match(lower: str, words: list[str], first: int, place: int) -> bool:
    for word in words[first : first + 2]:
        end = _match(lower, word, _skip_space(lower, place))
        if end is None:
            return False
        place = end
    return first + 2 <= len(words) or (first <= len(words) and not lower[place:].strip())


def _skip_space(lower: str, place: int) -> int:
    while place < len(lower) and lower[place].isspace():
        place += 1
    return place


def _match(lower: str, word: str, place: int) -> int | None:
    """Where the token ends if it begins at `place`."""
    for option in _options(word):
        if lower.startswith(option, place):
            end = place + len(option)
            while option in _RUNS and lower.startswith(option[0], end):
                end += 1
            return end
    return None


@lru_cache(maxsize=1 << 16)
def _options(word: str) -> tuple[str, ...]:
    if word in SPELLINGS:
        return SPELLINGS[word]
    folded = plain = fold(word)
    for name, bracket in BRACKETS.items():
        plain = plain.replace(name, bracket)
    return (folded,) if plain == folded else (folded, plain)


def fold(text: str) -> str:
    """Lower case, decomposed, with plain apostrophes: alike for a text and its tokens."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFD", text.lower()).replace("’", "'").replace("ς", "σ")
    return "".join(char for char in plain if char not in _UNSEEN)

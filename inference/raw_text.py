"""Raw text -> tokenised sentences that remember how they were written, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from data.tokenizer import split_sentences

_WRITTEN = {
    "-lrb-": "(",
    "-rrb-": ")",
    "-lsb-": "[",
    "-rsb-": "]",
    "-lcb-": "{",
    "-rcb-": "}",
    "``": "“",
    "''": "”",
    "`": "‘",
    "--": "–",
}
_QUOTES = {
    "``": ('"', "“", "``", "«"),
    "''": ('"', "”", "''", "»"),
    "`": ("'", "‘", "`"),
    "'": ("'", "’"),
    "--": ("--", "–", "—"),
}
_NO_SPACE_BEFORE = {".", ",", ";", ":", "!", "?", "...", "%", ")", "]", "}", "”", "’", "n't"}
_NO_SPACE_AFTER = {"(", "[", "{", "“", "‘", "$", "#", "£", "€"}
_SEARCH = 40  # characters that may lie between two tokens


class RawSentence(NamedTuple):
    words: list[str]  # lower-cased tokens, what the models read
    written: list[str]  # the same as the text has them
    text: str


class Written(NamedTuple):
    """A word as a reader wants it."""

    text: str
    space: bool  # before it


def read_articles(texts: Sequence[str], tokenizer: str = "auto") -> list[list[RawSentence]]:
    """Every line is split into sentences of its own."""
    lines = [(number, " ".join(line.split())) for number, text in enumerate(texts) for line in text.splitlines()]
    lines = [(number, line) for number, line in lines if line]
    articles: list[list[RawSentence]] = [[] for _ in texts]
    split = split_sentences([line for _, line in lines], tokenizer) if lines else []
    for (number, line), sentences in zip(lines, split, strict=True):
        articles[number] += _locate(line, sentences)
    return articles


def _locate(line: str, sentences: list[list[str]]) -> list[RawSentence]:
    """Finds the tokens of a line again in what was written."""
    lower = "".join(map(str.lower, line))
    origin = [place for place, char in enumerate(line) for _ in char.lower()]  # some letters become two
    end, found = 0, []
    for words in sentences:
        begin, written = end, []
        for word in words:
            place, length = _find(lower, word, end)
            if length == 0:
                written.append(_WRITTEN.get(word, word))
                continue
            begin, end = begin if any(written) else place, place + length
            written.append(line[origin[place] : origin[end - 1] + 1])
        text = line[origin[begin] : origin[end - 1] + 1] if begin < end else " ".join(words)
        found.append(RawSentence(words, written, text))
    return found


def _find(lower: str, word: str, start: int) -> tuple[int, int]:
    """Where the token stands, at or soon after `start`, and its length there; length 0 if it is not found."""
    options = _QUOTES.get(word, (word, _WRITTEN[word]) if word in _WRITTEN else (word,))
    places = [(lower.find(option, start, start + _SEARCH + len(option)), len(option)) for option in options]
    return min((place for place in places if place[0] >= 0), default=(start, 0))


class Casing:
    """How an article writes a word: as in most places that do not begin a sentence."""

    def __init__(self, article: Iterable[RawSentence]) -> None:
        self._inside: dict[str, Counter[str]] = {}
        self._first: dict[str, Counter[str]] = {}
        for sentence in article:
            for place, (word, written) in enumerate(zip(sentence.words, sentence.written, strict=True)):
                begins = place == 0 or all(w in _QUOTES or w in _WRITTEN for w in sentence.words[:place])
                (self._first if begins else self._inside).setdefault(word, Counter())[written] += 1

    def of(self, word: str) -> str:
        if word in _WRITTEN:
            return _WRITTEN[word]
        if word in self._inside:
            return self._inside[word].most_common(1)[0][0]
        if word in self._first:
            written = self._first[word].most_common(1)[0][0]
            return written if sum(map(str.isupper, written)) > 1 else word
        return word


def write_sentence(words: Sequence[str], casing: Casing) -> list[Written]:
    """Recased and with the spaces of ordinary writing; the first letter is a capital."""
    written: list[Written] = []
    previous = ""
    for word in words:
        text = casing.of(word)
        glued = text in _NO_SPACE_BEFORE or text.startswith(("'", "’")) or previous in _NO_SPACE_AFTER
        written.append(Written(text, bool(written) and not glued))
        previous = text
    for place, (text, space) in enumerate(written):
        if any(char.isalnum() for char in text):
            written[place] = Written(text[:1].upper() + text[1:], space)
            break
    return written


def join(written: Iterable[Written]) -> str:
    return "".join(" " * word.space + word.text for word in written)

"""Raw text -> tokenised sentences that remember how they were written, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from data.prepare.documents import lines, paragraphs
from data.tokenizer import split_sentences, tokenize_lines
from inference.token_places import BRACKETS, SPELLINGS, Span, find_tokens, fold

_WRITTEN = BRACKETS | {"``": "“", "''": "”", "`": "‘", "--": "–"}
_NO_SPACE_BEFORE = {".", ",", ";", ":", "!", "?", "...", "…", "%", "¢", ")", "]", "}", "”", "’", "n't", "n’t"}
_NO_SPACE_AFTER = {"(", "[", "{", "“", "‘", "``", "`"}
_CURRENCIES = {"$", "#", "£", "€"}
_CLOSING_QUOTES = {"''", "'", "'''", "”", "’", '"'}
_PUNCTUATION = set(".!?…,;:-")


class RawSentence(NamedTuple):
    words: list[str]  # lower-cased tokens, what the models read
    written: list[str]  # the same as the text has them; empty: a second full stop, as after "Inc."
    spaces: list[bool | None]  # whether white space precedes; None: the text does not tell
    text: str


class Written(NamedTuple):
    """A word as a reader wants it."""

    text: str
    space: bool  # before it


def read_articles(texts: Sequence[str], tokenizer: str = "auto") -> list[list[RawSentence]]:
    """Paragraphs are split into sentences; with tokenizer `none` every line is one."""
    divide = lines if tokenizer == "none" else paragraphs
    divided = [divide(text.replace("\r\n", "\n").replace("\r", "\n")) for text in texts]
    everything = list(chain.from_iterable(divided))
    if tokenizer == "none":
        tokenised = zip(everything, tokenize_lines(everything, tokenizer), strict=True)
        found = [[_tokenised(line, words)] for line, words in tokenised]
    else:
        split = split_sentences(everything, tokenizer) if everything else []
        # A tokenizer may leave nothing of a paragraph of signs, which then is a sentence as it stands.
        found = [_locate(line, sents or [line.lower().split()]) for line, sents in zip(everything, split, strict=True)]
    blocks = iter(found)
    return [[sentence for _ in part for sentence in next(blocks)] for part in divided]


def _tokenised(line: str, words: list[str]) -> RawSentence:
    written = [_WRITTEN.get(word, text) for word, text in zip(words, line.split(), strict=True)]
    return RawSentence(words, written, [None] * len(words), line)


def _locate(line: str, sentences: list[list[str]]) -> list[RawSentence]:
    """Finds the tokens of a line again in what was written. Every character goes to a sentence."""
    folded = [fold(char) for char in line]
    lower = "".join(folded)
    origin = [place for place, chars in enumerate(folded) for _ in chars]  # some letters become two, or none
    spans = find_tokens(lower, list(chain.from_iterable(sentences)))
    spaces = _spaces(spans)
    found: list[RawSentence] = []
    begin = first = 0
    for number, words in enumerate(sentences, 1):
        last = first + len(words)
        written = [_cut(line, origin, *item) for item in zip(words, spans[first:last], strict=True)]
        ends = [origin[span[1] - 1] + 1 for span in spans[first:last] if span and span[1]]
        end = len(line) if number == len(sentences) else max([begin, *ends])
        text = line[begin:end].strip() or " ".join(words)
        found.append(RawSentence(words, written, spaces[first:last], text))
        begin, first = end, last
    return found


def _cut(line: str, origin: list[int], word: str, span: Span | None) -> str:
    if span is None:
        return _WRITTEN.get(word, word)
    begin, end = span
    text = line[origin[begin] : origin[end - 1] + 1] if begin < end else ""
    return BRACKETS.get(text.lower(), text)


def _spaces(spans: list[Span | None]) -> list[bool | None]:
    gaps = [None if a is None or b is None else a[1] < b[0] for a, b in pairwise(spans)]
    return [True, *gaps] if spans else []


class Casing:
    """How an article writes a word: as in most places that do not begin a sentence."""

    def __init__(self, article: Iterable[RawSentence]) -> None:
        self._inside: dict[str, Counter[str]] = {}
        self._first: dict[str, Counter[str]] = {}
        for sentence in article:
            for place, (word, written) in enumerate(zip(sentence.words, sentence.written, strict=True)):
                begins = all(w in SPELLINGS or w in _WRITTEN for w in sentence.words[:place])
                if written:
                    (self._first if begins else self._inside).setdefault(word, Counter())[written] += 1

    def of(self, word: str) -> str:
        if word in self._inside:
            return self._inside[word].most_common(1)[0][0]
        if word in self._first:
            written = self._first[word].most_common(1)[0][0]
            respelled = written.lower() != word
            return written if respelled or sum(map(str.isupper, written)) > 1 else word
        return _WRITTEN.get(word, word)


class Pair(NamedTuple):
    """Two neighbours of a text."""

    first: str
    space: bool
    second: str


class Pairs:
    """How an article writes neighbouring words: as in one of its sentences, else as in most places."""

    def __init__(self, article: Iterable[RawSentence]) -> None:
        self._sentences = list(map(_count_pairs, article))
        self._article: dict[tuple[str, str], Counter[Pair]] = {}
        for sentence in self._sentences:
            for words, pairs in sentence.items():
                self._article.setdefault(words, Counter()).update(pairs)

    def find(self, first: str, second: str, sentence: int | None = None) -> Pair | None:
        own = {} if sentence is None else self._sentences[sentence]
        pairs = own.get((first, second)) or self._article.get((first, second))
        return pairs.most_common(1)[0][0] if pairs else None


def _count_pairs(sentence: RawSentence) -> dict[tuple[str, str], Counter[Pair]]:
    found: dict[tuple[str, str], Counter[Pair]] = {}
    neighbours = zip(pairwise(sentence.words), pairwise(sentence.written), sentence.spaces[1:], strict=True)
    for words, written, space in neighbours:
        if space is not None:
            found.setdefault(words, Counter())[Pair(written[0], space, written[1])] += 1
    return found


def write_sentence(
    words: Sequence[str], casing: Casing, pairs: Pairs | None = None, source: int | None = None
) -> list[Written]:
    """Recased and spaced as its article does it, else as ordinary writing; the first letter is a capital."""
    found = [pairs.find(*two, source) if pairs else None for two in pairwise(words)]
    written: list[Written] = []
    for place, word in enumerate(words):
        before = found[place - 1] if place else None
        text = _sign(words, place, before, found[place] if place < len(found) else None)
        text = casing.of(word) if text is None else text
        apart = place > 0 and not _glued(words[place - 1], written[-1].text, word, text)
        written.append(Written(text, before.space if before else apart))
    for place, (text, space) in enumerate(written):
        if any(char.isalnum() for char in text):
            written[place] = Written(text[:1].title() + text[1:], space)
            break
    if _lacks_its_stop(words):
        written[-1] = Written(written[-1].text + ".", written[-1].space)
    return written


def _lacks_its_stop(words: Sequence[str]) -> bool:
    """Whether it ends in a quotation that has none: the data that models learn from leave it out there."""
    inside = next((word for word in reversed(words) if word not in _CLOSING_QUOTES), "")
    return bool(inside) and words[-1] in _CLOSING_QUOTES and inside[-1] not in _PUNCTUATION


def _sign(words: Sequence[str], place: int, before: Pair | None, after: Pair | None) -> str | None:
    """A currency sign, quote or dash as the text has it beside the amount that follows, else beside a neighbour."""
    if before and not before.second:
        return ""
    if words[place] not in SPELLINGS:
        return None
    left, right = before and before.second, after and after.first
    return (right or left) if _is_amount("".join(words[place + 1 : place + 2])) else (left or right)


def _glued(previous_word: str, previous: str, word: str, text: str) -> bool:
    """The rules of ordinary writing, for words that are not neighbours in the text."""
    if previous in _CURRENCIES:
        return _is_amount(word)
    closes = text in _NO_SPACE_BEFORE or (word.startswith(("'", "’")) and not _is_amount(word[1:]))
    return closes or previous in _NO_SPACE_AFTER or previous_word in _NO_SPACE_AFTER


def _is_amount(word: str) -> bool:
    return word[:1].isdigit() or word[:1] == "."


def join(written: Iterable[Written]) -> str:
    return "".join(" " * word.space + word.text for word in written)

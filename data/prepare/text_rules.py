"""The text rules of the released preparation: what happens to a raw line on its way to a sentence.

Tokens are lower-cased and separated by one space; a line without end punctuation gets " .".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from cytoolz import concat

from data.articles import Article
from data.prepare.documents import RawDocument, TextRules
from data.tokenizer import group_sentences, tokenize_lines

_END_CHARACTERS = (".", "!", "?", "'", "`", '"', ")", "\u2019", "\u201d")
_GLUED, _APART = re.compile(r"\w[.,!?](?=\s|$)"), re.compile(r"(?<!\S)[.,!?](?=\s|$)")


def to_articles(documents: Sequence[RawDocument], rules: TextRules) -> list[Article]:
    """All lines of all documents are tokenised at once, since starting the tokenizer costs most."""
    raw = list(concat(concat(map(_blocks, documents))))
    tokenized = iter(tokenize_lines(raw, rules.tokenizer))
    return [_to_article(document, tokenized, rules) for document in documents]


def _blocks(document: RawDocument) -> list[list[str]]:
    return [document.article, document.abstract, *document.further_abstracts]


def _to_article(document: RawDocument, tokenized: Iterator[list[str]], rules: TextRules) -> Article:
    article, abstract, *further = (
        list(concat(_sentences(line, units, rules.full_stops) for line in islice(tokenized, len(block))))
        for block, units in zip(_blocks(document), _units(document, rules), strict=True)
    )
    return Article(document.id, article, abstract, others={"references": further} if further else {})


def _units(document: RawDocument, rules: TextRules) -> list[str]:
    """What becomes a sentence of each block."""
    fitting = "lines" if len(document.article) > 1 else "sentences"
    article_units = fitting if rules.article_units == "auto" else rules.article_units
    return [article_units, *[rules.abstract_units] * (1 + len(document.further_abstracts))]


def _sentences(line: list[str], units: str, full_stops: bool) -> list[str]:
    """The rule of full stops is one for the end of a line; the sentences before it have theirs."""
    if not line:
        return []
    *inner, last = map(" ".join, group_sentences(line) if units == "sentences" else [line])
    return [*inner, end_with_stop(last) if full_stops else last]


def end_with_stop(line: str) -> str:
    """The released rule; since it sees tokens, a line that ends in -rrb- gets a full stop too."""
    return line if not line or line.endswith(_END_CHARACTERS) else f"{line} ."


def looks_raw(sentences: Sequence[str]) -> bool:
    """Whether stops and commas mostly stand at words, as in untokenised text."""
    glued, apart = (sum(len(pattern.findall(line)) for line in sentences) for pattern in (_GLUED, _APART))
    return glued > apart

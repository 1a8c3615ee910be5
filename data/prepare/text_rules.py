"""The text rules of the released preparation: what happens to a raw line on its way to a sentence.

Tokens are lower-cased and separated by one space; a line without end punctuation gets " .".
"""

from __future__ import annotations

from collections.abc import Iterator

from data.articles import Article
from data.prepare.documents import RawDocument, Recipe
from data.tokenizer import group_sentences, tokenize_lines

_END_CHARACTERS = (".", "!", "?", "'", "`", '"', ")", "\u2019", "\u201d")


def to_articles(documents: list[RawDocument], recipe: Recipe) -> list[Article]:
    """All lines of all documents are tokenised at once, since starting the tokenizer costs most."""
    raw = [line for document in documents for block in _blocks(document) for line in block]
    tokenized = iter(tokenize_lines(raw, recipe.tokenizer))
    return [_to_article(document, tokenized, recipe) for document in documents]


def _blocks(document: RawDocument) -> list[list[str]]:
    return [document.article, document.abstract, *document.further_abstracts]


def _to_article(document: RawDocument, tokenized: Iterator[list[str]], recipe: Recipe) -> Article:
    def sentences(block: list[str], units: str) -> list[str]:
        return [
            end_with_stop(" ".join(tokens)) if recipe.full_stops else " ".join(tokens)
            for line in [next(tokenized) for _ in block]
            for tokens in (group_sentences(line) if units == "sentences" else [line])
            if tokens
        ]

    article, abstract, *further = (
        sentences(block, recipe.abstract_units if place else recipe.article_units)
        for place, block in enumerate(_blocks(document))
    )
    return Article(document.id, article, abstract, others={"references": further} if further else {})


def end_with_stop(line: str) -> str:
    """The released rule; since it sees tokens, a line that ends in -rrb- gets a full stop too."""
    return line if not line or line.endswith(_END_CHARACTERS) else f"{line} ."

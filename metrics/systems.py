"""Several systems on the same documents: all measures of each of them and of the references (eval_outputs.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from metrics.evaluation import measure_meteor, measure_rouge
from metrics.ngram_table import REFERENCE_ROW, TextsAndArticle, ratios, words
from metrics.novelty import novel
from metrics.repetition import repeated
from metrics.scores import Scores
from metrics.summaries import Document, unescape
from support.progress import progress


class Lengths(NamedTuple):
    """Means over documents."""

    words: float
    sentences: float


@dataclass(frozen=True)
class Measured:
    name: str
    lengths: Lengths
    repeated: list[float]  # percent by ngram_table.ORDERS
    novel: list[float] | None  # the same; None without the articles
    scores: Scores | None  # None of the references


def measure_systems(
    systems: dict[str, list[Document]], articles: Sequence[str] | None, with_meteor: bool, normalised: Sequence[str]
) -> list[Measured]:
    """A row for each system and, last, one for the references: the first, where a document has several."""
    first = next(iter(systems.values()))
    texts = [[unescape(document.summary) for document in documents] for documents in systems.values()]
    texts.append([unescape(document.references[0]) for document in first])
    tokens = [[words(text) for text in column] for column in texts]
    read = [words(text) for text in articles] if articles is not None else [[]] * len(first)
    documents: list[TextsAndArticle] = list(zip(zip(*tokens, strict=True), read, strict=True))
    repetition = ratios(repeated, progress(documents, "repetition", total=len(documents), unit="doc"))
    novelty: Sequence[list[float] | None] = [None] * len(texts)
    if articles is not None:
        novelty = ratios(novel, progress(documents, "novelty", total=len(documents), unit="doc"))
    scores = [_score(documents, with_meteor, normalised) for documents in systems.values()]
    columns = ([*systems, REFERENCE_ROW], map(lengths, texts), repetition, novelty, [*scores, None])
    return [Measured(*row) for row in zip(*columns, strict=True)]


def lengths(texts: Sequence[str]) -> Lengths:
    n_words = sum(len(text.split()) for text in texts)
    n_sentences = sum(bool(line.strip()) for text in texts for line in text.split("\n"))
    return Lengths(n_words / len(texts), n_sentences / len(texts))


def _score(documents: Sequence[Document], with_meteor: bool, normalised: Sequence[str]) -> Scores:
    suffix = f"|normalised:{','.join(normalised)}" if normalised else ""
    empty = Scores.of(documents)
    rouge = measure_rouge(documents, empty)[1]
    scores = replace(empty, rouge=rouge._replace(signature=rouge.signature + suffix))
    if with_meteor:
        meteor = measure_meteor(documents, empty)
        scores = replace(scores, meteor=meteor._replace(signature=meteor.signature + suffix))
    return scores

"""A summary as a reader wants it, beside the text that it comes from."""

from __future__ import annotations

from typing import Any, NamedTuple

from inference.raw_text import Casing, Pairs, RawSentence, Written, join, write_sentence
from inference.summary import Summary, SummarySentence


class Readable(NamedTuple):
    name: str
    article: list[str]  # sentences as written
    summary: list[SummarySentence]
    written: list[list[Written]]  # the summary's sentences

    def text(self) -> str:
        """A sentence a line."""
        return "\n".join(map(join, self.written))

    def record(self) -> dict[str, Any]:
        """`sentences` as in alignment.jsonl (inference/output.py), with words and texts."""
        sentences = [
            {"text": join(written), "words": sentence.words, **sentence.alignment()}
            for sentence, written in zip(self.summary, self.written, strict=True)
        ]
        return {"name": self.name, "article": self.article, "sentences": sentences}


def make_readable(name: str, article: list[RawSentence], summary: Summary) -> Readable:
    casing, pairs = Casing(article), Pairs(article)
    written = [write_sentence(sentence.words, casing, pairs, sentence.source) for sentence in summary.sentences]
    return Readable(name, [sentence.text for sentence in article], summary.sentences, written)

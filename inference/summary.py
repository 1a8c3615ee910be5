"""A summary that knows where its sentences come from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class SummarySentence(NamedTuple):
    words: list[str]
    source: int | None  # sentence of the article; None if it has no single one
    extraction_score: float | None  # see inference.extraction.Extraction
    rewriting_score: float | None = None  # log probability, with the beam's penalties; None if not rewritten
    copied: NDArray[np.float32] | None = None  # per word, the probability that it was copied, not generated
    replaced: NDArray[np.bool_] | None = None  # per word, whether it stands for an UNK

    def alignment(self) -> dict[str, Any]:
        """What JSON files say of it beside the words."""
        return {
            "source": self.source,
            "extraction_score": _rounded(self.extraction_score),
            "rewriting_score": _rounded(self.rewriting_score),
            "copied": None if self.copied is None else [round(p, 3) for p in self.copied.tolist()],
            "replaced": None if self.replaced is None else np.flatnonzero(self.replaced).tolist(),
        }


class Summary(NamedTuple):
    article: int  # document of the store
    sentences: list[SummarySentence]

    def lines(self) -> list[str]:
        return [" ".join(sentence.words) for sentence in self.sentences]

    def alignment(self) -> dict[str, Any]:
        return {"article": self.article, "sentences": [sentence.alignment() for sentence in self.sentences]}

    @property
    def n_words(self) -> int:
        return sum(len(sentence.words) for sentence in self.sentences)


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)

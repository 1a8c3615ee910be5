"""scores.json: what an evaluation found, per document and on average, with the signature of all that made it.

`outputs` and `references` are digests of the texts: two systems can be compared where the latter agree.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from metrics import meteor
from metrics.bootstrap import Averages
from metrics.rouge import METRICS
from metrics.summaries import Document
from support.errors import UserError
from support.files import atomic_file, read_json

_MEASURES = ("recall", "precision", "f")


class RougeScores(NamedTuple):
    signature: str
    averages: Averages  # of (metric, recall/precision/F), with the 95 % interval
    documents: np.ndarray  # (documents, metric, recall/precision/F)

    @property
    def plain_mean(self) -> np.ndarray:
        """(metric, recall/precision/F): unlike the bootstrap's mean, it is the same however documents are numbered."""
        return self.documents.mean(axis=0)


class MeteorScores(NamedTuple):
    signature: str
    score: float  # of the summed statistics
    statistics: np.ndarray  # (documents, meteor.STATISTICS)


@dataclass(frozen=True)
class Scores:
    ids: tuple[int, ...]
    outputs: str
    references: str
    rouge: RougeScores | None = None
    meteor: MeteorScores | None = None

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Scores:
        """No scores yet."""
        outputs = _digest([document.summary] for document in documents)
        references = _digest(document.references for document in documents)
        return cls(tuple(document.id for document in documents), outputs, references)

    def with_earlier(self, path: Path) -> Scores:
        """Takes over what `path` holds of the same texts: ROUGE and METEOR may come from two runs."""
        try:
            earlier = load_scores(path)
        except UserError:
            return self
        if (earlier.ids, earlier.outputs, earlier.references) != (self.ids, self.outputs, self.references):
            return self
        return replace(self, rouge=self.rouge or earlier.rouge, meteor=self.meteor or earlier.meteor)


def save_scores(scores: Scores, path: Path) -> None:
    value = {
        "documents": len(scores.ids),
        "outputs": scores.outputs,
        "references": scores.references,
        "rouge": scores.rouge and _rouge_to_json(scores.rouge),
        "meteor": scores.meteor and _meteor_to_json(scores.meteor),
        "ids": scores.ids,
    }
    with atomic_file(path) as file:
        json.dump(value, file)


def load_scores(path: Path) -> Scores:
    value = read_json(path)
    try:
        scores = Scores(
            ids=tuple(value["ids"]),
            outputs=value["outputs"],
            references=value["references"],
            rouge=None if value["rouge"] is None else _rouge_from_json(value["rouge"]),
            meteor=None if value["meteor"] is None else _meteor_from_json(value["meteor"]),
        )
        if not _is_whole(scores):
            raise ValueError
    except (KeyError, TypeError, ValueError, OverflowError):
        raise UserError(f"{path} is not a scores.json of this project: evaluate that system again") from None
    return scores


def _is_whole(scores: Scores) -> bool:
    """Every document has its numbers."""
    rouge, meteor_scores = scores.rouge, scores.meteor
    names = [scores.outputs, scores.references, *(part.signature for part in (rouge, meteor_scores) if part)]
    arrays: list[tuple[np.ndarray, tuple[int, ...]]] = []
    arrays += [(rouge.documents, (len(METRICS), len(_MEASURES)))] if rouge else []
    arrays += [(meteor_scores.statistics, (meteor.STATISTICS,))] if meteor_scores else []
    numbers = [*(rouge.averages if rouge else ()), *([meteor_scores.score] if meteor_scores else ())]
    return (
        all(type(i) is int for i in scores.ids)
        and 0 < len(scores.ids) == len(set(scores.ids))
        and all(isinstance(name, str) for name in names)
        and all(array.shape == (len(scores.ids), *shape) for array, shape in arrays)
        and all(np.isfinite(array).all() for array in (*numbers, *(array for array, _ in arrays)))
    )


def _rouge_to_json(rouge: RougeScores) -> dict[str, Any]:
    averages = {
        metric: {
            measure: {name: float(values[m, k]) for name, values in rouge.averages._asdict().items()}
            for k, measure in enumerate(_MEASURES)
        }
        for m, metric in enumerate(METRICS)
    }
    documents = {
        metric: {measure: rouge.documents[:, m, k].tolist() for k, measure in enumerate(_MEASURES)}
        for m, metric in enumerate(METRICS)
    }
    return {"signature": rouge.signature, "averages": averages, "per_document": documents}


def _rouge_from_json(value: dict[str, Any]) -> RougeScores:
    averages = _table(value["averages"])
    mean, low, high = (
        np.array([[cell[name] for cell in row] for row in averages], dtype=np.float64) for name in Averages._fields
    )
    documents = np.array(_table(value["per_document"]), dtype=np.float64).transpose(2, 0, 1)
    return RougeScores(value["signature"], Averages(mean, low, high), documents)


def _table(value: dict[str, dict[str, Any]]) -> list[list[Any]]:
    """metric -> measure -> cell, as rows of cells."""
    return [[value[metric][measure] for measure in _MEASURES] for metric in METRICS]


def _meteor_to_json(scores: MeteorScores) -> dict[str, Any]:
    return {
        "signature": scores.signature,
        "score": scores.score,
        "per_document": meteor.score(scores.statistics).tolist(),
        "statistics": scores.statistics.astype(int).tolist(),
    }


def _meteor_from_json(value: dict[str, Any]) -> MeteorScores:
    return MeteorScores(value["signature"], float(value["score"]), np.array(value["statistics"], dtype=np.float64))


def _digest(texts: Any) -> str:
    return hashlib.sha256(json.dumps([list(group) for group in texts]).encode()).hexdigest()[:8]

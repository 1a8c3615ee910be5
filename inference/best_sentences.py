"""Baselines write more sentences than a summary has: which of them it takes, and how many are best (B.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from checkpoints.networks import FF_EXTRACTOR
from inference.output import DecodeDirectory, Line
from metrics.rouge import METRICS, score_document
from metrics.summaries import check_same_ids, read_summaries
from support.errors import UserError
from support.files import read_json
from support.progress import progress


def are_ranked_by_score(log: Mapping[str, Any]) -> bool:
    """ff-ext writes its sentences in document order; the others begin with the best."""
    extractor = log.get("extractor")
    return isinstance(extractor, dict) and extractor.get("net") == FF_EXTRACTOR


def best_sentences(line: Line, k: int, by_score: bool) -> Sequence[int]:
    """The places of k sentences of an alignment line: the first, or those of the highest scores in their order."""
    sentences = line["sentences"]
    if not by_score:
        return range(min(k, len(sentences)))
    return sorted(sorted(range(len(sentences)), key=lambda i: -sentences[i]["extraction_score"])[:k])


class BaselineOutput:
    """What decode_baselines.py wrote: sentence k of every summary in output_k, absent if it is shorter."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        log = read_json(self.path / "log.json")
        if not isinstance(log, dict):
            raise UserError(f"{self.path / 'log.json'} is not the log of a decode script")
        self.log: dict[str, Any] = log
        self.n_ext = log["n_ext"] if isinstance(log.get("n_ext"), int) else None
        if self.n_ext is not None and not (self.path / f"output_{self.n_ext - 1}").is_dir():
            raise UserError(f"{self.path / 'log.json'} has n_ext {self.n_ext}, but there is no such output_<number>")
        self._folders: dict[int, dict[int, str]] = {}

    def summaries(self, count: int) -> dict[int, list[str]]:
        """Article -> its best `count` sentences, or as many as it has."""
        last = self.path / f"output_{count - 1}"
        if not last.is_dir():
            raise UserError(f"{last} does not exist: --n_ext {count} needs the folders output_0 to {last.name}")
        lines = self._scored if self.n_ext is not None and count < self.n_ext else None
        n_folders = max((len(line["sentences"]) for line in (lines or {}).values()), default=count)
        by_rank = [self._sentences(rank) for rank in range(n_folders)]
        for rank in range(1, n_folders):
            if orphans := sorted(by_rank[rank].keys() - by_rank[rank - 1].keys()):
                missing = self.path / f"output_{rank - 1}" / f"{orphans[0]}.dec"
                raise UserError(f"missing {missing}, although output_{rank} has {orphans[0]}.dec")
        summaries = {}
        for i in by_rank[0]:
            sentences = [sentences[i] for sentences in by_rank if i in sentences]
            places = range(count) if lines is None else self._best(i, lines, count)
            summaries[i] = [sentences[place] for place in places if place < len(sentences)]
        return summaries

    def _best(self, article: int, lines: dict[int, Line], count: int) -> Sequence[int]:
        try:
            return best_sentences(lines[article], count, by_score=True)
        except (KeyError, TypeError):
            raise UserError(f"{self.path}/alignment.jsonl has no scores of article {article}: decode again") from None

    @cached_property
    def _scored(self) -> dict[int, Line] | None:
        """The alignment of an ff-ext; of others nothing, since they begin with the best."""
        return DecodeDirectory(self.path, self.n_ext).finished() if are_ranked_by_score(self.log) else None

    def _sentences(self, rank: int) -> dict[int, str]:
        if rank not in self._folders:
            self._folders[rank] = read_summaries(self.path / f"output_{rank}")
        return self._folders[rank]


def rouge_by_count(output: BaselineOutput, references: Mapping[int, str]) -> np.ndarray:
    """(n_ext, metric): mean F1 of summaries of the best 1, 2, ... sentences."""
    totals = np.zeros((output.n_ext or 0, len(METRICS)))
    bar = progress(None, "ROUGE", totals.shape[0] * len(references), "summary")
    with bar:
        for k in range(1, len(totals) + 1):
            summaries = output.summaries(k)
            check_same_ids(summaries, f"{output.path}/output_0/{{}}.dec", references, "article {}")
            for article, sentences in summaries.items():
                scores = score_document("\n".join(sentences), [references[article]])
                totals[k - 1] += [score.f for score in scores]
                bar.update()
    return totals / max(1, len(references))

"""A folder of runs, read for tables, claims and the page; report.rows tells the layout."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from cytoolz import concat

from data.articles import read_article
from inference.best_sentences import are_ranked_by_score, best_sentences
from metrics.ngram_table import Measure, percentages
from metrics.novelty import novel
from metrics.repetition import repeated
from metrics.scores import Scores, load_scores
from metrics.significance import Comparison, compare
from metrics.summaries import check_same_ids, read_summaries, read_text, summary_folder, top_sentences
from report.rows import ANONYMIZED, DUC, FLAT_ROW, MODELS, MODELS_OF, ORIGINAL, OTHERS, ROWS, Row
from support.errors import UserError
from support.files import is_number, read_json, write_json
from support.flags import flag
from support.progress import progress
from training.metrics_log import read_metrics
from training.record import TrainingRecord

Value = TypeVar("Value")
# How the decode scripts work, and so what a log's timing is of.
BATCHING = "all systems decode articles in batches; scripts/table5.sh also times them one at a time"
TABLES_OF_FOLDER = {ORIGINAL: ("1", "6"), ANONYMIZED: ("2",), DUC: ("3",)}


class Timing(NamedTuple):
    seconds: float  # for all articles
    reranking: float  # of these seconds
    words_per_second: float
    processes: int
    extrapolated: bool  # a resumed run has timed some of the articles


class TrainingCost(NamedTuple):
    """What a model's training took; None where nothing tells."""

    hours: float | None
    seconds_an_update: float | None
    updates: int | None
    gigabytes: float | None  # peak of its process


class Run:
    """A decode directory; of a baseline, the one number of sentences that was evaluated."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_sentences = top_sentences(path)
        self._scores = path / (f"top{self.n_sentences}_scores.json" if self.n_sentences else "scores.json")

    @property
    def evaluated(self) -> bool:
        return self._scores.is_file()

    @cached_property
    def scores(self) -> Scores:
        return load_scores(self._scores)

    @cached_property
    def log(self) -> dict[str, Any]:
        log = read_json(self.path / "log.json") if (self.path / "log.json").exists() else {}
        if not isinstance(log, dict):
            raise UserError(f"{self.path / 'log.json'} is not the log of a decode script")
        return log

    @cached_property
    def output(self) -> Path:
        return summary_folder(self.path)

    @cached_property
    def summaries(self) -> dict[int, str]:
        return read_summaries(self.output)

    @cached_property
    def sources(self) -> dict[int, list[int]]:
        """Article -> the sentence that each summary sentence comes from, by alignment.jsonl."""
        path = self.path / "alignment.jsonl"
        if not path.is_file():
            return {}
        try:
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            sources = {int(line["article"]): self._sources_of(line) for line in lines}
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise UserError(f"{path} is damaged: decode again") from None
        check_same_ids(self.summaries, f"{self.output}/{{}}.dec", sources, f"article {{}} in {path}")
        return sources

    def _sources_of(self, line: dict[str, Any]) -> list[int]:
        sentences = line["sentences"]
        k = len(sentences) if self.n_sentences is None else self.n_sentences
        by_score = k < len(sentences) and are_ranked_by_score(self.log)
        kept = [sentences[place] for place in best_sentences(line, k, by_score)]
        sources = [sentence["source"] for sentence in kept if sentence["source"] is not None]
        if not all(type(source) is int and is_number(source) and source >= 0 for source in sources):
            raise ValueError("a source is the number of a sentence")
        return sources

    @cached_property
    def timing(self) -> Timing | None:
        measured = self.log.get("timing")
        if not measured:
            return None
        names = ("articles", "seconds", "words_per_second", "processes", "reranking_seconds")
        known: dict[str, Any] = {"processes": 1, "reranking_seconds": 0}
        known |= measured if isinstance(measured, dict) else {}
        numbers: list[Any] = [known.get(name) for name in names]
        if not all(is_number(number) and number >= 0 for number in numbers):
            raise UserError(f"{self.path / 'log.json'} has a damaged 'timing': decode again")
        articles, seconds, words_per_second, processes, reranking = numbers
        if not (articles and seconds and words_per_second):
            return None
        whole = len(self.scores.ids) / articles
        return Timing(seconds * whole, reranking * whole, words_per_second, processes, whole > 1)


class Reproduction:
    """Rows are read when they are asked for; what takes long is kept in <runs>/.measured.json."""

    def __init__(self, path: Path, data_dir: str | None = None, split: str | None = None) -> None:
        if not any((path / folder).is_dir() for folder in (ORIGINAL, ANONYMIZED, DUC)):
            raise UserError(f"{path} is not a folder of runs: it has no {ORIGINAL}/<row>, such as {ORIGINAL}/rnn_ext")
        self.path, self.data_dir, self._split = path, data_dir, split
        self._runs: dict[Path, Run | None] = {}
        self._rows: dict[str, dict[str, Row]] = {}
        self._kept = path / ".measured.json"

    def run(self, row: str, folder: str = ORIGINAL) -> Run | None:
        """None where the row is not evaluated."""
        path = self.path / folder / row
        if path not in self._runs:
            run = Run(path) if path.is_dir() else None
            self._runs[path] = run if run and run.evaluated else None
        return self._runs[path]

    def rows(self, folder: str = ORIGINAL) -> dict[str, Row]:
        """Those of report.rows, and whatever else is evaluated in the folder."""
        if folder not in self._rows:
            there = sorted(path.name for path in (self.path / folder).glob("[!.]*") if path.name not in ROWS)
            others = {name: run for name in there if (run := self.run(name, folder))}
            tables = dict.fromkeys(TABLES_OF_FOLDER[folder])
            added = {name: Row(str(run.log.get("system", name)), OTHERS, None, tables) for name, run in others.items()}
            self._rows[folder] = {**ROWS, **added}
        return self._rows[folder]

    def label(self, row: str, folder: str = ORIGINAL) -> str:
        return self.rows(folder)[row].label

    def runs(self, folder: str = ORIGINAL) -> dict[str, Run]:
        found = {row: self.run(row, folder) for row in self.rows(folder)}
        return {row: run for row, run in found.items() if run}

    @cached_property
    def split(self) -> str | None:
        """What log.json names, or --split."""
        splits = {row: run.log["split"] for row, run in self.runs().items() if "split" in run.log}
        for row, split in splits.items():
            expected = self._split or next(iter(splits.values()))
            if split != expected:
                raise UserError(f"{self.path / ORIGINAL / row} is of the split {split}, not {expected}")
        return self._split or next(iter(splits.values()), None)

    @property
    def articles(self) -> Path | None:
        return Path(self.data_dir) / self.split if self.data_dir and self.split else None

    def first_of(self, rows: Sequence[str], folder: str = ORIGINAL) -> str:
        """The first that is evaluated, or else the last."""
        return next((row for row in rows if self.run(row, folder)), rows[-1])

    def timing(self, row: str) -> Timing | None:
        run = self.run(row)
        return run.timing if run else None

    @property
    def untrained_speed(self) -> str | None:
        """What scripts/bench_table5.py printed, where the flat baseline is not decoded here."""
        path = self.path / "tables" / "speed.txt"
        return read_text(path) if path.is_file() and not self.timing(FLAT_ROW) else None

    def training_cost(self, model: str) -> TrainingCost:
        """By the model's metrics.jsonl and training.json; of a model without the latter, by the stage that made it."""
        directory, stage = self.path / MODELS / model, _record(self.path / "stages" / f"{model}.json")
        record, log = TrainingRecord.read(directory), directory / "metrics.jsonl"
        took = record.seconds or stage.get("seconds", 0)
        peak = (record.peak_memory_mb << 20) or stage.get("peak_bytes", 0)
        updates = [line for line in read_metrics(log) if "loss" in line] if log.is_file() else []
        seconds = [line["seconds"] for line in updates if "seconds" in line]
        return TrainingCost(
            took / 3600 if took else None,
            sum(seconds) / len(seconds) if seconds else None,
            int(updates[-1]["step"]) if updates else None,
            peak / 2**30 if peak else None,
        )

    def stop_weight(self, model: str, folder: str = ORIGINAL) -> float | None:
        """What the reward of stopping counted while an agent learned, where its meta.json tells."""
        path = self.path / MODELS_OF[folder] / model / "meta.json"
        meta = read_json(path) if path.is_file() else {}
        trained = meta.get("train_params") if isinstance(meta, dict) else None
        weight = trained.get("stop_coeff") if isinstance(trained, dict) else None
        return weight if is_number(weight) else None

    def significance(self, row: str, other: str, folder: str = ORIGINAL) -> dict[str, Comparison] | None:
        """Metric -> paired bootstrap of two rows (Sec. 6.2); None unless both are evaluated."""
        a, b = self.run(row, folder), self.run(other, folder)
        if not (a and b):
            return None
        try:
            found = self._remember(_key("significance", a.scores, b.scores), partial(compare, a.scores, b.scores))
        except UserError as error:
            raise UserError(f"{a.path} against {b.path}: {error}") from None
        if not (isinstance(found, list) and all(map(_is_comparison, found))):
            raise self._damaged()
        return {values[0]: Comparison(*values) for values in found}

    @cached_property
    def novelty(self) -> dict[str, list[float]]:
        """Row -> percentage of novel n-grams by order (Sec. 7.1); empty without the articles."""
        return self._ngrams("novelty", novel)

    @cached_property
    def repetition(self) -> dict[str, list[float]]:
        return self._ngrams("repetition", repeated)

    @cached_property
    def reference_sentences(self) -> dict[int, int]:
        """Article -> sentences of its reference summary; empty without the articles."""
        runs = self._runs_of_same_articles()
        if not (self.articles and runs):
            return {}
        ids = next(iter(runs.values())).summaries
        read = progress(ids, "references", total=len(ids), unit="doc")
        return {i: len(read_article(self.articles / f"{i}.json").abstract) for i in read}

    def _runs_of_same_articles(self) -> dict[str, Run]:
        """All runs; two of different articles are an error."""
        runs = self.runs()
        for first, run in itertools.pairwise(runs.values()):
            check_same_ids(first.summaries, f"{first.output}/{{}}.dec", run.summaries, f"{run.output}/{{}}.dec")
        return runs

    def _ngrams(self, name: str, measure: Measure) -> dict[str, list[float]]:
        runs, articles = self._runs_of_same_articles(), self.articles
        if not (runs and articles):
            return {}
        systems = {row: run.summaries for row, run in runs.items()}
        key = _key(" ".join([name, *runs]), *(run.scores for run in runs.values()))
        rows = self._remember(key, lambda: list(percentages(measure, systems, articles).items()))
        try:
            shares = {row: [*values] for row, values in rows}
        except (TypeError, ValueError):
            raise self._damaged() from None
        if not (shares.keys() >= runs.keys() and all(map(is_number, concat(shares.values())))):
            raise self._damaged()
        return shares

    def _damaged(self) -> UserError:
        return UserError(f"{self._kept} is damaged: remove it, and what it kept is measured again")

    def _remember(self, key: str, measure: Callable[[], Value]) -> Value:
        """What was measured of the same texts before; both ways of getting it give JSON's types."""
        kept = _kept_before(self._kept)
        if key not in kept:
            kept[key] = measure()
            write_json(self._kept, kept)
        return kept[key]


def _kept_before(path: Path) -> dict[str, Any]:
    """A damaged file is replaced: all that it held can be measured again."""
    try:
        kept = read_json(path) if path.is_file() else {}
    except UserError:
        return {}
    return kept if isinstance(kept, dict) else {}


def _is_comparison(values: Any) -> bool:
    if not (isinstance(values, list | tuple) and len(values) == len(Comparison._fields)):
        return False
    return isinstance(values[0], str) and all(map(is_number, values[1:]))


def _record(path: Path) -> dict[str, float]:
    """The numbers that a stage left."""
    value = read_json(path) if path.is_file() else {}
    if not isinstance(value, dict):
        raise UserError(f"{path} is not the record of a stage: remove it")
    return {name: number for name, number in value.items() if is_number(number)}


@dataclass(frozen=True, kw_only=True)
class RunsFlags:
    """What report's commands share."""

    runs: Path = flag(help="folder with decode/<row> and models/<model>", positional=True)
    data_dir: str | None = flag(None, "data set root", env="DATA")
    split: str | None = flag(None, "where no log.json names the split")

    def reproduction(self) -> Reproduction:
        return Reproduction(self.runs, self.data_dir, self.split)


def _key(name: str, *systems: Scores) -> str:
    """Of the texts that were measured, and of the metrics they have."""
    texts = [f"{s.outputs}{'+rouge' * bool(s.rouge)}{'+meteor' * bool(s.meteor)}" for s in systems]
    return " ".join([name, systems[0].references, *texts])

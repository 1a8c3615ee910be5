"""Answers of judges -> Table 4, with Fleiss' kappa as the agreement (Sec. 6.3)."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from report.human_eval.kit import CHOICES, QUESTIONS
from report.layout import Cell, Line, Section, Table
from report.paper_numbers import EQUALLY_GOOD, Preferences
from report.rows import quoted
from support.errors import UserError
from support.files import open_file, read_json

JUDGES = 3
SYSTEMS = ("first", "second")
OUTCOMES = (*SYSTEMS, "equal")  # system that is better
_PAPER_ROWS = ("rnn_ext_abs_rl_rerank", "pointer_generator_coverage", "equal")
_PAPER = {**quoted("4", Preferences), "equal": EQUALLY_GOOD}
_CROWD_COLUMNS = {"item": "Input.item", "kit": "Input.kit", "judge": "WorkerId"} | {q: f"Answer.{q}" for q in QUESTIONS}


class Key(NamedTuple):
    kit: str
    systems: list[str]
    shown_as_a: dict[str, str]  # item -> "first" or "second"

    def better(self, item: str, choice: str) -> str:
        if choice == "equal":
            return choice
        a = SYSTEMS.index(self.shown_as_a[item])
        return SYSTEMS[a if choice == "A" else 1 - a]


class Vote(NamedTuple):
    question: str
    item: str
    judge: str


Votes = dict[Vote, str]  # -> one of OUTCOMES


def read_key(path: Path) -> Key:
    value = read_json(path)
    try:
        kit, systems = value["kit"], value["systems"]
        places = {item: place["A"] for item, place in value["items"].items()}
    except (KeyError, TypeError, AttributeError):
        raise UserError(f"{path} is not a key of report.human_eval make") from None
    names = isinstance(systems, list) and [type(name) for name in systems] == [str, str]
    if not (names and isinstance(kit, str) and places):
        raise UserError(f"{path} is not a key of report.human_eval make: it needs kit, two systems and items")
    for item, place in places.items():
        if place not in SYSTEMS:
            raise UserError(f"{path} is damaged: item {item} has A = {place!r}, which is neither first nor second")
    return Key(kit, systems, places)


def read_answers(path: Path, key: Key) -> Votes:
    """A file that a judge's page made, or a crowd platform's .csv of results."""
    rows = _read_csv(path) if path.suffix == ".csv" else _read_page(path)
    votes: Votes = {}
    for kit, judge, item, answers in rows:
        if kit != key.kit:
            raise UserError(f"{path} belongs to another kit ({kit}, not {key.kit})")
        if not judge.strip():
            raise UserError(f"{path} does not name its judge")
        if item not in key.shown_as_a:
            raise UserError(f"{path} answers item {item}, which the key does not have")
        for question in QUESTIONS:
            if choice := answers.get(question):
                if choice not in CHOICES:
                    raise UserError(f"{path}, item {item}: {question} is {choice!r}, not one of {', '.join(CHOICES)}")
                outcome = key.better(item, choice)
                if votes.setdefault(Vote(question, item, judge.strip()), outcome) != outcome:
                    raise UserError(f"{path}: {judge.strip()} answered item {item} in two ways; keep one")
    if not votes:
        raise UserError(f"{path} holds no answer")
    return votes


def merge(files: Mapping[Path, Votes]) -> Votes:
    """The same answer twice counts once; a judge who answers an item in two ways is an error."""
    merged: Votes = {}
    for path, votes in files.items():
        for vote, outcome in votes.items():
            if merged.setdefault(vote, outcome) != outcome:
                raise UserError(f"{path}: {vote.judge} answered item {vote.item} otherwise in another file; keep one")
    return merged


def table_4(votes: Votes, key: Key) -> Table:
    counts = Counter((vote.question, outcome) for vote, outcome in votes.items())
    lines = []
    for outcome, label, row in zip(OUTCOMES, [*key.systems, "equally good/bad"], _PAPER_ROWS, strict=True):
        ours = [counts[question, outcome] for question in QUESTIONS]
        paper = _PAPER[row]
        lines.append(Line(label, _cells([*ours, sum(ours)]), _cells([paper.relevance, paper.readability, paper.total])))
    title = f"Table 4: human evaluation (ours: {len({v.judge for v in votes})} judges, {len(key.shown_as_a)} items)"
    return Table(title, ("relevance", "readability", "total"), [Section("", lines)], [*_agreement(votes, key)])


def _cells(numbers: Iterable[int]) -> list[Cell]:
    return [Cell(str(number)) for number in numbers]


def _agreement(votes: Votes, key: Key) -> list[str]:
    notes = []
    for question in QUESTIONS:
        table = _by_item(votes, question)
        together = table[table.sum(axis=1) > 1]
        if not len(together):
            notes.append(f"{question}: no item has two judges, so there is no agreement to measure")
            continue
        kappa = fleiss_kappa(together)
        value = "undefined, all gave one answer" if kappa is None else f"{kappa:.3f}"
        pairs = 100 * _agreeing_pairs(together)
        notes.append(f"{question}: Fleiss' kappa {value}; {pairs:.1f} % of pairs of judges agree")
    incomplete = sum(_n_judges(votes, item) != JUDGES for item in key.shown_as_a)
    if incomplete:
        notes.append(f"{incomplete} of {len(key.shown_as_a)} items do not have the answers of {JUDGES} judges")
    return notes


def _by_item(votes: Votes, question: str) -> np.ndarray:
    """(items, OUTCOMES): how many judges said so"""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for vote, outcome in votes.items():
        if vote.question == question:
            rows[vote.item][outcome] += 1
    return np.array([[row[outcome] for outcome in OUTCOMES] for row in rows.values()]).reshape(-1, len(OUTCOMES))


def _n_judges(votes: Votes, item: str) -> int:
    """That answered all questions of an item"""
    judges = Counter(vote.judge for vote in votes if vote.item == item)
    return sum(count == len(QUESTIONS) for count in judges.values())


def fleiss_kappa(table: np.ndarray) -> float | None:
    """(items, categories) counts, two judges or more for each item; None if chance alone makes all agree."""
    chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return None if chance == 1 else (_agreeing_pairs(table) - chance) / (1 - chance)


def _agreeing_pairs(table: np.ndarray) -> float:
    """Share of pairs of judges that agree, averaged over items"""
    judges = table.sum(axis=1)
    return float((((table**2).sum(axis=1) - judges) / (judges * (judges - 1))).mean())


def _read_page(path: Path) -> list[tuple[str, str, str, Mapping[str, str]]]:
    value = read_json(path)
    answers = value.get("answers") if isinstance(value, dict) else None
    if not isinstance(answers, dict) or not all(isinstance(answer, dict) for answer in answers.values()):
        raise UserError(f"{path} is not a file of answers that a judge's page makes")
    return [(str(value.get("kit")), str(value.get("judge") or ""), item, answers[item]) for item in answers]


def _read_csv(path: Path) -> list[tuple[str, str, str, Mapping[str, str]]]:
    """Columns kit, item, judge, relevance and readability, or their names in results of Mechanical Turk."""
    try:
        with open_file(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = _find_columns(path, reader.fieldnames or [])
            rows = [{name: (row[column] or "").strip() for name, column in columns.items()} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is not a readable CSV file ({error})") from None
    return [(row["kit"], row["judge"], row["item"], row) for row in rows]


def _find_columns(path: Path, present: Sequence[Any]) -> dict[str, str]:
    columns = {}
    for name, crowd_name in _CROWD_COLUMNS.items():
        found = [column for column in (name, crowd_name) if column in present]
        if not found:
            raise UserError(f"{path} has no column {name} or {crowd_name}")
        columns[name] = found[0]
    return columns

"""The paper's Tables 1, 2, 3, 5 and 6 and its training times (B.3) with the paper's numbers beside ours.

    python -m report.tables runs --data_dir data --table 1 --format markdown

Table "released" sets the released models, decoded here, beside the numbers of their README. A mark beside a number
says that it is significantly better than what the paper compares with (paired bootstrap, p < 0.01). Table 6 needs
the articles: --data_dir.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from metrics.ngram_table import ORDERS, REFERENCE_ROW
from metrics.rouge import METRICS, F
from metrics.scores import Scores
from metrics.systems import lengths
from report.layout import FORMATS, Cell, Line, Section, Table, number
from report.paper_numbers import (
    HOURS_IN_ALL,
    REFERENCE_NOVELTY,
    STOP_WEIGHT,
    TRAINING,
    Novelty,
    RougeMeteor,
    Speed,
    Training,
)
from report.rows import (
    ABSTRACTIVE,
    ANONYMIZED,
    DUC,
    EXTRACTIVE,
    FLAT_ROW,
    MARKS,
    METRIC_LABELS,
    MODEL_LABELS,
    ORIGINAL,
    OTHERS,
    SIGNIFICANT,
    Agent,
    Row,
    quoted,
)
from report.runs import BATCHING, Reproduction, RunsFlags, Timing, TrainingCost
from support.errors import run
from support.flags import flag, parse

FULL_MODEL = ("abstractor", "rl")  # what the paper's training time is of
_ORIGINAL_CORPUS = "paper: CNN/Daily Mail"
_ALL = (*METRICS, "meteor")


def table_1(runs: Reproduction) -> Table:
    table = _scores_table(runs, "1", "Table 1", _ORIGINAL_CORPUS, ORIGINAL, _ALL)
    return table._replace(notes=[*table.notes, *_lengths(runs)])


def table_2(runs: Reproduction) -> Table:
    return _scores_table(runs, "2", "Table 2", "paper: anonymized CNN/Daily Mail", ANONYMIZED, METRICS)


def table_3(runs: Reproduction) -> Table:
    return _scores_table(runs, "3", "Table 3", "paper: DUC-2002", DUC, METRICS)


def released_table(runs: Reproduction) -> Table:
    """The numbers of the README are for test, or for val if that was decoded."""
    split = next((row.log.get("split") for name, row in runs.runs().items() if name.startswith("released")), "test")
    name = "released-val" if split == "val" else "released-test"
    table = _scores_table(runs, name, "Released models", f"README: CNN/Daily Mail {split}", ORIGINAL, _ALL)
    return table._replace(paper="README")


def _scores_table(
    runs: Reproduction, table: str, title: str, corpus: str, folder: str, metrics: Sequence[str]
) -> Table:
    rows = _shown(runs, table, folder)
    sections = []
    for heading in (EXTRACTIVE, ABSTRACTIVE, OTHERS):
        names = [name for name, row in rows.items() if row.section == heading]
        lines = [_scores_line(runs, name, table, folder, metrics) for name in names]
        sections += [Section(heading, lines)] if lines else []
    used = "".join(cell.marks for section in sections for line in section.lines for cell in line.ours)
    notes = [f"{mark} p < {SIGNIFICANT} against {meaning}" for mark, meaning in MARKS.items() if mark in used]
    if len(sections) == 1:
        sections = [sections[0]._replace(title="")]
    columns = [METRIC_LABELS[metric] for metric in metrics]
    notes += [*_left_out(runs, rows, folder), *_stop_weights(runs, folder)]
    return Table(f"{title} ({corpus}; {_measured_on(runs, folder, rows)})", columns, sections, notes)


def _shown(runs: Reproduction, table: str, folder: str = ORIGINAL) -> dict[str, Row]:
    """The rows of a table; outputs that are given stand there only if they are there."""
    rows = {name: row for name, row in runs.rows(folder).items() if table in row.tables}
    given = {name for name, row in rows.items() if not (row.made_by or row.quoted)}
    if given == rows.keys():
        return rows
    return {name: row for name, row in rows.items() if name not in given or runs.run(name, folder)}


def _left_out(runs: Reproduction, rows: Iterable[str], folder: str = ORIGINAL) -> list[str]:
    """What the table says of rows that could be made here and are not there."""
    known = runs.rows(folder)
    missing = [known[name].label for name in rows if known[name].made_by and not runs.run(name, folder)]
    return [f"Not evaluated here: {', '.join(missing)}."] if missing else []


def _scores_line(runs: Reproduction, row: str, table: str, folder: str, metrics: Sequence[str]) -> Line:
    label, known = runs.label(row, folder), runs.rows(folder)[row]
    numbers = quoted(table, RougeMeteor).get(row)
    paper = _quoted_scores(numbers, len(metrics))
    if known.quoted:
        return Line(label, [Cell("")] * len(metrics), paper)
    found = runs.run(row, folder)
    values = percent(found.scores) if found else {}
    ours = [number(values.get(name), 2, _marks(runs, row, folder, name) if values else "") for name in metrics]
    return Line(label, ours, paper)


def _quoted_scores(numbers: RougeMeteor | None, count: int) -> list[Cell]:
    if numbers is None:
        return [Cell()] * count
    digits = 1 if all(value is None or round(value, 1) == value for value in numbers) else 2  # as the paper has them
    return [number(value, digits) for value in numbers[:count]]


def percent(scores: Scores) -> dict[str, float]:
    """Metric -> value times 100, as the official tools print it."""
    values: dict[str, float] = {}
    if scores.rouge:
        values = {name: 100 * float(scores.rouge.averages.mean[m, F]) for m, name in enumerate(METRICS)}
    return values | ({"meteor": 100 * scores.meteor.score} if scores.meteor else {})


def _marks(runs: Reproduction, row: str, folder: str, metric: str) -> str:
    marks = ""
    for mark, others in runs.rows(folder)[row].better_than.items():
        found = runs.significance(row, runs.first_of(others, folder), folder) or {}
        marks += mark if metric in found and found[metric].p_a_better < SIGNIFICANT else ""
    return marks


def _lengths(runs: Reproduction) -> list[str]:
    """How long the summaries are of systems that decide it themselves."""
    parts = []
    for row, found in runs.runs().items():
        if isinstance(runs.rows()[row].made_by, Agent):
            words, sentences = lengths([*found.summaries.values()])
            parts.append(f"{runs.label(row)} {sentences:.2f} and {words:.1f}")
    return [f"Sentences and words an article: {'; '.join(parts)}."] if parts else []


def _stop_weights(runs: Reproduction, folder: str) -> list[str]:
    """Which agents did not learn with the paper's weight."""
    agents = {row: found for row in runs.runs(folder) if isinstance(found := runs.rows(folder)[row].made_by, Agent)}
    weights = {runs.label(row, folder): runs.stop_weight(agent.model, folder) for row, agent in agents.items()}
    return [
        f"{label}: the reward of stopping counts {weight:g} times (the paper: {STOP_WEIGHT:g})."
        for label, weight in weights.items()
        if weight not in (None, STOP_WEIGHT)
    ]


def _measured_on(runs: Reproduction, folder: str, rows: Iterable[str]) -> str:
    for row in rows:
        found = runs.run(row, folder)
        if found:
            return f"ours: {len(found.scores.ids):,} documents of {found.log.get('split', 'an unnamed split')}"
    return "ours: not evaluated"


def table_5(runs: Reproduction) -> Table:
    columns = ("total time", "words/s", "× in time", "× in words/s")
    numbers, slowest = quoted("5", Speed), runs.timing(FLAT_ROW)
    lines, notes = [], []
    for row, speed in numbers.items():
        label, timing = runs.label(row), runs.timing(row)
        lines.append(Line(label, _speed_cells(timing, slowest), _quoted_speed(speed, numbers[FLAT_ROW])))
        if timing and timing.extrapolated:
            notes.append(f"≈ {label}: extrapolated from the articles that its last run decoded")
        if timing and slowest and timing.processes != slowest.processes:
            notes.append(f"{label} ran in {timing.processes} processes, not {slowest.processes}")
    notes += ["In brackets: beam search + reranking.", f"Ours: {BATCHING}.", *_left_out(runs, numbers)]
    if runs.untrained_speed:
        notes.append("tables/speed.txt: against a pointer-generator with untrained weights.")
    title = f"Table 5: speed of decoding (paper: 11,490 documents; {_measured_on(runs, ORIGINAL, numbers)})"
    return Table(title, columns, [Section("", lines)], notes)


def _quoted_speed(speed: Speed, flat: Speed) -> list[Cell]:
    hours = f"{speed.hours:.3g} h"
    if speed.reranking_hours:
        hours = f"{speed.hours:.2f} h ({speed.hours - speed.reranking_hours:.2f} + {speed.reranking_hours:.2f})"
    return [
        Cell(hours),
        number(speed.words_per_second, 1),
        _ratio(flat.hours / speed.hours),
        _ratio(speed.words_per_second / flat.words_per_second),
    ]


def _speed_cells(timing: Timing | None, slowest: Timing | None) -> list[Cell]:
    if not timing:
        return [Cell()] * 4
    faster = [Cell()] * 2
    if slowest:
        faster = [_ratio(slowest.seconds / timing.seconds), _ratio(timing.words_per_second / slowest.words_per_second)]
    about = "≈ " if timing.extrapolated else ""
    parts = [timing.seconds - timing.reranking, timing.reranking]
    apart = f" ({' + '.join(map(_duration, parts))})" if timing.reranking else ""
    return [Cell(about + _duration(timing.seconds) + apart), number(timing.words_per_second, 1), *faster]


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.2f} h"


def _ratio(value: float) -> Cell:
    return Cell(f"{value:.1f}×")


def table_6(runs: Reproduction) -> Table:
    numbers = quoted("6", Novelty)
    rows = _shown(runs, "6")
    lines = [_novelty_line(runs, row, runs.label(row), numbers.get(row)) for row in rows]
    lines.append(_novelty_line(runs, REFERENCE_ROW, REFERENCE_ROW, REFERENCE_NOVELTY))
    notes = [] if runs.articles else ["Novel n-grams need the articles: give --data_dir."]
    title = f"Table 6: novel n-grams in percent ({_ORIGINAL_CORPUS}; {_measured_on(runs, ORIGINAL, rows)})"
    columns = [f"{order}-gram" for order in ORDERS]
    return Table(title, columns, [Section("", lines)], [*notes, *_left_out(runs, rows)])


def _novelty_line(runs: Reproduction, row: str, label: str, paper: Novelty | None) -> Line:
    ours, theirs = runs.novelty.get(row, [None] * len(ORDERS)), paper or [None] * len(ORDERS)
    return Line(label, [number(value, 1) for value in ours], [number(value, 1) for value in theirs])


def training_table(runs: Reproduction) -> Table:
    """B.3: time and memory of every training."""
    costs = {model: runs.training_cost(model) for model in MODEL_LABELS}
    lines = [_training_line(MODEL_LABELS[model], cost, TRAINING.get(model)) for model, cost in costs.items()]
    hours = [costs[model].hours for model in FULL_MODEL]
    in_all = sum(filter(None, hours)) if None not in hours else None
    total = TrainingCost(in_all, None, None, None)
    lines.append(_training_line("abstractor and RL in all", total, Training(HOURS_IN_ALL)))
    known = [cost for cost in costs.values() if cost.hours is not None or cost.updates is not None]
    title = f"Training (paper: B.3, one K40; ours: {len(known)} models)"
    notes = ["Memory is the peak of its process. The paper's hours of the pointer-generator are See et al.'s."]
    return Table(title, ("hours", "s/update", "updates", "GB"), [Section("", lines)], notes)


def _training_line(label: str, cost: TrainingCost, paper: Training | None) -> Line:
    updates = Cell() if cost.updates is None else Cell(f"{cost.updates:,}")
    ours = [number(cost.hours, 2), number(cost.seconds_an_update, 2), updates, number(cost.gigabytes, 1)]
    hours, seconds = paper or Training()
    return Line(label, ours, [number(hours, 2), number(seconds, 2), Cell(), Cell()])


TABLES: dict[str, Callable[[Reproduction], Table]] = {
    "1": table_1,
    "2": table_2,
    "3": table_3,
    "5": table_5,
    "6": table_6,
    "training": training_table,
    "released": released_table,
}
OF_THE_PAPER = ("1", "2", "3", "5", "6", "training")


@dataclass(frozen=True, kw_only=True)
class Flags(RunsFlags):
    table: tuple[str, ...] = flag(OF_THE_PAPER, "which table; repeatable", choices=TABLES, repeated=True)
    format: str = flag("terminal", "format of the tables", choices=FORMATS)


def main() -> None:
    flags = parse(Flags, __doc__ or "", prog="python -m report.tables")
    runs = flags.reproduction()
    texts = [FORMATS[flags.format](TABLES[name](runs)) for name in flags.table]
    print("\n\n".join(texts))


if __name__ == "__main__":
    run(main)

"""The paper's Tables 1, 2, 3, 5 and 6 with the paper's numbers beside ours.

    python -m report.tables runs --data_dir data --table 1 --format markdown

Table "released" sets the released models, decoded here, beside the numbers of their README. A mark beside a number
says that it is significantly better than what the paper compares with (paired bootstrap, p < 0.01). Table 6 needs
the articles: --data_dir.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from metrics.ngram_table import ORDERS
from metrics.rouge import METRICS, F
from metrics.scores import Scores
from report import paper_numbers
from report.layout import FORMATS, Cell, Line, Section, Table, number
from report.paper_numbers import RougeMeteor
from report.rows import ANONYMIZED, DUC, FLAT_ROWS, MARKS, METRIC_LABELS, ORIGINAL, ROWS, SIGNIFICANT
from report.runs import BATCHING, REFERENCE, Reproduction, Timing, command_line, reproduction
from support.errors import run

_ORIGINAL_CORPUS = "paper: CNN/Daily Mail"
_ALL = (*METRICS, "meteor")


def table_1(runs: Reproduction) -> Table:
    return _scores_table(runs, "Table 1", _ORIGINAL_CORPUS, ORIGINAL, _ALL, paper_numbers.TABLE_1)


def table_2(runs: Reproduction) -> Table:
    corpus = "paper: anonymized CNN/Daily Mail"
    return _scores_table(runs, "Table 2", corpus, ANONYMIZED, METRICS, paper_numbers.TABLE_2)


def table_3(runs: Reproduction) -> Table:
    return _scores_table(runs, "Table 3", "paper: DUC-2002", DUC, METRICS, paper_numbers.TABLE_3)


def released_table(runs: Reproduction) -> Table:
    """The numbers of the README are for test, or for val if that was decoded."""
    split = next((row.log.get("split") for name, row in runs.runs().items() if name.startswith("released")), "test")
    numbers = paper_numbers.RELEASED_VAL if split == "val" else paper_numbers.RELEASED_TEST
    table = _scores_table(runs, "Released models", f"README: CNN/Daily Mail {split}", ORIGINAL, _ALL, numbers)
    return table._replace(paper="README")


def _scores_table(
    runs: Reproduction, title: str, corpus: str, folder: str, metrics: Sequence[str], paper: Mapping[str, RougeMeteor]
) -> Table:
    sections = []
    for heading, abstractive in (("Extractive", False), ("Abstractive", True)):
        rows = [row for row in paper if ROWS[row].abstractive == abstractive]
        lines = [_scores_line(runs, row, folder, paper[row], metrics) for row in rows]
        sections += [Section(heading, lines)] if lines else []
    used = "".join(cell.marks for section in sections for line in section.lines for cell in line.ours)
    notes = [f"{mark} p < {SIGNIFICANT} against {meaning}" for mark, meaning in MARKS.items() if mark in used]
    if len(sections) == 1:
        sections = [sections[0]._replace(title="")]
    columns = [METRIC_LABELS[metric] for metric in metrics]
    return Table(f"{title} ({corpus}; {_measured_on(runs, folder, paper)})", columns, sections, notes)


def _scores_line(runs: Reproduction, row: str, folder: str, paper: RougeMeteor, metrics: Sequence[str]) -> Line:
    digits = 1 if all(value is None or round(value, 1) == value for value in paper) else 2  # as the paper has them
    quoted = [number(value, digits) for value in paper[: len(metrics)]]
    if ROWS[row].quoted:
        return Line(ROWS[row].label, [Cell("")] * len(metrics), quoted)
    found = runs.run(row, folder)
    values = percent(found.scores) if found else {}
    ours = [number(values.get(name), 2, _marks(runs, row, folder, name) if values else "") for name in metrics]
    return Line(ROWS[row].label, ours, quoted)


def percent(scores: Scores) -> dict[str, float]:
    """Metric -> value times 100, as the official tools print it."""
    values: dict[str, float] = {}
    if scores.rouge:
        values = {name: 100 * float(scores.rouge.averages.mean[m, F]) for m, name in enumerate(METRICS)}
    return values | ({"meteor": 100 * scores.meteor.score} if scores.meteor else {})


def _marks(runs: Reproduction, row: str, folder: str, metric: str) -> str:
    marks = ""
    for mark, other in ROWS[row].better_than.items():
        found = runs.significance(row, other, folder) or {}
        marks += mark if metric in found and found[metric].p_a_better < SIGNIFICANT else ""
    return marks


def _measured_on(runs: Reproduction, folder: str, rows: Mapping[str, object]) -> str:
    for row in rows:
        found = runs.run(row, folder)
        if found:
            return f"ours: {len(found.scores.ids):,} documents of {found.log.get('split', 'an unnamed split')}"
    return "ours: not evaluated"


def table_5(runs: Reproduction) -> Table:
    columns = ("total time", "words/s", "× in time", "× in words/s")
    flat, quoted_flat = runs.first_of(*FLAT_ROWS), paper_numbers.TABLE_5[FLAT_ROWS[0]]
    slowest = runs.timing(flat)
    lines, notes = [], []
    for row, quoted in paper_numbers.TABLE_5.items():
        ours = (flat or row) if row in FLAT_ROWS else row
        timing = runs.timing(ours)
        paper = [
            Cell(f"{quoted.hours:.3g} h"),
            number(quoted.words_per_second, 1),
            _ratio(quoted_flat.hours / quoted.hours),
            _ratio(quoted.words_per_second / quoted_flat.words_per_second),
        ]
        lines.append(Line(ROWS[ours].label, _speed_cells(timing, slowest), paper))
        if timing and timing.extrapolated:
            notes.append(f"≈ {ROWS[ours].label}: extrapolated from the articles that its last run decoded")
        if timing and slowest and timing.processes != slowest.processes:
            notes.append(f"{ROWS[ours].label} ran in {timing.processes} processes, not {slowest.processes}")
    notes.append(f"Ours: {BATCHING}.")
    title = f"Table 5: speed of decoding (paper: 11,490 documents; {_measured_on(runs, ORIGINAL, ROWS)})"
    return Table(title, columns, [Section("", lines)], notes)


def _speed_cells(timing: Timing | None, slowest: Timing | None) -> list[Cell]:
    if not timing:
        return [Cell()] * 4
    faster = [Cell()] * 2
    if slowest:
        faster = [_ratio(slowest.seconds / timing.seconds), _ratio(timing.words_per_second / slowest.words_per_second)]
    about = "≈ " if timing.extrapolated else ""
    return [Cell(about + _duration(timing.seconds)), number(timing.words_per_second, 1), *faster]


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.2f} h"


def _ratio(value: float) -> Cell:
    return Cell(f"{value:.1f}×")


def table_6(runs: Reproduction) -> Table:
    flat, lines = runs.first_of(*FLAT_ROWS), []
    for row, quoted in paper_numbers.TABLE_6.items():
        ours = (flat or row) if row in FLAT_ROWS else row
        values = runs.novelty.get(ours, [None] * len(ORDERS))
        label = "reference summaries" if row == REFERENCE else ROWS[ours].label
        lines.append(Line(label, [number(value, 1) for value in values], [number(value, 1) for value in quoted]))
    notes = [] if runs.articles else ["Novel n-grams need the articles: give --data_dir."]
    title = f"Table 6: novel n-grams in percent ({_ORIGINAL_CORPUS}; {_measured_on(runs, ORIGINAL, ROWS)})"
    return Table(title, [f"{order}-gram" for order in ORDERS], [Section("", lines)], notes)


TABLES: dict[str, Callable[[Reproduction], Table]] = {
    "1": table_1,
    "2": table_2,
    "3": table_3,
    "5": table_5,
    "6": table_6,
    "released": released_table,
}
OF_THE_PAPER = ("1", "2", "3", "5", "6")


def main() -> None:
    parser = command_line("tables", __doc__ or "")
    parser.add_argument("--table", action="append", choices=TABLES, help="repeatable (default: all of the paper)")
    parser.add_argument("--format", choices=FORMATS, default="terminal", help="(default %(default)s)")
    args = parser.parse_args()
    runs = reproduction(args)
    texts = [FORMATS[args.format](TABLES[name](runs)) for name in args.table or OF_THE_PAPER]
    print("\n\n".join(texts))


if __name__ == "__main__":
    run(main)

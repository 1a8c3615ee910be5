"""Tables of several systems that were measured on the same documents: text, CSV, LaTeX and one HTML page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from metrics.evaluation import WHY_TWO_MEANS
from metrics.ngram_table import ORDERS
from metrics.rouge import METRICS, F
from metrics.scores import RougeScores, Scores
from metrics.significance import Comparison
from metrics.systems import Measured
from report.html_page import html_page
from report.layout import BETTER, WORSE, Cell, Line, Section, Table, html, latex_float, number, tabular, terminal
from report.rows import METRIC_LABELS, SIGNIFICANT

_STYLE = Path(__file__).with_name("systems.css")
_FLAG = re.compile(r"--\w+ \w+")  # with its value, which a line end must not part


@dataclass(frozen=True)
class Evaluation:
    """All that is known of some systems: a row for each, the references' last."""

    rows: Sequence[Measured]
    against_first: Sequence[Sequence[Comparison]]  # of each further system, the first being a and it b
    samples: int
    references: str
    notes: Sequence[str] = field(default=())  # what was noticed

    @property
    def scored(self) -> list[tuple[Measured, Scores, Sequence[Comparison]]]:
        """The systems, with their comparisons: the first has none."""
        pairs = zip(self.rows, [(), *self.against_first, ()], strict=True)
        return [(row, row.scores, found) for row, found in pairs if row.scores]

    @property
    def subtitle(self) -> str:
        return f"{len(self.scored[0][1].ids):,} documents, references: {self.references}"


def tables(evaluation: Evaluation) -> list[Table]:
    found = [_scores(evaluation), _intervals(evaluation), _differences(evaluation), _lengths(evaluation)]
    found.append(_ngrams("Repeated n-grams, %", [(row.name, row.repeated) for row in evaluation.rows]))
    found.append(_ngrams("Novel n-grams, %", [(row.name, row.novel) for row in evaluation.rows]))
    return [table for table in found if table]


def _table(title: str, columns: Sequence[str], lines: Sequence[Line], note: str = "") -> Table | None:
    return Table(title, columns, [Section("", lines)], [note] if note else [], paper="") if lines else None


def _scores(evaluation: Evaluation) -> Table | None:
    lines = []
    for row, scores, comparisons in evaluation.scored:
        marks = {found.metric: _mark(found) for found in comparisons}
        values = {metric: scores.rouge.averages.mean[m, F] for m, metric in enumerate(METRICS) if scores.rouge}
        values |= {"meteor": scores.meteor.score} if scores.meteor else {}
        lines.append(Line(row.name, [_percent(values.get(name), marks.get(name, "")) for name in METRIC_LABELS]))
    first = evaluation.rows[0].name
    note = f"{BETTER} {WORSE} significantly better or worse than {first}, p < {SIGNIFICANT}."
    marked = any(cell.marks for line in lines for cell in line.ours)
    return _table("Scores: ROUGE F1 and METEOR", list(METRIC_LABELS.values()), lines, note if marked else "")


def _intervals(evaluation: Evaluation) -> Table | None:
    columns = [name for metric in METRICS for name in (METRIC_LABELS[metric], "95 %", "plain mean")]
    lines = [Line(row.name, _interval_cells(scores.rouge)) for row, scores, _ in evaluation.scored if scores.rouge]
    return _table("ROUGE F1: intervals and plain means", columns, lines, WHY_TWO_MEANS)


def _interval_cells(rouge: RougeScores) -> list[Cell]:
    cells = []
    for m in range(len(METRICS)):
        mean, low, high = (values[m, F] for values in rouge.averages)
        cells += [_percent(mean), Cell(f"{100 * low:.2f}-{100 * high:.2f}"), _percent(rouge.plain_mean[m, F])]
    return cells


def _differences(evaluation: Evaluation) -> Table | None:
    first, *others = evaluation.scored
    lines = [Line(row.name, [_difference(found, evaluation.samples) for found in each]) for row, _, each in others]
    columns = [METRIC_LABELS[found.metric] for found in evaluation.against_first[0]] if others else []
    note = (
        f"Paired bootstrap over documents, {evaluation.samples:,} samples, on plain means; p: the share of samples in "
        "which the system that is ahead is not."
    )
    return _table(f"Difference to {first[0].name}", columns, lines, note)


def _lengths(evaluation: Evaluation) -> Table | None:
    lines = [Line(row.name, [number(mean, 1) for mean in row.lengths]) for row in evaluation.rows]
    return _table("Lengths of summaries", ("words", "sentences"), lines)


def _ngrams(title: str, rows: Sequence[tuple[str, Sequence[float] | None]]) -> Table | None:
    lines = [Line(name, [number(share, 1) for share in shares]) for name, shares in rows if shares]
    return _table(title, [f"{order}-grams" for order in ORDERS], lines)


def _percent(value: float | None, mark: str = "") -> Cell:
    return number(None if value is None else 100 * value, 2, mark)


def _mark(found: Comparison) -> str:
    return BETTER if found.p_b_better < SIGNIFICANT else WORSE if found.p_a_better < SIGNIFICANT else ""


def _difference(found: Comparison, samples: int) -> Cell:
    p = min(found.p_a_better, found.p_b_better)
    shown = f"p = {p:.2g}" if p else f"p < {1 / samples:.1g}"
    return Cell(f"{100 * (found.b - found.a):+.2f} ({shown})", _mark(found))


def text(evaluation: Evaluation) -> str:
    head = [evaluation.subtitle, *(f"noticed: {note}" for note in evaluation.notes)]
    signatures = [f"{name}: {line}" for name, found in _signatures(evaluation) for line in found]
    return "\n\n".join(["\n".join(head), *map(terminal, tables(evaluation)), "\n".join(signatures)])


def _signatures(evaluation: Evaluation) -> list[tuple[str, list[str]]]:
    """Of each system, those of ROUGE and METEOR."""
    return [(row.name, [part.signature for part in (s.rouge, s.meteor) if part]) for row, s, _ in evaluation.scored]


def csv_table(evaluation: Evaluation) -> str:
    """A row for each system and one for the references; numbers between 0 and 1, percent only of n-grams."""
    found = {row.name: comparisons for row, _, comparisons in evaluation.scored}
    records = [_record(row, found.get(row.name, ())) for row in evaluation.rows]
    names = dict.fromkeys(name for record in records for name in record)
    file = io.StringIO()
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue()


def _record(row: Measured, comparisons: Sequence[Comparison]) -> dict[str, object]:
    record: dict[str, object] = {"system": row.name}
    if row.scores and row.scores.rouge:
        for m, metric in enumerate(METRICS):
            values = (*(part[m, F] for part in row.scores.rouge.averages), row.scores.rouge.plain_mean[m, F])
            names = (metric, f"{metric}_low", f"{metric}_high", f"{metric}_plain_mean")
            record |= {name: f"{value:.5f}" for name, value in zip(names, values, strict=True)}
    if row.scores and row.scores.meteor:
        record["meteor"] = f"{row.scores.meteor.score:.5f}"
    record |= {name: f"{value:.3f}" for name, value in row.lengths._asdict().items()}
    for name, shares in (("repeated", row.repeated), ("novel", row.novel)):
        record |= {f"{name}_{n}": f"{share:.3f}" for n, share in zip(ORDERS, shares or (), strict=False)}
    for found in comparisons:
        record |= {f"{found.metric}_p_better": found.p_b_better, f"{found.metric}_p_worse": found.p_a_better}
    return record


def latex(evaluation: Evaluation) -> str:
    """A table* with all tables."""
    shown = tables(evaluation)
    notes = [note for table in shown for note in table.notes]
    return latex_float([tabular(table) for table in shown], [f"{evaluation.subtitle}.", *notes]) + "\n"


def page(evaluation: Evaluation) -> str:
    notes = [_FLAG.sub(r"<b>\g<0></b>", escape(note)) for note in evaluation.notes]
    noticed = "".join(f"<li>{note}</li>" for note in notes)
    body = f'<ul class="noticed">{noticed}</ul>' if noticed else ""
    body += "".join(map(html, tables(evaluation)))
    signatures = ""
    for name, lines in _signatures(evaluation):
        signatures += f"<dt>{escape(name)}</dt>" + "".join(f"<dd><code>{escape(line)}</code></dd>" for line in lines)
    body += f"<h2>How the scores were made</h2><dl>{signatures}</dl>"
    title = " · ".join(row.name for row, _, _ in evaluation.scored)
    return html_page(title, evaluation.subtitle, f"<main>{body}</main>", _STYLE.read_text(encoding="utf-8"))


FORMATS: dict[str, Callable[[Evaluation], str]] = {"txt": text, "csv": csv_table, "tex": latex, "html": page}

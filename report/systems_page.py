"""Tables of several systems that were measured on the same documents: text, CSV, LaTeX and one HTML page."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple

from metrics.evaluation import WHY_TWO_MEANS
from metrics.ngram_table import ORDERS
from metrics.rouge import METRICS, F
from metrics.scores import RougeScores, Scores
from metrics.significance import Comparison
from metrics.systems import Measured
from report.layout import LATEX, MISSING
from report.rows import METRIC_LABELS, SIGNIFICANT

_TEMPLATE = Path(__file__).with_name("systems.html")
BETTER, WORSE = "↑", "↓"
_NARROW = 2  # columns that a telephone shows


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


class Cell(NamedTuple):
    text: str = MISSING
    mark: str = ""  # BETTER or WORSE


class Panel(NamedTuple):
    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    note: str = ""


def panels(evaluation: Evaluation) -> list[Panel]:
    found = [_scores(evaluation), _intervals(evaluation), _differences(evaluation), _lengths(evaluation)]
    found.append(_ngrams("Repeated n-grams, %", [(row.name, row.repeated) for row in evaluation.rows]))
    found.append(_ngrams("Novel n-grams, %", [(row.name, row.novel) for row in evaluation.rows]))
    return [panel for panel in found if panel.rows]


def _scores(evaluation: Evaluation) -> Panel:
    rows = []
    for row, scores, comparisons in evaluation.scored:
        marks = {found.metric: _mark(found) for found in comparisons}
        values = {metric: scores.rouge.averages.mean[m, F] for m, metric in enumerate(METRICS) if scores.rouge}
        values |= {"meteor": scores.meteor.score} if scores.meteor else {}
        rows.append((row.name, [_percent(values.get(metric), marks.get(metric, "")) for metric in METRIC_LABELS]))
    first = evaluation.rows[0].name
    note = f"{BETTER} {WORSE} significantly better or worse than {first}, p < {SIGNIFICANT}."
    marked = any(cell.mark for _, cells in rows for cell in cells)
    return Panel("Scores: ROUGE F1 and METEOR", list(METRIC_LABELS.values()), rows, note if marked else "")


def _intervals(evaluation: Evaluation) -> Panel:
    columns = [name for metric in METRICS for name in (METRIC_LABELS[metric], "95 %", "plain mean")]
    rows = [(row.name, _interval_cells(scores.rouge)) for row, scores, _ in evaluation.scored if scores.rouge]
    return Panel("ROUGE F1: intervals and plain means", columns, rows, WHY_TWO_MEANS)


def _interval_cells(rouge: RougeScores) -> list[Cell]:
    cells = []
    for m in range(len(METRICS)):
        mean, low, high = (values[m, F] for values in rouge.averages)
        cells += [_percent(mean), Cell(f"{100 * low:.2f}-{100 * high:.2f}"), _percent(rouge.plain_mean[m, F])]
    return cells


def _differences(evaluation: Evaluation) -> Panel:
    first, *others = evaluation.scored
    rows = [(row.name, [_difference(found, evaluation.samples) for found in found_all]) for row, _, found_all in others]
    columns = [METRIC_LABELS[found.metric] for found in evaluation.against_first[0]] if others else []
    note = (
        f"Paired bootstrap over documents, {evaluation.samples:,} samples, on plain means; p: the share of samples in "
        "which the system that is ahead is not."
    )
    return Panel(f"Difference to {first[0].name}", columns, rows, note)


def _lengths(evaluation: Evaluation) -> Panel:
    rows = [(row.name, [Cell(f"{mean:.1f}") for mean in row.lengths]) for row in evaluation.rows]
    return Panel("Lengths of summaries", ("words", "sentences"), rows)


def _ngrams(title: str, rows: Sequence[tuple[str, Sequence[float] | None]]) -> Panel:
    shown = [(name, [Cell(f"{share:.1f}") for share in shares]) for name, shares in rows if shares]
    return Panel(title, [f"{order}-grams" for order in ORDERS], shown)


def _percent(value: float | None, mark: str = "") -> Cell:
    return Cell() if value is None else Cell(f"{100 * value:.2f}", mark)


def _mark(found: Comparison) -> str:
    return BETTER if found.p_b_better < SIGNIFICANT else WORSE if found.p_a_better < SIGNIFICANT else ""


def _difference(found: Comparison, samples: int) -> Cell:
    p = min(found.p_a_better, found.p_b_better)
    shown = f"p = {p:.2g}" if p else f"p < {1 / samples:.1g}"
    return Cell(f"{100 * (found.b - found.a):+.2f} ({shown})", _mark(found))


def text(evaluation: Evaluation) -> str:
    lines = [evaluation.subtitle, *(f"noticed: {note}" for note in evaluation.notes)]
    for panel in panels(evaluation):
        lines += ["", panel.title]
        rows = [["", *(f"{name} " for name in panel.columns)]]
        rows += [[label, *(cell.text + (cell.mark or " ") for cell in cells)] for label, cells in panel.rows]
        width, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
        for label, *cells in rows:
            numbers = zip(cells, widths, strict=True)
            lines.append((f"{label:<{width}}" + "".join(f"  {cell:>{space}}" for cell, space in numbers)).rstrip())
        lines += [panel.note] if panel.note else []
    signatures = [f"{name}: {line}" for name, found in _signatures(evaluation) for line in found]
    return "\n".join([*lines, "", *signatures])


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
    """A table* with a tabular for each panel."""
    parts, notes = [], [f"{evaluation.subtitle}."]
    for panel in panels(evaluation):
        heads = [panel.title, *panel.columns]
        rows = [heads, *([label, *(cell.text + cell.mark for cell in cells)] for label, cells in panel.rows)]
        lines = [" & ".join(text.translate(LATEX) for text in row) + r" \\" for row in rows]
        lines[0] += r" \hline"
        body = "\n".join("  " + line for line in [r"\hline", *lines, r"\hline"])
        parts.append(f"\\begin{{tabular}}{{l{'r' * len(panel.columns)}}}\n{body}\n\\end{{tabular}}")
        notes += [panel.note] if panel.note else []
    caption = " ".join(notes).translate(LATEX)
    tabulars = "\n\n\\medskip\n".join(parts)
    return f"\\begin{{table*}}[t]\n\\centering\\small\n{tabulars}\n\\caption{{{caption}}}\n\\end{{table*}}\n"


def page(evaluation: Evaluation) -> str:
    noticed = "".join(f"<li>{escape(note)}</li>" for note in evaluation.notes)
    body = f'<ul class="noticed">{noticed}</ul>' if noticed else ""
    body += "".join(map(_html_panel, panels(evaluation)))
    signatures = ""
    for name, lines in _signatures(evaluation):
        signatures += f"<dt>{escape(name)}</dt>" + "".join(f"<dd><code>{escape(line)}</code></dd>" for line in lines)
    body += f"<h2>How the scores were made</h2><dl>{signatures}</dl>"
    title = " · ".join(row.name for row, _, _ in evaluation.scored)
    fields = {"title": escape(title), "subtitle": escape(evaluation.subtitle), "body": body}
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(fields)


def _html_panel(panel: Panel) -> str:
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in panel.columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th>{"".join(map(_html_cell, cells))}</tr>' for label, cells in panel.rows
    )
    note = f'<p class="note">{escape(panel.note)}</p>' if panel.note else ""
    hint = '<p class="hint">scroll sideways for all columns →</p>' if len(panel.columns) > _NARROW else ""
    table = f"<table><thead><tr><td></td>{names}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<h2>{escape(panel.title)}</h2>{hint}<div class="scroll" tabindex="0">{table}</div>{note}'


def _html_cell(cell: Cell) -> str:
    kind = {BETTER: "up", WORSE: "down"}.get(cell.mark, "missing" if cell.text == MISSING else "")
    return f'<td class="{kind}">{escape(cell.text)}{cell.mark}</td>'


FORMATS: dict[str, Callable[[Evaluation], str]] = {"txt": text, "csv": csv_table, "tex": latex, "html": page}

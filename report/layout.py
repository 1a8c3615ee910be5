"""Tables with the paper's numbers beside ours, as text for a terminal, Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

MISSING = "--"


class Cell(NamedTuple):
    text: str = MISSING
    marks: str = ""  # significance


class Line(NamedTuple):
    label: str
    ours: Sequence[Cell]
    paper: Sequence[Cell]


class Section(NamedTuple):
    title: str  # may be empty
    lines: Sequence[Line]


class Table(NamedTuple):
    title: str
    columns: Sequence[str]
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    paper: str = "paper"  # whose numbers stand beside ours


def number(value: float | None, digits: int, marks: str = "") -> Cell:
    return Cell() if value is None else Cell(f"{value:.{digits}f}", marks)


def terminal(table: Table) -> str:
    label_width = max(len(line.label) for section in table.sections for line in section.lines) + 4
    columns = list(_columns(table))
    widths = [max(len(name), *(len(cell.text) for cell in cells)) for name, cells in columns]
    marks = [max(len(cell.marks) for cell in cells) for _, cells in columns]
    spaces = [width + mark + 2 for width, mark in zip(widths, marks, strict=True)]

    def row(label: str, cells: Sequence[Cell]) -> str:
        parts = zip(cells, spaces, marks, strict=True)
        text = "".join(f"{cell.text:>{space - mark}}{cell.marks:<{mark}}" for cell, space, mark in parts)
        return f"{label:<{label_width}}{text}".rstrip()

    half = len(table.columns)
    groups = f"{'ours':>{sum(spaces[:half])}}{table.paper:>{sum(spaces[half:])}}"
    lines = [table.title, " " * label_width + groups, row("", [Cell(name) for name, _ in columns])]
    for section in table.sections:
        lines += [section.title] if section.title else []
        lines += [row("  " * bool(section.title) + line.label, [*line.ours, *line.paper]) for line in section.lines]
    return "\n".join([*lines, *table.notes])


def markdown(table: Table) -> str:
    names = [*table.columns, *(f"{table.paper} {name}" for name in table.columns)]
    lines = [f"**{table.title}**", "", f"| | {' | '.join(names)} |", f"|:--|{'--:|' * len(names)}"]
    for section in table.sections:
        lines += [f"| *{section.title}* |{' |' * len(names)}"] if section.title else []
        for line in section.lines:
            cells = [cell.text + cell.marks.replace("*", "\\*") for cell in [*line.ours, *line.paper]]
            lines.append(f"| {line.label} | {' | '.join(cells)} |")
    notes = [note.replace("*", "\\*") for note in table.notes]
    return "\n".join([*lines, *(f"\n{note}" for note in notes)])


LATEX = str.maketrans(
    {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "$": r"\$", "<": "$<$", ">": "$>$", "†": r"$\dagger$",
     "‡": r"$\ddagger$", "≈": r"$\approx$", "×": r"$\times$", "κ": r"$\kappa$", "↑": r"$\uparrow$",
     "↓": r"$\downarrow$", "{": r"\{", "}": r"\}", "\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
)  # fmt: skip


def latex(table: Table) -> str:
    half = len(table.columns)
    head = [rf"& \multicolumn{{{half}}}{{c|}}{{ours}} & \multicolumn{{{half}}}{{c|}}{{{table.paper}}} \\"]
    head.append(" & ".join(["", *2 * [name.translate(LATEX) for name in table.columns]]) + r" \\ \hline")
    body = []
    for section in table.sections:
        if section.title:
            body.append(rf"\multicolumn{{{2 * half + 1}}}{{|c|}}{{{section.title}}} \\ \hline")
        body += [_latex_line(line) for line in section.lines]
        body.append(r"\hline")
    caption = " ".join([f"{table.title}.", *table.notes]).translate(LATEX)
    columns = f"| l | {half * 'r '}| {half * 'r '}|"
    inner = "\n".join(["  " + line for line in [r"\hline", *head, *body]])
    return (
        "\\begin{table*}[t]\n\\centering\n"
        f"\\begin{{tabular}}{{{columns}}}\n{inner}\n\\end{{tabular}}\n\\caption{{{caption}}}\n\\end{{table*}}"
    )


def _latex_line(line: Line) -> str:
    cells = [cell.text.translate(LATEX) + _latex_marks(cell.marks) for cell in [*line.ours, *line.paper]]
    return " & ".join([line.label.translate(LATEX), *cells]) + r" \\"


def _latex_marks(marks: str) -> str:
    inner = marks.replace("†", r"\dagger").replace("‡", r"\ddagger")
    return f"$^{{{inner}}}$" if marks else ""


def html(table: Table) -> str:
    half = len(table.columns)
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in 2 * list(table.columns))
    groups = "".join(f'<th colspan="{half}" scope="colgroup">{escape(name)}</th>' for name in ("ours", table.paper))
    rows = []
    for section in table.sections:
        if section.title:
            title = f'<th colspan="{2 * half + 1}" scope="rowgroup">{escape(section.title)}</th>'
            rows.append(f'<tr class="section">{title}</tr>')
        rows += [_html_line(line) for line in section.lines]
    notes = "".join(f"<p>{escape(note)}</p>" for note in table.notes)
    return (
        f"<figure class='table'><figcaption>{escape(table.title)}</figcaption>"
        "<p class='hint' aria-hidden='true'>scroll sideways for all columns &rarr;</p>"
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(table.title)}'><table>"
        f"<thead><tr><td></td>{groups}</tr><tr><td></td>{names}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>{notes}</figure>"
    )


def _html_line(line: Line) -> str:
    cells = [_html_cell(cell, "ours") for cell in line.ours] + [_html_cell(cell, "paper") for cell in line.paper]
    return f'<tr><th scope="row">{escape(line.label)}</th>{"".join(cells)}</tr>'


def _html_cell(cell: Cell, group: str) -> str:
    marks = f"<sup>{cell.marks}</sup>" if cell.marks else ""
    return f'<td class="{"missing" if cell.text == MISSING else group}">{escape(cell.text)}{marks}</td>'


def _columns(table: Table) -> Iterator[tuple[str, list[Cell]]]:
    """Name and cells of every column of numbers, ours first."""
    lines = [[*line.ours, *line.paper] for section in table.sections for line in section.lines]
    for name, cells in zip(2 * list(table.columns), zip(*lines, strict=True), strict=True):
        yield name, list(cells)


FORMATS: dict[str, Callable[[Table], str]] = {"terminal": terminal, "markdown": markdown, "latex": latex}

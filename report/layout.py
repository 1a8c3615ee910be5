"""Tables, with the paper's numbers beside ours or without, as text for a terminal, Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

MISSING = "--"
BETTER, WORSE = "↑", "↓"
_NARROW = 2  # columns of numbers that a telephone shows


class Cell(NamedTuple):
    text: str = MISSING
    marks: str = ""  # significance


class Line(NamedTuple):
    label: str
    ours: Sequence[Cell]
    paper: Sequence[Cell] = ()

    @property
    def cells(self) -> list[Cell]:
        return [*self.ours, *self.paper]


class Section(NamedTuple):
    title: str  # may be empty
    lines: Sequence[Line]


class Table(NamedTuple):
    title: str
    columns: Sequence[str]
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    paper: str = "paper"  # whose numbers stand beside ours; empty if nobody's do

    @property
    def groups(self) -> Sequence[str]:
        return ("ours", self.paper) if self.paper else ("",)


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

    lines = [table.title]
    if table.paper:
        half = len(table.columns)
        lines.append(f"{'':{label_width}}{'ours':>{sum(spaces[:half])}}{table.paper:>{sum(spaces[half:])}}")
    lines.append(row("", [Cell(name) for name, _ in columns]))
    for section in table.sections:
        lines += [section.title] if section.title else []
        lines += [row("  " * bool(section.title) + line.label, line.cells) for line in section.lines]
    return "\n".join([*lines, *table.notes])


def markdown(table: Table) -> str:
    names = [*table.columns, *(f"{group} {name}" for group in table.groups[1:] for name in table.columns)]
    lines = [f"**{table.title}**", "", f"| | {' | '.join(names)} |", f"|:--|{'--:|' * len(names)}"]
    for section in table.sections:
        lines += [f"| *{section.title}* |{' |' * len(names)}"] if section.title else []
        for line in section.lines:
            cells = [cell.text + cell.marks.replace("*", "\\*") for cell in line.cells]
            lines.append(f"| {line.label} | {' | '.join(cells)} |")
    notes = [note.replace("*", "\\*") for note in table.notes]
    return "\n".join([*lines, *(f"\n{note}" for note in notes)])


_MARKS = {"†": r"\dagger", "‡": r"\ddagger", BETTER: r"\uparrow", WORSE: r"\downarrow"}
LATEX = str.maketrans(
    {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "$": r"\$", "<": "$<$", ">": "$>$", "≈": r"$\approx$",
     "×": r"$\times$", "κ": r"$\kappa$", "{": r"\{", "}": r"\}", "\\": r"\textbackslash{}", "^": r"\^{}",
     "~": r"\~{}", **{mark: f"${command}$" for mark, command in _MARKS.items()}}
)  # fmt: skip


def latex(table: Table) -> str:
    return latex_float([tabular(table)], [f"{table.title}.", *table.notes])


def latex_float(tabulars: Sequence[str], caption: Sequence[str]) -> str:
    size = r"\small" if len(tabulars) > 1 else ""
    body, text = "\n\n\\medskip\n".join(tabulars), " ".join(caption).translate(LATEX)
    return f"\\begin{{table*}}[t]\n\\centering{size}\n{body}\n\\caption{{{text}}}\n\\end{{table*}}"


def tabular(table: Table) -> str:
    """With its title in the corner where no other numbers stand beside ours."""
    width, groups = len(table.columns), table.groups
    heads = [rf" & \multicolumn{{{width}}}{{c|}}{{{group.translate(LATEX)}}}" for group in groups if group]
    lines = ["".join(heads) + r" \\"] if heads else []
    names = ["" if heads else table.title, *len(groups) * list(table.columns)]
    lines.append(" & ".join(name.translate(LATEX) for name in names) + r" \\ \hline")
    for section in table.sections:
        if section.title:
            lines.append(rf"\multicolumn{{{width * len(groups) + 1}}}{{|c|}}{{{section.title}}} \\ \hline")
        lines += [_latex_line(line) for line in section.lines]
        lines.append(r"\hline")
    inner = "\n".join(f"  {line.lstrip()}" for line in [r"\hline", *lines])
    columns = "| l |" + f" {width * 'r '}|" * len(groups)
    return f"\\begin{{tabular}}{{{columns}}}\n{inner}\n\\end{{tabular}}"


def _latex_line(line: Line) -> str:
    cells = [cell.text.translate(LATEX) + _latex_marks(cell.marks) for cell in line.cells]
    return " & ".join([line.label.translate(LATEX), *cells]) + r" \\"


def _latex_marks(marks: str) -> str:
    return f"$^{{{''.join(_MARKS.get(mark, mark) for mark in marks)}}}$" if marks else ""


def html(table: Table) -> str:
    width, groups = len(table.columns), table.groups
    heads = "".join(f'<th colspan="{width}" scope="colgroup">{escape(group)}</th>' for group in groups if group)
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in len(groups) * list(table.columns))
    rows = []
    for section in table.sections:
        if section.title:
            title = f'<th colspan="{width * len(groups) + 1}" scope="rowgroup">{escape(section.title)}</th>'
            rows.append(f'<tr class="section">{title}</tr>')
        rows += [_html_line(line) for line in section.lines]
    notes = "".join(f"<p>{escape(note)}</p>" for note in table.notes)
    hint = "<p class='hint' aria-hidden='true'>scroll sideways for all columns &rarr;</p>"
    return (
        f"<figure class='table'><figcaption>{escape(table.title)}</figcaption>"
        f"{hint if width * len(groups) > _NARROW else ''}"
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(table.title)}'><table>"
        f"<thead>{f'<tr><td></td>{heads}</tr>' if heads else ''}<tr><td></td>{names}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>{notes}</figure>"
    )


def _html_line(line: Line) -> str:
    cells = [_html_cell(cell, "ours" if line.paper else "") for cell in line.ours]
    cells += [_html_cell(cell, "paper") for cell in line.paper]
    return f'<tr><th scope="row">{escape(line.label)}</th>{"".join(cells)}</tr>'


def _html_cell(cell: Cell, group: str) -> str:
    marks = f"<sup>{cell.marks}</sup>" if cell.marks else ""
    kind = "missing" if cell.text == MISSING else {BETTER: "better", WORSE: "worse"}.get(cell.marks, group)
    return f'<td class="{kind}">{escape(cell.text)}{marks}</td>'


def _columns(table: Table) -> Iterator[tuple[str, list[Cell]]]:
    """Name and cells of every column of numbers, ours first."""
    lines = [line.cells for section in table.sections for line in section.lines]
    for name, cells in zip(len(table.groups) * list(table.columns), zip(*lines, strict=True), strict=True):
        yield name, list(cells)


FORMATS: dict[str, Callable[[Table], str]] = {"terminal": terminal, "markdown": markdown, "latex": latex}

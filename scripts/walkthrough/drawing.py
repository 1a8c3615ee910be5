"""What becomes of a word, as a drawing: a row for each word, a column for each form that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from scripts.walkthrough.example import Journey

COLUMNS = (
    ("text", "in the summary"),
    ("lexicon id", "the data set's number"),
    ("model id", "what is embedded"),
    ("extended id", "the target"),
    ("text", "what is printed"),
)
NOTES = ("in the vocabulary", "only in the source", "in neither")
_BOX, _GAP, _ROW, _TOP, _LEFT = 138, 30, 74, 62, 8
_WIDTH = _LEFT * 2 + len(COLUMNS) * _BOX + (len(COLUMNS) - 1) * _GAP
_STYLE = """text { font: 15px system-ui, sans-serif; fill: #222; text-anchor: middle }
.small { font-size: 11px; fill: #555 } .head { font-weight: 600 } .id { font-family: ui-monospace, monospace }
rect { fill: #fff; stroke: #456; rx: 6px } .lost { fill: #fbe3df } .copied { fill: #e2f0e4 }
path { stroke: #456; fill: none }
"""


def word_drawing(journeys: Sequence[Journey]) -> str:
    height = _TOP + _ROW * len(journeys)
    heads = [
        f'<text class="head" x="{_centre(i)}" y="20">{title}</text>'
        f'<text class="small" x="{_centre(i)}" y="38">{note}</text>'
        for i, (title, note) in enumerate(COLUMNS)
    ]
    rows = [_row(journey, note, _TOP + _ROW * i) for i, (journey, note) in enumerate(zip(journeys, NOTES, strict=True))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'aria-label="What becomes of a word">\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect x="0" y="0" width="{_WIDTH}" height="{height}" style="stroke: none"/>\n'
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0 0 L7 4 L0 8"/></marker></defs>\n' + "\n".join([*heads, *rows]) + "\n</svg>\n"
    )


def _row(journey: Journey, note: str, y: int) -> str:
    known = journey.model_id == journey.extended_id
    kind = "lost" if journey.replaced else "" if known else "copied"
    forms = [
        (journey.word, note, ""),
        (str(journey.lexicon_id), "", ""),
        (str(journey.model_id), "" if known and not kind else "UNK", "lost" if kind else ""),
        (str(journey.extended_id), {"lost": "UNK", "copied": "V and above"}.get(kind, "the model id"), kind),
        (journey.text, {"lost": "the word attended most"}.get(kind, "the same word"), kind),
    ]
    boxes = [_box(i, y, *form, code=0 < i < len(COLUMNS) - 1) for i, form in enumerate(forms)]
    arrows = [
        f'<path d="M{_edge(i) + _BOX + 3} {y + 24} h{_GAP - 8}" marker-end="url(#tip)"/>' for i in range(len(forms) - 1)
    ]
    return "\n".join(boxes + arrows)


def _box(column: int, y: int, text: str, note: str, kind: str, code: bool) -> str:
    middle = _centre(column)
    return (
        f'<rect class="{kind}" x="{_edge(column)}" y="{y}" width="{_BOX}" height="48"/>'
        f'<text class="{"id" if code else "word"}" x="{middle}" y="{y + 21}">{escape(text)}</text>'
        f'<text class="small" x="{middle}" y="{y + 38}">{escape(note)}</text>'
    )


def _edge(column: int) -> int:
    return _LEFT + column * (_BOX + _GAP)


def _centre(column: int) -> int:
    return _edge(column) + _BOX // 2

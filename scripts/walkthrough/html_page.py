"""docs/walkthrough.html: the same in two columns, text beside code. No script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from scripts.walkthrough.code import code_of
from scripts.walkthrough.colours import coloured
from scripts.walkthrough.document import Document
from scripts.walkthrough.markdown import see_also
from scripts.walkthrough.source_text import ROOT, Block, Difference, Drawing, Example, Heading, Place, Prose
from scripts.walkthrough.to_html import inline, to_html
from support.web_page import FOOT, head

STYLE = ROOT / "docs/walkthrough/style.css"


def html_page(document: Document) -> str:
    title = next(block.title for block in document.blocks if isinstance(block, Heading))
    rows = "\n".join(_row(document, row) for row in _rows(document.blocks))
    written_by = "<!-- Written by `python -m scripts.walkthrough`: do not edit. -->"
    body = f"{written_by}\n{_contents(document.blocks)}\n<main>\n{rows}\n</main>"
    return head(title, STYLE.read_text(encoding="utf-8")) + body + FOOT


def _contents(blocks: Sequence[Block]) -> str:
    links = [
        f'<a class="level{block.level}" href="#{block.slug}">{inline(block.title)}</a>'
        for block in blocks
        if isinstance(block, Heading) and block.level > 1
    ]
    return f"<nav>{''.join(links)}</nav>"


def _rows(blocks: Sequence[Block]) -> list[list[Block]]:
    """A row ends at the next heading, or, once it has code, at the next prose: numbers and notes stay beside it."""
    rows: list[list[Block]] = [[]]
    for block in blocks:
        ended = any(isinstance(earlier, Place) and earlier.shown for earlier in rows[-1])
        if isinstance(block, Heading) or (ended and isinstance(block, Prose)):
            rows.append([])
        rows[-1].append(block)
    return [row for row in rows if row]


def _row(document: Document, blocks: list[Block]) -> str:
    places = [block for block in blocks if isinstance(block, Place) and block.shown]
    text = "\n".join(_text(document, block) for block in blocks if block not in places)
    code = "\n".join(map(_code, places))
    if not code:
        return f'<section class="wide">\n{text}\n</section>'
    return f'<section>\n<div class="text">\n{text}\n</div>\n<div class="code">\n{code}\n</div>\n</section>'


def _text(document: Document, block: Block) -> str:
    if isinstance(block, Heading):
        return f'<h{block.level} id="{block.slug}">{inline(block.title)}</h{block.level}>'
    if isinstance(block, Prose):
        return to_html(block.text)
    if isinstance(block, Example):
        return f'<div class="example">\n{to_html(document.example[block.name])}\n</div>'
    if isinstance(block, Difference):
        return to_html(document.differences[block.what])
    if isinstance(block, Drawing):
        return f"<figure>\n{document.drawing}</figure>"
    return to_html(see_also(block))


def _code(place: Place) -> str:
    return "\n".join(
        f'<figure><figcaption><a href="../{anchor.file}">{escape(str(anchor))}</a> <span>{escape(place.paper)}</span>'
        f"</figcaption><pre><code>{coloured(code_of(anchor))}</code></pre></figure>"
        for anchor in place.anchors
    )

"""docs/WALKTHROUGH.md: the text with code, numbers and differences in their places."""

from __future__ import annotations

from scripts.walkthrough.code import code_of
from scripts.walkthrough.document import Document
from scripts.walkthrough.source_text import Block, Difference, Drawing, Example, Heading, Place, Prose

NOTE = "<!-- Written by `python -m scripts.walkthrough` from docs/walkthrough/text.md and the code: do not edit. -->"


def markdown(document: Document) -> str:
    paragraphs = (text for block in document.blocks for text in _paragraphs(document, block))
    return "\n\n".join([NOTE, *paragraphs]) + "\n"


def _paragraphs(document: Document, block: Block) -> list[str]:
    if isinstance(block, Heading):
        return [f"{'#' * block.level} {block.title}"]
    if isinstance(block, Prose):
        return [block.text]
    if isinstance(block, Example):
        return ["**Example**", document.example[block.name]]
    if isinstance(block, Difference):
        return [document.differences[block.what]]
    if isinstance(block, Drawing):
        return ["![What becomes of a word: text, lexicon id, model id, extended id, text](walkthrough/word.svg)"]
    return _code(block) if block.shown else [see_also(block)]


def see_also(place: Place) -> str:
    """A place whose code is not shown."""
    links = ", ".join(f"[`{anchor}`](../{anchor.file})" for anchor in place.anchors)
    return f"- *See also* ({place.paper}): {place.what}, {links}"


def _code(place: Place) -> list[str]:
    shown = []
    for anchor in place.anchors:
        shown.append(f"{place.paper}: {place.what}, [`{anchor}`](../{anchor.file})")
        shown.append(f"```python\n{code_of(anchor)}\n```")
    return shown

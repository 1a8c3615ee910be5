"""All that the pages are made of."""

from __future__ import annotations

import re
from typing import NamedTuple

from scripts.walkthrough.code import check
from scripts.walkthrough.differences import differences
from scripts.walkthrough.drawing import word_drawing
from scripts.walkthrough.example import worked_example
from scripts.walkthrough.source_text import TEXT, Block, Place, parse


class Document(NamedTuple):
    blocks: list[Block]
    example: dict[str, str]  # Markdown by name
    differences: dict[str, str]  # Markdown by what differs
    drawing: str  # SVG


def read_document() -> Document:
    text = TEXT.read_text(encoding="utf-8")
    for block in parse(text):  # before the example, which takes a while
        if isinstance(block, Place):
            for anchor in block.anchors:
                check(anchor)
    example, facts, journeys = worked_example()
    blocks = parse(re.sub(r"\{\{(\w+)\}\}", lambda fact: str(facts[fact[1]]), text))
    return Document(blocks, example, differences(), word_drawing(journeys))

"""The generated files by path."""

from __future__ import annotations

from scripts.walkthrough.document import Document
from scripts.walkthrough.html_page import html_page
from scripts.walkthrough.markdown import markdown
from scripts.walkthrough.paper_map import paper_map


def pages_of(document: Document) -> dict[str, str]:
    return {
        "docs/WALKTHROUGH.md": markdown(document),
        "docs/walkthrough.html": html_page(document),
        "docs/walkthrough/word.svg": document.drawing,
        "docs/PAPER_MAP.md": paper_map(document.blocks),
    }

"""docs/PAPER_MAP.md: section and equation -> file and symbol."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.walkthrough.source_text import Block, Heading, Place

HEAD = """# The paper, section by section, and where it lives here

Written by `python -m scripts.walkthrough` from the anchors of [the walkthrough](WALKTHROUGH.md), which explains them.
Numbers of equations: 1-2 pointer, 3-5 glimpse, 6 proxy label, 7 step reward, 8 policy gradient; supplement: 9 return,
10-12 gradient estimates, 13-14 ff-ext.
"""


def paper_map(blocks: Sequence[Block]) -> str:
    lines, chapter = [HEAD], ""
    for block in blocks:
        if isinstance(block, Heading) and block.level == 2:
            chapter = block.title
        if isinstance(block, Place):
            if chapter:
                lines += ["", f"## {chapter}", "| paper | what | here |", "|---|---|---|"]
                chapter = ""
            here = ", ".join(f"`{anchor}`" for anchor in block.anchors)
            lines.append(f"| {block.paper} | {block.what} | {here} |")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"

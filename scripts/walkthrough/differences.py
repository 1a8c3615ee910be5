"""Rows of docs/DEVIATIONS.md, where the walkthrough quotes them."""

from __future__ import annotations

import re

from scripts.walkthrough.source_text import ROOT, Heading

DEVIATIONS = ROOT / "docs/DEVIATIONS.md"
SECTIONS = {
    "From the paper": "Differs from the paper",
    "From the released code": "Differs from the release",
    "Decode scripts and their files": "Differs from the release",
    "Data preparation": "In data preparation",
}


def differences() -> dict[str, str]:
    """One Markdown paragraph for each row, by its first cell."""
    found: dict[str, str] = {}
    section, header = Heading(2, ""), None
    for line in DEVIATIONS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section, header = Heading(2, line[3:]), None
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells or set(cells[0]) <= {"-"}:
            continue
        if header is None:
            header = cells
            continue
        what, *rest, _test = cells
        text = "; ".join(f"*{name}:* {cell}" for name, cell in zip(header[1:-1], rest, strict=True))
        link = f"[{SECTIONS[section.title]}](DEVIATIONS.md#{section.slug})"
        found[what] = f"> **{link}: {what}.** {text}."
    return found

"""Writes docs/WALKTHROUGH.md, docs/walkthrough.html, its drawing, and docs/PAPER_MAP.md.

    python -m scripts.walkthrough
"""

from __future__ import annotations

from scripts.walkthrough.document import read_document
from scripts.walkthrough.pages import pages_of
from scripts.walkthrough.source_text import ROOT
from support.files import atomic_file


def main() -> None:
    for path, text in pages_of(read_document()).items():
        with atomic_file(ROOT / path) as file:
            file.write(text)
        print(path)


if __name__ == "__main__":
    main()

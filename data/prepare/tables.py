"""manifest.tsv (split, index, id, url) and left_out.tsv (split, id, url, reason): what went where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from support.files import atomic_file

MANIFEST = "manifest.tsv"
LEFT_OUT = "left_out.tsv"
_HEADERS = {MANIFEST: ("split", "index", "id", "url"), LEFT_OUT: ("split", "id", "url", "reason")}


def replace_rows(path: Path, split: str, rows: Sequence[Sequence[str]]) -> None:
    """Puts the rows of one split in place of those that the table has; the other splits stay."""
    kept = [row for row in read_rows(path) if row[0] != split]
    with atomic_file(path) as file:
        for row in [_HEADERS[path.name], *kept, *((split, *row) for row in rows)]:
            file.write("\t".join(" ".join(cell.split()) for cell in row) + "\n")


def read_rows(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    return [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line]

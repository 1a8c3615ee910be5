"""manifest.tsv (split, index, id, url) and left_out.tsv (split, id, url, reason): what went where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from support.errors import UserError
from support.files import atomic_file, open_file

MANIFEST = "manifest.tsv"
LEFT_OUT = "left_out.tsv"
_HEADERS = {MANIFEST: ("split", "index", "id", "url"), LEFT_OUT: ("split", "id", "url", "reason")}


def replace_rows(path: Path, split: str, rows: Sequence[Sequence[str]]) -> None:
    """Puts the rows of one split in place of those that the table has; the other splits stay."""
    kept = [row for row in read_rows(path) if row[0] != split]
    with atomic_file(path) as file:
        for row in [_HEADERS[path.name], *kept, *((split, *row) for row in rows)]:
            file.write("\t".join(map(_cell, row)) + "\n")


def read_rows(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    try:
        with open_file(path, encoding="utf-8") as file:
            return [line.split("\t") for line in file.read().split("\n")[1:] if line]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not a readable table ({error}); move it away") from None


def _cell(text: str) -> str:
    """On one line, and with question marks for what UTF-8 cannot hold."""
    return " ".join(text.split()).encode("utf-8", "replace").decode()

"""Digests of files by name and content, wherever they lie and whenever they were written.

Contents are read once: <runs>/stages/.digests.json keeps what they gave as long as size and time stay.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.stage import matches
from support.errors import UserError
from support.files import open_file, read_json, write_json

_BLOCK = 1 << 20


class Digests:
    def __init__(self, folder: Path) -> None:
        self._path = folder / ".digests.json"
        self._kept = _kept_before(self._path)
        self._fresh: dict[str, str] = {}  # pattern -> digest, until files may have changed

    def of(self, pattern: str) -> str:
        """Empty if nothing matches."""
        if pattern not in self._fresh:
            looks = _look(pattern)
            known = self._kept.get(pattern)
            if not known or known[0] != looks:
                self._kept[pattern] = [looks, _read(pattern)]
            self._fresh[pattern] = self._kept[pattern][1]
        return self._fresh[pattern]

    def look_again(self) -> None:
        """Files may have changed since."""
        self._fresh.clear()

    def save(self) -> None:
        write_json(self._path, self._kept)


def _kept_before(path: Path) -> dict[str, Any]:
    """A damaged file costs no more than reading all again."""
    try:
        kept = read_json(path) if path.is_file() else {}
    except UserError:
        return {}
    whole = isinstance(kept, dict) and all(isinstance(pair, list) and len(pair) == 2 for pair in kept.values())
    return kept if whole else {}


def _look(pattern: str) -> str:
    """Changes when a file appears, goes or is written."""
    digest = hashlib.blake2b(digest_size=12)
    for name, file in _files(pattern):
        status = file.stat()
        digest.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _read(pattern: str) -> str:
    digest, n = hashlib.blake2b(digest_size=12), 0
    for n, (name, file) in enumerate(_files(pattern), 1):  # noqa: B007
        digest.update(f"{name} {file.stat().st_size}\n".encode("utf-8", "surrogateescape"))
        with open_file(file.path if isinstance(file, os.DirEntry) else file, "rb") as content:
            while block := content.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest() if n else ""


def _files(pattern: str) -> Iterator[tuple[str, os.DirEntry[str] | Path]]:
    """All files under what matches, named from there on; hidden ones are left out."""
    for match in matches(pattern):
        if match.is_dir():
            yield from _walk(str(match), match.name)
        else:
            yield match.name, match


def _walk(folder: str, name: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from _walk(entry.path, f"{name}/{entry.name}")
            else:
                yield f"{name}/{entry.name}", entry

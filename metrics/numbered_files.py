"""The numbered files of a folder, under any naming that pyrouge can be told: 000000_decoded.txt, 7.txt, news.B.007.ref.

Names differ in a number, and in a capital letter where a document has several references.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from support.errors import UserError

_NUMBER = re.compile(r"\d+", re.ASCII)
_LETTER = re.compile(r"(?:^|(?<=[._-]))[A-Z][._-]")
_NO_TEXTS = {".jsonl", ".csv", ".tsv", ".xml", ".html", ".tex", ".log", ".png", ".pdf", ".pt", ".pkl"}


def numbered_files(folder: Path, marks: Sequence[str]) -> dict[int, list[Path]]:
    """Number -> its files, names sorted. Of several namings the one that has a mark, such as "dec", is taken."""
    namings: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if _NUMBER.search(path.name) and not path.name.startswith(".") and path.suffix not in _NO_TEXTS:
            namings.setdefault(_NUMBER.sub("#", _LETTER.sub("", path.name)), []).append(path)
    paths = _choose(folder, namings, marks)
    numbers = [[int(number) for number in _NUMBER.findall(path.name)] for path in paths]
    varying = [column for column, values in enumerate(zip(*numbers, strict=True)) if len(set(values)) > 1]
    if len(varying) > 1:
        raise UserError(f"{folder}: which number of {paths[-1].name} is the document's? keep one number in the names")
    column = varying[0] if varying else -1
    files: dict[int, list[Path]] = {}
    for path, found in zip(paths, numbers, strict=True):
        files.setdefault(found[column], []).append(path)
    for number, same in files.items():
        if len(same) > 1 and not all(_LETTER.search(path.name) for path in same):
            raise UserError(f"{folder} holds both {same[0].name} and {same[1].name} for number {number}: keep one")
    return dict(sorted(files.items()))


def _choose(folder: Path, namings: dict[str, list[Path]], marks: Sequence[str]) -> list[Path]:
    """A file that is alone under its naming is beside the point where another naming has several."""
    marked = {naming for naming in namings if any(mark in naming.lower() for mark in marks)}
    kept = [paths for naming, paths in namings.items() if naming in (marked or namings)]
    kept = [paths for paths in kept if len(paths) > 1] or kept
    if not kept:
        raise UserError(f"{folder} holds no numbered file such as 0.txt, 000000_{marks[0]}.txt or 0.{marks[0]}")
    if len(kept) > 1:
        first, second = (paths[0].name for paths in kept[:2])
        advice = "move the ones you mean into a folder of their own"
        raise UserError(f"{folder} names files in several ways ({first}, {second}): {advice}")
    return kept[0]

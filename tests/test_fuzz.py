"""Files that are cut, flipped, nested, missing, folders or pipes: the table of tests/fuzz with a fixed seed."""

from __future__ import annotations

import json
import os

import pytest
from fuzz import table
from fuzz.rows import ROWS
from fuzz.table import cells, explore
from hypothesis import Phase

from support.errors import UserError

CELLS = {cell.name: cell for cell in cells(ROWS)}


@pytest.mark.parametrize("name", CELLS)
def test_a_damaged_file_is_survived_or_named(name):
    assert explore(CELLS[name]) > 0


def plain_json(path):
    try:
        return json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: {error}") from None


DEFECTS = {  # what is put back -> where, and the cell that must find it
    "a pipe is waited for": ("support.files._open_at_once", os.open, "count_words | article | fifo"),
    "a store is trusted if it has its meta.json": (
        "data.store_build.is_current",
        lambda folder, fingerprint: (folder / "meta.json").exists(),
        "open a store | store: words | random bytes",
    ),
    "a record is taken for a dict": (
        "data.prepare.writing._read_record",
        lambda out: dict(plain_json(out / "prepared.json")),
        "prepare jsonl | record | other type",
    ),
    "a table is taken for UTF-8": (
        "data.prepare.tables.read_rows",
        lambda path: [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line],
        "prepare jsonl | manifest | random bytes",
    ),
    "only bad syntax is bad JSON": ("data.articles.read_json", plain_json, "check | article | huge number"),
    "a broken archive is an OSError": (
        "data.prepare.jsonl.zlib.error",
        OSError,
        "prepare jsonl | jsonl.gz | bytes flipped",
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_that_is_put_back_is_found(defect, monkeypatch):
    target, replacement, name = DEFECTS[defect]
    explore(CELLS[name])
    monkeypatch.setattr(target, replacement)
    monkeypatch.setattr(table, "PATIENCE", 1)
    monkeypatch.setattr(table, "PHASES", (Phase.generate,))
    with pytest.raises(Exception):  # noqa: B017
        explore(CELLS[name], seconds=20)

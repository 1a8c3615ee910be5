"""Files that are cut, flipped, nested, missing, folders or pipes: the table of tests/fuzz with a fixed seed."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest
from fuzz import table
from fuzz.rows import ROWS, WITHOUT_ROWS
from fuzz.table import Hang, cells, ends_well, explore, sampled
from hypothesis import Phase

from checkpoints.released_names import from_released
from eval_baselines import write_summaries
from metrics.summaries import with_references
from support.errors import UserError

ROOT = Path(__file__).parents[1]
CELLS = {cell.name: cell for cell in cells(ROWS)}


@pytest.mark.parametrize("name", [cell.name for cell in sampled(list(CELLS.values()))])
def test_a_damaged_file_is_survived_or_named(name):
    assert explore(CELLS[name]) > 0


def test_every_command_has_a_row_or_a_reason():
    files = [path.relative_to(ROOT) for path in (*ROOT.glob("*.py"), *ROOT.glob("[a-z]*/**/*.py"))]
    begun = [path for path in files if path.name == "__main__.py" or "\nif __name__ ==" in (ROOT / path).read_text()]
    commands = {".".join(path.with_suffix("").parts).removesuffix(".__main__") for path in begun}
    commands = {name for name in commands if not name.startswith("tests.")}
    rowed = {row.command.split()[0].rstrip(",") for row in ROWS} - {"data.store"}
    assert rowed.isdisjoint(WITHOUT_ROWS) and commands == rowed | WITHOUT_ROWS.keys()


def plain_json(path):
    try:
        return json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: {error}") from None


def write_first(summaries, sentences, references):
    write_summaries(summaries, sentences.with_name("output_top1"))
    return with_references(summaries, sentences, references)


DEFECTS = {  # what is put back -> where, and the cell that must find it
    "a pipe is waited for": ("support.files._open_at_once", os.open, "data.count_words | article | fifo"),
    "a store is trusted if it has its meta.json": (
        "data.store_build.is_current",
        lambda folder, fingerprint: (folder / "meta.json").exists(),
        "data.store | store: words | random bytes",
    ),
    "a record is taken for a dict": (
        "data.prepare.writing._read_record",
        lambda out: dict(plain_json(out / "prepared.json")),
        "data.prepare jsonl | record | other type",
    ),
    "a table is taken for UTF-8": (
        "data.prepare.tables.read_rows",
        lambda path: [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line],
        "data.prepare jsonl | manifest | random bytes",
    ),
    "only bad syntax is bad JSON": ("data.articles.read_json", plain_json, "data.check | article | huge number"),
    "a broken archive is an OSError": (
        "data.prepare.jsonl.zlib.error",
        OSError,
        "data.prepare jsonl | jsonl.gz | bytes flipped",
    ),
    "weights may be NaN": (
        "checkpoints.directory.load_weights",
        lambda network, net, state, _: network.load_state_dict(from_released(net, state)),
        "decode_full_model --beam 2 | rl/abstractor: checkpoint | huge number",
    ),
    "a pickle may run code": (
        "support.pickles._RestrictedUnpickler",
        pickle.Unpickler,
        "summarize | rl: vocabulary | other type",
    ),
    "sizes may be of any kind": (
        "checkpoints.directory._checked",
        lambda sizes: sizes,
        "decode_full_model | rl/abstractor: meta | other type",
    ),
    "a pipe is appended to": (
        "inference.summary_files.open_file",
        open,
        "summarize again, to a file | journal | fifo",
    ),
    "a checkpoint may be a pipe": (
        "checkpoints.tensor_files.open_file",
        open,
        "decode_full_model | rl/abstractor: checkpoint | fifo",
    ),
    "a pickle may be a pipe": ("support.pickles.open_file", open, "summarize | rl: vocabulary | fifo"),
    "references are read late": (
        "eval_baselines.with_references",
        write_first,
        "eval_baselines | reference | directory",
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_that_is_put_back_is_found(defect, monkeypatch, tmp_path):
    target, replacement, name = DEFECTS[defect]
    monkeypatch.chdir(tmp_path)
    explore(CELLS[name])
    told = ends_well(CELLS[name].row)
    monkeypatch.setattr(target, replacement)
    assert ends_well(CELLS[name].row) == told  # just the damage makes the difference
    if name.endswith("fifo"):  # which is waited for
        monkeypatch.setattr(table, "PATIENCE", 1)
    monkeypatch.setattr(table, "PHASES", (Phase.generate,))
    with pytest.raises((Exception, Hang)):
        explore(CELLS[name], seconds=20)

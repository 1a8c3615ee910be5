"""Bad input to data.prepare is one line that says what to do, and costs nothing."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
from commands import run_here
from raw_inputs import STORY, parquet, write

from data.prepare import __main__ as command
from support.errors import UserError

ROOT = Path(__file__).parents[1]
BAD_CALLS = [
    ("unknown command words: python -m data.prepare stories|hub|", "words"),
    ("--source FOLDER", "hub"),
    ("missing does not exist", "hub --source IN/missing"),
    ("--train, --val and --test", "hub --source IN/nothing"),
    ("not a readable parquet", "hub --test IN/broken.parquet"),
    ("no column article but text, id", "hub --test IN/columns.parquet"),
    ("types.parquet:1, article", "hub --test IN/types.parquet"),
    ("--columns", "hub --test IN/types.parquet --columns article"),
    ("cut.jsonl:1 is not readable", "jsonl --test IN/cut.jsonl"),
    ("fields.jsonl:1 needs article", "jsonl --test IN/fields.jsonl"),
    ("list.jsonl:1", "jsonl --test IN/list.jsonl"),
    ("packed.jsonl.xz", "jsonl --test IN/packed.jsonl.xz"),
    ("no document for test", "jsonl --test IN/empty.jsonl"),
    ("latin.jsonl", "jsonl --test IN/latin.jsonl"),
    ("a.txt is a binary file", "txt --source IN/bin"),
    ("--encoding latin-1", "txt --source IN/latin"),
    ("--encoding klingon", "txt --source IN/latin --encoding klingon"),
    ("name.summary.txt", "txt --source IN/latin --split train"),
    ("not a question file", "anonymized --source IN/q"),
    ("no .story file", "stories --stories IN/nothing --source IN/urls"),
    ("--source", "stories --stories IN/stories"),
    ("no url of", "stories --stories IN/stories --source IN/urls"),
    ("without <DOCNO>", "duc --documents IN/docs --abstracts IN/docs"),
    ("no file with a <DOC>", "duc --documents IN/nodocs --abstracts IN/nodocs"),
    ("already exists, made of something else", "jsonl --val IN/good.jsonl"),
]


@pytest.fixture
def bad(tmp_path) -> Path:
    write(tmp_path / "bin" / "a.txt", b"\x00\x01\x02")
    write(tmp_path / "latin" / "a.txt", "Café".encode("latin-1"))
    write(tmp_path / "broken.parquet", b"PAR1 not really")
    parquet(tmp_path / "columns.parquet", text=["a"], id=["b"])
    parquet(tmp_path / "types.parquet", article=[1], highlights=["b"], id=["c"])
    write(tmp_path / "good.jsonl", '{"id": "a", "article": ["b"], "abstract": ["c"]}')
    write(tmp_path / "cut.jsonl", '{"id": "a", "article": ["b"], "abst')
    write(tmp_path / "fields.jsonl", '{"id": "a", "text": "b"}')
    write(tmp_path / "list.jsonl", "[1, 2]")
    write(tmp_path / "packed.jsonl.xz", b"not xz at all")
    write(tmp_path / "empty.jsonl", "")
    write(tmp_path / "latin.jsonl", '{"id": "é"}'.encode("latin-1"))
    write(tmp_path / "q" / "test" / "a.question", "url\n\ncontext")
    write(tmp_path / "stories" / "a.story", STORY)
    write(tmp_path / "urls" / "all_test.txt", "http://nowhere.example\n")
    write(tmp_path / "docs" / "a", "<DOC><TEXT>b</TEXT></DOC>")
    write(tmp_path / "nodocs" / "a", "plain")
    (tmp_path / "nothing").mkdir()
    return tmp_path


@pytest.mark.parametrize(("message", "call"), BAD_CALLS)
def test_bad_input_is_named_and_loses_nothing(message, call, bad, monkeypatch):
    out = bad / "out"
    write(out / "val" / "0.json", "precious")
    arguments = call.replace("IN/", f"{bad}/").split()
    monkeypatch.setattr(sys, "argv", ["prepare", *arguments, "--out", str(out), "--workers", "1"])
    with pytest.raises(UserError) as error:
        command.main()
    assert message in str(error.value)
    assert (out / "val" / "0.json").read_text() == "precious"
    assert not (out / "test").exists()


def test_the_command_exits_with_2_and_one_line(tmp_path):
    call = partial(run_here, "-m", "data.prepare")
    assert all(name in call().stdout for name in command.FORMATS)
    for argv in (["hub", "--out", tmp_path], ["words"], ["txt", "--source"]):
        result = call(*argv)
        assert result.returncode == 2
        assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1

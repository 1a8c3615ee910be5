from __future__ import annotations

import json
import os

import pytest
from commands import run_here
from hypothesis import given
from tiny_data import texts, write_split

from data.articles import Article, article_path, count_articles, read_article, write_article
from support.errors import UserError


@given(texts, texts)
def test_writing_and_reading_returns_the_same_article(tmp_path_factory, article, abstract):
    path = tmp_path_factory.mktemp("a") / "0.json"
    written = Article("x", article, abstract, [0], [0.5], {"url": "u", "references": [["r"]]})
    write_article(path, written)
    assert read_article(path) == written


def test_files_are_indented_by_four_and_ascii(tmp_path):
    write_article(tmp_path / "0.json", Article("x", ["caf\u00e9"], []))
    text = (tmp_path / "0.json").read_text()
    assert text == '{\n    "id": "x",\n    "article": [\n        "caf\\u00e9"\n    ],\n    "abstract": []\n}'


def test_released_files_are_rewritten_byte_by_byte(golden, tmp_path):
    for index in range(20):
        path = article_path(golden / "data", "train", index)
        write_article(tmp_path / "0.json", read_article(path))
        assert (tmp_path / "0.json").read_bytes() == path.read_bytes()


def test_what_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"0\.json cannot be written"):
        write_article(tmp_path / "file" / "0.json", Article("x", [], []))


def test_only_exact_names_count(tmp_path):
    write_split(tmp_path, "train", [([], [])] * 3)
    for name in ("3.json.bak", "x3.json", ".3.json", "03.json", "3.jsonl", "\u0663.json"):
        (tmp_path / "train" / name).write_text("{}")
    assert count_articles(tmp_path / "train") == 3


def test_a_gap_is_named(tmp_path):
    write_split(tmp_path, "train", [([], [])] * 5)
    article_path(tmp_path, "train", 2).unlink()
    with pytest.raises(UserError, match=r"train/2\.json is missing"):
        count_articles(tmp_path / "train")


def test_missing_and_empty_directories_are_named(tmp_path):
    with pytest.raises(UserError, match="val does not exist"):
        count_articles(tmp_path / "val")
    with pytest.raises(UserError, match="holds no article"):
        count_articles(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="not a readable directory"):
        count_articles(tmp_path / "file")


GOOD = {"id": "x", "article": ["a"], "abstract": ["b"]}
BAD = {
    "truncated": json.dumps(GOOD)[:-5].encode(),
    "empty": b"",
    "binary": bytes(range(256)),
    "latin-1": json.dumps(GOOD | {"article": ["é"]}, ensure_ascii=False).encode("latin-1"),
    "a list": b"[]",
    "article is a string": json.dumps(GOOD | {"article": "a b"}).encode(),
    "article holds numbers": json.dumps(GOOD | {"article": ["a", 3]}).encode(),
    "abstract is null": json.dumps(GOOD | {"abstract": None}).encode(),
    "no abstract": json.dumps({"article": []}).encode(),
    "labels are strings": json.dumps(GOOD | {"extracted": ["0"]}).encode(),
    "labels are booleans": json.dumps(GOOD | {"extracted": [True]}).encode(),
    "scores are strings": json.dumps(GOOD | {"score": ["0"]}).encode(),
    "id is a number": json.dumps(GOOD | {"id": 3}).encode(),
    "a huge number": b'{"article": [], "abstract": [], "n": ' + b"9" * 5000 + b"}",
    "endless nesting": b"[" * 100_000,
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_bad_files_are_named_in_one_line(tmp_path, content):
    (tmp_path / "7.json").write_bytes(content)
    with pytest.raises(UserError, match=r"7\.json"):
        read_article(tmp_path / "7.json")


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "7.json")
    with pytest.raises(UserError, match=r"7\.json cannot be read .a pipe"):
        read_article(tmp_path / "7.json")


@pytest.mark.parametrize("command", [["-m", "data.count_words"], ["make_extraction_labels.py", "--data_dir"]])
def test_commands_answer_bad_input_in_one_line_with_code_2(tmp_path, command):
    write_split(tmp_path, "train", [(["a"], ["a"])] * 600)
    write_split(tmp_path, "val", [(["a"], ["a"])])
    article_path(tmp_path, "train", 555).write_bytes(BAD["truncated"])
    result = run_here(*command, str(tmp_path), "--workers", "2")
    assert result.returncode == 2
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert "train/555.json" in result.stderr
    assert article_path(tmp_path, "train", 555).read_bytes() == BAD["truncated"]

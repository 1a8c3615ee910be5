"""data.check finds what is wrong with a data set, names files, and tells by its exit code."""

from __future__ import annotations

import json
import os
import pickle
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import run_here

from data.check import check, render
from support.errors import UserError

ROOT = Path(__file__).parents[1]
GOOD: dict[str, list[Any]] = {
    "article": ["the dam above the town broke .", "nobody in the town was hurt ."],
    "abstract": ["the dam broke ."],
    "extracted": [0],
    "score": [1.0],
}


@pytest.fixture
def data_set(tmp_path) -> Path:
    for split in ("train", "val", "test"):
        for index in range(3):
            write(tmp_path, {"id": f"{split}-{index}"} | GOOD, f"{split}/{index}.json")
    (tmp_path / "vocab_cnt.pkl").write_bytes(pickle.dumps(Counter(dam=3)))
    return tmp_path


def write(root: Path, value: object, name: str = "train/1.json") -> None:
    (root / name).parent.mkdir(exist_ok=True)
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    (root / name).write_bytes(content)


def findings(root: Path) -> tuple[list[str], list[str]]:
    report = check(root, workers=1)
    problems, remarks = (
        [f"{item.where} {item.finding}" for item in items] for items in (report.problems, report.remarks)
    )
    return problems, remarks


def changed(**fields: object) -> dict:
    return {"id": "changed"} | GOOD | fields


def test_a_good_data_set_has_no_findings(data_set):
    assert findings(data_set) == ([], [])


@pytest.mark.parametrize(
    ("finding", "content"),
    [
        ("not readable as JSON", b'{"id": "a", "article": ["tru'),
        ("not readable as JSON", b""),
        ("not readable as JSON", b"\x00\x01\x02"),
        ("not readable as JSON", b"[" * 100_000),
        ("not UTF-8", json.dumps(GOOD, ensure_ascii=False).replace("dam", "é").encode("latin-1")),
        ("wrong fields or types", ["a list"]),
        ("wrong fields or types", {"id": "a", "article": GOOD["article"]}),
        ("wrong fields or types", changed(article="one string")),
        ("wrong fields or types", changed(abstract=[3])),
        ("wrong fields or types", changed(extracted=["0"])),
        ("labels do not fit the text", changed(extracted=[2])),
        ("labels do not fit the text", changed(extracted=[-1])),
        ("labels do not fit the text", changed(extracted=[])),
        ("labels do not fit the text", changed(extracted=None)),
        ("labels do not fit the text", changed(score=[1.5])),
        ("labels do not fit the text", changed(abstract=["a b .", "c d ."], extracted=[0, 0], score=[1, 1])),
    ],
)
def test_what_stops_training_is_a_problem_with_its_file_name(data_set, finding, content):
    write(data_set, content)
    assert findings(data_set) == ([f"train {finding}: 1.json"], [])


@pytest.mark.parametrize(
    ("finding", "content"),
    [
        ("article without words", changed(article=[], extracted=[], score=[])),
        ("abstract without words", changed(abstract=[], extracted=[], score=[])),
        ("a sentence without words", changed(abstract=["a b .", " "], extracted=[0, 1], score=[1, 0])),
        ("a sentence under 5 words", changed(article=["too short .", GOOD["article"][1]])),
        ("half characters", changed(abstract=["the dam \ud83d broke ."])),
        ("damaged characters", changed(abstract=["caf\ufffd ."])),
        ("capital letters", changed(abstract=["The dam ."])),
        ("full stops glued", changed(article=["the dam above the town broke."])),
        ("no labels yet", {"id": "changed"} | {name: GOOD[name] for name in ("article", "abstract")}),
        ("id of another article", changed(id="train-0")),
    ],
)
def test_what_training_survives_is_a_remark(data_set, finding, content):
    write(data_set, content)
    problems, remarks = findings(data_set)
    assert not problems
    assert [remark for remark in remarks if remark.startswith(f"train {finding}")]


@pytest.mark.parametrize("place", [os.mkfifo, Path.mkdir])
def test_a_pipe_or_folder_in_place_of_an_article_is_named(data_set, place):
    (data_set / "train" / "1.json").unlink()
    place(data_set / "train" / "1.json")
    assert findings(data_set) == (["train not a readable file: 1.json"], [])


def test_an_article_of_short_sentences_alone_is_told_apart(data_set):
    write(data_set, changed(article=["too short .", "this too ."]))
    assert "train no sentence of 5 words: 1.json" in findings(data_set)[1]


def test_gaps_and_strays_are_named(data_set):
    (data_set / "train" / "0.json").rename(data_set / "train" / "3.json.bak")
    assert findings(data_set) == (
        ["train missing: 0.json"],
        ["train stray name, an article to the released code: 3.json.bak"],
    )


def test_missing_parts_are_problems_only_where_training_needs_them(data_set):
    (data_set / "vocab_cnt.pkl").unlink()
    (data_set / "val").rename(data_set / "elsewhere")
    problems, _ = findings(data_set)
    assert problems[0] == "val no such split" and problems[1].startswith("vocab_cnt.pkl ")
    (data_set / "train").rename(data_set / "gone")
    problems, remarks = findings(data_set)
    assert problems == [] and remarks == ["train no such split"]


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil-was-here",)


@pytest.mark.parametrize(
    "content", [pickle.dumps(Evil()), b"junk", pickle.dumps(Counter()), pickle.dumps({"<unk>": 3}), pickle.dumps([1])]
)
def test_a_bad_word_count_file_is_a_problem_and_never_run(data_set, content, monkeypatch):
    monkeypatch.chdir(data_set)
    (data_set / "vocab_cnt.pkl").write_bytes(content)
    problems, _ = findings(data_set)
    assert len(problems) == 1 and problems[0].startswith("vocab_cnt.pkl ")
    assert not (data_set / "evil-was-here").exists()


def test_unlabelled_test_articles_need_no_remark(data_set):
    write(data_set, {"id": "a", "article": GOOD["article"], "abstract": GOOD["abstract"]}, "test/1.json")
    assert findings(data_set) == ([], [])


def test_only_a_few_names_of_many_are_shown(data_set):
    for index in range(3, 1010):
        write(data_set, b"", f"train/{index}.json")
    report = check(data_set, workers=2)
    assert report.problems[0].finding == "not readable as JSON: 3.json, 4.json, 5.json and 1,004 more"
    assert report.splits["train"].articles == 3


def test_the_table_counts_sentences_and_words(data_set):
    row = next(line for line in render(data_set, check(data_set, 1)).splitlines() if line.startswith("train"))
    assert row.split() == ["train", "3", "2.0", "14.0", "1.0", "4.0", "100%"]


def test_no_split_at_all_is_a_bad_call(tmp_path):
    with pytest.raises(UserError, match=r"data\.prepare"):
        check(tmp_path, 1)


def test_the_exit_code_tells(data_set, tmp_path):
    call = partial(run_here, "-m", "data.check")
    assert call(data_set).returncode == 0
    write(data_set, changed(id="half \ud800"))
    write(data_set, changed(id="half \ud800"), "train/2.json")
    result = call(data_set)
    assert result.returncode == 0 and "id of another article, too: half \\ud800" in result.stdout
    write(data_set, b"")
    result = call(data_set)
    assert result.returncode == 1 and "1.json" in result.stdout and "->" in result.stdout
    for argv in ([], [tmp_path / "missing"]):
        result = call(*argv)
        assert result.returncode == 2 and result.stderr.count("\n") == 1

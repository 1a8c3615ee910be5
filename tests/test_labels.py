from __future__ import annotations

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from commands import run_here
from hypothesis import example, given
from hypothesis import strategies as st
from kills import struck
from tiny_data import contents, random_pairs, run_python, texts, write_split

from data.articles import Article, article_path, read_article, write_article
from data.inspection import inspect_split
from data.labels import label_split, proxy_labels
from data.store import open_store
from support.errors import UserError


def lcs(a: list[str], b: list[str]) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def test_golden_labels_are_reproduced_to_the_bit(golden):
    inputs = json.loads((golden / "labels_input.json").read_text())
    expected = json.loads((golden / "labels_expected.json").read_text())
    for article, labels in zip(inputs, expected, strict=True):
        found = proxy_labels(article["article"], article["abstract"])
        assert (found.extracted, found.score) == (labels["extracted"], labels["score"]), article["id"]


def recall(source: list[str], target: list[str]) -> float:
    return lcs(source, target) / len(target) if target else 0.0


def f1(source: list[str], target: list[str]) -> float:
    return 2 * lcs(source, target) / (len(source) + len(target)) if source or target else 0.0


@given(texts, texts, st.sampled_from([recall, f1]))
def test_labels_equal_equation_6_written_out(article, abstract, measure):
    """And the same with the other measure."""
    free, extracted, scores = list(range(len(article))), [], []
    for sentence in abstract:
        if not free:
            break
        found = [measure(article[index].split(), sentence.split()) for index in free]
        scores.append(max(found))
        extracted.append(free.pop(found.index(max(found))))
    assert proxy_labels(article, abstract, measure.__name__) == (extracted, scores)
    assert proxy_labels(article, abstract) == proxy_labels(article, abstract, "recall")


def test_labels_by_f1_prefer_the_shorter_sentence(tmp_path):
    write_split(tmp_path, "train", [(["a b c d e f g h", "a b"], ["a b c"])], labels=True)
    for flags, extracted in (([], [0]), (["--measure", "f1"], [0]), (["--measure", "f1", "--force"], [1])):
        run_here("make_extraction_labels.py", "--data_dir", str(tmp_path), "--split", "train", *flags)
        assert read_article(article_path(tmp_path, "train", 0)).extracted == extracted


def test_released_files_are_labelled_byte_by_byte(golden, tmp_path):
    for split in ("train", "val"):
        (tmp_path / split).mkdir()
        for index, path in enumerate(sorted((golden / "data" / split).glob("*.json"))):
            value = json.loads(path.read_text())
            unlabelled = {name: value[name] for name in ("id", "article", "abstract")}
            (tmp_path / split / f"{index}.json").write_text(json.dumps(unlabelled, indent=4))
    result = run_here("make_extraction_labels.py", "--data_dir", str(tmp_path))
    assert result.returncode == 0 and "val: 40 articles labelled" in result.stdout
    for split in ("train", "val"):
        for index, path in enumerate(sorted((golden / "data" / split).glob("*.json"))):
            assert (tmp_path / split / f"{index}.json").read_bytes() == path.read_bytes()


def test_labelled_articles_are_skipped_and_implausible_labels_replaced(tmp_path):
    write_split(tmp_path, "train", [(["a", "b"], ["b"])] * 6, labels=True)
    changes = [{"extracted": [0]}, {"extracted": [5]}, {"extracted": [1, 0]}, {"score": []}]
    changes.append({"extracted": None})
    for index, change in enumerate(changes):
        path = article_path(tmp_path, "train", index)
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert label_split(tmp_path, "train", workers=1) == (4, 2)
    found = [read_article(article_path(tmp_path, "train", index)).extracted for index in range(6)]
    assert found == [[0], [1], [1], [1], [1], [1]]
    assert label_split(tmp_path, "train", workers=1, force=True) == (6, 0)
    assert read_article(article_path(tmp_path, "train", 0)).extracted == [1]


scores = st.one_of(st.none(), st.lists(st.sampled_from([0, 0.5, 1, 1.5, -0.1, float("nan"), 10**400]), max_size=3))
labels = st.one_of(st.none(), st.lists(st.integers(-1, 3), max_size=3))
short = st.lists(st.sampled_from(["a b", "c", ""]), max_size=3)


@given(short, short, labels, scores)
@example(["a"], ["a"], [0], [1.5])
@example(["a"], ["a"], [0], [float("nan")])
@example(["a", "b"], ["a", "b"], [0], [1.0])
@example(["a", "b"], ["a", "b"], [0, 0], [1.0, 1.0])
@example(["a"], ["a"], None, [1.0])
def test_labelling_checking_and_the_store_agree_on_what_fits(tmp_path_factory, article, abstract, extracted, score):
    root = tmp_path_factory.mktemp("agree")
    path = article_path(root, "train", 0)
    path.parent.mkdir()
    write_article(path, Article("x", article, abstract, extracted, score))
    unlabelled = extracted is None and score is None
    findings = inspect_split(path.parent, workers=1).counts
    assert findings["no labels"] == unlabelled
    refused = False
    try:
        open_store(root, "train", workers=1)
    except UserError as error:
        refused = "train/0.json: the labels do not fit" in str(error)
        assert refused
    assert findings["bad labels"] == refused
    assert label_split(root, "train", workers=1) == ((1, 0) if unlabelled or refused else (0, 1))
    assert len(open_store(root, "train", workers=1)) == 1 and not inspect_split(path.parent, 1).counts["bad labels"]


def test_two_at_once_and_other_peoples_files_do_not_disturb_each_other(tmp_path):
    write_split(tmp_path / "data", "train", random_pairs(1500))
    for name in (".0.json.swp", ".0.json.backup_1"):
        (tmp_path / "data" / "train" / name).write_text("a user's")
    left = tmp_path / "data" / "train" / ".0.json.abcd_123.tmp"
    left.write_text("half an article")
    script = ["make_extraction_labels.py", "--data_dir", str(tmp_path / "data"), "--split", "train", "--workers", "1"]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: run_python(*script), range(2)))
    assert [result.returncode for result in results] == [0, 0], results
    assert sorted(result.stdout for result in results) == [
        "train: 0 articles labelled, 1,500 had labels already\n",
        "train: 1,500 articles labelled, 0 had labels already\n",
    ]
    assert "waits" in "".join(result.stderr for result in results)
    hidden = sorted(path.name for path in (tmp_path / "data" / "train").glob(".*"))
    assert hidden == [".0.json.backup_1", ".0.json.swp"]


def test_other_fields_survive(tmp_path):
    write_split(tmp_path, "test", [(["a"], ["a"])])
    path = article_path(tmp_path, "test", 0)
    path.write_text(json.dumps({"url": "u", **json.loads(path.read_text()), "references": [["r"], ["s"]]}))
    result = run_here("make_extraction_labels.py", "--split", "test", DATA=str(tmp_path))
    assert result.returncode == 0, result.stderr
    value = json.loads(path.read_text())
    assert value["url"] == "u" and value["references"] == [["r"], ["s"]] and value["extracted"] == [0]


@pytest.mark.parametrize("n", [1, 7, 60])
def test_kill_during_labelling_then_again_gives_the_same_files(tmp_path, n):
    """At the n-th file, which is written beside the old one and not yet in its place."""
    pairs = random_pairs(60)
    for name in ("whole", "killed"):
        write_split(tmp_path / name, "train", pairs)
    label_split(tmp_path / "whole", "train")
    assert struck(lambda: label_split(tmp_path / "killed", "train", workers=1), os, "replace", n) == -signal.SIGKILL
    files = [article_path(tmp_path / "killed", "train", index).read_bytes() for index in range(len(pairs))]
    assert [b'"extracted"' in content for content in files] == [True] * (n - 1) + [False] * (61 - n)
    assert len(list((tmp_path / "killed/train").glob(".*.tmp"))) == 1
    label_split(tmp_path / "killed", "train", workers=1)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


@pytest.mark.parametrize("arguments", [["--split", ","], ["--split", "nowhere"], ["--workers", "0"], []])
def test_bad_flags_are_answered_in_one_line(tmp_path, arguments):
    where = ["--data_dir", str(tmp_path)] if arguments else []
    result = run_here("make_extraction_labels.py", *where, *arguments)
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and result.stderr.startswith("error: ")

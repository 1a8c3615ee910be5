"""Novel and repeated n-grams: by hand, and by the commands on the released code's outputs."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from metrics import novelty, repetition
from metrics.ngram_table import ORDERS, percentages, words
from metrics.summaries import escape, read_summaries, unescape
from support.errors import UserError, run


def test_novel_ngrams_by_hand():
    article = ["the", "cat", "sat", "on", "the", "mat"]
    summary = ["the", "dog", "sat", "on", "the", "dog"]
    assert novelty.novel([summary], article, 1) == [(2, 6)]  # dog twice: every occurrence counts
    assert novelty.novel([summary], article, 2) == [(3, 5)]
    assert novelty.novel([summary], article, 4) == [(3, 3)]


def test_repeated_ngrams_by_hand():
    summary = ["a", "b", "a", "b", "a", "b"]
    assert repetition.repeated([summary], [], 1) == [(4, 6)]
    assert repetition.repeated([summary], [], 2) == [(3, 5)]  # "a b" three times repeats it twice, "b a" once


def test_short_and_empty_texts_have_no_ngrams():
    assert novelty.novel([[], ["a"]], ["a"], 2) == [(0, 0), (0, 0)]


def test_one_ratio_over_all_documents_with_ngrams_across_sentences(tmp_path):
    articles = [(["a b c .", "d e ."], ["a b", "x"]), (["f"], ["f"])]
    for i, (article, abstract) in enumerate(articles):
        (tmp_path / f"{i}.json").write_text(json.dumps({"article": article, "abstract": abstract}))
    rows = percentages(novelty.novel, {"system": {0: "c .\nd &lt;", 1: "F"}}, tmp_path)
    assert rows["system"][0] == pytest.approx(100 * 1 / 5)  # "<" of 4 + 1 words; case does not matter
    assert rows["system"][1] == pytest.approx(100 * 1 / 3)  # ". d" is in the article, "d <" is not
    assert rows["reference summaries"][0] == pytest.approx(100 * 1 / 4)


def test_escaping_is_undone():
    assert unescape(escape("<a> & b")) == "<a> & b"
    assert words("A  b\nC") == ["a", "b", "c"]


@pytest.fixture
def decoded(golden, tmp_path):
    for name in ("rl_greedy", "rl_beam5"):
        shutil.copytree(golden / "decode_dir" / name, tmp_path / name)
    return tmp_path


def command(monkeypatch, module, *arguments) -> None:
    monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
    run(module.main)


def test_commands_print_and_store_percentages(golden, decoded, monkeypatch, capsys):
    for module, name in ((novelty, "novelty"), (repetition, "repetition")):
        with pytest.raises(SystemExit) as stopped:
            command(monkeypatch, module, decoded / "rl_greedy", decoded / "rl_beam5", "--data_dir", golden / "data")
        assert stopped.value.code == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 4 and lines[-1].startswith("reference summaries")
        stored = json.loads((decoded / "rl_greedy" / f"{name}.json").read_text())
        assert stored["documents"] == 30 and list(stored["percent"]) == [str(order) for order in ORDERS]
        shown = [float(value) for value in lines[1].split()[1:]]
        assert shown == [round(value, 1) for value in stored["percent"].values()]


def test_reranking_lowers_repetition(golden, decoded):
    systems = {name: read_summaries(decoded / name / "output") for name in ("rl_greedy", "rl_beam5")}
    rows = percentages(repetition.repeated, systems, golden / "data" / "test")
    assert rows["rl_beam5"][1] < rows["rl_greedy"][1]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "rl_beam5" / "output" / "3.dec").unlink(), "rl_beam5/output/3.dec"),
        (lambda folder: (folder / "rl_beam5" / "log.json").write_text('{"split": "val"}'), "different splits"),
        (lambda folder: (folder / "rl_beam5" / "log.json").unlink(), "give --split"),
    ],
)
def test_bad_input_is_one_line(golden, decoded, monkeypatch, capsys, damage, message):
    damage(decoded)
    with pytest.raises(SystemExit) as stopped:
        command(monkeypatch, novelty, decoded / "rl_greedy", decoded / "rl_beam5", "--data_dir", golden / "data")
    complaint = capsys.readouterr().err
    assert stopped.value.code == 2 and message in complaint and complaint.count("\n") == 1


@pytest.mark.parametrize("article", [[], {"article": ["a"]}, {"article": "a b", "abstract": ["a"]}, {"abstract": [1]}])
def test_what_is_no_article_is_named(tmp_path, article):
    (tmp_path / "0.json").write_text(json.dumps(article))
    with pytest.raises(UserError, match=r"0\.json is not an article"):
        percentages(novelty.novel, {"system": {0: "a"}}, tmp_path)

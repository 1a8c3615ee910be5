"""eval_outputs.py: scores, tables in four formats, significance, conventions, and the page in a browser."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from browser import chromium, complaints, set_window
from score_files import rouge_of

import eval_acl
import eval_outputs
from metrics import meteor, meteor_jar, significance, systems
from metrics.scores import MeteorScores, load_scores
from support.errors import run

NAMES = ("rl_greedy", "rl_beam5", "rl_ext_only")


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs eval_outputs.py -> exit code, output, errors."""

    def call(*arguments: object, meteor: bool = False) -> tuple[object, str, str]:
        fixed = ["--samples", "500", *([] if meteor else ["--no_meteor"])]
        monkeypatch.setattr(sys, "argv", ["eval_outputs.py", *map(str, arguments), *fixed])
        with pytest.raises(SystemExit) as stopped:
            run(eval_outputs.main)
        return stopped.value.code, *capsys.readouterr()

    return call


@pytest.fixture
def refs(golden) -> Path:
    return golden / "data" / "refs" / "test"


@pytest.fixture
def released(golden) -> list[Path]:
    return [golden / "decode_dir" / name for name in NAMES]


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_folder_scores_as_by_eval_acl(released, refs, tmp_path, command, monkeypatch):
    code, _, error = command(released[0], "--refs", refs, "--out", tmp_path / "out")
    assert code == 0, error
    folder = shutil.copytree(released[0] / "output", tmp_path / "copy")
    arguments = ["--rouge", "--decode_dir", str(folder), "--ref_dir", str(refs)]
    monkeypatch.setattr(sys, "argv", ["eval_acl.py", *arguments])
    eval_acl.main()
    paths = tmp_path / "out" / "rl_greedy.scores.json", folder / "scores.json"
    assert load_scores(paths[0]).ids == load_scores(paths[1]).ids
    ours, theirs = map(rouge_of, paths)
    assert np.array_equal(ours.documents, theirs.documents)
    assert all(np.array_equal(*pair) for pair in zip(ours.averages, theirs.averages, strict=True))
    assert "|docs:30|refs:1|" in ours.signature


def test_one_table_for_several_systems_in_four_formats(golden, released, refs, tmp_path, command):
    see = f"See et al.={released[2]}"
    code, printed, error = command(
        *released[:2], see, "--refs", refs, "--articles", golden / "data/test", "--out", tmp_path
    )
    assert code == 0, error
    assert (tmp_path / "table.txt").read_text() + "\n" == printed
    files = [tmp_path / f"{name}.scores.json" for name in (*NAMES[:2], "See_et_al.")]
    scores = [rouge_of(file) for file in files]
    rows = records((tmp_path / "table.csv").read_text())
    assert [row["system"] for row in rows] == [*NAMES[:2], "See et al.", "reference summaries"]
    for row, found in zip(rows, scores, strict=False):
        for m, metric in enumerate(("rouge-1", "rouge-2", "rouge-l")):
            values = [*(part[m, 2] for part in found.averages), found.documents[:, m, 2].mean()]
            shown = [row[metric], row[f"{metric}_low"], row[f"{metric}_high"], row[f"{metric}_plain_mean"]]
            assert shown == [f"{value:.5f}" for value in values]
            assert f"{100 * values[0]:.2f}" in printed and f"{100 * values[3]:.2f}" in printed
    for row, other in zip(rows[1:], files[1:], strict=False):
        for pair in significance.compare(load_scores(files[0]), load_scores(other), 500):
            assert float(row[f"{pair.metric}_p_better"]) == pair.p_b_better
            assert f"{100 * (pair.b - pair.a):+.2f} (p " in printed
    latex, page = (tmp_path / "table.tex").read_text(), (tmp_path / "table.html").read_text()
    for text in (printed, latex, page):
        assert "Difference to rl" in text and "drawn in the order of the file names" in text and "See et al." in text
        assert "Novel n-grams" in text and "Repeated n-grams" in text and "Lengths" in text
    assert r"rl\_greedy" in latex and latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 6
    assert "rl_beam5" in page and "http" not in page and "<script" not in page
    assert all(found.signature in text for found in scores for text in (printed, page))


def test_lengths_repetition_and_novelty_by_hand(tmp_path, command):
    (tmp_path / "s.txt").write_text("a b a b<q>c\nd\n")
    (tmp_path / "r.txt").write_text("a b c\nd e\n")
    (tmp_path / "articles.txt").write_text("a b c\nx\n")
    flags = ("--refs", tmp_path / "r.txt", "--articles", tmp_path / "articles.txt", "--out", tmp_path / "out")
    assert command(tmp_path / "s.txt", *flags)[0] == 0
    system, references = records((tmp_path / "out/table.csv").read_text())
    assert (system["words"], system["sentences"]) == ("3.000", "1.500")
    assert (references["words"], references["sentences"]) == ("2.500", "1.000")
    assert (system["repeated_1"], system["repeated_2"]) == (f"{100 * 2 / 6:.3f}", f"{100 * 1 / 4:.3f}")
    assert (system["novel_1"], references["novel_1"]) == (f"{100 * 1 / 6:.3f}", f"{100 * 2 / 5:.3f}")


def test_meteor_stands_beside_rouge(released, refs, command, monkeypatch):
    def measure(documents, _):
        rows = np.ones((len(documents), meteor.STATISTICS)) * (1 + len(documents[0].summary) % 3)
        return MeteorScores("meteor-1.5|invented", float(meteor.score(rows.sum(axis=0))), rows)

    monkeypatch.setattr(systems, "measure_meteor", measure)
    monkeypatch.setattr(meteor, "why_unavailable", lambda: None)
    code, printed, error = command(*released[:2], "--refs", refs, meteor=True)
    assert code == 0, error
    assert "rl_greedy: meteor-1.5|invented" in printed
    assert "--" not in printed.split("ROUGE F1: intervals")[0].split("METEOR\n")[1]


def test_without_java_the_rest_is_printed(released, refs, command, monkeypatch):
    monkeypatch.setattr(meteor_jar, "find_java", lambda: None)
    code, printed, error = command(released[0], "--refs", refs, meteor=True)
    assert code == 0 and "R-1" in printed and error.startswith("METEOR is left out: METEOR needs Java")


def test_the_form_of_the_outputs_does_not_change_the_scores(released, refs, tmp_path, command):
    texts = [(released[0] / "output" / f"{i}.dec").read_text().split("\n") for i in range(30)]
    references = [(refs / f"{i}.ref").read_text().split("\n") for i in range(30)]
    (tmp_path / "cands.txt").write_text("".join("<q>".join(text) + "\n" for text in texts))
    (tmp_path / "refs.txt").write_text("".join(" <S_SEP> ".join(text) + "\n" for text in references))
    shuffled = random.Random(0).sample(range(30), 30)
    lines = [{"id": i, "summary": texts[i], "reference": references[i]} for i in shuffled]
    (tmp_path / "both.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "padded").mkdir()
    for i, text in enumerate(texts, start=1):  # from 1, as many do
        (tmp_path / "padded" / f"{i:06d}_decoded.txt").write_text("\n".join(text))
    forms = [tmp_path / name for name in ("cands.txt", "padded")]
    code, printed, error = command(released[0], *forms, "--refs", tmp_path / "refs.txt", "--out", tmp_path / "out")
    assert code == 0, error
    assert command(tmp_path / "both.jsonl", "--refs", tmp_path / "both.jsonl", "--out", tmp_path / "out")[0] == 0
    assert "padded begins with 1" not in printed  # lines have no numbers
    by_id = [np.sort(rouge_of(path).documents, axis=0) for path in (tmp_path / "out").glob("*.scores.json")]
    assert len(by_id) == 4 and all(np.array_equal(by_id[0], other) for other in by_id)
    code, printed, error = command(tmp_path / "padded", "--refs", refs)
    assert code == 0 and "noticed:" in printed and "padded begins with 1" in printed and "paired in order" in printed


def test_conventions_are_named_and_normalised_on_request(tmp_path, command):
    (tmp_path / "s.txt").write_text('The man ( 40 ) said " no . "\n' * 3)
    (tmp_path / "r.txt").write_text("the man -lrb- 40 -rrb- said `` no . ''\n" * 3)
    flags = (tmp_path / "s.txt", "--refs", tmp_path / "r.txt", "--out", tmp_path / "out")
    code, printed, _ = command(*flags)
    assert code == 0
    for topic in ("brackets", "quotes", "case"):
        assert (
            f"noticed: {topic}: " in printed and f"noticed: {topic}: " not in command(*flags, "--normalise", "all")[1]
        )
        assert f"<li>{topic}: " not in (tmp_path / "out/table.html").read_text()
    assert "|normalised:brackets,quotes,currency,case,sentences" in (tmp_path / "out/table.txt").read_text()
    assert records((tmp_path / "out/table.csv").read_text())[0]["rouge-1"] == "1.00000"
    command(*flags)
    assert float(records((tmp_path / "out/table.csv").read_text())[0]["rouge-1"]) < 1  # "lrb" is a word to ROUGE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{s}", "--refs", "nowhere"], "nowhere does not exist"),
        (["nowhere", "--refs", "{s}"], "nowhere does not exist"),
        (["--refs", "{s}"], "SYSTEMS is missing"),
        (["{s}"], "--refs is missing"),
        (["{s}", "{s}", "--refs", "{s}"], "is given twice: give the systems different names"),
        (["{s}", "--refs", "{s}", "--normalise", "spelling"], "--normalise spelling is not known"),
        (["{s}", "--refs", "{s}", "--articles", "{t}"], "t.txt has 1 documents and"),
        (["{s}", "--refs", "{s}", "--out", "{s}"], "s.txt"),
    ],
)
def test_bad_input_is_one_line(tmp_path, command, arguments, message):
    for name, text in {"s": "a\nb\n", "t": "a\n"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    places = {name: str(tmp_path / f"{name}.txt") for name in "st"}
    code, _, error = command(*(argument.format(**places) for argument in arguments))
    assert code == 2 and message in error and error.count("\n") == 1


def test_names_of_systems():
    assert eval_outputs.name_systems(("a/x", "b/y.txt")) == {"x": "a/x", "y.txt": "b/y.txt"}
    assert eval_outputs.name_systems(("a/output", "b/output")) == {"a/output": "a/output", "b/output": "b/output"}
    assert eval_outputs.name_systems(("See et al.=a/x", "x")) == {"See et al.": "a/x", "x": "x"}


def test_an_odd_name_neither_breaks_the_page_nor_the_files(released, refs, tmp_path, command):
    names = ["<b>&$title", "a/b", "a b"]
    systems_ = [f"{name}={path}" for name, path in zip(names, released, strict=True)]
    assert command(*systems_, "--refs", refs, "--out", tmp_path)[0] == 0
    assert "&lt;b&gt;&amp;$title" in (tmp_path / "table.html").read_text()
    assert {path.name for path in tmp_path.glob("*.json")} == {
        "_b_title.scores.json",
        "a_b.scores.json",
        "a_b_.scores.json",
    }


def test_the_page_is_readable_at_both_widths(golden, released, refs, tmp_path, command):
    with chromium(tmp_path / "browser") as driver:
        arguments = ("--refs", refs, "--articles", golden / "data/test", "--out", tmp_path / "out")
        (tmp_path / "brackets.txt").write_text("( a )\n" * 30)
        (tmp_path / "lrb.txt").write_text("-lrb- a -rrb-\n" * 30)
        assert command(released[0], *(tmp_path / f"{name}.txt" for name in ("lrb", "brackets")), *arguments)[0] == 0
        for width in (1280, 400):
            set_window(driver, width)
            driver.get((tmp_path / "out/table.html").as_uri())
            assert driver.execute_script("return document.documentElement.scrollWidth") == width
            tables = driver.find_elements("tag name", "table")
            hints = driver.find_elements("css selector", ".hint")
            flag = driver.find_element("css selector", ".noticed b")
            assert flag.text == "--normalise brackets" and flag.rect["height"] < 30  # in one line
            assert len(tables) == 6 and [hint.is_displayed() for hint in hints] == [width == 400] * 5
        assert complaints(driver) == []


def test_fields_are_taken_by_the_names_that_are_given(tmp_path, command):
    """In one file that has all of them, under names that tell nothing."""
    lines = [{"a": "one two .", "b": "one three .", "c": f"four one two . {n}"} for n in range(3)]
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))

    def scored(summary: str, reference: str, article: str) -> tuple[str, str]:
        names = ["--field", summary, "--ref_field", reference, "--article_field", article]
        code, _, error = command(path, "--refs", path, "--articles", path, "--out", tmp_path / "out", *names)
        assert code == 0, error
        row, *_ = records((tmp_path / "out" / "table.csv").read_text())
        return row["rouge-1"], row["novel_2"]

    assert scored("a", "b", "c") == ("0.50000", "0.000")
    assert scored("a", "a", "b") == ("1.00000", "100.000")
    assert scored("b", "a", "a") == ("0.50000", "100.000")

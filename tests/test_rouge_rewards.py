"""ROUGE of the rewards: the released values, the definition, and the batch."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.sentence_rouge import REWARDS, rouge_l, rouge_l_batch, rouge_n, rouge_n_batch

tokens = st.lists(st.integers(0, 5), max_size=12)
modes = st.sampled_from(["f", "p", "r"])


def test_released_values(golden):
    for case in json.loads((golden / "rouge.json").read_text()):
        output, reference = case["output"], case["reference"]
        assert rouge_l(output, reference, "f") == case["rouge_l_f"]
        assert rouge_l(output, reference, "r") == case["rouge_l_r"]
        for mode in "frp":
            assert rouge_n(output, reference, 1, mode) == case[f"rouge_1_{mode}"]


def lcs_by_recursion(left: tuple, right: tuple) -> int:
    table = {(i, j): 0 for i in range(len(left) + 1) for j in range(len(right) + 1)}
    for i in range(len(left)):
        for j in range(len(right)):
            step = table[i, j] + 1 if left[i] == right[j] else 0
            table[i + 1, j + 1] = max(step, table[i, j + 1], table[i + 1, j])
    return table[len(left), len(right)]


def ratio(hits: int, given_: int, wanted: int, mode: str) -> float:
    precision, recall = hits / max(given_, 1), hits / max(wanted, 1)
    f = 2 * precision * recall / (precision + recall) if hits else 0.0
    return {"p": precision, "r": recall, "f": f}[mode]


@given(tokens, tokens, modes)
def test_rouge_l_is_the_lcs_against_the_lengths(output, reference, mode):
    hits = lcs_by_recursion(tuple(output), tuple(reference))
    assert rouge_l(output, reference, mode) == ratio(hits, len(output), len(reference), mode)


@given(tokens, tokens, st.integers(1, 4), modes)
def test_rouge_n_counts_ngrams_not_words(output, reference, n, mode):
    given_, wanted = (
        Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) for text in (output, reference)
    )
    expected = ratio((given_ & wanted).total(), given_.total(), wanted.total(), mode)
    assert rouge_n(output, reference, n, mode) == expected


def test_identical_texts_have_perfect_bigrams_and_precision_differs_from_f():
    assert rouge_n([1, 2, 3], [1, 2, 3], 2) == 1
    assert rouge_l([1, 2], [1, 2, 3, 4], "p") == 1
    assert rouge_l([1, 2], [1, 2, 3, 4], "f") == pytest.approx(2 / 3)


@given(st.lists(st.tuples(tokens, tokens), max_size=6), modes, st.integers(1, 3))
def test_batch_equals_one_by_one(pairs, mode, n):
    outputs, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert rouge_l_batch(outputs, references, mode).tolist() == [rouge_l(*pair, mode) for pair in pairs]
    assert rouge_n_batch(outputs, references, n, mode).tolist() == [rouge_n(*pair, n, mode) for pair in pairs]


def test_batch_takes_arrays_and_words():
    assert rouge_l_batch([np.array([7, 8, 9])], [np.array([7, 9])]).tolist() == [0.8]
    assert rouge_l_batch([["a", "cat"]], [["a", "dog"]]).tolist() == [0.5]
    assert REWARDS["rouge-2"]([np.array([1, 2, 3])], [np.array([1, 2, 4])]).tolist() == [0.5]


def test_unequal_numbers_of_texts_are_refused():
    with pytest.raises(ValueError, match="2 outputs but 1 references"):
        rouge_l_batch([[1], [2]], [[1]])

"""ROUGE of the rewards: the released values, the definition, and the batch."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.sentence_rouge import REWARDS, rouge_l_batch, rouge_n, rouge_n_batch

tokens = st.lists(st.integers(0, 5), max_size=12)


def test_released_values(golden):
    for case in json.loads((golden / "rouge.json").read_text()):
        output, reference = case["output"], case["reference"]
        assert rouge_l_batch([output], [reference]).item() == case["rouge_l_f"]
        assert rouge_n(output, reference) == case["rouge_1_f"]


def lcs_by_recursion(left: tuple, right: tuple) -> int:
    table = {(i, j): 0 for i in range(len(left) + 1) for j in range(len(right) + 1)}
    for i in range(len(left)):
        for j in range(len(right)):
            step = table[i, j] + 1 if left[i] == right[j] else 0
            table[i + 1, j + 1] = max(step, table[i, j + 1], table[i + 1, j])
    return table[len(left), len(right)]


def f1(hits: int, given_: int, wanted: int) -> float:
    precision, recall = hits / max(given_, 1), hits / max(wanted, 1)
    return 2 * precision * recall / (precision + recall) if hits else 0.0


@given(st.lists(st.tuples(tokens, tokens), max_size=6))
def test_rouge_l_is_the_lcs_against_the_lengths(pairs):
    expected = [f1(lcs_by_recursion(tuple(a), tuple(b)), len(a), len(b)) for a, b in pairs]
    assert rouge_l_batch([a for a, _ in pairs], [b for _, b in pairs]).tolist() == expected


@given(tokens, tokens, st.integers(1, 4))
def test_rouge_n_counts_ngrams_not_words(output, reference, n):
    given_, wanted = (Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) for text in (output, reference))
    assert rouge_n(output, reference, n) == f1((given_ & wanted).total(), given_.total(), wanted.total())


def test_identical_texts_have_perfect_bigrams():
    assert rouge_n([1, 2, 3], [1, 2, 3], 2) == 1


@given(st.lists(st.tuples(tokens, tokens), max_size=6), st.integers(1, 3))
def test_batch_equals_one_by_one(pairs, n):
    expected = [rouge_n(output, reference, n) for output, reference in pairs]
    assert rouge_n_batch([a for a, _ in pairs], [b for _, b in pairs], n).tolist() == expected


@pytest.mark.parametrize("made", [list, np.array])
def test_batch_takes_lists_arrays_and_words(made):
    assert rouge_l_batch([made([7, 8, 9])], [made([7, 9])]).tolist() == [0.8]
    assert rouge_l_batch([["a", "cat"]], [["a", "dog"]]).tolist() == [0.5]
    assert REWARDS["rouge-2"]([made([1, 2, 3])], [made([1, 2, 4])]).tolist() == [0.5]


def test_unequal_numbers_of_texts_are_refused():
    with pytest.raises(ValueError, match="2 outputs but 1 references"):
        rouge_l_batch([[1], [2]], [[1]])

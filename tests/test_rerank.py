from __future__ import annotations

import random
import time
from typing import Any

import pytest
from decode_runs import summarize
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.reranker import Hypothesis, n_candidates, rerank
from reference.decoding import plain_rerank

sentence = st.lists(
    st.tuples(st.lists(st.sampled_from("abcde"), max_size=5), st.integers(-40, 0).map(lambda x: x / 8)),
    min_size=1,
    max_size=5,
)


def ours(hypotheses) -> tuple[int, ...]:
    return tuple(rerank([[Hypothesis(words, score) for words, score in s] for s in hypotheses]))


def pruned(hypotheses):
    return [s[: n_candidates(len(hypotheses))] for s in hypotheses]


@settings(max_examples=400)
@given(st.lists(sentence, min_size=1, max_size=5))
def test_rerank_equals_brute_force(hypotheses):
    assert ours(hypotheses) == plain_rerank(pruned(hypotheses))


@settings(max_examples=40)
@given(st.lists(sentence, min_size=6, max_size=11))
def test_rerank_of_many_sentences_equals_brute_force_after_the_papers_pruning(hypotheses):
    assert ours(hypotheses) == plain_rerank(pruned(hypotheses))


def test_the_papers_pruning():
    assert [n_candidates(n) for n in range(1, 12)] == [5, 5, 5, 5, 5, 4, 3, 3, 2, 2, 2]


def test_scores_of_repeated_trigrams_do_not_disturb():
    first = [(list("abc"), -1e9), (list("abd"), -3.0)]
    hypotheses = [first, [(list("xy"), -1e9), (list("xz"), -1e9), (list("x"), -2.0)]]
    assert ours(hypotheses) == plain_rerank(hypotheses) == (1, 2)


def test_ties_go_to_the_first_combination():
    same = [(list("ab"), -1.0), (list("ab"), -1.0), (list("cd"), -1.0)]
    assert ours([same]) == (0,)
    assert ours([same, same]) == plain_rerank([same, same]) == (0, 2)


def test_no_sentence_and_only_empty_hypotheses():
    assert ours([]) == ()
    assert ours([[([], -1.0), ([], -0.5)]]) == (1,)
    assert ours([[([], -1.0)], [([], -0.5), ([], -0.5)]]) == (0, 0)


def test_a_summary_without_words_loses_even_against_repetition():
    assert ours([[([], -0.1), (list("ababab"), -9.0)]]) == (1,)


def realistic(n: int, seed: int) -> list[list[tuple[list[str], float]]]:
    """Two wordings a sentence that differ in a few words; words are as unevenly frequent as in real text."""
    draw = random.Random(seed)
    words = [f"w{i}" for i in range(400)]
    weights = [1 / (i + 1) for i in range(400)]
    sentences = []
    for _ in range(n):
        first = draw.choices(words, weights, k=draw.randint(8, 26))
        second = [draw.choices(words, weights)[0] if draw.random() < 0.2 else word for word in first]
        del second[: draw.randint(0, 3)]
        sentences.append([(first, -draw.random() * 9), (second, -draw.random() * 9)])
    return sentences


def test_twelve_realistic_sentences_are_reranked_exactly():
    for seed in range(5):
        hypotheses = realistic(12, seed)
        assert ours(hypotheses) == plain_rerank(hypotheses)


def test_thirty_sentences_take_less_than_a_tenth_of_a_second():
    fastest = []
    for seed in range(3):
        hypotheses = [[Hypothesis(*h) for h in s] for s in realistic(30, seed)]
        start = time.process_time()
        rerank(hypotheses)
        fastest.append(time.process_time() - start)
    assert min(fastest) < 0.1


@pytest.mark.parametrize("n", [100, 400])
def test_hundreds_of_sentences_end(n):
    start = time.process_time()
    chosen = ours(realistic(n, 0))
    assert len(chosen) == n
    assert time.process_time() - start < 20


def test_a_search_without_all_states_that_goes_round_in_circles_ends():
    draw = random.Random(253)
    n, vocabulary, longest = draw.randint(20, 60), draw.choice([8, 12, 20, 30]), draw.choice([4, 8, 14])

    def wording() -> tuple[list[int], float]:
        words = [draw.randrange(vocabulary) for _ in range(draw.randint(1, longest))]
        return words, -draw.random() * draw.choice([1, 9, 30])

    assert len(ours([[wording(), wording()] for _ in range(n)])) == n


def test_empty_first_hypotheses_of_score_zero_do_not_end_the_search():
    hypotheses = [[([], 0.0), (list("bccb"), -4.875), (["e"], -2.0)]]
    assert ours(hypotheses) == plain_rerank(hypotheses) == (1,)


def test_reranked_texts_equal_the_released_ones(golden, expected):
    cases: list[tuple[str, dict[str, Any]]] = [
        ("beam5_reranked", {"beam": 5}),
        ("beam5_batch4_reranked", {"beam": 5, "batch": 4}),
        ("beam5_maxlen8_reranked", {"beam": 5, "max_words": 8}),
        ("beam3_div0.3_reranked", {"beam": 3, "diversity": 0.3}),
    ]
    for name, options in cases:
        wanted = [{**article, **article["variants"]}[name] for article in expected["articles"]]
        for summary, text in zip(summarize(golden, "rl", **options), wanted, strict=True):
            assert text is None or summary.lines() == text

"""Rewards, returns and losses of the A2C update, against hand-worked cases and double sums."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metrics.sentence_rouge import REWARDS
from training.a2c import a2c_loss, discounted_returns, episode_rewards, standardise

floats = st.floats(-2, 2, width=32)


def rewards(rewritten, summary, step="rouge-l", stop="rouge-1", weight=1.0):
    [found] = episode_rewards([rewritten], [summary], REWARDS[step], REWARDS[stop], weight)
    return found.tolist()


def test_each_extraction_is_scored_with_the_summary_sentence_of_its_turn():
    # LCS of (1 2 3) and (1 3 4 5): 2 of 3 and of 4 words; second pair equal; whole: 5 of 6 and of 7 words common
    found = rewards([[1, 2, 3], [7, 8, 9]], [[1, 3, 4, 5], [7, 8, 9]])
    assert found == pytest.approx([4 / 7, 1.0, 2 * (5 / 6) * (5 / 7) / (5 / 6 + 5 / 7)])


def test_extraction_beyond_the_summary_earns_nothing_and_lowers_the_stop_reward():
    short, long = rewards([[1, 2]], [[1, 2]]), rewards([[1, 2], [3, 4]], [[1, 2]])
    assert short == [1.0, 1.0]
    assert long[:2] == [1.0, 0.0] and long[2] < short[1]


def test_stopping_at_once_is_rewarded_by_the_empty_summary():
    assert rewards([], [[1, 2]]) == [0.0]


def test_an_empty_abstract_rewards_nothing():
    assert rewards([[1, 2]], []) == [0.0, 0.0]


def test_order_matters_to_rouge_l_and_not_to_rouge_1():
    assert rewards([[2, 1]], [[1, 2]])[0] == pytest.approx(0.5)
    assert rewards([[2, 1]], [[1, 2]], step="rouge-1")[0] == 1.0
    assert rewards([[2, 1]], [[1, 2]], step="rouge-2")[0] == 0.0


def test_the_stop_reward_has_its_own_metric_and_weight():
    assert rewards([[2, 1]], [[1, 2]], stop="rouge-2")[1] == 0.0
    assert rewards([[2, 1]], [[1, 2]], weight=0.5)[1] == 0.5


def test_a_batch_of_articles_is_scored_as_each_alone():
    articles = [([[1, 2], [3]], [[1], [3, 4]]), ([], [[5]]), ([[6], [7], [8]], [[6, 7]])]
    outputs, references = [article[0] for article in articles], [article[1] for article in articles]
    together = episode_rewards(outputs, references, REWARDS["rouge-l"], REWARDS["rouge-1"], 1.0)
    assert [row.tolist() for row in together] == [rewards(*article) for article in articles]


@given(rows=st.lists(st.lists(floats, min_size=4, max_size=4), min_size=1, max_size=3), gamma=st.floats(0, 1))
def test_returns_are_the_double_sum(rows, gamma):
    found = discounted_returns(torch.tensor(rows, dtype=torch.float64), gamma)
    for row, returns in zip(rows, found.tolist(), strict=True):
        plain = [sum(gamma ** (k - t) * row[k] for k in range(t, 4)) for t in range(4)]
        assert returns == pytest.approx(plain, abs=1e-9)


@given(st.lists(floats, min_size=2, max_size=20).filter(lambda x: np.std(x) > 1e-2))
def test_standardised_returns_have_zero_mean_and_unit_unbiased_deviation(values):
    found = standardise(torch.tensor(values, dtype=torch.float64))
    assert float(found.mean()) == pytest.approx(0, abs=1e-6)
    assert float(found.std()) == pytest.approx(1, abs=1e-3)


def test_a_single_action_in_the_batch_is_standardised_to_zero():
    assert standardise(torch.tensor([3.5])).tolist() == [0.0]


def test_the_losses_are_the_papers_and_only_the_released_variant_trains_the_critic_by_the_policy():
    log_probs = torch.tensor([-0.5, -2.0], requires_grad=True)
    values = torch.tensor([0.25, -1.0], requires_grad=True)
    returns = torch.tensor([1.0, 0.5])
    for detach in (True, False):
        loss = a2c_loss(log_probs, values, returns, detach)
        assert loss.policy.tolist() == pytest.approx([0.5 * 0.75, 2.0 * 1.5])
        assert loss.critic.tolist() == pytest.approx([0.75**2, 1.5**2])
        gradient = torch.autograd.grad(loss.policy.sum(), [log_probs, values], allow_unused=True)
        assert gradient[0].tolist() == pytest.approx([-0.75, -1.5])
        if detach:
            assert gradient[1] is None
        else:
            assert gradient[1].tolist() == pytest.approx([-0.5, -2.0])

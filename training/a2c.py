"""Advantage actor-critic, as pure functions (Sec. 3.2, A.3).

Per-article lists become (B, T) tensors, zero where an article has already stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from support.processes import total

Words = Sequence[Any]  # word ids; equal ids are equal words
Score = Callable[[Sequence[Words], Sequence[Words]], np.ndarray]  # of outputs with their references


def episode_rewards(
    rewritten: Sequence[Sequence[Words]],
    summaries: Sequence[Sequence[Words]],
    step_score: Score,
    stop_score: Score,
    stop_weight: float,
) -> list[np.ndarray]:
    """For each article one reward for each extraction, then the stop's.

    r(t+1) = ROUGE-L_F1(g(d_jt), s_t) (Eq. 7), zero for sentences beyond the summary's last, and ROUGE-1_F1 of the
    whole for stopping (Sec. 3.2).
    """
    pairs = [pair for ours, theirs in zip(rewritten, summaries, strict=True) for pair in zip(ours, theirs)]  # noqa: B905
    steps = iter(step_score(*([side[i] for side in pairs] for i in range(2))))
    stops = stop_score([joined(sentences) for sentences in rewritten], [joined(s) for s in summaries])
    rewards = []
    for ours, theirs, stop in zip(rewritten, summaries, stops, strict=True):
        matched = min(len(ours), len(theirs))
        rewards.append(np.zeros(len(ours) + 1))
        rewards[-1][:matched] = [next(steps) for _ in range(matched)]
        rewards[-1][-1] = stop_weight * stop
    return rewards


def joined(sentences: Sequence[Words]) -> list[Any]:
    return [word for sentence in sentences for word in sentence]


def discounted_returns(rewards: Tensor, gamma: float) -> Tensor:
    """R_t = r_t + gamma R_{t+1} (Eq. 9).  (B, T) -> (B, T)"""
    returns = torch.zeros_like(rewards)
    following = torch.zeros_like(rewards[:, 0])
    for t in reversed(range(rewards.size(1))):
        following = rewards[:, t] + gamma * following
        returns[:, t] = following
    return returns


def standardise(values: Tensor) -> Tensor:
    """Zero mean and unit deviation over all steps of all episodes of all processes (A.3, footnote).  (R,) -> (R,)"""
    count = float(total(torch.tensor(float(values.numel()))))
    mean = total(values.double().sum()) / count
    variance = total((values - mean).square().sum()) / max(count - 1, 1)
    return ((values - mean) / (variance.sqrt() + torch.finfo(torch.float32).eps)).to(values.dtype)


class A2CLoss(NamedTuple):
    policy: Tensor  # (R,)
    critic: Tensor  # (R,)
    advantages: Tensor  # (R,)


def a2c_loss(log_probs: Tensor, values: Tensor, returns: Tensor, detach_baseline: bool) -> A2CLoss:
    """-log pi(c, j) A(c, j) (Eq. 12) and (b(c_t) - R_t)^2, one of each a step; all (R,).

    The released code lets the policy term train the critic too (`detach_baseline` False).
    """
    advantages = returns - values
    policy = -log_probs * (advantages.detach() if detach_baseline else advantages)
    return A2CLoss(policy, (values - returns).square(), advantages.detach())

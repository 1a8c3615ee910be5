"""What the agent is rewarded for, by name: functions of word ids, or of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metrics.sentence_rouge import REWARDS as ROUGE
from support.flags import flag
from training.a2c import Score, Words


class Reward(NamedTuple):
    score: Callable[[Sequence[Any], Sequence[Any]], np.ndarray]  # of outputs, each with its reference
    on_texts: bool = False  # these are strings, instead of lists of word ids

    def of_ids(self, text: Callable[[Words], list[str]]) -> Score:
        """As a function of ids; `text` spells them."""
        if not self.on_texts:
            return self.score

        def score(outputs: Sequence[Words], references: Sequence[Words]) -> np.ndarray:
            return self.score(*([" ".join(text(words)) for words in side] for side in (outputs, references)))

        return score


REWARDS = {name: Reward(score) for name, score in ROUGE.items()}


@dataclass(frozen=True, kw_only=True)
class RewardFlags:
    reward: str = flag("rouge-l", "reward of each extraction", source="Eq. 7", choices=REWARDS)
    stop_reward: str = flag("rouge-1", "reward of stopping", source="3.2", choices=REWARDS)
    stop: float = flag(1.0, "weight of the stop reward", above=0)
    gamma: float = flag(0.95, "discount factor", source="B.2", at_least=0)

"""Maximum-likelihood training of extractor and abstractor (Sec. 3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import torch
from torch import nn

from training.trainer import Step, Validation


class MaximumLikelihood:
    """The network's forward gives the negative log likelihood of every label or word of a batch."""

    highest_is_best = False
    gradient_groups: ClassVar[dict[str, nn.Module]] = {}

    def __init__(self, net: str, network: nn.Module, device: torch.device) -> None:
        self.net, self.network, self.device = net, network, device

    def step(self, batch: Any) -> Step:
        return Step(self.network(batch))

    def validate(self, batches: Iterable[Any], step: int) -> Validation:
        """The loss per item over the whole validation set, with teacher forcing."""
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        count = 0
        for batch in batches:
            losses = self.network(batch.to(self.device))
            total += losses.sum()
            count += losses.numel()
        return Validation(float(total), count)

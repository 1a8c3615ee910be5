"""Gradients beside those that the released code had."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.directory import Loaded
from checkpoints.released_names import to_released


def check_gradients(loaded: Loaded, expected: dict[str, Any]) -> None:
    """Norms of every parameter's gradient, by its released name, and of all."""
    norms = {name: float(p.grad.norm()) for name, p in loaded.network.named_parameters() if p.grad is not None}
    found = to_released(loaded.meta["net"], norms)
    for name, value in expected["grad_norm_per_parameter"].items():
        assert found[name] == pytest.approx(value, rel=1e-4, abs=1e-6), name
    assert sum(value**2 for value in norms.values()) ** 0.5 == pytest.approx(expected["grad_norm"], rel=1e-4)

"""Whether the content of resume.pt is what this run would have saved, but for the values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

COUNTERS = ("update_count", "stale", "validated_at", "checkpoint_at")


def misfit(saved: Any, fresh: dict[str, Any], weights: Iterable[Tensor]) -> str | None:
    """What is wrong with a saved state, as seen from the state before the first update; None if nothing is.

    `weights` are what the optimizer numbers.
    """
    if not isinstance(saved, dict) or saved.keys() != fresh.keys():
        return "it is not the state of a training"
    for name in COUNTERS:
        if type(saved[name]) is not int or saved[name] < 0:
            return f"{name} is not a count"
    if saved["best"] is not None and type(saved["best"]) is not float:
        return "best is not a number"
    if not isinstance(saved["flags"], dict):
        return "it has no flags"
    for name in ("network", "scheduler"):
        if place := _difference(saved[name], fresh[name], name):
            return place
    return _optimizer_misfit(saved["optimizer"], fresh["optimizer"], list(weights))


def _optimizer_misfit(saved: Any, fresh: dict[str, Any], weights: list[Tensor]) -> str | None:
    """Adam keeps nothing of a weight before its first update."""
    if not isinstance(saved, dict) or saved.keys() != fresh.keys() or not isinstance(saved["state"], dict):
        return "it has no optimizer"
    for number, state in saved["state"].items():
        if number not in range(len(weights)):
            return "the optimizer knows another network"
        averages = {"step": torch.zeros(()), "exp_avg": weights[number], "exp_avg_sq": weights[number]}
        if place := _difference(state, averages, f"optimizer {number}"):
            return place
    return _difference(saved["param_groups"], fresh["param_groups"], "optimizer")


def _difference(saved: Any, fresh: Any, place: str) -> str | None:
    """The first place where the two differ in more than a value."""
    if isinstance(fresh, Tensor):
        alike = isinstance(saved, Tensor) and (saved.shape, saved.dtype) == (fresh.shape, fresh.dtype)
        return None if alike else f"{place} has another shape"
    if _kind(saved) is not _kind(fresh):
        return f"{place} is of another kind"
    if isinstance(fresh, dict):
        if saved.keys() != fresh.keys():
            return f"{place} has other parts"
        return next((d for name in fresh if (d := _difference(saved[name], fresh[name], f"{place} {name}"))), None)
    if isinstance(fresh, list | tuple):
        if len(saved) != len(fresh):
            return f"{place} has another length"
        return next((d for pair in zip(saved, fresh, strict=True) if (d := _difference(*pair, place))), None)
    return None


def _kind(value: Any) -> type:
    """Integers are numbers, ordered dicts are dicts."""
    return float if type(value) is int else dict if isinstance(value, dict) else type(value)

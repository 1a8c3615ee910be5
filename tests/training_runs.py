"""Tiny trainings through the scripts, and their weights."""

from __future__ import annotations

from pathlib import Path

import torch

EXTRACTOR = ["--vsize", 300, "--emb_dim", 16, "--conv_hidden", 12, "--lstm_hidden", 20, "--workers", 0]
REWRITER = ["--vsize", 300, "--emb_dim", 16, "--n_hidden", 20, "--workers", 0]


def weights(directory: Path) -> dict[str, torch.Tensor]:
    return torch.load(directory / "resume.pt", weights_only=True)["network"]


def assert_same_weights(a: Path, b: Path, exactly: bool = True) -> None:
    ours, theirs = weights(a), weights(b)
    assert ours.keys() == theirs.keys()
    for name in ours:
        if exactly:
            assert torch.equal(ours[name], theirs[name]), name
        else:
            assert torch.allclose(ours[name], theirs[name], atol=1e-5), name

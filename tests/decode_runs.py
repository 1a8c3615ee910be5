"""Running the decode scripts in tests, and what they leave."""

from __future__ import annotations

import filecmp
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from data.store import open_store
from decoding import Options, Summarizer
from inference.summary import Summary
from support.errors import run

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
ENVIRONMENT.pop("DATA", None)


def call(capsys: pytest.CaptureFixture[str], name: str, *arguments: object) -> tuple[object, str, str]:
    """Runs a script in this process: exit code, stdout, stderr."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as exit:
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.delenv("DATA", raising=False)
        run(importlib.import_module(name).main)
    return exit.value.code, *capsys.readouterr()


def summarize(golden: Path, model: str, **options: Any) -> list[Summary]:
    """The golden articles, by one of the golden agents."""
    store = open_store(golden / "data", "test")
    return list(Summarizer.from_agent(golden / model, Options(**options)).summarize(store, np.arange(len(store))))


def assert_same_files(ours: Path, theirs: Path) -> None:
    names = sorted(path.name for path in theirs.iterdir())
    assert sorted(path.name for path in ours.iterdir()) == names
    assert filecmp.cmpfiles(ours, theirs, names, shallow=False) == (names, [], [])


def alignment(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "alignment.jsonl").read_text().splitlines()]


def summaries(path: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in path.glob("output*/*.dec")}


def torchrun(*arguments: object) -> subprocess.CompletedProcess[str]:
    """decode_full_model.py in two processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command += [str(ROOT / "decode_full_model.py"), *map(str, arguments), "--device", "cpu"]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False, cwd=ROOT)


def rewrite_weights(model: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    """Changes the state dict of a model's only checkpoint."""
    (path,) = (model / "ckpt").iterdir()
    content = torch.load(path, weights_only=True)
    change(content["state_dict"])
    torch.save(content, path)

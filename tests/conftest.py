"""Shared fixtures: the golden data of the released code, and the real articles where they lie beside the project."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
import torch
from decode_runs import call

TESTS = Path(__file__).parent
SHARED = TESTS.parents[1] / "shared"


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def golden(tmp_path_factory) -> Path:
    """Numbers, texts and tiny models that the released code produced (optimizer state is left in one of them)."""
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(TESTS / "golden.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "golden"


@pytest.fixture(scope="session")
def expected(golden) -> dict:
    return json.loads((golden / "expected.json").read_text())


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the real articles beside the project are absent")
    return SHARED


@pytest.fixture(scope="module")
def data(golden, tmp_path_factory) -> Path:
    """A writable copy of the golden data set."""
    folder = tmp_path_factory.mktemp("data") / "golden"
    shutil.copytree(golden / "data", folder)
    return folder


@pytest.fixture
def decode(capsys):
    def decode(name: str, *arguments: object, workers: int = 1) -> str:
        code, out, error = call(capsys, name, *arguments, "--workers", workers)
        assert code == 0, error
        return out

    return decode


@pytest.fixture
def complaint(capsys):
    def complaint(name: str, *arguments: object) -> str:
        """The one line that a mistake gets."""
        code, _, error = call(capsys, name, *arguments)
        assert code == 2
        assert error.startswith("error: ") and error.count("\n") == 1
        return error

    return complaint


@pytest.fixture
def agent(golden, tmp_path) -> Path:
    """A copy of the agent, to be changed."""
    return Path(shutil.copytree(golden / "rl", tmp_path / "agent"))

"""Shared fixtures: the golden data of the released code, and the real articles where they lie beside the project."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
import torch

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

"""Shared fixtures: the golden data of the released code, and the real articles where they lie beside the project."""

from __future__ import annotations

import io
import json
import shutil
import sys
import tarfile
from pathlib import Path

import pytest
import torch
from commands import call as call_here
from decode_runs import call
from hypothesis import HealthCheck, settings
from kitchen import Kitchen
from synthetic_runs import make_runs
from training_runs import EXTRACTOR

from support.errors import run

TESTS = Path(__file__).parent
SHARED = TESTS.parents[1] / "shared"

settings.register_profile("busy", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # an example may take long where other work runs


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


@pytest.fixture
def train(monkeypatch, data, tmp_path):
    def train(name: str, *flags: object) -> Path:
        """A tiny extractor in a folder of that name."""
        path = tmp_path / name
        call_here(monkeypatch, "train_extractor_ml.py", *EXTRACTOR, "--data_dir", data, "--path", path, *flags)
        return path

    return train


@pytest.fixture
def summarise(capsysbinary, monkeypatch):
    def summarise(*arguments: object, stdin: str = "", tokenizer: str = "python") -> tuple[object, str, str]:
        """Exit code and what summarize.py prints."""
        import summarize

        monkeypatch.setattr(sys, "argv", ["summarize.py", *map(str, arguments), "--tokenizer", tokenizer])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        summarize._build.cache_clear()
        with pytest.raises(SystemExit) as exit:
            run(summarize.main)
        out, error = capsysbinary.readouterr()
        return exit.value.code, out.decode(), error.decode()

    return summarise


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Path]:
    """A folder of runs with known scores, and its articles."""
    root = tmp_path_factory.mktemp("reproduction")
    return make_runs(root / "runs", root / "data"), root / "data"


@pytest.fixture
def copied(made, tmp_path) -> tuple[Path, Path]:
    """The same, to be changed."""
    shutil.copytree(made[0], tmp_path / "runs")
    return tmp_path / "runs", made[1]


@pytest.fixture
def kitchen(tmp_path) -> Kitchen:
    """In a folder whose name would be a pattern."""
    return Kitchen(tmp_path / "kitchen [1]")

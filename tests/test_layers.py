"""Imports point one way, and no package reaches past its layer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = (  # from the ground up: a package imports only those before it
    "support",
    "model",
    "metrics",
    "data",
    "checkpoints",
    "inference",
    "decoding",
    "training",
    "sample",
    "reference",
    "report",
    "pipeline",
)
MAY_IMPORT = {package: set(LAYERS[:place]) for place, package in enumerate(LAYERS) if package != "decoding"}
MAY_IMPORT |= {"model": set(), "metrics": {"support"}, "reference": {"model", "data", "inference", "decoding"}}
OURS = {path.stem for path in ROOT.glob("*.py")} | set(MAY_IMPORT) | {"scripts", "tests"}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_lower_layers(package):
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        reached = (imported(path) & OURS) - {package}
        assert reached <= MAY_IMPORT[package], f"{path.relative_to(ROOT)} imports {reached - MAY_IMPORT[package]}"


def test_the_networks_need_torch_alone():
    standard = {"__future__", "collections", "typing", "math", "re", "functools", "dataclasses", "abc", "itertools"}
    for path in (ROOT / "model").rglob("*.py"):
        assert imported(path) <= standard | {"torch", "model"}, path.name

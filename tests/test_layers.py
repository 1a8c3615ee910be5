"""Imports point one way, and no package reaches past its layer."""

from __future__ import annotations

import re

import pytest

from scripts.layers import LAYERS, PICTURE, ROOT, graph, imported, modules, picture

NARROWER = {  # than all layers below
    "model": set(),
    "metrics": {"support"},
    "reference": {"model", "data", "inference", "decoding"},
}
TESTS = {path.stem for path in (ROOT / "tests").glob("*.py")} | {"tests", "fuzz"}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_lower_ones(layer):
    allowed = NARROWER.get(layer, set(LAYERS[: LAYERS.index(layer)]))
    assert modules(layer)
    assert graph()[layer] <= allowed
    for path in modules(layer):
        assert not imported(path) & TESTS, path


def test_the_networks_need_torch_alone():
    standard = {"__future__", "collections", "typing", "math", "re", "functools", "dataclasses", "abc", "itertools"}
    for path in modules("model"):
        assert imported(path) <= standard | {"torch", "model"}, path.name


def test_the_picture_shows_the_imports_as_they_are():
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m scripts.layers draws it anew"


def test_all_but_test_modules_must_be_typed():
    """mypy's list; tomllib is not in Python 3.10."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"module = \[([^]]+)\]\ndisallow_untyped_defs = true", text)
    helpers = {path.stem for path in (ROOT / "tests").glob("*.py") if not path.stem.startswith("test_")} - {"conftest"}
    packages = {path.parent for folder in (ROOT, ROOT / "tests") for path in folder.glob("*/__init__.py")}
    scripts = {path.stem for path in ROOT.glob("*.py")}
    assert set(re.findall(r'"(.+?)"', listed)) == helpers | scripts | {f"{package.name}.*" for package in packages}


def test_no_test_module_is_imported():
    for path in (ROOT / "tests").rglob("*.py"):
        assert not {name for name in imported(path) if name.startswith("test_")}, path.name

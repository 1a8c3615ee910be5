"""What the documents name exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENTRIES = re.findall(r"`([\w/]+\.(?:py|sh))(?:::([\w.]+))?`", (ROOT / "docs/PAPER_MAP.md").read_text(encoding="utf-8"))


def symbols(path: Path) -> set[str]:
    """Top-level names and Class.method names."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def test_the_map_of_the_paper_has_entries():
    assert len(ENTRIES) > 50


@pytest.mark.parametrize(("file", "symbol"), ENTRIES)
def test_the_map_of_the_paper_names_what_exists(file, symbol):
    assert (ROOT / file).exists(), file
    if symbol:
        assert symbol in symbols(ROOT / file)


@pytest.mark.parametrize("document", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_links_between_documents_lead_somewhere(document):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target


def test_deviations_name_tests_that_exist():
    text = (ROOT / "docs/DEVIATIONS.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)\.py(?:::(\w+))?`", text)
    assert len(named) > 15
    for file, test in named:
        path = ROOT / "tests" / f"{file}.py"
        assert path.exists(), file
        if test:
            assert test in symbols(path), f"{file}::{test}"

"""What the documents name exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def names_of_tests(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


def headings(path: Path) -> set[str]:
    """As GitHub names them in links."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


PAGES = [ROOT / "README.md", ROOT / "pretrained/README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document):
    for target, part in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", document.read_text(encoding="utf-8")):
        path = document.parent / target if target else document
        assert path.exists(), target
        assert not part or path.suffix != ".md" or part in headings(path), f"{target}#{part}"


def first(pattern: str, file: str) -> str:
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found, f"{file} has no {pattern}"
    return found[1]


def test_version_authors_and_licence_are_the_same_everywhere():
    version = first(r'^version = "(.+)"', "pyproject.toml")
    assert version == first(r"^version: (.+)", "CITATION.cff") == first(r"^## ([\d.]+)", "CHANGELOG.md")
    authors = first(r'^authors = \[\{ name = "(.+?)"', "pyproject.toml")
    assert authors == first(r"^  - name: (.+)", "CITATION.cff") == first(r"^Copyright \(c\) \d+ (.+)", "LICENSE")
    licence = first(r'^license = "(.+)"', "pyproject.toml")
    assert licence == first(r"^license: (.+)", "CITATION.cff") == first(r"^(\w+) License", "LICENSE")


def test_the_pythons_of_the_metadata_are_those_that_it_allows():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    allowed = first(r'^requires-python = "(.+)"', "pyproject.toml")
    lowest, above = (int(minor) for minor in re.findall(r"[<>=]+3\.(\d+)", allowed))
    named = [int(n) for n in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', text)]
    assert named == list(range(lowest, above))


def test_deviations_name_tests_that_exist():
    text = (ROOT / "docs/DEVIATIONS.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)\.py(?:::(\w+))?`", text)
    assert len(named) > 15
    for file, test in named:
        path = ROOT / "tests" / f"{file}.py"
        assert path.exists(), file
        if test:
            assert test in names_of_tests(path), f"{file}::{test}"


def test_the_workflow_runs_tests_that_exist():
    named = re.findall(r"tests/\w+\.py", (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert named and all((ROOT / name).is_file() for name in named)

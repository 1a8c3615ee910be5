"""The walkthrough is what its text, the code and the worked example make of it, and it reads well in a browser."""

from __future__ import annotations

import ast
import html
import re

import pytest
from browser import chromium, complaints, set_window

from scripts.walkthrough.code import MissingCodeError, code_of
from scripts.walkthrough.colours import coloured
from scripts.walkthrough.document import read_document
from scripts.walkthrough.pages import pages_of
from scripts.walkthrough.source_text import ROOT, Anchor, Difference, Example, Heading, parse
from scripts.walkthrough.to_html import to_html

PAGES = ["docs/WALKTHROUGH.md", "docs/walkthrough.html", "docs/walkthrough/word.svg", "docs/PAPER_MAP.md"]


@pytest.fixture(scope="module")
def document():
    return read_document()


@pytest.fixture(scope="module")
def pages(document):
    return pages_of(document)


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_stale(pages, path):
    assert (ROOT / path).read_text(encoding="utf-8") == pages[path], "run `python -m scripts.walkthrough`"


def test_all_pages_are_known(pages):
    assert list(pages) == PAGES


def test_every_worked_number_is_shown(document):
    shown = [block.name for block in document.blocks if isinstance(block, Example)]
    assert sorted(shown) == sorted(document.example)


def test_every_difference_from_the_paper_is_told_and_none_twice(document):
    shown = [block.what for block in document.blocks if isinstance(block, Difference)]
    assert len(shown) == len(set(shown))
    from_the_paper = {what for what, text in document.differences.items() if "Differs from the paper" in text}
    assert len(from_the_paper) > 20 and from_the_paper <= set(shown)


def test_every_equation_of_the_paper_stands_once_and_in_both_pages(pages):
    numbers = [str(n) for n in range(1, 15)]
    markdown = re.findall(r"\\tag\{(\d+)\}", pages["docs/WALKTHROUGH.md"])
    page = re.findall(r'class="number">\((\d+)\)<', pages["docs/walkthrough.html"])
    assert sorted(markdown) == sorted(page) == sorted(numbers)


def numbers_of_equations(text: str) -> set[int]:
    """All n of "Eq. n", "Eq. n, m" and "Eq. n-m"; other papers' have their authors before them."""
    numbers = set()
    for found in re.findall(r"(?<!et al\., )\bEq\. (\d+(?:(?:, |-| and (?:Eq\. )?)\d+)*)", text):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", found):
            numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def test_every_equation_of_the_map_is_cited_by_the_test_that_checks_it():
    cited: set[int] = set()
    for path in (ROOT / "tests").glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                cited |= numbers_of_equations(ast.get_docstring(node) or "")
    mapped = numbers_of_equations((ROOT / "docs/PAPER_MAP.md").read_text(encoding="utf-8"))
    assert mapped == set(range(1, 15)) == cited


def test_equations_use_nothing_that_markdown_would_take_for_its_own(pages):
    text = re.sub(r"```.*?```", "", pages["docs/WALKTHROUGH.md"], flags=re.DOTALL)
    formulas = re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", text, flags=re.DOTALL)
    assert len(formulas) > 100
    for formula in formulas:
        assert not re.search(r"\\[^a-zA-Z]|[<>*]", formula), formula  # \\, \{ and the like lose their backslash


def test_the_page_needs_no_script_and_no_network(pages):
    page = pages["docs/walkthrough.html"]
    namespaces = {"http://www.w3.org/1998/Math/MathML", "http://www.w3.org/2000/svg"}
    assert set(re.findall(r"https?://[^\"\s<]+", page)) == namespaces
    assert not re.search(r"<script|\bon\w+=|\bsrc=|<link|@import|url\((?!#)", page)


def test_links_within_the_page_lead_to_its_parts(document, pages):
    slugs = [block.slug for block in document.blocks if isinstance(block, Heading)]
    assert len(slugs) == len(set(slugs))
    for path in PAGES[:2]:
        assert set(re.findall(r"[\"(]#([\w-]+)[\")]", pages[path])) - {"tip"} <= set(slugs)


def test_ten_questions_are_answered_on_the_page(document):
    *_, questions = document.blocks
    lines = questions.text.splitlines()
    assert [int(line.split(".")[0]) for line in lines] == list(range(1, 11))
    assert all(re.search(r"\? \[.+\]\(#[\w-]+\)$", line) for line in lines)


# --- the tools ---


def test_code_comes_by_symbol():
    anchor = Anchor("scripts/walkthrough/source_text.py", "Heading.slug")
    assert code_of(anchor).splitlines()[:2] == ["@property", "def slug(self) -> str:"]
    assert code_of(Anchor("scripts/walkthrough/source_text.py", "TEXT")) == 'TEXT = ROOT / "docs/walkthrough/text.md"'


@pytest.mark.parametrize(("file", "symbol"), [("decoding.py", "Nothing"), ("nothing.py", "main")])
def test_an_anchor_without_code_is_named(file, symbol):
    with pytest.raises(MissingCodeError, match=r"decoding.py has no Nothing|nothing.py does not exist"):
        code_of(Anchor(file, symbol))


def test_colours_change_no_character():
    code = (ROOT / "scripts/walkthrough/colours.py").read_text(encoding="utf-8")
    shown = coloured(code)
    assert html.unescape(re.sub(r"</?span[^>]*>", "", shown)) == code
    assert shown.count('<span class="line"') == code.count("\n") + 1
    assert '<span class="line" style="--indent:8">        <span class="keyword">if</span> kind' in shown


def test_markdown_becomes_html():
    assert to_html("a *b* `c<d`\n\n- x\n- **y**") == (
        "<p>a <em>b</em> <code>c&lt;d</code></p>\n<ul><li>x</li><li><strong>y</strong></li></ul>"
    )
    assert "<th>n</th>" in to_html("| n |\n| --- |\n| 1 |") and "<td>1</td>" in to_html("| n |\n| --- |\n| 1 |")
    equation = to_html("$$\nx_1 \\tag{3}\n$$")
    assert 'display="block"' in equation and "<msub>" in equation and "(3)</span>" in equation


def test_a_directive_that_does_not_exist_is_an_error():
    with pytest.raises(KeyError):
        parse("@nothing here")


# --- in a browser ---


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        driver.get((ROOT / "docs/walkthrough.html").as_uri())
        yield driver


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_fits_its_window(driver, width):
    set_window(driver, width)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    rows = driver.execute_script(
        "return [...document.querySelectorAll('section:not(.wide)')].map(row => {"
        "const [text, code] = [...row.children].map(part => part.getBoundingClientRect());"
        "return [text.right <= code.left + 1, text.bottom <= code.top + 1]})"
    )
    assert len(rows) > 20
    assert all(beside if width == 1280 else below for beside, below in rows)
    assert not complaints(driver)

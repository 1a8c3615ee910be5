"""Source code by file and symbol."""

from __future__ import annotations

import ast
import textwrap
from functools import cache

from scripts.walkthrough.source_text import ROOT, Anchor


class MissingCodeError(Exception):
    pass


def code_of(anchor: Anchor) -> str:
    """The lines of a function, class, method or constant, moved to the left margin."""
    assert anchor.symbol is not None, f"{anchor}: a whole file is not shown"
    lines, symbols = _symbols(anchor.file)
    if anchor.symbol not in symbols:
        raise MissingCodeError(f"{anchor.file} has no {anchor.symbol}")
    begin, end = symbols[anchor.symbol]
    return textwrap.dedent("\n".join(lines[begin - 1 : end]))


def check(anchor: Anchor) -> None:
    """Complains if the place does not exist."""
    if not (ROOT / anchor.file).is_file():
        raise MissingCodeError(f"{anchor.file} does not exist")
    if anchor.symbol is not None:
        code_of(anchor)


@cache
def _symbols(file: str) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """The file's lines, and the first and last line of each name, methods as Class.method."""
    path = ROOT / file
    if not path.is_file():
        raise MissingCodeError(f"{file} does not exist")
    text = path.read_text(encoding="utf-8")
    found: dict[str, tuple[int, int]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = _span(node)
        if isinstance(node, ast.ClassDef):
            methods = (item for item in node.body if isinstance(item, ast.FunctionDef))
            found |= {f"{node.name}.{method.name}": _span(method) for method in methods}
        if isinstance(node, ast.Assign):
            found |= {target.id: _span(node) for target in node.targets if isinstance(target, ast.Name)}
    return text.splitlines(), found


def _span(node: ast.ClassDef | ast.FunctionDef | ast.Assign) -> tuple[int, int]:
    decorators = [] if isinstance(node, ast.Assign) else node.decorator_list
    return min(line.lineno for line in (node, *decorators)), node.end_lineno or node.lineno

"""The examples of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

_TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
_BLOCKS = re.findall(r"^```python\n(.*?)^```", _TEXT, flags=re.DOTALL | re.MULTILINE)
EXAMPLES: dict[str, str] = {code.split()[1]: code for code in _BLOCKS}  # by the file name in their first line


def defined_in(name: str) -> dict[str, Any]:
    """What an example defines, without running the rest of it."""
    tree = ast.parse(EXAMPLES[name])
    kept = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef
    tree.body = [node for node in tree.body if isinstance(node, kept)]
    names: dict[str, Any] = {"__name__": name}
    exec(compile(tree, name, "exec"), names)
    return names

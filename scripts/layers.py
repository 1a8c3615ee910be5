"""Which package imports which: python -m scripts.layers writes docs/layers.svg.

A row imports the columns where it has a dot. All dots lie left of the diagonal: imports point one way, and
tests/test_layers.py holds that.
"""

from __future__ import annotations

import ast
from pathlib import Path

from support.files import atomic_file

ROOT = Path(__file__).parents[1]
LAYERS = (  # from the ground up; commands are the other modules of the root
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
    "commands",
    "scripts",
)
PICTURE = ROOT / "docs" / "layers.svg"
_CELL, _LEFT, _TOP = 44, 120, 104


def modules(layer: str) -> list[Path]:
    """All modules of a package, or the module of that name."""
    if layer == "commands":
        return sorted(path for path in ROOT.glob("*.py") if path.stem not in LAYERS)
    single = ROOT / f"{layer}.py"
    return [single] if single.exists() else sorted((ROOT / layer).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """First parts of all that a module imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def graph() -> dict[str, set[str]]:
    """Layer -> the layers that its modules import."""
    commands = {path.stem: "commands" for path in modules("commands")}
    names = {layer: {name for path in modules(layer) for name in imported(path)} for layer in LAYERS}
    return {layer: {commands.get(name, name) for name in names[layer]} & set(LAYERS) - {layer} for layer in LAYERS}


def picture() -> str:
    edges = graph()
    size = _CELL * len(LAYERS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + size + 10} {_TOP + size + 10}" '
        'font-family="system-ui, sans-serif" font-size="14">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for place, layer in enumerate(LAYERS):
        middle = _CELL * place + _CELL // 2
        parts.append(f'<text x="{_LEFT - 10}" y="{_TOP + middle + 5}" text-anchor="end">{layer}</text>')
        x, y = _LEFT + middle + 5, _TOP - 8
        parts.append(f'<text x="{x}" y="{y}" transform="rotate(-55 {x} {y})">{layer}</text>')
        for column, other in enumerate(LAYERS):
            imports = other in edges[layer]
            fill = "#d8dee9" if column == place else "#cfe3ff" if imports else "#f5f6f8"
            x, y = _LEFT + _CELL * column, _TOP + _CELL * place
            parts.append(f'<rect x="{x}" y="{y}" width="{_CELL - 2}" height="{_CELL - 2}" rx="4" fill="{fill}"/>')
            if imports:
                parts.append(f'<text x="{x + 21}" y="{y + 26}" text-anchor="middle">●</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    with atomic_file(PICTURE) as file:
        file.write(picture())
    print(f"{PICTURE.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()

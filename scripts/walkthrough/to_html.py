"""The Markdown that the walkthrough uses, as HTML: paragraphs, lists, tables, quotes, equations as MathML."""

from __future__ import annotations

import re
from html import escape

from latex2mathml.converter import convert

_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\$(?P<math>[^$]+)\$|\*\*(?P<bold>.+?)\*\*|\*(?P<italic>[^*]+)\*|\[(?P<label>[^\]]+)\]\((?P<target>[^)]+)\)"
)
_TAG = re.compile(r"\s*\\tag\{([^}]+)\}")


def to_html(markdown: str) -> str:
    """Paragraphs that blank lines separate."""
    return "\n".join(map(_paragraph, markdown.split("\n\n")))


def _paragraph(text: str) -> str:
    if text.startswith("$$"):
        return _equation(text.strip("$\n "))
    lines = text.splitlines()
    if text.startswith("|"):
        return _table(lines)
    if text.startswith("> "):
        return f"<blockquote>{'<br>'.join(inline(line[2:].rstrip()) for line in lines)}</blockquote>"
    for mark, kind in ((r"- ", "ul"), (r"\d+\. ", "ol")):
        if re.match(mark, text):
            items = re.split(rf"^{mark}", text, flags=re.MULTILINE)[1:]
            return f"<{kind}>{''.join(f'<li>{inline(item.strip())}</li>' for item in items)}</{kind}>"
    return f"<p>{inline(text)}</p>"


def inline(text: str) -> str:
    pieces, end = [], 0
    for match in _INLINE.finditer(text):
        pieces += [escape(text[end : match.start()], quote=False), _piece(match)]
        end = match.end()
    return "".join([*pieces, escape(text[end:], quote=False)])


def _piece(match: re.Match[str]) -> str:
    if match["code"]:
        return f"<code>{escape(match['code'], quote=False)}</code>"
    if match["math"]:
        return convert(match["math"])
    if match["bold"]:
        return f"<strong>{inline(match['bold'])}</strong>"
    if match["italic"]:
        return f"<em>{inline(match['italic'])}</em>"
    return f'<a href="{escape(match["target"])}">{inline(match["label"])}</a>'


def _equation(latex: str) -> str:
    """With its number at the right."""
    number = _TAG.search(latex)
    shown = f'<span class="number">({escape(number[1])})</span>' if number else ""
    return f'<div class="equation">{convert(_TAG.sub("", latex), display="block")}{shown}</div>'


def _table(lines: list[str]) -> str:
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    head = "".join(f"<th>{inline(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{inline(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'

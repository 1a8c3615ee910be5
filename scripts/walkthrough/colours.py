"""Python code as HTML with comments, strings and keywords marked."""

from __future__ import annotations

import io
import keyword
import tokenize
from html import escape
from itertools import accumulate


def coloured(code: str) -> str:
    """Each line in an element of its own that knows its indent, so that long ones hang from it when they wrap."""
    starts = list(accumulate(map(len, code.splitlines(keepends=True)), initial=0))
    pieces, end = [], 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if kind := _kind(token):
            begin, stop = (starts[row - 1] + column for row, column in (token.start, token.end))
            pieces += [escape(code[end:begin], quote=False), _marked(token.string, kind)]
            end = stop
    lines = "".join([*pieces, escape(code[end:], quote=False)]).split("\n")
    indents = [len(line) - len(line.lstrip()) for line in code.split("\n")]
    both = zip(indents, lines, strict=True)
    return "\n".join(f'<span class="line" style="--indent:{indent}">{line}</span>' for indent, line in both)


def _marked(text: str, kind: str) -> str:
    return "\n".join(f'<span class="{kind}">{escape(line, quote=False)}</span>' for line in text.split("\n"))


def _kind(token: tokenize.TokenInfo) -> str | None:
    if token.type == tokenize.COMMENT:
        return "comment"
    if token.type == tokenize.STRING:
        return "string"
    return "keyword" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else None

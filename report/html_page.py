"""The frame and the look that the pages of report share; each has some style of its own."""

from __future__ import annotations

from html import escape
from pathlib import Path

from support.web_page import FOOT, head

_SHARED = Path(__file__).with_name("shared.css")


def html_page(title: str, subtitle: str, body: str, style: str) -> str:
    return styled(title, f"<header>\n<h1>{escape(title)}</h1>\n<p>{escape(subtitle)}</p>\n</header>\n{body}", style)


def styled(title: str, body: str, style: str) -> str:
    return head(title, _SHARED.read_text(encoding="utf-8") + style) + body + FOOT

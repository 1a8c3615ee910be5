"""The colours that tie sentences of a summary to those of the article, for every page that shows both.

A sentence has the number of its place in the order of extraction, and a hue of its own; a page may set `--tint` and
`--shade`, the lightness of backgrounds and of numbers, for a dark theme.
"""

from __future__ import annotations

STYLE = """
mark { color: inherit; padding: .1em .15em; border-radius: .2em; }
mark, .rewriting { background: hsl(var(--hue) 85% var(--tint, 88%)); }
.number { font: 700 .72rem system-ui, sans-serif; color: hsl(var(--hue) 70% var(--shade, 24%)); padding-right: .35em; }
"""


def marked(html: str, number: int) -> str:
    """A sentence of the article, or of the summary, in the colour of its number."""
    return f'<mark {colour(number)}><span class="number">{number}</span>{html}</mark>'


def colour(number: int) -> str:
    """Neighbours differ: steps of the golden angle."""
    return f'style="--hue:{round(number * 137.508) % 360}"'

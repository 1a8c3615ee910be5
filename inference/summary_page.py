"""A page that shows where a summary comes from, as the figures of the paper's supplement do.

The article stands on the left, its extracted sentences coloured and numbered in the order of extraction; their
rewritings stand on the right, or first where the screen is narrow. In these, words that were generated rather than
copied are underlined.
"""

from __future__ import annotations

from html import escape

from inference.raw_text import Written
from inference.readable import Readable
from inference.sentence_colours import STYLE, colour, marked
from inference.summary import SummarySentence
from support.web_page import head

_STYLE = """
:root { color-scheme: light; font: 16px/1.55 Georgia, serif; color: #222; background: #fff; }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 3rem; overflow-wrap: anywhere; }
h3 { font: 600 .8rem system-ui, sans-serif; letter-spacing: .06em; text-transform: uppercase; color: #666; }
.key { font: .85rem system-ui, sans-serif; color: #555; }
.pair { display: grid; grid-template-columns: 3fr 2fr; gap: 2.5rem; border-top: 1px solid #ccc; }
.pair > * { overflow-wrap: anywhere; min-width: 0; }
.summary { order: 1; }
@media (max-width: 50rem) { .pair { grid-template-columns: 1fr; gap: 0; } .summary { order: 0; } }
.rewriting { padding: .5rem .8rem; margin: .6rem 0; border-left: .3rem solid hsl(var(--hue) 60% 45%); }
.made { text-decoration: underline; text-decoration-color: #b00; text-decoration-thickness: .13em; }
.replaced { border-bottom: .13em dotted #06c; }
.scores { display: block; font: .75rem system-ui, sans-serif; color: #555; }
.none { color: #666; font-style: italic; }
"""
_KEY = (
    'Numbers give the order of extraction. In a rewriting, <span class="made">underlined</span> words were '
    'generated, <span class="replaced">dotted</span> ones stand for an unknown word and were taken from where the '
    "model looked; all others were copied. Point at a word to see how sure that is."
)
HEAD = head("Summaries", _STYLE + STYLE) + f'<h1>Summaries</h1>\n<p class="key">{_KEY}</p>\n'


def section(shown: Readable) -> str:
    """One text of the page."""
    number = {sentence.source: place + 1 for place, sentence in enumerate(shown.summary)}
    article = " ".join(_source(text, number.get(i)) for i, text in enumerate(shown.article))
    rewritings = "\n".join(map(_rewriting, range(1, 1 + len(shown.summary)), shown.summary, shown.written))
    return (
        f'<section><h2>{escape(shown.name)}</h2>\n<div class="pair">\n'
        f'<div class="summary"><h3>Summary</h3>\n{rewritings or _nothing("nothing to summarise")}\n</div>\n'
        f'<div><h3>Article</h3><p>{article or _nothing("no text")}</p></div>\n</div></section>'
    )


def _nothing(text: str) -> str:
    return f'<span class="none">{text}</span>'


def _source(text: str, number: int | None) -> str:
    return escape(text) if number is None else marked(escape(text), number)


def _rewriting(number: int, sentence: SummarySentence, written: list[Written]) -> str:
    words = "".join(_word(sentence, place, word) for place, word in enumerate(written))
    scores = [("extraction", sentence.extraction_score), ("rewriting", sentence.rewriting_score)]
    values = ", ".join(f"{name} {value:.2f}" for name, value in scores if value is not None)
    return (
        f'<div class="rewriting" {colour(number)}><span class="number">{number}</span>{words}'
        + (f'<span class="scores">log probability: {values}</span>' if values else "")
        + "</div>"
    )


def _word(sentence: SummarySentence, place: int, word: Written) -> str:
    text = escape(word.text)
    if sentence.copied is not None and sentence.replaced is not None:
        probability = float(sentence.copied[place])
        kind = "replaced" if sentence.replaced[place] else "copied" if probability >= 0.5 else "made"
        text = f'<span class="{kind}" title="copied with probability {probability:.2f}">{text}</span>'
    return " " * word.space + text

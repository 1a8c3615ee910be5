"""Colour-coded examples as in the supplement's figures: extracted sentences and their rewritings in one colour."""

from __future__ import annotations

import random
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from data.articles import Article, read_article
from metrics import summaries
from metrics.rouge import score_document
from report.rows import ROWS
from report.runs import Reproduction, Run

_MARKS = "*§†‡¶#"
_COLOURS = len(_MARKS)
_SHOWN = (("rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank"), ("rnn_ext_abs",), ("rnn_ext_rl",), ("rnn_ext",))


class Sentence(NamedTuple):
    text: str
    rank: int | None  # the how-manieth extracted sentence it is, or comes from


class System(NamedTuple):
    label: str
    sentences: list[Sentence]
    rouge: Sequence[float]  # F1 of ROUGE-1, ROUGE-2 and ROUGE-L of this example, times 100


class Example(NamedTuple):
    number: int
    source: list[Sentence]
    reference: list[str]
    systems: list[System]


def choose_examples(runs: Reproduction, count: int, seed: int = 0) -> list[Example]:
    """Drawn at random among all articles with several extracted sentences, so that none is picked for its looks."""
    shown = _shown(runs)
    if not (runs.articles and shown):
        return []
    first = next(iter(shown.values()))
    several = [article for article, sources in sorted(first.sources.items()) if len(sources) > 1]
    chosen = random.Random(seed).sample(several, min(count, len(several)))
    return [_example(read_article(runs.articles / f"{i}.json"), i, shown) for i in sorted(chosen)]


def _shown(runs: Reproduction) -> dict[str, Run]:
    """The full model with and without reranking, or the best of what there is."""
    for rows in _SHOWN:
        found = {row: run for row in rows if (run := runs.run(row)) and run.sources}
        if found:
            return found
    return {}


def _example(article: Article, number: int, shown: dict[str, Run]) -> Example:
    extracted = next(iter(shown.values())).sources[number]
    rank = {source: k for k, source in enumerate(extracted)}
    source = [Sentence(text, rank.get(place)) for place, text in enumerate(article.article)]
    return Example(
        number, source, article.abstract, [_system(row, run, number, rank, article) for row, run in shown.items()]
    )


def _system(row: str, run: Run, number: int, rank: dict[int, int], article: Article) -> System:
    text = run.summaries[number]
    lines = summaries.unescape(text).split("\n")
    sentences = [Sentence(line, rank.get(place)) for line, place in zip(lines, run.sources[number], strict=False)]
    scores = score_document(text, [summaries.escape("\n".join(article.abstract))])
    return System(ROWS[row].label, sentences, [100 * score.f for score in scores])


def example_html(example: Example) -> str:
    reference = "".join(f"<li>{escape(sentence)}</li>" for sentence in example.reference)
    source = " ".join(_source_html(sentence) for sentence in example.source)
    return (
        f'<article class="example"><h3>Article {example.number}</h3><div class="sides">'
        f'<div><h4>Source document</h4><p class="source">{source}</p></div>'
        f'<div><h4>Ground truth summary</h4><ul class="summary">{reference}</ul>'
        f"{''.join(map(_system_html, example.systems))}</div></div></article>"
    )


def _source_html(sentence: Sentence) -> str:
    if sentence.rank is None:
        return escape(sentence.text)
    return f"{_mark(sentence.rank)}<span {_colour(sentence.rank)}>[{escape(sentence.text)}]</span>"


def _system_html(system: System) -> str:
    names = ("ROUGE-1", "ROUGE-2", "ROUGE-L")
    rouge = ", ".join(f"{name}: {value:.2f}" for name, value in zip(names, system.rouge, strict=True))
    items = "".join(f"<li>{_rewriting_html(sentence)}</li>" for sentence in system.sentences)
    return f'<h4>{escape(system.label)} <small>{rouge}</small></h4><ul class="summary">{items}</ul>'


def _rewriting_html(sentence: Sentence) -> str:
    text = escape(sentence.text) or "<i>(empty)</i>"
    return text if sentence.rank is None else f"{_mark(sentence.rank)}<span {_colour(sentence.rank)}>{text}</span>"


def _mark(rank: int) -> str:
    """Colours and marks begin again after the sixth sentence; the marks are then doubled."""
    return f"<sup {_colour(rank)}>{_MARKS[rank % _COLOURS] * (rank // _COLOURS + 1)}</sup>"


def _colour(rank: int) -> str:
    return f'class="rank-{rank % _COLOURS}"'

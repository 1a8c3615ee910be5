"""Colour-coded examples as in the supplement's figures: extracted sentences and their rewritings in one colour."""

from __future__ import annotations

import random
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from data.articles import Article, read_article
from inference.sentence_colours import marked
from metrics import summaries
from metrics.rouge import score_document
from report.runs import Reproduction, Run
from support.errors import UserError

_SHOWN = (("rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank"), ("rnn_ext_abs",), ("rnn_ext_rl",), ("rnn_ext",))


class Sentence(NamedTuple):
    text: str
    number: int | None  # in the order of extraction, from 1: of this sentence, or of the one it comes from


class System(NamedTuple):
    label: str
    sentences: list[Sentence]
    rouge: Sequence[float]  # F1 of ROUGE-1, ROUGE-2 and ROUGE-L of this example, times 100


class Example(NamedTuple):
    article: int
    source: list[Sentence]
    reference: list[str]
    systems: list[System]


def choose_examples(runs: Reproduction, count: int, articles: Sequence[int] = (), seed: int = 0) -> list[Example]:
    """Of the given articles, or drawn at random among all with several extracted sentences: none is picked for its
    looks."""
    shown = _shown(runs)
    if not (runs.articles and shown):
        if articles:
            raise UserError("examples need the articles (--data_dir) and a decoded system that records its sources")
        return []
    first = next(iter(shown.values()))
    for article in articles:
        if article not in first.sources:
            raise UserError(f"{first.path} has no article {article} to show")
    several = [article for article, sources in sorted(first.sources.items()) if len(sources) > 1]
    chosen = articles or sorted(random.Random(seed).sample(several, min(count, len(several))))
    return [_example(read_article(runs.articles / f"{i}.json"), i, shown, runs) for i in chosen]


def _shown(runs: Reproduction) -> dict[str, Run]:
    """The full model with and without reranking, or the best of what there is."""
    for rows in _SHOWN:
        found = {row: run for row in rows if (run := runs.run(row)) and run.sources}
        if found:
            return found
    return {}


def _example(article: Article, index: int, shown: dict[str, Run], runs: Reproduction) -> Example:
    extracted = next(iter(shown.values())).sources[index]
    number = {source: k for k, source in enumerate(extracted, 1)}
    source = [Sentence(text, number.get(place)) for place, text in enumerate(article.article)]
    systems = [_system(runs.label(row), run, index, number, article) for row, run in shown.items()]
    return Example(index, source, article.abstract, systems)


def _system(label: str, run: Run, index: int, number: dict[int, int], article: Article) -> System:
    text = run.summaries[index]
    lines = summaries.unescape(text).split("\n")
    sentences = [Sentence(line, number.get(place)) for line, place in zip(lines, run.sources[index], strict=False)]
    scores = score_document(text, [summaries.escape("\n".join(article.abstract))])
    return System(label, sentences, [100 * score.f for score in scores])


def example_html(example: Example) -> str:
    reference = "".join(f"<li>{escape(sentence)}</li>" for sentence in example.reference)
    source = " ".join(_sentence_html(sentence) for sentence in example.source)
    return (
        f'<article class="example"><h3>Article {example.article}</h3><div class="sides">'
        f'<div><h4>Source document</h4><p class="source">{source}</p></div>'
        f'<div><h4>Ground truth summary</h4><ul class="summary">{reference}</ul>'
        f"{''.join(map(_system_html, example.systems))}</div></div></article>"
    )


def _system_html(system: System) -> str:
    names = ("ROUGE-1", "ROUGE-2", "ROUGE-L")
    rouge = ", ".join(f"{name}: {value:.2f}" for name, value in zip(names, system.rouge, strict=True))
    items = "".join(f"<li>{_sentence_html(sentence)}</li>" for sentence in system.sentences)
    return f'<h4>{escape(system.label)} <small>{rouge}</small></h4><ul class="summary">{items}</ul>'


def _sentence_html(sentence: Sentence) -> str:
    text = escape(sentence.text) or "<i>(empty)</i>"
    return text if sentence.number is None else marked(text, sentence.number)

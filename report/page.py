"""One self-contained HTML page of a reproduction: claims, tables, curves, what was extracted, novelty, examples.

    python -m report.page runs --data_dir data --split test        writes runs/report.html
    python -m report.page runs --data_dir data --articles 12 40    with these two as examples

Without --data_dir the parts that look into the articles are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from inference.sentence_colours import STYLE as SENTENCE_COLOURS
from metrics.ngram_table import ORDERS, REFERENCE_ROW
from report import charts, layout
from report.claims import Claim, Verdict, check_claims
from report.examples import choose_examples, example_html
from report.html_page import html_page
from report.rows import MODEL_LABELS, MODELS, ROWS, SEE_ET_AL
from report.runs import Reproduction, RunsFlags
from report.tables import OF_THE_PAPER, TABLES
from support.errors import run
from support.files import atomic_file
from support.flags import flag, parse
from training.metrics_log import read_metrics

_STYLE = Path(__file__).with_name("page.css")
_TITLE = "Fast Abstractive Summarization with Reinforce-Selected Sentence Rewriting"
_EXTRACTING = ("lead3", "ff_ext", "rnn_ext", "rnn_ext_rl", "rnn_ext_abs_rl")
_COUNTING = ("rnn_ext_rl", "rnn_ext_abs_rl")
_SYMBOLS = {Verdict.HOLDS: ("✓", "holds"), Verdict.FAILS: ("✗", "fails"), Verdict.UNKNOWN: ("–", "unknown")}


def page(runs: Reproduction, n_examples: int, articles: Sequence[int] = ()) -> str:
    """`articles` are the examples, instead of `n_examples` that are drawn."""
    sections = {
        "Claims": _claims(check_claims(runs)),
        "Tables": "".join(layout.html(TABLES[name](runs)) for name in OF_THE_PAPER),
        "Speed": f"<pre>{escape(runs.untrained_speed)}</pre>" if runs.untrained_speed else "",
        "Learning curves": _grid(_learning_curves(runs)),
        "Extraction": _grid(_extraction(runs)),
        "Novelty": _grid(_novelty(runs)),
        "Examples": "".join(map(example_html, choose_examples(runs, n_examples, articles))),
        "Runs": _run_list(runs),
    }
    filled = {title: content for title, content in sections.items() if content}
    body = "".join(f'<section id="{_id(title)}"><h2>{title}</h2>{text}</section>' for title, text in filled.items())
    links = "".join(f'<a href="#{_id(title)}">{title}</a>' for title in filled)
    style = SENTENCE_COLOURS + _STYLE.read_text(encoding="utf-8")
    return html_page(_TITLE, _subtitle(runs), f"<nav>{links}</nav>\n<main>{body}</main>", style)


def _subtitle(runs: Reproduction) -> str:
    found = next(iter(runs.runs().values()), None)
    documents = f"{len(found.scores.ids):,} documents of the split {runs.split}" if found else "nothing evaluated yet"
    return f"{runs.path.resolve().name}: {documents}"


def _claims(claims: list[Claim]) -> str:
    items = []
    for claim in claims:
        symbol, kind = _SYMBOLS[claim.verdict]
        mark = f'<span class="symbol" aria-hidden="true">{symbol}</span>'
        verdict = f'<span class="verdict">{claim.verdict.value}, {claim.section}</span>'
        text = f"<b>{escape(claim.text)}</b> {verdict}<p>{escape(claim.figures)}</p>"
        items.append(f'<li class="{kind}">{mark}<div>{text}</div></li>')
    return f'<ul class="claims">{"".join(items)}</ul>'


def _learning_curves(runs: Reproduction) -> Iterator[str]:
    for model, label in MODEL_LABELS.items():
        path = runs.path / MODELS / model / "metrics.jsonl"
        metrics = read_metrics(path) if path.is_file() else []
        if charts.has_curve(metrics):
            figure = charts.learning_curves([("", metrics)])
            yield _chart(charts.inline_svg(figure, f"curve-{model}", f"learning curve of {label}"), label)


def _extraction(runs: Reproduction) -> Iterator[str]:
    found = {row: run for row in _EXTRACTING if (run := runs.run(row)) and run.sources}
    counts = {runs.label(row): [len(s) for s in found[row].sources.values()] for row in _COUNTING if row in found}
    if counts and runs.reference_sentences:
        counts[REFERENCE_ROW] = list(runs.reference_sentences.values())
        figure = charts.count_histogram(counts)
        yield _chart(charts.inline_svg(figure, "counts", "histogram"), "Sentences of a summary: the agent decides")
    positions = {runs.label(row): [p for s in run.sources.values() for p in s] for row, run in found.items()}
    if positions:
        figure = charts.position_chart(positions)
        yield _chart(charts.inline_svg(figure, "positions", "positions"), "Where extracted sentences stand")


def _novelty(runs: Reproduction) -> Iterator[str]:
    others = [row for row in runs.rows() if row not in ROWS]
    shown = ("rnn_ext_rl", runs.first_of(SEE_ET_AL), "rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank", *others)
    rows = {runs.label(row): runs.novelty[row] for row in shown if row in runs.novelty}
    if rows:
        figure = charts.novelty_chart(rows | {REFERENCE_ROW: runs.novelty[REFERENCE_ROW]}, ORDERS)
        yield _chart(charts.inline_svg(figure, "novelty", "novel n-grams"), "N-grams that the article does not have")


def _run_list(runs: Reproduction) -> str:
    """What was run, and the signatures of the scores."""
    items = []
    for row, found in runs.runs().items():
        signatures = [part.signature for part in (found.scores.rouge, found.scores.meteor) if part]
        beam = f", beam {found.log['beam']}" if "beam" in found.log else ""
        sentences = f", {found.n_sentences} sentences" if found.n_sentences else ""
        lines = "".join(f"<code>{escape(signature)}</code>" for signature in signatures)
        items.append(f"<dt>{escape(runs.label(row) + sentences + beam)}</dt><dd>{lines}</dd>")
    return f'<dl class="runs">{"".join(items)}</dl>' if items else ""


def _grid(charts: Iterator[str]) -> str:
    content = "".join(charts)
    return f'<div class="grid">{content}</div>' if content else ""


def _chart(svg: str, caption: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{svg}</figure>"


def _id(title: str) -> str:
    return title.lower().replace(" ", "-")


@dataclass(frozen=True, kw_only=True)
class Flags(RunsFlags):
    examples: int = flag(4, "how many articles to show with their summaries", at_least=0)
    articles: tuple[int, ...] = flag((), "the articles to show as examples (default: drawn)")


def main() -> None:
    flags = parse(Flags, __doc__ or "", prog="python -m report.page")
    text = page(flags.reproduction(), flags.examples, flags.articles)
    with atomic_file(flags.runs / "report.html", "wb") as file:
        file.write(text.encode("utf-8", "replace"))  # a lone surrogate becomes a question mark
    print(flags.runs / "report.html")


if __name__ == "__main__":
    run(main)

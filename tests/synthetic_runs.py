"""A small folder of runs, as a reproduction leaves it: articles of invented words, summaries of known quality."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from data.articles import Article, article_path, read_article, write_article
from metrics import bootstrap, rouge
from metrics.scores import MeteorScores, RougeScores, Scores, save_scores
from metrics.summaries import Document
from report import layout

FULL = ("rnn_ext_rl", "rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank")
BASELINES = ("lead3", "lead3_abs", "ff_ext", "rnn_ext", "ff_ext_abs", "rnn_ext_abs")
FLAT = ("pointer_generator", "pointer_generator_coverage")


class Summary(NamedTuple):
    sources: list[int]
    lines: list[str]


def write_articles(data_dir: Path, count: int, seed: int = 0) -> list[Article]:
    """Highlights are every second word of some sentences of the article; more sentences, more highlights."""
    dice = random.Random(seed)
    (data_dir / "test").mkdir(parents=True)
    articles = []
    for i in range(count):
        sentences = [" ".join(f"word{dice.randrange(300)}" for _ in range(12)) for _ in range(dice.randint(8, 16))]
        labels = sorted(dice.sample(range(len(sentences)), len(sentences) // 4))
        article = Article(f"a{i}", sentences, [_rewritten(sentences[j]) for j in labels], labels)
        write_article(article_path(data_dir, "test", i), article)
        articles.append(article)
    return articles


def make_runs(runs: Path, data_dir: Path, rows: tuple[str, ...] = (*FULL, *BASELINES, *FLAT), count: int = 40) -> Path:
    """Learned rows find all highlights, the others every second one; the flat rows repeat themselves."""
    present = (data_dir / "test").is_dir()
    articles = _read(data_dir) if present else write_articles(data_dir, count)
    for row in rows:
        summaries = [summarise(row, article, i) for i, article in enumerate(articles)]
        write_run(runs / "decode" / row, summaries, articles, seconds=50.0 if row in FLAT else 2.0)
    for model in ("ext_rnn", "abstractor", "rl"):
        write_metrics(runs / "models" / model, reinforced=model == "rl")
    return runs


def summarise(row: str, article: Article, seed: int) -> Summary:
    dice = random.Random(f"{row} {seed}")
    assert article.extracted is not None
    if row in FULL:
        sources = list(article.extracted)
    elif row.startswith("lead3"):
        sources = [0, 1, 2]
    else:
        wrong = [j for j in range(len(article.article)) if j not in article.extracted]
        sources = [j if k % 2 else dice.choice(wrong) for k, j in enumerate(article.extracted)][:3]
    lines = [article.article[j] for j in sources]
    if "abs" in row:
        lines = [_rewritten(line) for line in lines]
    if row == "rnn_ext_abs_rl":
        lines = [f"{line} {' '.join(line.split()[-3:])}" for line in lines]
    if row in FLAT:
        lines = [lines[0]] * 2
    return Summary(sources, lines)


def write_run(
    path: Path, summaries: list[Summary], articles: list[Article], seconds: float = 2.0, split: str = "test"
) -> None:
    baseline, flat = path.name in BASELINES, path.name in FLAT
    output = path / ("output_top3" if baseline else "output")
    output.mkdir(parents=True)
    for i, summary in enumerate(summaries):
        (output / f"{i}.dec").write_text("\n".join(summary.lines))
    timing = {"articles": len(articles), "seconds": seconds, "words_per_second": 3000 / seconds, "processes": 2}
    log = {"split": split, "rl": path.name in FULL, "beam": 5 if "rerank" in path.name else 1, "timing": timing}
    (path / "log.json").write_text(json.dumps(log))
    if not flat:
        lines = [{"article": i, "sentences": [{"source": j} for j in s.sources]} for i, s in enumerate(summaries)]
        (path / "alignment.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    texts = [("\n".join(s.lines), ("\n".join(a.abstract),)) for s, a in zip(summaries, articles, strict=True)]
    documents = [Document(i, *text) for i, text in enumerate(texts)]
    save_scores(score(documents, path.name), path / ("top3_scores.json" if baseline else "scores.json"))


def score(documents: list[Document], row: str) -> Scores:
    """METEOR is there for one row only: its statistics are invented."""
    found = rouge.score_documents((document.summary, document.references) for document in documents)
    empty = Scores.of(documents)
    scores = RougeScores("rouge-1.5.5|in-process", bootstrap.aggregate(found), found)
    meteor = MeteorScores("meteor-1.5|jar", 0.2135, np.ones((len(documents), 23))) if row == "rnn_ext" else None
    return Scores(empty.ids, empty.outputs, empty.references, scores, meteor)


def write_metrics(path: Path, reinforced: bool, updates: int = 60, validate_every: int = 20) -> None:
    path.mkdir(parents=True)
    lines = []
    for step in range(1, updates + 1):
        part = step / updates
        values = {"reward": 0.2 + 0.2 * part, "extracted": 12 - 8 * part, "stop_rate": part} if reinforced else {}
        lines.append({"step": step, "loss": 5 - 3 * part, **values})
        if step % validate_every == 0:
            lines.append({"step": step, "val_metric": 4 - 2 * part, **{f"val_{k}": v for k, v in values.items()}})
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _rewritten(sentence: str) -> str:
    return " ".join(sentence.split()[::2])


def _read(data_dir: Path) -> list[Article]:
    count = len(list((data_dir / "test").glob("*.json")))
    return [read_article(article_path(data_dir, "test", i)) for i in range(count)]


def lines_of(table: layout.Table) -> dict[str, layout.Line]:
    return {line.label: line for section in table.sections for line in section.lines}


def texts(cells: Iterable[layout.Cell]) -> list[str]:
    return [cell.text for cell in cells]

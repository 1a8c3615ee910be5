"""`python -m report.corpus D` describes a data set: baselines, lengths, unknown and novel words.

ROUGE is that of metrics.rouge (as ROUGE-1.5.5 -n 2 -m). The oracle extracts the sentences of the proxy labels
(Eq. 6); unknown words are those beyond the `--vsize` most frequent training words; an n-gram of a summary is
novel if its article lacks it (Sec. 7.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from data.articles import Article, article_path, count_articles, read_article, split_directory
from data.labels import proxy_labels
from data.vocabulary import Vocabulary, load_word_counts
from metrics.ngram_table import Measure, words
from metrics.novelty import novel
from metrics.repetition import repeated
from metrics.rouge import score_documents
from metrics.summaries import escape
from sample.corpus import VOCABULARY_SIZE
from support.errors import UserError, run
from support.flags import flag, parse
from support.progress import progress

Row = tuple[str, str]


def corpus_report(data_dir: str, split: str, vsize: int, limit: int | None = None) -> list[Row]:
    """Names and values of all figures, in the order of printing; of the first `limit` articles."""
    total = count_articles(split_directory(data_dir, split))
    indices = progress(range(min(total, limit or total)), f"reading {split}", total)
    articles = [read_article(article_path(data_dir, split, index)) for index in indices]
    articles = [article for article in articles if article.article and article.abstract]
    if not articles:
        raise UserError(f"{data_dir}/{split} has no article with both text and abstract")
    known = set(Vocabulary.from_counter(load_word_counts(data_dir), vsize).words)
    labels = [proxy_labels(article.article, article.abstract).extracted for article in articles]
    return [
        ("articles", f"{len(articles):,} of {total:,} in {split}"),
        *_lengths(articles),
        *_baselines(articles, labels),
        *_wording(articles, known, vsize),
        *_positions(labels),
    ]


def _lengths(articles: list[Article]) -> Iterator[Row]:
    for name, texts in (
        ("article", [article.article for article in articles]),
        ("summary", [article.abstract for article in articles]),
    ):
        lengths = [len(sentence.split()) for text in texts for sentence in text]
        counts = [len(text) for text in texts]
        yield f"{name} sentences", _spread(counts)
        yield f"{name} words", f"{sum(lengths) / len(texts):.1f}"
        yield f"words in a sentence of the {name}", _spread(lengths)
    yield "articles with n highlights", _shares(len(article.abstract) for article in articles)


def _baselines(articles: list[Article], labels: list[list[int]]) -> Iterator[Row]:
    lead = [article.article[:3] for article in articles]
    oracle = [[article.article[i] for i in chosen] for article, chosen in zip(articles, labels, strict=True)]
    for name, summaries in (("lead-3", lead), ("oracle", oracle)):
        pairs = zip(summaries, articles, strict=True)
        scores = score_documents((_lines(summary), [_lines(article.abstract)]) for summary, article in pairs)
        yield f"{name} R-1 / R-2 / R-L", " / ".join(f"{100 * f:.2f}" for f in scores[:, :, 2].mean(axis=0))


def _wording(articles: list[Article], known: set[str], vsize: int) -> Iterator[Row]:
    unknown = (word not in known for article in articles for word in _joined(article.abstract))
    yield f"summary words outside the {vsize:,} most frequent", _percent(unknown)
    for measure, orders in ((novel, (1, 2, 3, 4)), (repeated, (1, 2))):
        for order in orders:
            yield f"{measure.__name__} {order}-grams of summaries", _share(measure, articles, order)


def _share(measure: Measure, articles: list[Article], order: int) -> str:
    found = total = 0
    for article in articles:
        count = measure([_joined(article.abstract)], _joined(article.article), order)[0]
        found, total = found + count.found, total + count.total
    return f"{100 * found / max(1, total):.1f}%"


def _joined(sentences: list[str]) -> list[str]:
    return words(" ".join(sentences))


def _positions(labels: list[list[int]]) -> Iterator[Row]:
    picked = Counter(min(position, 10) for chosen in labels for position in chosen)
    shares = [f"{'10+' if p == 10 else p}: {picked[p] / len(labels):.2f}" for p in sorted(picked)]
    yield "oracle sentences at position p, per article", "  ".join(shares)
    yield "summaries in the order of the article", _percent(chosen == sorted(chosen) for chosen in labels)


def _lines(sentences: list[str]) -> str:
    return escape("\n".join(sentences))


def _spread(values: list[int]) -> str:
    return f"{sum(values) / len(values):.1f}  (min {min(values)}, max {max(values)})"


def _percent(flags: Iterable[bool]) -> str:
    marks = list(flags)
    return f"{100 * sum(marks) / max(1, len(marks)):.1f}%"


def _shares(values: Iterable[int]) -> str:
    counts = Counter(values)
    return "  ".join(f"{value}: {100 * counts[value] / counts.total():.1f}%" for value in sorted(counts))


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA", positional=True)
    split: str = flag("test", "train, val or test")
    vsize: int = flag(VOCABULARY_SIZE, "size of the vocabulary", at_least=1)
    limit: int | None = flag(None, "read only this many articles", at_least=1)


def main() -> None:
    flags = parse(Flags, __doc__ or "", prog="python -m report.corpus")
    rows = corpus_report(flags.data_dir, flags.split, flags.vsize, flags.limit)
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows))


if __name__ == "__main__":
    run(main)

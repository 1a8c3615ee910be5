"""What metrics.novelty and metrics.repetition share: a row per system, a column per order of n-gram."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from metrics.summaries import check_same_ids, decoded_split, read_summaries, summary_folder, unescape
from support.errors import UserError
from support.files import read_json, write_json
from support.flags import flag, parse
from support.progress import progress

ORDERS = (1, 2, 3, 4)
REFERENCE_ROW = "reference summaries"


class Count(NamedTuple):
    found: int  # n-grams that are novel, or repeated
    total: int


# (the summaries of a document, its article, order) -> a count for each summary
Measure = Callable[[Sequence[Sequence[str]], Sequence[str], int], list[Count]]
Summaries = dict[int, str]
TextsAndArticle = tuple[Sequence[Sequence[str]], Sequence[str]]


def percentages(measure: Measure, systems: dict[str, Summaries], articles: Path) -> dict[str, list[float]]:
    """System -> percentage per order, one ratio over all documents; the references are the last system."""
    ids = sorted(next(iter(systems.values())))

    def documents() -> Iterator[TextsAndArticle]:
        for i in progress(ids, "n-grams", total=len(ids), unit="doc"):
            article, abstract = _read_article(articles / f"{i}.json")
            yield [words(unescape(summaries[i])) for summaries in systems.values()] + [abstract], article

    return dict(zip([*systems, REFERENCE_ROW], ratios(measure, documents()), strict=True))


def ratios(measure: Measure, documents: Iterable[TextsAndArticle]) -> list[list[float]]:
    """For each of the texts that every document has: percentage per order, one ratio over all documents."""
    counts = [[measure(texts, article, order) for order in ORDERS] for texts, article in documents]
    totals = np.sum(counts, axis=0)
    found, total = totals[..., 0], np.maximum(totals[..., 1], 1)  # each (ORDERS, texts)
    return (100 * found / total).T.tolist()


def words(text: str) -> list[str]:
    """All sentences joined; lower-cased, as all that the models read and write."""
    return text.lower().split()


@dataclass(frozen=True, kw_only=True)
class Flags:
    folders: tuple[Path, ...] = flag(help="decode directory, or folder of .dec files", positional=True)
    data_dir: str = flag(help="data set root", env="DATA")
    split: str | None = flag(None, "where no log.json names the split")


def run_table(measure: Measure, name: str, description: str) -> None:
    """The command line: prints the table and writes <decode_dir>/<name>.json for each system."""
    flags = parse(Flags, description, prog=f"python -m metrics.{name}")
    outputs = {str(folder): summary_folder(folder) for folder in flags.folders}
    systems = {system: read_summaries(output) for system, output in outputs.items()}
    first = str(flags.folders[0])
    for system, summaries in systems.items():
        check_same_ids(systems[first], f"{outputs[first]}/{{}}.dec", summaries, f"{outputs[system]}/{{}}.dec")
    articles = Path(flags.data_dir) / (flags.split or _common_split(flags.folders))
    rows = percentages(measure, systems, articles)
    for system, summaries in systems.items():
        percent = dict(zip(map(str, ORDERS), rows[system], strict=True))
        write_json(Path(system) / f"{name}.json", {"documents": len(summaries), "percent": percent})
    print(table(rows, name))


def table(rows: dict[str, list[float]], title: str) -> str:
    width = max(len(name) for name in [*rows, title + " (%)"])
    lines = [f"{title + ' (%)':<{width}}" + "".join(f"{f'{order}-gram':>9}" for order in ORDERS)]
    lines += [f"{name:<{width}}" + "".join(f"{value:9.1f}" for value in row) for name, row in rows.items()]
    return "\n".join(lines)


def _common_split(folders: Sequence[Path]) -> str:
    """By log.json, which lies in the folder or, for output_top<n> of a baseline, above it."""
    splits = {}
    for folder in folders:
        logs = [place for place in (folder, folder.absolute().parent) if (place / "log.json").is_file()]
        if not logs:
            raise UserError(f"{folder} has no log.json that names the split: give --split")
        splits[decoded_split(logs[0])] = folder
    if len(splits) > 1:
        names = ", ".join(f"{folder} is of {split}" for split, folder in splits.items())
        raise UserError(f"the systems are of different splits: {names}")
    return next(iter(splits))


def _read_article(path: Path) -> tuple[list[str], list[str]]:
    value = read_json(path)
    fields: list[Any] = [value.get(name) if isinstance(value, dict) else None for name in ("article", "abstract")]
    if not all(isinstance(lines, list) and all(isinstance(line, str) for line in lines) for lines in fields):
        raise UserError(f"{path} is not an article: it needs the lists of sentences article and abstract")
    article, abstract = (words(" ".join(lines)) for lines in fields)
    return article, abstract

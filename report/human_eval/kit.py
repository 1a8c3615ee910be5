"""A kit for judges: sampled articles with two summaries each, in random order and without names (Sec. 6.3).

Tokenised text is written as people write it, in the same way for both systems.

    <out>/batch_1.html ...   self-contained pages, whose answers are downloaded as files
    <out>/crowd.csv          the same items for a crowd platform, texts as HTML
    <out>.key.json           which summary is whose: not for the judges
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from data.articles import article_path, read_article
from inference.raw_text import Casing, join, write_sentence
from metrics.summaries import check_same_ids, read_summaries, summary_folder, unescape
from report.html_page import styled
from report.rows import ROWS
from report.runs import Run
from support.errors import UserError
from support.files import atomic_directory, write_json

QUESTIONS = ("relevance", "readability")
CHOICES = ("A", "B", "equal")
_BODY, _STYLE = (Path(__file__).with_name(name) for name in ("judge.html", "judge.css"))
_COLUMNS = ("kit", "item", "article", "reference", "summary_a", "summary_b")


class Item(NamedTuple):
    """What a judge sees; `swapped`, which stays in the key, says that A is the second system."""

    number: int
    article_index: int
    article: list[str]
    reference: list[str]
    summary_a: list[str]
    summary_b: list[str]
    swapped: bool

    def shown(self) -> dict[str, Any]:
        return {
            "item": str(self.number),
            "article": self.article,
            "reference": self.reference,
            "A": self.summary_a,
            "B": self.summary_b,
        }


class Systems(NamedTuple):
    first: Path
    second: Path

    def names(self) -> list[str]:
        """Short where these differ."""
        labels = [ROWS[path.name].label if path.name in ROWS else path.name for path in self]
        return labels if labels[0] != labels[1] else [str(path) for path in self]

    def split(self) -> str:
        """That of their log.json."""
        splits = {str(path): Run(path).log.get("split") for path in self if path.is_dir()}
        names = [split for split in splits.values() if isinstance(split, str)]
        if len(names) < len(splits) or len(set(names)) != 1:
            found = ", ".join(f"{path}: {split or 'none'}" for path, split in splits.items())
            raise UserError(f"which split do the two systems belong to ({found})? give --split")
        return names[0]


def sample_items(systems: Systems, data_dir: str, split: str, count: int, seed: int) -> list[Item]:
    folders = [summary_folder(path) for path in systems]
    first, second = map(read_summaries, folders)
    check_same_ids(first, f"{folders[0]}/{{}}.dec", second, f"{folders[1]}/{{}}.dec")
    dice = random.Random(seed)
    chosen = dice.sample(sorted(first), min(count, len(first)))
    items = []
    for number, index in enumerate(chosen, start=1):
        article = read_article(article_path(data_dir, split, index))
        texts = [unescape(summaries[index]).split("\n") for summaries in (first, second)]
        swapped = dice.random() < 0.5
        shown = [article.article, article.abstract, *(reversed(texts) if swapped else texts)]
        text, reference, a, b = map(readable, shown)
        items.append(Item(number, index, text, reference, a, b, swapped))
    return items


def readable(sentences: Sequence[str]) -> list[str]:
    """Detokenised; what is not a character, such as a lone surrogate, becomes a question mark."""
    no_casing = Casing([])
    written = [join(write_sentence(sentence.split(), no_casing)) for sentence in sentences]
    return [text.encode("utf-8", "replace").decode("utf-8") for text in written]


def write_kit(out: Path, key: Path, items: Sequence[Item], systems: Systems, seed: int, batch: int) -> int:
    """Returns the number of pages."""
    for path in (key, out):
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UserError(f"{path} is already there, and answers may belong to it: take another --out")
    kit = hashlib.sha256(json.dumps([items, seed]).encode()).hexdigest()[:12]
    batches = [items[start : start + batch] for start in range(0, len(items), batch)]
    with atomic_directory(out) as folder:
        for number, members in enumerate(batches, start=1):
            (folder / f"batch_{number}.html").write_text(_page(kit, number, members), encoding="utf-8", newline="\n")
        _write_csv(folder / "crowd.csv", kit, items)
        write_json(key, _key(kit, items, systems, seed))
    return len(batches)


def _key(kit: str, items: Sequence[Item], systems: Systems, seed: int) -> dict[str, Any]:
    places = [{"article": item.article_index, "A": "second" if item.swapped else "first"} for item in items]
    numbered = {str(item.number): place for item, place in zip(items, places, strict=True)}
    return {"kit": kit, "seed": seed, "systems": systems.names(), "items": numbered}


def _page(kit: str, batch: int, items: Sequence[Item]) -> str:
    content = json.dumps({"kit": kit, "batch": batch, "items": [item.shown() for item in items]})
    body = _BODY.read_text(encoding="utf-8").replace("{{kit}}", content.replace("<", "\\u003c"))
    return styled("Which summary is better?", body, _STYLE.read_text(encoding="utf-8"))


def _write_csv(path: Path, kit: str, items: Sequence[Item]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        for item in items:
            texts = (item.article, item.reference, item.summary_a, item.summary_b)
            writer.writerow([kit, item.number, *("<br>".join(map(html.escape, text)) for text in texts)])

"""Plain text files: name.txt with name.summary.txt beside it, or with name.txt in a folder of summaries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from data.prepare.documents import (
    Flags,
    LeftOut,
    Preparation,
    RawDocument,
    Source,
    TextRules,
    lines,
    paragraphs,
    read_text,
    units_flag,
    walk,
)
from data.prepare.splits import SPLITS
from data.tokenizer import resolve
from support.errors import UserError
from support.flags import flag

_SUMMARY = ".summary.txt"


@dataclass(frozen=True, kw_only=True)
class TxtFlags(Flags):
    source: str = flag(help="folder of the texts")
    summaries: str | None = flag(None, "folder of the summaries, under the same names")
    split: str = flag("test", "the split that these texts become", choices=SPLITS)
    units: str = units_flag("sentences", "lines takes every line as a sentence, sentences splits paragraphs")


def plan(flags: TxtFlags) -> Preparation:
    """Without any summary the set is for decoding only; where some are missing, those texts are left out."""
    source = Path(flags.source)
    summary_of = _summaries_in(Path(flags.summaries)) if flags.summaries else _summaries_beside(source)
    texts = {_key(path, source): path for path in walk(source, ".txt") if not path.name.endswith(_SUMMARY)}
    if not texts:
        raise UserError(f"{source} holds no .txt file")
    names = sorted(texts, key=_natural)
    left_out = [LeftOut(flags.split, name, "", "no text") for name in summary_of if name not in texts]
    if summary_of or flags.split != "test":
        left_out += [LeftOut(flags.split, name, "", "no summary") for name in names if name not in summary_of]
        names = [name for name in names if name in summary_of]
    if not names:
        raise UserError(f"no text in {source} has its summary: name.summary.txt beside it, or in --summaries")
    inputs = [texts[name] for name in names] + [summary_of[name] for name in names if name in summary_of]
    read = partial(_read, names, texts, summary_of, flags)
    rules = TextRules(resolve(flags.tokenizer), flags.units, flags.units, True)
    return Preparation([Source(flags.split, read, inputs, len(names))], rules, left_out)


def _summaries_in(folder: Path) -> dict[str, Path]:
    return {_key(path, folder).removesuffix(".summary"): path for path in walk(folder, ".txt")}


def _summaries_beside(source: Path) -> dict[str, Path]:
    return {_key(path, source).removesuffix(".summary"): path for path in walk(source, _SUMMARY)}


def _key(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _natural(name: str) -> list[tuple[int, str]]:
    """2 before 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _read(
    names: list[str], texts: dict[str, Path], summary_of: dict[str, Path], flags: TxtFlags
) -> Iterator[RawDocument]:
    divide = lines if flags.units == "lines" else paragraphs
    for name in names:
        article = divide(read_text(texts[name], flags.encoding))
        abstract = divide(read_text(summary_of[name], flags.encoding)) if name in summary_of else []
        yield RawDocument(name, article, abstract)

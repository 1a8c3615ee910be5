"""Parquet or jsonl files of data set hubs: raw text in the columns article, highlights and id.

By default a sentence is a line where an article has several; most hubs have it as one string, which is split into
sentences. `stories` makes lines, as in the released data: scores of the two are not comparable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from data.prepare import jsonl
from data.prepare.documents import Preparation, RawDocument, Source, TextRules, units_flag
from data.prepare.splits import SplitFlags, split_files
from data.tokenizer import resolve
from support.errors import UserError
from support.files import open_file
from support.flags import flag


@dataclass(frozen=True, kw_only=True)
class HubFlags(SplitFlags):
    units: str = units_flag(
        "auto",
        "what becomes a sentence; auto takes lines where there are several, else sentences",
        choices=("auto", "lines", "sentences"),
    )
    columns: str = flag("article,highlights,id", "names of the columns; the one of the id may be absent")


def plan(flags: HubFlags) -> Preparation:
    """Highlights are separated by line ends; the article is one string, cut at line ends and by --units."""
    columns = [name.strip() for name in flags.columns.split(",")]
    if len(columns) not in (2, 3) or not all(columns):
        raise UserError(f"--columns takes names as in article,highlights,id; not {flags.columns}")
    sources = [
        Source(split, partial(_read, files, columns, flags.encoding), files, _count(files, columns))
        for split, files in split_files(flags, ".parquet", *jsonl.SUFFIXES).items()
    ]
    return Preparation(sources, TextRules(resolve(flags.tokenizer), flags.units, flags.abstract_units, True), [])


def _read(files: list[Path], columns: list[str], encoding: str) -> Iterator[RawDocument]:
    article, highlights, *name = columns
    for path in files:
        packed = path.suffix == ".parquet"
        for place, row in _parquet_rows(path, columns) if packed else jsonl.read_objects(path, encoding):
            _require(row.keys(), (article, highlights), place)
            yield RawDocument(
                str(row.get("".join(name), Path(place).name)),
                jsonl.sentence_list(row[article], f"{place}, {article}"),
                jsonl.sentence_list(row[highlights], f"{place}, {highlights}"),
                str(row.get("url") or ""),
            )


def _count(files: list[Path], columns: list[str]) -> int | None:
    """Rows, where they can be counted without reading; bad files show before the work begins."""
    if any(path.suffix != ".parquet" for path in files):
        return None
    return sum(_parquet_count(path, columns) for path in files)


def _parquet_count(path: Path, columns: list[str]) -> int:
    with _open_parquet(path, columns) as file:
        return int(file.metadata.num_rows)


def _parquet_rows(path: Path, columns: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    number = 0
    with _open_parquet(path, columns) as file:
        wanted = [name for name in dict.fromkeys([*columns, "url"]) if name in file.schema_arrow.names]
        for batch in file.iter_batches(500, columns=wanted):
            for row in batch.to_pylist():
                number += 1
                yield f"{path}:{number}", row


@contextlib.contextmanager
def _open_parquet(path: Path, columns: list[str]) -> Iterator[Any]:
    import pyarrow
    import pyarrow.parquet

    try:
        with open_file(path, "rb") as content, pyarrow.parquet.ParquetFile(content) as file:
            _require(file.schema_arrow.names, columns[:2], path)
            yield file
    except (OSError, pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not a readable parquet file ({error})") from None


def _require(present: Any, columns: Any, place: str | Path) -> None:
    for column in columns:
        if column not in present:
            raise UserError(f"{place} has no column {column} but {', '.join(present)}; --columns names yours")

"""One JSON object a line with lists of tokenised sentences: id, article, abstract, and url where known."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from cytoolz import concat, peekn

from data.prepare.documents import Preparation, RawDocument, Source, TextRules, lines
from data.prepare.splits import SplitFlags, split_files
from data.prepare.text_rules import looks_raw
from data.tokenizer import resolve
from support.errors import UserError
from support.files import open_file
from support.flags import flag

SUFFIXES = tuple(kind + packing for kind in (".jsonl", ".json") for packing in ("", ".gz", ".xz", ".bz2"))
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_JUDGED = 100  # documents by whose ends of lines raw text is recognised
_ABSTRACT_NAMES = ("abstract", "highlights", "summary")


@dataclass(frozen=True, kw_only=True)
class JsonlFlags(SplitFlags):
    tokenizer: str = flag(
        "none", "none keeps the tokens between spaces; the others are for raw text",
        choices=("auto", "stanford", "python", "none"),
    )  # fmt: skip


def plan(flags: JsonlFlags) -> Preparation:
    """The texts are kept as they are but for case and spaces, since they come prepared."""
    tokenizer = resolve(flags.tokenizer)
    read = _read_tokenised if tokenizer == "none" else read_documents
    sources = [
        Source(split, partial(read, files, flags.encoding), files)
        for split, files in split_files(flags, *SUFFIXES).items()
    ]
    return Preparation(sources, TextRules(tokenizer, flags.units, flags.abstract_units, tokenizer != "none"), [])


def _read_tokenised(files: list[Path], encoding: str) -> Iterator[RawDocument]:
    first, documents = peekn(_JUDGED, read_documents(files, encoding))
    if looks_raw(list(concat(document.article for document in first))):
        raise UserError(
            f"{files[0]} looks like raw text, with full stops glued to words; python -m data.prepare hub takes that, "
            "and --tokenizer auto takes lists of raw sentences"
        )
    return documents


def read_documents(files: list[Path], encoding: str) -> Iterator[RawDocument]:
    for path in files:
        for place, row in read_objects(path, encoding):
            name = next((name for name in _ABSTRACT_NAMES if name in row), None)
            if "article" not in row or name is None:
                raise UserError(f"{place} needs article and abstract; it has {', '.join(row) or 'none'}")
            yield RawDocument(
                str(row.get("id", Path(place).name)),
                sentence_list(row["article"], f"{place}, article"),
                sentence_list(row[name], f"{place}, {name}"),
                str(row.get("url") or ""),
            )


def read_objects(path: Path, encoding: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file, packed or not, each with its place."""
    number = 0
    try:
        with open_file(path, "rb") as packed, _unpack(packed, path.suffix, encoding) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", _as_object(json.loads(line))
    except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError, RecursionError, LookupError) as error:
        raise UserError(f"{path}:{number or 1} is not readable as one JSON object a line ({error})") from None


def _unpack(packed: IO[bytes], suffix: str, encoding: str) -> IO[str]:
    if suffix in _OPENERS:
        return cast(IO[str], _OPENERS[suffix](packed, "rt", encoding=encoding))
    return io.TextIOWrapper(packed, encoding=encoding)


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"it is a {type(value).__name__}")
    return value


def sentence_list(value: Any, place: str) -> list[str]:
    """A list of sentences as it is; of a string its lines."""
    if value is None:
        return []
    if isinstance(value, str):
        return lines(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise UserError(f"{place}: expected text or a list of sentences, not {type(value).__name__}")

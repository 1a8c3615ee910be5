"""What every format is read into, and what preparing it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from support.errors import UserError
from support.files import open_file
from support.flags import flag
from support.parallel import available_cores


@dataclass(frozen=True)
class RawDocument:
    id: str
    article: list[str]  # the lines or paragraphs of the source
    abstract: list[str]
    url: str = ""
    further_abstracts: Sequence[list[str]] = ()  # where a document has several references


@dataclass(frozen=True)
class TextRules:
    """How raw lines become tokenised sentences."""

    tokenizer: str
    article_units: str  # lines, sentences, or auto: lines where a text has several, else its sentences
    abstract_units: str
    full_stops: bool  # the released rule: a line that lacks its end punctuation gets " ."


class LeftOut(NamedTuple):
    """Something in the source that has no place in the data set."""

    split: str
    id: str
    url: str
    reason: str


@dataclass(frozen=True)
class Source:
    """One split to prepare. `inputs` are the files on which it depends."""

    split: str
    read: Callable[[], Iterable[RawDocument]]
    inputs: list[Path]
    total: int | None = None


@dataclass(frozen=True)
class Preparation:
    sources: list[Source]
    rules: TextRules
    left_out: list[LeftOut]


def units_flag(
    default: str,
    help: str = "what becomes a sentence: lines of the source, or sentences",
    choices: tuple[str, ...] = ("lines", "sentences"),
) -> Any:
    return flag(default, help, choices=choices)


@dataclass(frozen=True, kw_only=True)
class Flags:
    """What every format has in common."""

    out: str = flag(help="data set to write: OUT/train/0.json, ..., OUT/manifest.tsv", env="DATA")
    units: str = units_flag("lines")
    tokenizer: str = flag(
        "auto",
        "auto takes stanford where there is Java, else python; none splits at spaces",
        choices=("auto", "stanford", "python", "none"),
    )
    encoding: str = flag("utf-8", "encoding of the source files")
    workers: int = flag(available_cores(), "processes", at_least=1)
    force: bool = flag(False, "replace splits that OUT already has")


def read_text(path: Path, encoding: str) -> str:
    """A text file with plain line ends; what is not text is refused."""
    try:
        with open_file(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise UserError(f"{path} is not readable ({error.strerror})") from None
    if b"\0" in content and not encoding.lower().startswith(("utf-16", "utf-32")):
        raise UserError(f"{path} is a binary file, not text; move it away or correct it, then run again")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        found = f"byte 0x{content[error.start]:02x} at position {error.start}"
        raise UserError(f"{path} is not {encoding} ({found}); perhaps --encoding latin-1 or cp1252") from None
    except LookupError:
        raise UserError(f"--encoding {encoding} is not known to Python") from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def paragraphs(text: str) -> list[str]:
    """The non-empty blocks of a text between blank lines, each on one line."""
    blocks: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [" ".join(" ".join(block).split()) for block in blocks if block]


def lines(text: str) -> list[str]:
    """The non-empty lines of a text."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def walk(folder: Path, *suffixes: str) -> Iterator[Path]:
    """The files below a folder, perhaps by suffix, in the order of their names; not the hidden ones."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a directory")
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and (not suffixes or name.endswith(suffixes)):
                yield Path(directory, name)

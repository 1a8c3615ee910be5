"""The texts that a person names: files of any suffix, folders of them, `-` for standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from support.errors import UserError

STANDARD_INPUT = "standard input"


def read_texts(inputs: Sequence[str]) -> dict[str, str]:
    """Name -> text, in the order of the inputs; a file that is named twice is read once."""
    if list(inputs).count("-") > 1:
        raise UserError("`-`, standard input, can be read only once")
    found = dict(text for source in inputs for text in _read(source))
    if not found:
        raise UserError(f"there is no text in {' or '.join(inputs)}")
    short = [Path(name).name for name in found]
    return dict(zip(short if len(set(short)) == len(short) else found, found.values(), strict=True))


def _read(source: str) -> Iterator[tuple[str, str]]:
    path = Path(source)
    if source == "-":
        yield STANDARD_INPUT, _decoded(_standard_input(), STANDARD_INPUT)
    elif not path.exists():
        raise UserError(f"{path} does not exist")
    elif path.is_dir():
        yield from _read_folder(path)
    else:
        yield str(path), _decoded(path.read_bytes(), str(path))


def _read_folder(folder: Path) -> Iterator[tuple[str, str]]:
    """The texts directly in it, in the order of their names; other files are named in a note and skipped."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise UserError(f"{folder} is a folder without a file")
    for file in files:
        try:
            yield str(file), _decoded(file.read_bytes(), str(file))
        except UserError as error:  # noqa: PERF203
            print(f"note: {error}, so it is left out", file=sys.stderr)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise UserError("standard input is closed; name a file with the text")
    if sys.stdin.isatty():
        print("note: type or paste the text; Ctrl-D on an empty line ends it", file=sys.stderr)
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UserError(f"standard input cannot be read ({error.strerror or error}); name a file") from None


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{name} is not a text in UTF-8") from None

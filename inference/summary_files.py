"""Where summaries go as they come: to a stream, to one file, or into a folder with a file for each text.

File and folder are resumable: what a run that ended early has finished is not done again.
"""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from inference.readable import Readable
from inference.summary_formats import Format
from support.errors import UserError
from support.files import atomic_file, open_file


class Item(NamedTuple):
    """A text to summarise."""

    name: str
    text: str
    key: str  # of all that decides its summary


class Results(ABC):
    done: Collection[str] = ()  # keys of what need not be summarised again

    @abstractmethod
    def add(self, key: str, summary: Readable) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """All are added or were done before."""


class Stream(Results):
    def __init__(self, file: BinaryIO, form: Format, items: Sequence[Item]) -> None:
        self._file, self._form, self._alone = file, form, len(items) == 1
        self._next = form.begin

    def add(self, key: str, summary: Readable) -> None:
        self._write(self._next + self._form.part(summary, self._alone))
        self._next = self._form.between

    def close(self) -> None:
        self._write(self._form.end)

    def _write(self, text: str) -> None:
        self._file.write(_encoded(text))
        self._file.flush()


class OneFile(Results):
    """Whole or absent; until it is whole, its parts lie in a journal beside it."""

    def __init__(self, path: Path, form: Format, items: Sequence[Item]) -> None:
        self._path, self._form, self._items = path, form, items
        self._journal = _Journal(path.with_name(f".{path.name}.parts"))
        self.done = self._journal.values.keys()

    def add(self, key: str, summary: Readable) -> None:
        self._journal.add(key, self._form.part(summary, len(self._items) == 1))

    def close(self) -> None:
        parts = [self._journal.values[item.key] for item in self._items]
        _write_whole(self._path, self._form.whole(parts))
        self._journal.remove()


class Folder(Results):
    """NAME.summary.txt (.json, .html) for NAME.txt: what the text alone would give."""

    def __init__(self, path: Path, form: Format, items: Sequence[Item]) -> None:
        self._form, self._files = form, {item.key: path / _file_name(item.name, form) for item in items}
        if len(set(self._files.values())) < len(items):
            raise UserError(f"--output {path}: several texts have the same name; give their summaries one file")
        path.mkdir(exist_ok=True)
        self._journal = _Journal(path / ".finished")
        made = self._journal.values
        self.done = {key for key, file in self._files.items() if made.get(file.name) == key and file.is_file()}

    def add(self, key: str, summary: Readable) -> None:
        _write_whole(self._files[key], self._form.whole([self._form.part(summary, True)]))
        self._journal.add(self._files[key].name, key)

    def close(self) -> None:
        """The journal stays: a later run may have more texts."""


def _file_name(name: str, form: Format) -> str:
    return name.removesuffix(".txt").replace("/", "_") + ".summary" + form.suffix


def _write_whole(path: Path, text: str) -> None:
    with atomic_file(path, "wb") as file:
        file.write(_encoded(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


class _Journal:
    """Values by key, appended line by line; a line that a kill cut short is passed over."""

    def __init__(self, path: Path) -> None:
        self.values: dict[str, str] = {}
        self._path = path
        for line in path.read_bytes().splitlines() if path.is_file() else []:
            with contextlib.suppress(ValueError, TypeError, RecursionError):
                key, value = json.loads(line)
                self.values[str(key)] = str(value)

    def add(self, key: str, value: str) -> None:
        with open_file(self._path, "a", encoding="ascii") as file:
            file.write(f"\n{json.dumps([key, value])}")
        self.values[key] = value

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

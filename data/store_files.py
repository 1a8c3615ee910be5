"""The files of a token store: flat arrays in the machine's byte order, described by meta.json.

    .store/lexicon-<fingerprint of vocab_cnt.pkl>.json    the counted words, shared by the splits
    .store/<split>/meta.json                              version, fingerprint of the source, lexicon, size and
                                                          time of each file, by which damage is noticed
    .store/<split>/words.json                             the split's own uncounted words
    .store/<split>/<array>.bin
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cytoolz import concat
from numpy.typing import NDArray

from data.documents import Documents, Ints, offsets
from support.errors import UserError
from support.files import atomic_file, read_json, write_json

VERSION = 1
_TYPES = {
    "article_words": np.int32,
    "article_sentences": np.int64,
    "article_documents": np.int64,
    "abstract_words": np.int32,
    "abstract_sentences": np.int64,
    "abstract_documents": np.int64,
    "label_offsets": np.int64,
    "labels": np.int32,
}


class StoreArrays(NamedTuple):
    articles: Documents
    abstracts: Documents
    label_offsets: Ints
    labels: NDArray[np.int32]


class StoreWriter:
    """Appends encoded texts piece by piece, so that memory does not grow with the words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lengths: dict[str, list[Ints]] = {name: [] for name, kind in _TYPES.items() if kind is np.int64}
        self._files = {name: self._path(name).open("wb") for name, kind in _TYPES.items() if kind is np.int32}

    def append(self, kind: str, texts: Documents) -> None:
        """`kind` is article or abstract."""
        texts.words.astype(np.int32).tofile(self._files[f"{kind}_words"])
        self._lengths[f"{kind}_sentences"].append(texts.sentence_lengths)
        self._lengths[f"{kind}_documents"].append(texts.sentence_counts)

    def append_labels(self, labels: list[list[int]]) -> None:
        np.fromiter(concat(labels), np.int32).tofile(self._files["labels"])
        self._lengths["label_offsets"].append(np.array([len(row) for row in labels], np.int64))

    def finish(self, fingerprint: str, lexicon: str | None, words: Iterable[str]) -> None:
        for file in self._files.values():
            file.close()
        for name, pieces in self._lengths.items():
            offsets(np.concatenate(pieces)).tofile(self._path(name))
        write_words(self.folder / "words.json", words)
        sizes = {name: self._path(name).stat().st_size for name in _TYPES}
        meta = {"version": VERSION, "fingerprint": fingerprint, "lexicon": lexicon, "bytes": sizes}
        write_json(self.folder / "meta.json", meta | {"times": _times(self.folder, lexicon)})

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.bin"


def is_current(folder: Path, fingerprint: str) -> bool:
    """Whether a store of this version and source lies there, and nobody wrote into its files since it was built."""
    try:
        meta = read_json(folder / "meta.json")
        return (
            meta["version"] == VERSION
            and meta["fingerprint"] == fingerprint
            and meta["times"] == _times(folder, meta["lexicon"])
            and meta["bytes"] == {name: (folder / f"{name}.bin").stat().st_size for name in _TYPES}
        )
    except (UserError, OSError, ValueError, KeyError, TypeError):
        return False


def _times(folder: Path, lexicon: str | None) -> dict[str, int]:
    """When each file of a store was written last."""
    files = [folder / "words.json", *(folder / f"{name}.bin" for name in _TYPES)]
    files += [] if lexicon is None else [folder.parent / lexicon]
    return {path.name: path.stat().st_mtime_ns for path in files}


def read_arrays(folder: Path) -> StoreArrays:
    arrays = {name: _map(folder / f"{name}.bin", kind) for name, kind in _TYPES.items()}
    return StoreArrays(
        Documents(*(arrays[f"article_{part}"] for part in ("words", "sentences", "documents"))),
        Documents(*(arrays[f"abstract_{part}"] for part in ("words", "sentences", "documents"))),
        arrays["label_offsets"],
        arrays["labels"],
    )


def read_lexicon(folder: Path) -> list[str]:
    """Counted words, then the split's own."""
    shared = read_json(folder / "meta.json")["lexicon"]
    counted = [] if shared is None else read_json(folder.parent / shared)
    return [*counted, *read_json(folder / "words.json")]


def write_words(path: Path, words: Iterable[str]) -> None:
    with atomic_file(path) as file:
        file.write(json.dumps(list(words)))


def holds_words(path: Path, words: list[str]) -> bool:
    try:
        return bool(read_json(path) == words)
    except UserError:
        return False


def _map(path: Path, kind: Any) -> NDArray[Any]:
    try:
        if path.stat().st_size == 0:
            return np.zeros(0, kind)
        return np.memmap(path, kind, "r").view(np.ndarray)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); delete {path.parent}") from None

"""The files of a token store: flat arrays in the machine's byte order, described by meta.json.

    .store/lexicon-<fingerprint of vocab_cnt.pkl>.json    the counted words, shared by the splits
    .store/<split>/meta.json                              version, fingerprint of the source, sizes, lexicon
    .store/<split>/words.json                             the split's own uncounted words
    .store/<split>/<array>.bin
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
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
        np.fromiter((label for row in labels for label in row), np.int32).tofile(self._files["labels"])
        self._lengths["label_offsets"].append(np.array([len(row) for row in labels], np.int64))

    def finish(self, fingerprint: str, lexicon: str | None, words: Iterable[str]) -> None:
        for file in self._files.values():
            file.close()
        for name, pieces in self._lengths.items():
            offsets(np.concatenate(pieces)).tofile(self._path(name))
        sizes = {name: self._path(name).stat().st_size for name in _TYPES}
        write_words(self.folder / "words.json", words)
        write_json(
            self.folder / "meta.json",
            {"version": VERSION, "fingerprint": fingerprint, "lexicon": lexicon, "bytes": sizes},
        )

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.bin"


def is_current(folder: Path, fingerprint: str) -> bool:
    """Whether a whole store of this version and source lies there."""
    try:
        meta = json.loads((folder / "meta.json").read_text())
        return (
            meta["version"] == VERSION
            and meta["fingerprint"] == fingerprint
            and all((folder / f"{name}.bin").stat().st_size == size for name, size in meta["bytes"].items())
            and (folder / "words.json").exists()
            and (meta["lexicon"] is None or (folder.parent / meta["lexicon"]).exists())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


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


def _map(path: Path, kind: Any) -> NDArray[Any]:
    try:
        if path.stat().st_size == 0:
            return np.zeros(0, kind)
        return np.memmap(path, kind, "r").view(np.ndarray)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); delete {path.parent}") from None

"""Reads the word vectors out of a file that gensim saved, of version 3 or 4, without running any code in it.

Such a file is a pickle.  Arrays, strings and containers are read; other objects become records of state.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from support.errors import UserError
from support.files import open_file


class WordVectors(NamedTuple):
    words: list[str]
    matrix: NDArray[np.float32]  # (words, dimensions)


def read_gensim_model(path: Path) -> WordVectors:
    """The vectors of a `Word2Vec` model."""
    try:
        with open_file(path, "rb") as file:
            fields = _fields(_fields(_ArrayUnpickler(file).load())["wv"])
        words = fields["index_to_key"] if "index_to_key" in fields else fields["index2word"]
        matrix = fields.get("vectors")
        if matrix is None:  # large arrays of the released files lie beside the model
            matrix = _read_array(Path(f"{path}.wv.vectors.npy"))
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{error.filename or path} cannot be read ({error.strerror or error})") from None
    except Exception as error:  # a broken pickle can raise almost anything
        raise UserError(f"{path} is not a word2vec model saved by gensim ({error!r})") from None
    if not isinstance(words, list) or not all(type(word) is str for word in words):
        raise UserError(f"{path}: its words are not strings; is it a word2vec model saved by gensim?")
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise UserError(f"{path}: its vectors are not a matrix of numbers; is it a word2vec model saved by gensim?")
    if len(matrix) != len(words):
        raise UserError(f"{path} has {len(words):,} words but {len(matrix):,} vectors; is it damaged?")
    return WordVectors(words, matrix)


def _read_array(path: Path) -> NDArray[Any]:
    """Mapped, not read: of all words only those of a vocabulary are wanted."""
    open_file(path, "rb").close()
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except Exception as error:  # numpy's advice is to trust it
        raise UserError(f"{path} is not an array of word vectors ({type(error).__name__}); is it damaged?") from None


class _Record(dict[Any, Any]):
    """Stands for any object or call."""

    def __init__(self, *_: Any) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _fields(record: Any) -> dict[str, Any]:
    return record.state if isinstance(record, _Record) else {}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return _empty_array
        if module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(np, name)
        if (module, name) == ("_codecs", "encode"):
            return _latin_bytes
        return _Record


def _empty_array(*_: Any) -> NDArray[Any]:
    """Its content follows in the pickle as the array's state."""
    return np.ndarray.__new__(np.ndarray, (0,), "b")


def _latin_bytes(text: str, *_: Any) -> bytes:
    return text.encode("latin1")

"""Word vectors as the start of an embedding matrix, by the released rules."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from data.gensim_files import WordVectors, read_gensim_model
from data.vocabulary import N_SPECIAL, Vocabulary
from model.batches import END, START
from support.errors import UserError
from support.files import open_file

SENTENCE_START, SENTENCE_END = "<s>", r"<\s>"  # marks in the text that the vectors are trained on


def initial_embedding(
    path: str | Path, vocabulary: Vocabulary, dim: int, generator: torch.Generator | None = None
) -> Tensor:
    """(V, dim): N(0, 1), then the vectors of the words that the file knows.

    START and END begin as the sentence marks `<s>` and `<\\s>`; PAD, UNK and unknown words stay random.
    """
    path = Path(path)
    _check_name(path, dim)
    wanted = {word: index for index, word in enumerate(vocabulary.words) if index >= N_SPECIAL}
    wanted |= {SENTENCE_START: START, SENTENCE_END: END}
    vectors = _read_text(path, wanted) if path.suffix == ".w2v" else read_gensim_model(path)
    if vectors.matrix.shape[1] != dim:
        raise UserError(f"{path} has {vectors.matrix.shape[1]} dimensions, the model needs {dim} (--emb_dim)")
    known = [(wanted[word], row) for row, word in enumerate(vectors.words) if word in wanted]
    if not any(index >= N_SPECIAL for index, _ in known):
        raise UserError(f"{path} has no word of the vocabulary; was it trained on other data?")
    ids, rows = np.array(known).T
    found = np.asarray(vectors.matrix[rows], np.float32)
    if not np.isfinite(found).all():
        word = vectors.words[rows[np.argmin(np.isfinite(found).all(1))]]
        raise UserError(f"{path}: the vector of {word!r} holds a number that is not finite")
    matrix = torch.randn(len(vocabulary), dim, generator=generator)
    matrix[torch.from_numpy(ids)] = torch.from_numpy(found)
    return matrix


def _check_name(path: Path, dim: int) -> None:
    """Released files are named `word2vec.128d.226k.bin`."""
    parts = path.name.split(".")
    if len(parts) >= 3 and parts[-3][:-1].isdecimal() and int(parts[-3][:-1]) != dim:
        raise UserError(f"{path} is named for {parts[-3][:-1]} dimensions, the model needs {dim} (--emb_dim)")


def _read_text(path: Path, wanted: Iterable[str]) -> WordVectors:
    """A header with the number of words and dimensions, then a word and its numbers on each line."""
    try:
        with open_file(path, encoding="utf-8", errors="replace") as file:
            dim = int(file.readline().split()[1])
            entries = (line.rstrip("\n").partition(" ") for line in file)
            found = {word: numbers for word, _, numbers in entries if word in wanted}
        matrix = np.array([np.array(numbers.split(), np.float32) for numbers in found.values()])
        return WordVectors(list(found), matrix.reshape(len(found), dim))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, IndexError) as error:
        raise UserError(f"{path} is not a text file of word vectors ({error})") from None

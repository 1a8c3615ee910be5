"""Trains word vectors (skip-gram) on the training split, in the files that the released scripts read."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec

from data.embeddings import SENTENCE_END, SENTENCE_START
from data.store import TokenStore
from support.errors import UserError
from support.progress import progress

MIN_COUNT = 5


def train_word_vectors(
    store: TokenStore, folder: str | Path, dim: int = 128, workers: int = 1, epochs: int = 5, seed: int = 1
) -> Path:
    """Writes `word2vec.<dim>d.<thousands of words>k.bin` and `.w2v` into the folder; returns the former."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _corpus_file(store, folder) as corpus:
        model = Word2Vec(sg=1, vector_size=dim, min_count=MIN_COUNT, workers=workers, seed=seed)
        model.build_vocab(corpus_file=str(corpus))
        if len(model.wv) == 0:
            raise UserError(f"no word of {store.name} occurs {MIN_COUNT} times; word vectors need more text")
        model.train(
            corpus_file=str(corpus),
            total_examples=model.corpus_count,
            total_words=model.corpus_total_words,
            epochs=epochs,
            callbacks=[_EpochLines(epochs)],
        )
    return _save(model, folder / f"word2vec.{dim}d.{len(model.wv) // 1000}k.bin")


@contextlib.contextmanager
def _corpus_file(store: TokenStore, folder: Path) -> Iterator[Path]:
    """All sentences as lines of text, which gensim reads outside Python's lock; deleted afterwards."""
    path = folder / ".word2vec-corpus.txt"
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            for document in progress(range(len(store)), "writing sentences", unit="article"):
                file.writelines(_lines(store, document))
        yield path
    finally:
        path.unlink(missing_ok=True)


def _lines(store: TokenStore, document: int) -> Iterator[str]:
    lexicon = store.lexicon
    for sentence in store.articles.document(document) + store.abstracts.document(document):
        words = [lexicon[word] for word in sentence.tolist()]
        yield f"{SENTENCE_START} {' '.join(words)} {SENTENCE_END}\n"


def _save(model: Word2Vec, path: Path) -> Path:
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as temporary:
        binary, text = Path(temporary) / path.name, Path(temporary) / path.with_suffix(".w2v").name
        model.save(str(binary), sep_limit=sys.maxsize)  # one file, however large
        model.wv.save_word2vec_format(str(text), binary=False)
        os.replace(text, path.with_suffix(".w2v"))
        os.replace(binary, path)
    return path


class _EpochLines(CallbackAny2Vec):
    def __init__(self, epochs: int) -> None:
        self.epochs, self.done, self.began = epochs, 0, time.monotonic()

    def on_epoch_end(self, model: Word2Vec) -> None:
        self.done += 1
        seconds = time.monotonic() - self.began
        print(f"word2vec: epoch {self.done} of {self.epochs} done after {seconds:.0f} s", flush=True)

"""Trains word vectors (skip-gram) on the training split, in the files that the released scripts read."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cytoolz import partition_all
from gensim.models import Word2Vec
from tqdm import tqdm

from data.documents import Documents, Ints
from data.embeddings import SENTENCE_END, SENTENCE_START
from data.store import TokenStore
from data.word2vec_state import ResumeFile
from support.errors import UserError
from support.files import naming, remove_leftovers
from support.locks import only_writer
from support.memory import machine_memory
from support.progress import progress

MIN_COUNT = 5
PIECE = 8000  # articles between two signs of life: gensim gives none, and takes a second to begin
_WORDS_AT_ONCE = 1 << 22


class _Piece(NamedTuple):
    """Sentences as lines of text, which gensim reads outside Python's lock."""

    path: Path
    articles: int
    sentences: int
    words: int  # with the marks


def train_word_vectors(
    store: TokenStore,
    folder: str | Path,
    dim: int = 128,
    workers: int = 1,
    epochs: int = 5,
    seed: int = 1,
    resume: bool = False,
) -> Path:
    """Writes `word2vec.<dim>d.<thousands of words>k.bin` and `.w2v` into the folder; returns the former."""
    folder = Path(folder)
    counts = _count(store)
    n_words = sum(count >= MIN_COUNT for count in counts.values())
    if n_words == 0:
        raise UserError(f"no word of {store.name} occurs {MIN_COUNT} times; word vectors need more text")
    if (needed := 8 * n_words * dim) > machine_memory():  # vectors of words and of contexts
        raise UserError(f"--dim {dim}: the vectors of {n_words:,} words need {needed >> 30:,} GB of memory")
    with only_writer(folder):
        remove_leftovers(folder)
        for leftover in folder.glob(".word2vec.*"):  # of a run that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".word2vec.") as temporary:
            pieces = list(_write_pieces(store, Path(temporary)))
            model = Word2Vec(sg=1, vector_size=dim, min_count=MIN_COUNT, workers=workers, seed=seed)
            model.build_vocab_from_freq(counts, corpus_count=sum(piece.sentences for piece in pieces))
            texts = store.texts_digest(store.articles), store.texts_digest(store.abstracts)
            state = ResumeFile(folder, repr((dim, epochs, seed, PIECE, texts)))
            _train(model, pieces, epochs, state, state.restore(model) if resume else 0)
            path = _save(model, folder / f"word2vec.{dim}d.{len(model.wv) // 1000}k.bin", Path(temporary))
            state.remove()
            return path


def _count(store: TokenStore) -> Counter[str]:
    """How often each word stands in the text, as it is written there."""
    n_sentences = store.articles.n_sentences + store.abstracts.n_sentences
    counts: Counter[str] = Counter({SENTENCE_START: n_sentences, SENTENCE_END: n_sentences})
    counted = _count_ids(store.articles, len(store.lexicon)) + _count_ids(store.abstracts, len(store.lexicon))
    for word, count in zip(store.lexicon, counted.tolist(), strict=True):
        if count:
            counts[_written(word)] += count
    return counts


def _count_ids(texts: Documents, n: int) -> Ints:
    counts = np.zeros(n, np.int64)
    for begin in range(0, len(texts.words), _WORDS_AT_ONCE):
        counts += np.bincount(texts.words[begin : begin + _WORDS_AT_ONCE], minlength=n)
    return counts


def _written(word: str) -> str:
    """A lone surrogate has no place in UTF-8: it becomes a question mark."""
    return word.encode("utf-8", "replace").decode("utf-8")


def _write_pieces(store: TokenStore, folder: Path) -> Iterator[_Piece]:
    bar: tqdm[Any] = progress(None, "writing sentences", len(store), "article")
    with bar:
        for number, documents in enumerate(partition_all(PIECE, range(len(store)))):
            path = folder / f"{number}.txt"
            with naming(path), open(path, "w", encoding="utf-8", errors="replace") as file:
                sizes = [_write(store, document, file) for document in documents]
            sentences, words = np.sum(sizes, axis=0).tolist()
            if sentences:
                yield _Piece(path, len(documents), sentences, words)
            bar.update(len(documents))


def _write(store: TokenStore, document: int, file: Any) -> tuple[int, int]:
    """-> sentences, and words with their marks"""
    sentences = store.articles.document(document) + store.abstracts.document(document)
    file.writelines(f"{SENTENCE_START} {' '.join(store.text(words))} {SENTENCE_END}\n" for words in sentences)
    return len(sentences), sum(len(words) + 2 for words in sentences)


def _train(model: Word2Vec, pieces: list[_Piece], epochs: int, state: ResumeFile, done: int) -> None:
    """All pieces, `epochs` times, but for the first `done`. The learning rate falls linearly over all words of all
    epochs, as in one call of gensim's."""
    began, start, end = time.monotonic(), model.alpha, model.min_alpha
    ahead = epochs * pieces
    read, total = (sum(piece.words for piece in some) for some in (ahead[:done], ahead))
    articles, all_articles = (sum(piece.articles for piece in some) for some in (ahead[:done], ahead))
    bar: tqdm[Any] = progress(None, "word2vec", all_articles, "article", initial=articles)
    with bar:
        for number, piece in enumerate(ahead[done:], done + 1):
            rates = [start + (end - start) * words / total for words in (read, read + piece.words)]
            model.train(
                corpus_file=str(piece.path),
                total_examples=piece.sentences,
                total_words=piece.words,
                epochs=1,
                start_alpha=rates[0],
                end_alpha=rates[1],
            )
            read += piece.words
            bar.update(piece.articles)
            state.save_now_and_then(model, number)
            if number % len(pieces) == 0:
                seconds = time.monotonic() - began
                bar.write(f"word2vec: epoch {number // len(pieces)} of {epochs} done after {seconds:.0f} s")
    model.alpha, model.min_alpha, model.epochs = start, end, epochs


def _save(model: Word2Vec, path: Path, temporary: Path) -> Path:
    binary, text = temporary / path.name, temporary / path.with_suffix(".w2v").name
    with naming(path):
        model.save(str(binary), sep_limit=sys.maxsize)  # one file, however large
        model.wv.save_word2vec_format(str(text), binary=False)
    os.replace(text, path.with_suffix(".w2v"))
    os.replace(binary, path)
    return path

"""Builds token stores in parallel.  A store is whole or absent: a killed build is simply done again.

Workers return pieces in their own numbering; the parent renumbers and appends them, so that it holds no text but
the distinct words, and 8 bytes for every sentence.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cytoolz import partition_all

from data.articles import article_path, count_articles, read_article, split_directory
from data.documents import Documents, TextEncoder, pack
from data.store_files import VERSION, StoreWriter, holds_words, is_current, write_words
from data.vocabulary import COUNTS_FILE, N_SPECIAL, SPECIAL_NAMES, read_word_counts, words_by_frequency
from support.errors import UserError
from support.files import atomic_directory
from support.locks import one_at_a_time
from support.parallel import available_cores, map_pieces

_PIECE = 500  # articles encoded at a time by a worker


def ensure_built(data_dir: Path, split: str, workers: int | None = None) -> Path:
    """The folder of the split's store, which is built or rebuilt if its source changed."""
    source = _Source.scan(data_dir, split)
    home = _home(data_dir)
    folder = home / split
    if not is_current(folder, source.fingerprint):
        with one_at_a_time(home / "lock", f"{home} is being built by another process; this one waits for it"):
            if not is_current(folder, source.fingerprint):  # nobody else built it meanwhile
                try:
                    _build(data_dir, split, source, folder, workers or available_cores())
                except OSError as error:
                    raise UserError(f"the token store {folder} cannot be written ({error})") from None
    return folder


class _Source(NamedTuple):
    """What a store depends on."""

    n_articles: int
    counts: str | None  # fingerprint of vocab_cnt.pkl, if there is one
    fingerprint: str

    @classmethod
    def scan(cls, data_dir: Path, split: str) -> _Source:
        folder = split_directory(data_dir, split)
        n_articles = count_articles(folder)
        counts = _fingerprint_counts(data_dir / COUNTS_FILE)
        described = "".join(_describe_files(folder, n_articles)) + f"{counts} {VERSION}"
        return cls(n_articles, counts, hashlib.blake2b(described.encode(), digest_size=16).hexdigest())


def _describe_files(folder: Path, n_articles: int) -> Iterator[str]:
    """Looked up in the open folder, in half the time that whole paths take."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        for name in (f"{index}.json" for index in range(n_articles)):
            status = os.stat(name, dir_fd=descriptor)
            yield f"{name} {status.st_size} {status.st_mtime_ns}\n"
    except OSError as error:
        raise UserError(f"{folder / name} is not readable ({error.strerror})") from None
    finally:
        os.close(descriptor)


def _fingerprint_counts(path: Path) -> str | None:
    if not path.exists():
        return None
    status = path.stat()
    return hashlib.blake2b(f"{status.st_size} {status.st_mtime_ns}".encode(), digest_size=8).hexdigest()


def _home(data_dir: Path) -> Path:
    """Where the stores lie: beside the splits, or in a temporary directory if that place is read-only."""
    home = data_dir / ".store"
    try:
        home.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            return home
    except OSError:
        name = hashlib.blake2b(str(data_dir.resolve()).encode(), digest_size=8).hexdigest()
        private = Path(tempfile.gettempdir()) / f"token-stores-{os.getuid()}"
        private.mkdir(mode=0o700, exist_ok=True)
        if private.stat().st_uid != os.getuid():
            raise UserError(f"{private} belongs to somebody else; set TMPDIR to one of yours") from None
        print(f"{home} cannot be written, so the token store goes to {private / name}", file=sys.stderr)
        (private / name).mkdir(exist_ok=True)
        return private / name


def _build(data_dir: Path, split: str, source: _Source, folder: Path, workers: int) -> None:
    counted = _counted_words(data_dir) if source.counts else []
    lexicon = f"lexicon-{source.counts}.json" if source.counts else None
    if lexicon and not holds_words(folder.parent / lexicon, counted):
        for outdated in folder.parent.glob("lexicon-*.json"):
            outdated.unlink()
        write_words(folder.parent / lexicon, counted)
    ids = {word: index for index, word in enumerate(counted, N_SPECIAL)}
    encode, pieces = partial(_encode, data_dir, split), partition_all(_PIECE, range(source.n_articles))
    encoded = map_pieces(encode, pieces, workers, f"token store of {split}", source.n_articles)
    with atomic_directory(folder) as temporary:
        writer = StoreWriter(temporary)
        for _, piece in encoded:
            number = np.array([ids.setdefault(word, len(ids) + N_SPECIAL) for word in piece.words], np.int32)
            writer.append("article", _renumber(piece.articles, number))
            writer.append("abstract", _renumber(piece.abstracts, number))
            writer.append_labels(piece.labels)
        writer.finish(source.fingerprint, lexicon, list(ids)[len(counted) :])


def _counted_words(data_dir: Path) -> list[str]:
    """By frequency; what equals a special name comes last, beyond the reach of any vocabulary."""
    counts = read_word_counts(data_dir)
    return [*words_by_frequency(counts), *(name for name in SPECIAL_NAMES if name in counts)]


class _Encoded(NamedTuple):
    """Articles with words numbered from 0 by first occurrence in them."""

    words: list[str]
    articles: Documents
    abstracts: Documents
    labels: list[list[int]]


def _encode(data_dir: Path, split: str, indices: tuple[int, ...]) -> _Encoded:
    encoder = TextEncoder()
    articles, abstracts, labels = [], [], []
    for index in indices:
        article = read_article(article_path(data_dir, split, index))
        if not (article.unlabelled or article.labels_fit):
            advice = f"make_extraction_labels.py --data_dir {data_dir} --split {split} makes new ones"
            raise UserError(f"{data_dir}/{split}/{index}.json: the labels do not fit the text; {advice}")
        articles.append(encoder.encode(article.article))
        abstracts.append(encoder.encode(article.abstract))
        labels.append(article.extracted or [])
    return _Encoded(encoder.vocabulary, pack(articles), pack(abstracts), labels)


def _renumber(texts: Documents, number: np.ndarray) -> Documents:
    return Documents(number[texts.words], texts.sentence_offsets, texts.document_offsets)

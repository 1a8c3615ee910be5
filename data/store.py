"""The token store: a split's texts as memory-mapped word ids, built once and kept beside the JSON files.

Lexicon ids: 0-3 are special, then come the words of `vocab_cnt.pkl` by frequency, then the split's other
words by first occurrence.  So the data set's own vocabulary is `id < vsize + 4`, and equal words have equal
ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.documents import Documents, Ints, TextEncoder, pack
from data.store_build import ensure_built
from data.store_files import StoreArrays, read_arrays, read_lexicon
from data.vocabulary import N_SPECIAL, SPECIAL_NAMES, Vocabulary
from model.batches import UNK

_DIGEST_BYTES = 8
_WORDS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class TokenStore:
    """Document d of `articles` and of `abstracts` is file `<d>.json`, also where one of them is empty."""

    name: str  # what messages call it
    articles: Documents
    abstracts: Documents
    label_offsets: Ints  # (documents + 1,) into labels
    labels: NDArray[np.int32]  # extracted sentences, numbered within their article
    _load_lexicon: Callable[[], list[str]] = field(repr=False)
    _folder: Path | None = None

    def __len__(self) -> int:
        return len(self.articles)

    @cached_property
    def lexicon(self) -> list[str]:
        """Words by lexicon id."""
        return self._load_lexicon()

    def map_to(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        """Lexicon id -> model id, UNK for words that the model does not know."""
        known = vocabulary.word_to_id
        ids = np.fromiter((known.get(word, UNK) for word in self.lexicon), np.int32, len(self.lexicon))
        ids[ids < N_SPECIAL] = UNK  # a word of the text that looks like a special name
        ids[:N_SPECIAL] = range(N_SPECIAL)
        return ids

    def map_from(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        """Model id -> lexicon id, or minus (model id + 1) for words that the lexicon lacks."""
        known = {word: index for index, word in enumerate(self.lexicon) if index >= N_SPECIAL}
        words = enumerate(vocabulary.words)
        ids = np.fromiter((known.get(word, -1 - index) for index, word in words), np.int32, len(vocabulary))
        ids[:N_SPECIAL] = range(N_SPECIAL)
        return ids

    def text(self, ids: NDArray[np.int32], own: Sequence[str] = SPECIAL_NAMES) -> list[str]:
        """The words of lexicon ids; special ids and minus (i + 1) are word i of `own`, such as a model's vocabulary."""
        lexicon = self.lexicon
        return [own[-1 - i] if i < 0 else own[i] if i < N_SPECIAL else lexicon[i] for i in ids.tolist()]

    def texts_digest(self, texts: Documents) -> str:
        """Of its articles or abstracts alone: where they lie, labels and word counts do not change it."""
        codes = np.frombuffer(b"".join(map(_word_digest, self.lexicon)), np.uint64)
        digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        for begin in range(0, len(texts.words), _WORDS_AT_ONCE):
            digest.update(codes[texts.words[begin : begin + _WORDS_AT_ONCE]].tobytes())
        digest.update(texts.sentence_offsets.tobytes())
        digest.update(texts.document_offsets.tobytes())
        return digest.hexdigest()

    def digest(self) -> str:
        """Of all that a training reads: texts, labels, and the numbering of the words."""
        lexicon = "\n".join(self.lexicon).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(lexicon, digest_size=_DIGEST_BYTES)
        for texts in (self.articles, self.abstracts):
            for array in (texts.words, texts.sentence_offsets, texts.document_offsets):
                digest.update(array.data)
        digest.update(self.label_offsets.data)
        digest.update(self.labels.data)
        return digest.hexdigest()

    @classmethod
    def from_texts(cls, articles: list[list[str]], abstracts: list[list[str]] | None = None) -> TokenStore:
        """Raw sentences in memory, in the same form."""
        encoder = TextEncoder(first=N_SPECIAL)
        arrays = StoreArrays(
            articles=pack([encoder.encode(text) for text in articles]),
            abstracts=pack([encoder.encode(text) for text in abstracts or [[]] * len(articles)]),
            label_offsets=np.zeros(len(articles) + 1, np.int64),
            labels=np.zeros(0, np.int32),
        )
        return _in_memory("the given texts", arrays, [*SPECIAL_NAMES, *encoder.vocabulary])

    def __reduce__(self) -> tuple[Any, ...]:
        """Worker processes map the files anew instead of copying them."""
        if self._folder is not None:
            return _map_store, (self.name, self._folder)
        arrays = StoreArrays(self.articles, self.abstracts, self.label_offsets, self.labels)
        return _in_memory, (self.name, arrays, self.lexicon)


def _word_digest(word: str) -> bytes:
    return hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def open_store(data_dir: str | Path, split: str, workers: int | None = None) -> TokenStore:
    """Opens the split's store; builds it first if it is absent or older than its source."""
    return _map_store(f"{data_dir}/{split}", ensure_built(Path(data_dir), split, workers))


def _map_store(name: str, folder: Path) -> TokenStore:
    def load_lexicon() -> list[str]:
        return [*SPECIAL_NAMES, *read_lexicon(folder)]

    return TokenStore(name, *read_arrays(folder), _load_lexicon=load_lexicon, _folder=folder)


def _in_memory(name: str, arrays: StoreArrays, lexicon: list[str]) -> TokenStore:
    return TokenStore(name, *arrays, _load_lexicon=lambda: lexicon)

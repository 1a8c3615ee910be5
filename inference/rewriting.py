"""g, what becomes of an extracted sentence: the abstractor (inference.rewriter), any function of texts, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from data.documents import Ints
from data.store import TokenStore
from data.vocabulary import N_SPECIAL, SPECIAL_NAMES
from inference.rewriter import Rewriting

Words = NDArray[np.int32]  # lexicon ids of a store, minus (i + 1) for word i of `own`
Rewrite = Callable[[Ints], list[Words]]  # numbers of a store's article sentences -> their rewritings
TextRewrite = Callable[[list[str]], Sequence[str]]  # sentences, words separated by spaces -> their rewritings


class SentenceRewriter(Protocol):
    @property
    def store(self) -> TokenStore: ...

    @property
    def own(self) -> Sequence[str]:
        """Words that the store's lexicon may lack, after the special names."""

    def __call__(self, sentences: Ints) -> list[Words]:
        """The best rewriting of each sentence."""

    def hypotheses(self, groups: Sequence[Ints]) -> list[list[Rewriting]]:
        """One or more rewritings of every sentence, group after group, best first."""


class Unchanged:
    """g(d) = d (Sec. 5.2, footnote)"""

    own: Sequence[str] = SPECIAL_NAMES

    def __init__(self, store: TokenStore) -> None:
        self.store = store

    def __call__(self, sentences: Ints) -> list[Words]:
        return [self.store.articles.sentence(int(number)) for number in sentences]

    def hypotheses(self, groups: Sequence[Ints]) -> list[list[Rewriting]]:
        return [[Rewriting(words)] for group in groups for words in self(group)]


class ByFunction(Unchanged):
    """Any function from sentences to sentences; it is given all sentences of a call at once."""

    def __init__(self, store: TokenStore, rewrite: TextRewrite) -> None:
        super().__init__(store)
        self.rewrite = rewrite
        self.own = self._own = list(SPECIAL_NAMES)
        self._ids = {word: number for number, word in enumerate(store.lexicon) if number >= N_SPECIAL}

    def __call__(self, sentences: Ints) -> list[Words]:
        texts = self.rewrite([" ".join(self.store.text(words)) for words in super().__call__(sentences)])
        if len(texts) != len(sentences):
            raise ValueError(f"{len(sentences)} sentences were rewritten to {len(texts)}")
        return [np.array([self._id(word) for word in text.split()], np.int32) for text in texts]

    def _id(self, word: str) -> int:
        if word not in self._ids:
            self._own.append(word)
            self._ids[word] = -len(self._own)
        return self._ids[word]

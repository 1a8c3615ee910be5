"""Two tiny articles with their summaries, as a token store, and the vocabulary that is counted on them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.documents import Ints, offsets
from data.labels import Labels, proxy_labels
from data.store import TokenStore
from data.vocabulary import Vocabulary

NAMES = ("A", "B")
ARTICLES = [
    [
        "the old lighthouse was sold for one crown on monday .",
        "its keeper cried .",
        "the buyer plans to open a small hotel in the tower of brenno .",
    ],
    [
        "a fox stopped the train to tolva , which was late .",
        "the train was one hour late .",
    ],
]
SUMMARIES = [
    ["the lighthouse was sold for one crown .", "the buyer plans a hotel in brenno ."],
    ["a fox halted the train to tolva .", "the train was late ."],
]
VSIZE = 16  # the paper: 30,000


class Corpus(NamedTuple):
    store: TokenStore
    labels: list[Labels]
    counts: Counter[str]
    vocabulary: Vocabulary
    word_map: NDArray[np.int32]  # lexicon id -> model id

    def text(self, ids: NDArray[np.int32]) -> list[str]:
        """What was written, in the store's ids."""
        return self.store.text(ids, self.vocabulary.words)

    @property
    def everything(self) -> Ints:
        """Both articles."""
        return np.arange(len(self.store))

    @property
    def pairs(self) -> Ints:
        """(n, 2) the article sentence and the summary sentence of every label, as numbers of the store."""
        articles, abstracts = self.store.articles.document_offsets, self.store.abstracts.document_offsets
        return np.array(
            [
                (articles[document] + sentence, abstracts[document] + t)
                for document, labels in enumerate(self.labels)
                for t, sentence in enumerate(labels.extracted)
            ]
        )


def build_corpus() -> Corpus:
    texts = list(zip(ARTICLES, SUMMARIES, strict=True))
    labels = [proxy_labels(article, summary) for article, summary in texts]
    counts = Counter(word for article, summary in texts for text in article + summary for word in text.split())
    vocabulary = Vocabulary.from_counter(counts, VSIZE)
    store = dataclasses.replace(
        TokenStore.from_texts(ARTICLES, SUMMARIES),
        label_offsets=offsets([len(found.extracted) for found in labels]),
        labels=np.array([sentence for found in labels for sentence in found.extracted], np.int32),
    )
    return Corpus(store, labels, counts, vocabulary, store.map_to(vocabulary))

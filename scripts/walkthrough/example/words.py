"""From text to labels, vocabulary and ids (Sec. 3.1, B.2, A.2)."""

from __future__ import annotations

from rapidfuzz.distance import LCSseq

from data.vocabulary import N_SPECIAL
from scripts.walkthrough.example.corpus import ARTICLES, NAMES, SUMMARIES, Corpus
from scripts.walkthrough.example.networks import Networks
from scripts.walkthrough.example.tables import ids, number, table


def blocks(corpus: Corpus, networks: Networks) -> dict[str, str]:
    return {
        "texts": _texts(),
        "labels": _labels(corpus),
        "vocabulary": _vocabulary(corpus),
        "ids": _ids(corpus),
        "article batch": _article_batch(networks),
        "sources": _sources(corpus, networks),
        "targets": _targets(corpus, networks),
    }


def _texts() -> str:
    rows = []
    for name, article, summary in zip(NAMES, ARTICLES, SUMMARIES, strict=True):
        rows += [(name, f"$d_{j}$", sentence) for j, sentence in enumerate(article)]
        rows += [(name, f"$s_{t}$", sentence) for t, sentence in enumerate(summary)]
    return table(["article", "", "sentence"], rows)


def _labels(corpus: Corpus) -> str:
    most = max(map(len, ARTICLES))
    rows = []
    for name, article, summary, labels in zip(NAMES, ARTICLES, SUMMARIES, corpus.labels, strict=True):
        for t, (sentence, label) in enumerate(zip(summary, labels.extracted, strict=True)):
            words = sentence.split()
            recalls = [LCSseq.similarity(source.split(), words) / len(words) for source in article]
            cells = [number(recall) for recall in recalls] + [""] * (most - len(recalls))
            rows.append((f"{name}, $s_{t}$", *cells, f"$d_{label}$"))
    return table(["", *(f"recall by $d_{j}$" for j in range(most)), "label $j_t$"], rows)


def _vocabulary(corpus: Corpus) -> str:
    words = [
        f"{index} `{word}`" + (f" ({corpus.counts[word]} times)" if index >= N_SPECIAL else "")
        for index, word in enumerate(corpus.vocabulary.words)
    ]
    return ", ".join(words) + "."


def _ids(corpus: Corpus) -> str:
    """The first sentence of B, whose words are of all kinds."""
    first = corpus.store.articles.sentence_range(1).start
    lexicon = corpus.store.articles.sentence(first)
    words = ARTICLES[1][0].split()
    rows = zip((f"`{word}`" for word in words), lexicon.tolist(), corpus.word_map[lexicon].tolist(), strict=True)
    return table(["word", "lexicon id", "model id"], rows)


def _article_batch(networks: Networks) -> str:
    batch = networks.extraction_batch.articles
    owners = [(name, j) for name, article in zip(NAMES, ARTICLES, strict=True) for j in range(len(article))]
    rows = [
        (f"{name}, $d_{j}$", ids(words), int(length), int(width))
        for (name, j), words, length, width in zip(owners, *batch[:3], strict=True)
    ]
    return table(["", "words, padded with 0", "length", "width"], rows)


def _sources(corpus: Corpus, networks: Networks) -> str:
    source = networks.rewriting_batch.source
    rows = [
        (pair, ids(words[:length]), ids(extended[:length]))
        for pair, words, extended, length in zip(_pairs(corpus), *source[:3], strict=True)
    ]
    return table(["", "source, model ids", "source, extended ids"], rows)


def _targets(corpus: Corpus, networks: Networks) -> str:
    batch = networks.rewriting_batch
    rows = [
        (pair, ids(inputs[:steps]), ids(targets[:steps]))
        for pair, inputs, targets, steps in zip(_pairs(corpus), *batch[1:], strict=True)
    ]
    return table(["", "decoder input, model ids", "target, extended ids"], rows)


def _pairs(corpus: Corpus) -> list[str]:
    """In the order of the rewriting batch: longest target first, which is the order of the texts here."""
    return [
        f"{name}, $d_{label}$ → $s_{t}$"
        for name, labels in zip(NAMES, corpus.labels, strict=True)
        for t, label in enumerate(labels.extracted)
    ]

"""Choosing sentences (Sec. 2.1): any of the paper's extractors as a function of article numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import nn

from data.collate import collate_articles
from data.documents import Ints
from data.store import TokenStore
from data.vocabulary import Vocabulary
from model.actor_critic import ActorCritic, greedy
from model.batches import ArticleBatch
from model.extractor import Extraction, FfExtractor, RnnExtractor

FALLBACK = 5  # an agent that extracts nothing gets the first sentences, as released
_MAX_SENTENCES = 4096  # padded sentences of the articles encoded together
_MAX_WORDS = 1 << 19  # and their padded words


Extractor = Callable[[Ints], list[Extraction]]


def lead(store: TokenStore, k: int) -> Extractor:
    """The first k sentences."""

    def extract(articles: Ints) -> list[Extraction]:
        counts = store.articles.sentence_counts_of(articles).tolist()
        return [Extraction(list(range(min(k, n))), [None] * min(k, n)) for n in counts]

    return extract


def by_network(network: nn.Module, vocabulary: Vocabulary, store: TokenStore, k: int | None) -> Extractor:
    """k sentences of each article (all, where there are fewer), or as many as the agent decides to take."""
    word_map = store.map_to(vocabulary)
    choose = _choice_of(network, k)
    device = next(network.parameters()).device

    @torch.no_grad()
    def extract(articles: Ints) -> list[Extraction]:
        found = [Extraction([], [])] * len(articles)
        for rows in _batches(store, articles):
            batch = collate_articles(store, word_map, articles[rows])
            for row, extraction in zip(rows.tolist(), choose(batch.to(device)), strict=True):
                found[row] = extraction
        return found

    return extract


def _choice_of(network: nn.Module, k: int | None) -> Callable[[ArticleBatch], list[Extraction]]:
    if isinstance(network, ActorCritic):
        return lambda batch: _by_agent(network, batch, k)
    assert k is not None, "only an agent knows when to stop"
    assert isinstance(network, RnnExtractor | FfExtractor)
    return lambda batch: network.extract(batch, k)


def _by_agent(agent: ActorCritic, batch: ArticleBatch, k: int | None) -> list[Extraction]:
    """Until the agent stops (Sec. 3.2)."""
    episode = agent.act(agent.remember(*agent.encode(batch)), greedy, k).cpu()
    log_probs = episode.log_probs.tolist()
    chosen = [
        Extraction(sentences, scores[: len(sentences)])
        for sentences, scores in zip(episode.extracted(), log_probs, strict=True)
    ]
    return [found if found.sentences else _first(n) for found, n in zip(chosen, batch.counts.tolist(), strict=True)]


def _first(n_sentences: int) -> Extraction:
    n = min(FALLBACK, n_sentences)
    return Extraction(list(range(n)), [None] * n)


def _batches(store: TokenStore, articles: Ints) -> Iterator[Ints]:
    """Numbers in `articles` of those to encode together, of similar size; those without sentences are left out."""
    counts = store.articles.sentence_counts_of(articles)
    order = np.argsort(counts, kind="stable")
    order = order[np.searchsorted(counts[order], 1) :]
    widths = [_longest(store, int(article)) for article in articles[order]]
    begin = sentences = width = 0
    for place, article_width in enumerate(widths):
        count = int(counts[order[place]])
        wider = max(width, article_width)
        padded = (place - begin + 1) * count
        if place > begin and (padded > _MAX_SENTENCES or (sentences + count) * wider > _MAX_WORDS):
            yield order[begin:place]
            begin, sentences, wider = place, 0, article_width
        sentences, width = sentences + count, wider
    if begin < len(order):
        yield order[begin:]


def _longest(store: TokenStore, article: int) -> int:
    """Words of the article's longest sentence."""
    sentences = store.articles.sentence_range(article)
    offsets = store.articles.sentence_offsets[sentences.start : sentences.stop + 1]
    return int(np.diff(offsets).max())

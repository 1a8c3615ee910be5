"""The flat baseline at work: the first words of an article in, a whole summary out (See et al., 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from data.documents import Ints
from data.flat_documents import FlatStore
from data.store import TokenStore
from data.vocabulary import Vocabulary
from inference.rewriter import Rewriter, Rewriting
from inference.summary import Summary, SummarySentence
from model.beam_search import Rules
from model.pointer_generator import PointerGenerator


@dataclass(frozen=True, kw_only=True)
class FlatOptions:
    """Theirs by default."""

    beam: int = 4
    min_words: int = 35
    max_words: int = 120
    max_article_words: int = 400


class FlatSummarizer:
    def __init__(self, network: PointerGenerator, vocabulary: Vocabulary, options: FlatOptions) -> None:
        self.network, self.vocabulary, self.options = network, vocabulary, options
        self._bound: tuple[TokenStore, Rewriter] | None = None

    def summarize(self, store: TokenStore, articles: Ints) -> Iterator[Summary]:
        """The articles' summaries in order; that of an empty article is empty."""
        rewriter = self._bind(store)
        for article, found in zip(articles.tolist(), rewriter.hypotheses([articles]), strict=True):
            words = store.text(found[0].words, self.vocabulary.words)
            yield Summary(article, list(_sentences(words, found[0])))

    def _bind(self, store: TokenStore) -> Rewriter:
        if self._bound is None or self._bound[0] is not store:
            self._bound = store, self._rewriter_for(store)
        return self._bound[1]

    def _rewriter_for(self, store: TokenStore) -> Rewriter:
        return Rewriter(
            self.network,
            self.vocabulary,
            FlatStore.of(store),
            max_words=self.options.max_words,
            beam=self.options.beam,
            diversity=0.0,
            rules=Rules(
                avoid_trigrams=False,
                min_words=self.options.min_words,
                children=2,
                end_counts=True,
                cut_unfinished=False,
            ),
            max_source_words=self.options.max_article_words,
        )


def _sentences(words: list[str], summary: Rewriting) -> Iterator[SummarySentence]:
    """Each ends with a full stop, but perhaps the last."""
    assert summary.copied is not None and summary.replaced is not None
    ends = [place + 1 for place, word in enumerate(words) if word == "."]
    for begin, end in zip([0, *ends], [*ends, len(words)], strict=True):
        if begin < end:
            copied, replaced = summary.copied[begin:end], summary.replaced[begin:end]
            yield SummarySentence(words[begin:end], None, None, None, copied, replaced)

"""The full model at work (Sec. 2): extract sentences, rewrite each, rerank; for many articles at once.

    summarizer = Summarizer.pretrained()
    print(summarizer.summarize_raw(open("article.txt").read()))

    summarizer = Summarizer.from_agent("runs/rl", Options(beam=5))
    for summary in summarizer.summarize(open_store("data", "test"), np.arange(100)):
        print("\n".join(summary.lines()))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch

from checkpoints.directory import Loaded, load
from checkpoints.networks import ABSTRACTOR, AGENT, FF_EXTRACTOR, RNN_EXTRACTOR
from checkpoints.shipped import pretrained_directory
from data.documents import Ints
from data.store import TokenStore
from inference.extraction import Extractor, by_network, lead
from inference.raw_text import RawSentence, read_articles
from inference.readable import Readable, make_readable
from inference.reranker import Hypothesis, rerank
from inference.rewriter import Rewriter, Rewriting
from inference.rewriting import ByFunction, SentenceRewriter, TextRewrite, Unchanged
from inference.split_decoding import Builder, Built
from inference.summary import Summary, SummarySentence
from model.abstractor import Abstractor
from model.extractor import Extraction

BASELINE_SENTENCES = 6  # what the released baselines extract
_ARTICLES_AT_ONCE = 256  # whose sentences are sorted by length before they are rewritten


@dataclass(frozen=True, kw_only=True)
class Options:
    beam: int = 1  # above 1: beam search and reranking
    diversity: float = 1.0
    max_words: int = 30
    n_sentences: int | None = None  # to extract; None: the agent decides
    batch: int = 32  # articles whose unknown words are numbered together, as released
    batch_invariant: bool = False  # every sentence numbers its own


INDEPENDENT = Options(batch_invariant=True)


class _Bound(NamedTuple):
    store: TokenStore
    extract: Extractor
    rewriter: SentenceRewriter


class Summarizer:
    """Without an extractor it takes the first sentences; without a rewriter it leaves them as they are.

    A rewriter is an abstractor or any function from sentences to sentences.
    """

    def __init__(self, extractor: Loaded | None, rewriter: Loaded | TextRewrite | None, options: Options) -> None:
        self.extractor, self.rewriter, self.options = extractor, rewriter, options
        self._bound: _Bound | None = None

    @classmethod
    def pretrained(cls, options: Options = INDEPENDENT, device: torch.device | str = "cpu") -> Summarizer:
        """The model that comes with this project."""
        return cls.from_agent(pretrained_directory(), options, device)

    @classmethod
    def from_agent(
        cls,
        model_dir: str | Path,
        options: Options = INDEPENDENT,
        device: torch.device | str = "cpu",
        *,
        rewrite: bool = True,
    ) -> Summarizer:
        """A directory of train_full_rl.py, with or without an abstractor in it; `rewrite` False leaves it out."""
        agent = load(model_dir, nets=(AGENT,), device=device)
        own, has_one = Path(model_dir) / "abstractor", agent.meta["net_args"]["abstractor"]
        abstractor = load(own, nets=(ABSTRACTOR,), device=device) if rewrite and has_one else None
        return cls(agent, abstractor, options)

    @classmethod
    def from_parts(
        cls,
        ext_dir: str | Path | None,
        abs_dir: str | Path | None,
        options: Options = INDEPENDENT,
        device: torch.device | str = "cpu",
    ) -> Summarizer:
        """Directories of train_extractor_ml.py (None: the lead) and train_abstractor.py (None: extractive)."""
        extractor = load(ext_dir, nets=(RNN_EXTRACTOR, FF_EXTRACTOR), device=device) if ext_dir else None
        return cls(extractor, load(abs_dir, nets=(ABSTRACTOR,), device=device) if abs_dir else None, options)

    @property
    def abstractor(self) -> Loaded | None:
        return self.rewriter if isinstance(self.rewriter, Loaded) else None

    def summarize(self, store: TokenStore, articles: Ints) -> Iterator[Summary]:
        """The articles' summaries in order. Every `options.batch` of them number their unknown words together."""
        _, extract, rewriter = self._bind(store)
        group = 1 if self.options.batch_invariant else self.options.batch
        piece = max(1, _ARTICLES_AT_ONCE // group) * group
        for start in range(0, len(articles), piece):
            chosen = articles[start : start + piece]
            yield from _rewritten(rewriter, chosen, extract(chosen), group)

    def summarize_texts(self, articles: Sequence[Sequence[str]]) -> list[Summary]:
        """Articles as lists of tokenised sentences."""
        store = TokenStore.from_texts([list(article) for article in articles])
        return list(self.summarize(store, np.arange(len(articles))))

    def summarize_raw(self, text: str, tokenizer: str = "auto") -> str:
        """Any text -> its summary as a reader wants it, a sentence a line."""
        (summary,) = self.summarize_readably(["text"], read_articles([text], tokenizer))
        return summary.text()

    def summarize_readably(self, names: Sequence[str], articles: Sequence[list[RawSentence]]) -> list[Readable]:
        summaries = self.summarize_texts([[" ".join(s.words) for s in article] for article in articles])
        return [make_readable(*item) for item in zip(names, articles, summaries, strict=True)]

    def _bind(self, store: TokenStore) -> _Bound:
        """Extractor and rewriter for a store; they translate its words to the models', which takes a moment."""
        if self._bound is None or self._bound.store is not store:
            self._bound = _Bound(store, self._extractor_for(store), self._rewriter_for(store))
        return self._bound

    def _extractor_for(self, store: TokenStore) -> Extractor:
        k = self.options.n_sentences
        if self.extractor is None:
            return lead(store, k or BASELINE_SENTENCES)
        if k is None and self.extractor.meta["net"] != AGENT:
            k = BASELINE_SENTENCES
        return by_network(self.extractor.network, self.extractor.vocabulary, store, k)

    def _rewriter_for(self, store: TokenStore) -> SentenceRewriter:
        if self.abstractor is None:
            return ByFunction(store, cast(TextRewrite, self.rewriter)) if self.rewriter else Unchanged(store)
        return Rewriter(
            cast(Abstractor, self.abstractor.network),
            self.abstractor.vocabulary,
            store,
            max_words=self.options.max_words,
            shared=not self.options.batch_invariant,
            beam=self.options.beam,
            diversity=self.options.diversity,
        )


@dataclass(frozen=True, kw_only=True)
class SummarizerBuilder(Builder):
    """An agent's directory, or those of the parts."""

    options: Options
    model_dir: str | None = None
    ext_dir: str | None = None
    abs_dir: str | None = None
    extractive: bool = False  # without the agent's abstractor

    def build(self) -> Built:
        if self.model_dir is not None:
            rewrite = not self.extractive
            summarizer = Summarizer.from_agent(self.model_dir, self.options, self.device, rewrite=rewrite)
        else:
            summarizer = Summarizer.from_parts(self.ext_dir, self.abs_dir, self.options, self.device)
        return Built(summarizer, summarizer.abstractor, summarizer.extractor)


def _rewritten(
    rewriter: SentenceRewriter, articles: Ints, extractions: list[Extraction], group: int
) -> Iterator[Summary]:
    firsts = rewriter.store.articles.document_offsets[articles].tolist()
    sentences = [
        [first + sentence for sentence in extraction.sentences]
        for first, extraction in zip(firsts, extractions, strict=True)
    ]
    starts = range(0, len(articles), group)
    groups = [np.array(list(chain.from_iterable(sentences[i : i + group])), np.int64) for i in starts]
    hypotheses = iter(rewriter.hypotheses(groups))
    for article, extraction in zip(articles.tolist(), extractions, strict=True):
        own = [next(hypotheses) for _ in extraction.sentences]
        yield Summary(article, _assemble(rewriter, extraction, _choose(own)))


def _choose(hypotheses: list[list[Rewriting]]) -> list[Rewriting]:
    if all(len(found) == 1 for found in hypotheses):
        return [found[0] for found in hypotheses]
    best = rerank([[Hypothesis(h.words.tolist(), h.score or 0.0) for h in found] for found in hypotheses])
    return [found[place] for found, place in zip(hypotheses, best, strict=True)]


def _assemble(
    rewriter: SentenceRewriter, extraction: Extraction, rewritings: list[Rewriting]
) -> list[SummarySentence]:
    store, own = rewriter.store, rewriter.own
    return [
        SummarySentence(store.text(new.words, own), source, score, new.score, new.copied, new.replaced)
        for new, source, score in zip(rewritings, extraction.sentences, extraction.scores, strict=True)
    ]

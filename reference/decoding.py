"""The same decoding the obvious way, one dense distribution and one Python object at a time.

It is what the fast code is tested against, and what scripts/bench_decode.py measures it against: extraction
article by article with the convolution as the formula has it, rewriting of a batch of articles with the
distribution over the whole extended vocabulary, all steps for all sentences.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from data.collate import collate_articles, collate_sources
from data.documents import Ints
from data.store import TokenStore
from decoding import Summarizer
from inference.reranker import n_candidates
from inference.summary import Summary, SummarySentence
from model.abstractor import Abstractor, DecoderState, RewritingStep
from model.actor_critic import ActorCritic, greedy
from model.batches import END, START, UNK, SourceBatch
from model.beam_search import REPEATED
from model.copy_network import EXTRA_LOGIT, PROBABILITY_FLOOR
from reference.networks import encode_article


@dataclass
class PlainHypothesis:
    words: list[int]  # START first
    score: float
    state: DecoderState  # of one row
    attended: list[int] = field(default_factory=list)

    def ranking(self) -> float:
        return self.score / len(self.words)


def dense_log_probs(abstractor: Abstractor, step: RewritingStep, source: SourceBatch) -> torch.Tensor:
    """(B, X) log probabilities of the extended vocabulary; X differs by row, the rest is -inf."""
    logits = step.output @ abstractor.embedding.weight.T
    most = int(source.n_extra.max())
    extra = torch.full((len(logits), most), EXTRA_LOGIT, dtype=logits.dtype)
    extra[torch.arange(most) >= source.n_extra[:, None]] = float("-inf")
    exists = torch.cat([torch.ones_like(logits), torch.isfinite(extra).to(logits.dtype)], 1) > 0
    generated = torch.cat([logits, extra], 1).softmax(1)
    p_copy = abstractor.copy_gate(step.context, step.z, step.inputs)[:, None]
    mixture = ((1 - p_copy) * generated).scatter_add(1, source.extended, p_copy * step.attention)
    return torch.log(mixture + PROBABILITY_FLOOR).masked_fill(~exists, float("-inf"))


@torch.no_grad()
def plain_greedy(
    abstractor: Abstractor, source: SourceBatch, max_words: int
) -> list[tuple[list[int], list[int], float]]:
    """Words, attended positions and log probability of each sentence; always `max_words` steps."""
    memory, state = abstractor.encode(source)
    previous = torch.full((len(source.words),), START)
    words, attended, log_probs = [], [], []
    for _ in range(max_words):
        state, step = abstractor.step(abstractor.embedding(previous), state, memory)
        log_prob, word = dense_log_probs(abstractor, step, source).max(1)
        words.append(word)
        attended.append(step.attention.argmax(1))
        log_probs.append(log_prob)
        previous = word.masked_fill(word >= abstractor.vocab_size, UNK)
    results = []
    for row, looked, scores in zip(*(torch.stack(x, 1).tolist() for x in (words, attended, log_probs)), strict=True):
        length = row.index(END) if END in row else max_words
        results.append((row[:length], looked[:length], sum(scores[: length + 1])))
    return results


@torch.no_grad()
def plain_beam(
    abstractor: Abstractor, source: SourceBatch, max_words: int, beam: int, diversity: float
) -> list[list[tuple[list[int], list[int], float]]]:
    """Words, attended positions and score of each sentence's hypotheses, best first."""
    memory, state = abstractor.encode(source)
    batch = len(source.words)
    beams = [[PlainHypothesis([START], 0.0, state.select(torch.tensor([i])))] for i in range(batch)]
    finished: list[list[PlainHypothesis]] = [[] for _ in range(batch)]
    running = list(range(batch))
    for _ in range(max_words):
        owners = [i for i in running for _ in beams[i]]
        alive = [hypothesis for i in running for hypothesis in beams[i]]
        last = torch.tensor([min(h.words[-1], abstractor.vocab_size) for h in alive])
        last = last.masked_fill(last == abstractor.vocab_size, UNK)
        states = [hypothesis.state for hypothesis in alive]
        h, c = (tuple(map(torch.cat, zip(*side, strict=True))) for side in zip(*(s[:2] for s in states), strict=True))
        joined = DecoderState(h, c, torch.cat([state.output for state in states]))
        own = torch.tensor(owners)  # a copy of its source's memory for every hypothesis
        new_states, step = abstractor.step(abstractor.embedding(last), joined, memory.select(own))
        log_probs = dense_log_probs(abstractor, step, SourceBatch(*(field[own] for field in source)))
        values, words = log_probs.topk(min(beam, log_probs.size(1)), 1)
        children: dict[int, list[PlainHypothesis]] = {i: [] for i in running}
        table = zip(owners, alive, words.tolist(), values.tolist(), step.attention.argmax(1).tolist(), strict=True)
        for row, (owner, parent, next_words, scores, attended) in enumerate(table):
            new_state = new_states.select(torch.tensor([row]))
            for rank, (word, score) in enumerate(zip(next_words, scores, strict=True)):
                if score == float("-inf"):
                    continue
                children[owner].append(
                    PlainHypothesis(
                        [*parent.words, word],
                        parent.score + score - diversity * rank,
                        new_state,
                        [*parent.attended, attended],
                    )
                )
        for i in running:
            beams[i] = _walk(children[i], finished[i], beam)
            finished[i].sort(key=PlainHypothesis.ranking, reverse=True)
        running = [i for i in running if len(finished[i]) < beam]
        if not running:
            break
    return [[_result(h) for h in (finished[i] + beams[i] * (i in running))[:beam]] for i in range(batch)]


def _walk(children: list[PlainHypothesis], finished: list[PlainHypothesis], beam: int) -> list[PlainHypothesis]:
    kept: list[PlainHypothesis] = []
    for child in sorted(children, key=PlainHypothesis.ranking, reverse=True):
        if repeats_trigram(child.words):
            child.score = REPEATED
        if child.words[-1] == END:
            finished.append(PlainHypothesis(child.words[:-1], child.score, child.state, child.attended))
        else:
            kept.append(child)
        if len(kept) == beam:
            return kept
    return kept + kept[:1] * (beam - len(kept))


def repeats_trigram(words: list[int]) -> bool:
    trigrams = list(zip(words, words[1:], words[2:], strict=False))
    return len(set(trigrams)) < len(trigrams)


def _result(hypothesis: PlainHypothesis) -> tuple[list[int], list[int], float]:
    """One attention less than words in an unfinished hypothesis: it loses its last word."""
    pairs = list(zip(hypothesis.words[1:], hypothesis.attended[:-1], strict=False))
    return [word for word, _ in pairs], [place for _, place in pairs], hypothesis.score


def plain_rerank(hypotheses: list[list[tuple[list[str], float]]]) -> tuple[int, ...]:
    """All combinations of (words, score)."""
    best: tuple[int, ...] = ()
    best_key: tuple[bool, int, float] | None = None
    for places in itertools.product(*(range(len(sentence)) for sentence in hypotheses)):
        chosen = [sentence[place] for sentence, place in zip(hypotheses, places, strict=True)]
        counts = Counter(pair for words, _ in chosen for pair in itertools.pairwise(words))
        repeats = sum(counts.values()) - len(counts)
        n_words = sum(len(words) for words, _ in chosen)
        ratio = sum(score for _, score in chosen) / max(1, n_words)
        key = (n_words > 0, -repeats, ratio)
        if best_key is None or key > best_key:
            best, best_key = places, key
    return best


def plain_summaries(summarizer: Summarizer, store: TokenStore, articles: Ints) -> list[Summary]:
    """What `summarizer.summarize` returns, without scores: article by article, then a batch of articles."""
    options, extractor = summarizer.options, summarizer.extractor
    assert extractor is not None and isinstance(extractor.network, ActorCritic)
    found, word_map = [], store.map_to(extractor.vocabulary)
    for start in range(0, len(articles), options.batch):
        batch = articles[start : start + options.batch]
        chosen = [plain_extract(extractor.network, store, word_map, a, options.n_sentences) for a in batch]
        found += _plain_rewritten(summarizer, store, batch, chosen)
    return found


@torch.no_grad()
def plain_extract(
    agent: ActorCritic, store: TokenStore, word_map: NDArray[np.int32], article: int, n: int | None
) -> list[int]:
    batch = collate_articles(store, word_map, np.array([article]))
    h = encode_article(agent, batch.words)[None]
    episode = agent.act(agent.remember(h, torch.ones(h.shape[:2], dtype=torch.bool)), greedy, n)
    return episode.extracted()[0] or list(range(min(5, h.size(1))))


def _plain_rewritten(
    summarizer: Summarizer, store: TokenStore, articles: Ints, chosen: list[list[int]]
) -> list[Summary]:
    options, loaded = summarizer.options, summarizer.abstractor
    assert loaded is not None and isinstance(loaded.network, Abstractor)
    abstractor, vocabulary = loaded.network, loaded.vocabulary
    firsts = store.articles.document_offsets[articles]
    sentences = np.array([first + j for first, own in zip(firsts, chosen, strict=True) for j in own])
    sources = collate_sources(store, store.map_to(vocabulary), sentences, len(vocabulary), shared=True)
    if options.beam == 1:
        hypotheses = [[row] for row in plain_greedy(abstractor, sources.batch, options.max_words)]
    else:
        hypotheses = plain_beam(abstractor, sources.batch, options.max_words, options.beam, options.diversity)
    texts = []
    for row, own in enumerate(hypotheses):
        source = [store.lexicon[word] for word in store.articles.sentence(int(sentences[row]))]
        extra = [store.lexicon[word] for word in sources.extra_words[row]]
        words = [*vocabulary.words, *extra]
        texts.append(
            [([source[at] if w == UNK else words[w] for w, at in zip(h[0], h[1], strict=True)], h[2]) for h in own]
        )
    summaries, rows = [], iter(texts)
    for article, extracted in zip(articles.tolist(), chosen, strict=True):
        mine = [next(rows) for _ in extracted]
        places = plain_rerank([s[: n_candidates(len(mine))] for s in mine]) if options.beam > 1 else (0,) * len(mine)
        best = [s[place][0] for s, place in zip(mine, places, strict=True)]
        summaries.append(Summary(article, [SummarySentence(w, j, None) for w, j in zip(best, extracted, strict=True)]))
    return summaries

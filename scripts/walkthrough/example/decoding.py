"""From an article to its summary: greedy extraction, a beam for every sentence, reranking (Sec. 3.3)."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch

from inference.reranker import Hypothesis, rerank
from inference.rewriter import Rewriter, Rewriting
from metrics.ngrams import ngrams
from model.actor_critic import greedy
from scripts.walkthrough.example.corpus import Corpus
from scripts.walkthrough.example.networks import Networks
from scripts.walkthrough.example.tables import number, table

ARTICLE = 1  # B, whose two summary sentences share words
BEAM = 2  # the paper: 5


@torch.no_grad()
def blocks(corpus: Corpus, networks: Networks) -> dict[str, str]:
    agent = networks.agent
    episode = agent.act(agent.remember(*agent.encode(networks.extraction_batch.articles)), greedy)
    chosen = episode.extracted()[ARTICLE]
    rewriter = Rewriter(networks.abstractor, corpus.vocabulary, corpus.store, beam=BEAM)
    first = corpus.store.articles.document_offsets[ARTICLE]
    found = rewriter.hypotheses([np.array([first + j for j in chosen])])
    beams = [[_hypothesis(corpus, rewriting) for rewriting in beam] for beam in found]
    best = rerank(beams)
    return {
        "greedy extraction": _extraction(episode.actions[ARTICLE].tolist(), episode.log_probs[ARTICLE].exp().tolist()),
        "beam": _beam(chosen, beams),
        "rerank": _rerank(beams, tuple(best)),
        "summary": _summary(beams, best),
    }


def _hypothesis(corpus: Corpus, rewriting: Rewriting) -> Hypothesis:
    assert rewriting.score is not None
    return Hypothesis(corpus.text(rewriting.words), rewriting.score)


def _extraction(actions: list[int], probabilities: list[float]) -> str:
    sentences = max(actions)
    rows = [
        (t, "stop" if action == sentences else f"$d_{action}$", number(probability))
        for t, (action, probability) in enumerate(zip(actions, probabilities, strict=True))
    ]
    return table(["$t$", "action", r"$\pi$"], rows)


def _beam(chosen: list[int], beams: list[list[Hypothesis]]) -> str:
    rows = [
        (f"$g_{k}(d_{j})$", " ".join(map(str, found.words)), number(found.score))
        for j, beam in zip(chosen, beams, strict=True)
        for k, found in enumerate(beam)
    ]
    return table(["", "hypothesis", "score"], rows)


def _rerank(beams: list[list[Hypothesis]], best: tuple[int, ...]) -> str:
    rows = []
    for places in product(*(range(len(beam)) for beam in beams)):
        chosen = [beam[place] for beam, place in zip(beams, places, strict=True)]
        bigrams = [bigram for found in chosen for bigram in ngrams(found.words, 2)]
        mean = sum(found.score for found in chosen) / sum(len(found.words) for found in chosen)
        mark = "chosen" if places == best else ""
        rows.append((", ".join(map(str, places)), len(bigrams) - len(set(bigrams)), number(mean, 3), mark))
    return table(["hypotheses", "repeated bigrams", "score per word", ""], rows)


def _summary(beams: list[list[Hypothesis]], best: list[int]) -> str:
    lines = [" ".join(map(str, beam[place].words)) for beam, place in zip(beams, best, strict=True)]
    return "\n".join(f"> {line}  " for line in lines)

"""What becomes of a word on its way through the system: one that is known, one that is copied, one that is lost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from inference.rewriter import Rewriter
from scripts.walkthrough.example.corpus import ARTICLES, SUMMARIES, Corpus
from scripts.walkthrough.example.networks import Networks

ROW = 2  # of the rewriting batch: the first sentences of B
WORDS = ("train", "tolva", "halted")  # of its target


class Journey(NamedTuple):
    word: str
    lexicon_id: int
    model_id: int
    extended_id: int
    replaced: bool  # the network says UNK
    text: str  # what is printed


@torch.no_grad()
def journeys(corpus: Corpus, networks: Networks) -> list[Journey]:
    source, batch = ARTICLES[1][0].split(), networks.rewriting_batch
    rewriter = Rewriter(networks.abstractor, corpus.vocabulary, corpus.store)
    ((best, *_),) = rewriter.hypotheses([np.array([corpus.pairs[ROW, 0]])])
    assert best.replaced is not None
    found = []
    for word in WORDS:
        place = SUMMARIES[1][0].split().index(word)
        lexicon_id = corpus.store.lexicon.index(word)
        extended_id = int(batch.targets[ROW, place])
        assert word not in source or extended_id == int(batch.source.extended[ROW, source.index(word)])
        text = corpus.text(best.words)[place]
        found.append(
            Journey(word, lexicon_id, int(corpus.word_map[lexicon_id]), extended_id, bool(best.replaced[place]), text)
        )
    return found

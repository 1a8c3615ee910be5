"""The worked example: two tiny articles, from words to rewards and to a summary."""

from __future__ import annotations

from typing import NamedTuple

from scripts.walkthrough.example import decoding, extraction, reinforcement, rewriting, words
from scripts.walkthrough.example.corpus import VSIZE, Corpus, build_corpus
from scripts.walkthrough.example.journey import Journey, journeys
from scripts.walkthrough.example.networks import ABSTRACTOR_SIZES, UPDATES, train_networks

CHAPTERS = (words, extraction, rewriting, reinforcement, decoding)


class WorkedExample(NamedTuple):
    blocks: dict[str, str]  # Markdown by name
    facts: dict[str, object]  # single numbers, by name
    journeys: list[Journey]


def worked_example() -> WorkedExample:
    corpus = build_corpus()
    networks = train_networks(corpus)
    blocks = {name: block for chapter in CHAPTERS for name, block in chapter.blocks(corpus, networks).items()}
    return WorkedExample(blocks, facts(corpus), journeys(corpus, networks))


def facts(corpus: Corpus) -> dict[str, object]:
    return {
        "vsize": VSIZE,
        "V": len(corpus.vocabulary),
        "hidden": ABSTRACTOR_SIZES["n_hidden"],
        "updates": UPDATES,
    }

"""A step of the abstractor with its mixture, its loss, and what becomes of all sentences (Sec. 2.2, 3.1, A.2).

One sentence by the formulas of the paper; the losses must equal the batched network's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.testing import assert_close

from inference.rewriter import Rewriter
from model.abstractor import Abstractor
from model.batches import RewritingBatch, SourceBatch
from model.copy_network import EXTRA_LOGIT, PROBABILITY_FLOOR
from reference.networks import initial_state
from scripts.walkthrough.example.corpus import ARTICLES, NAMES, Corpus
from scripts.walkthrough.example.networks import Networks
from scripts.walkthrough.example.tables import number, table

ROW = 2  # of the rewriting batch: the first sentence of B
WORD = 6  # of its target: the town's name, which is outside the vocabulary
SHOWN = 3  # most probable words


class Step(NamedTuple):
    attention: Tensor  # (S,)
    p_copy: Tensor
    generated: Tensor  # (X,)
    copied: Tensor  # (X,)

    @property
    def mixture(self) -> Tensor:
        return (1 - self.p_copy) * self.generated + self.p_copy * self.copied


@torch.no_grad()
def blocks(corpus: Corpus, networks: Networks) -> dict[str, str]:
    steps = _steps(networks, ROW)
    return {
        "attention": _attention(steps[WORD]),
        "mixture": _mixture(corpus, networks, steps[WORD]),
        "rewriting loss": _loss(corpus, networks, steps),
        "rewritings": _rewritings(corpus, networks.abstractor),
    }


def _steps(networks: Networks, row: int) -> list[Step]:
    """Every step of a target, with teacher forcing."""
    network, batch = networks.abstractor, networks.rewriting_batch
    keys, h, c, o = (part[row] for part in initial_state(network, batch.source))
    S, X = int(batch.source.lengths[row]), network.vocab_size + int(batch.source.n_extra[row])
    keys, gate, attention_weights = keys[:S], network.copy_gate, network.attention
    steps = []
    for word in batch.inputs[row, : int(batch.lengths[row])]:
        x = torch.cat([network.embedding.weight[word], o])
        h, c = (state[0] for state in network.decoder[0](x[None], (h[None], c[None])))
        attention = (keys @ (h @ attention_weights.query_weight)).softmax(0)
        context = attention @ keys
        o = network.projection(torch.cat([h, context]))
        logits = torch.cat([network.embedding.weight @ o, o.new_full((X - network.vocab_size,), EXTRA_LOGIT)])
        p_copy = torch.sigmoid(context @ gate.v_context + h @ gate.v_state + x @ gate.v_input + gate.b)
        copied = o.new_zeros(X).scatter_add(0, batch.source.extended[row, :S], attention)
        steps.append(Step(attention, p_copy, logits.softmax(0), copied))
    return steps


def _attention(step: Step) -> str:
    words = (f"`{word}`" for word in ARTICLES[1][0].split())
    return table(["source word", "attention"], zip(words, map(number, step.attention), strict=True))


def _mixture(corpus: Corpus, networks: Networks, step: Step) -> str:
    best = step.mixture.topk(SHOWN).indices.tolist()
    rows: list[tuple[object, ...]] = [
        (
            f"`{_word(corpus, networks, word)}`",
            word,
            number(step.generated[word], 3),
            number(step.copied[word], 3),
            number(step.mixture[word], 3),
        )
        for word in best
    ]
    rows.append(("all words", "", *(number(part.sum(), 3) for part in (step.generated, step.copied, step.mixture))))
    header = ["word", "extended id", r"$P_{\text{vocab}}$", "attention", "$P$"]
    return f"$p_{{copy}}$ = {number(step.p_copy, 3)}.\n\n{table(header, rows)}"


def _loss(corpus: Corpus, networks: Networks, steps: list[Step]) -> str:
    batch = networks.rewriting_batch
    targets = batch.targets[ROW, : int(batch.lengths[ROW])].tolist()
    losses = [-torch.log(step.mixture[word] + PROBABILITY_FLOOR) for step, word in zip(steps, targets, strict=True)]
    assert_close(torch.stack(losses), networks.abstractor(_row_alone(networks)))
    rows = [
        (f"`{_word(corpus, networks, word)}`", word, number(step.p_copy), number(step.mixture[word]), number(loss))
        for word, step, loss in zip(targets, steps, losses, strict=True)
    ]
    rows.append(("mean", "", "", "", number(torch.stack(losses).mean())))
    return table(["target word", "extended id", "$p_{copy}$", "$P$", "loss"], rows)


def _row_alone(networks: Networks) -> RewritingBatch:
    source, *rest = networks.rewriting_batch
    only = slice(ROW, ROW + 1)
    return RewritingBatch(SourceBatch(*(field[only] for field in source)), *(field[only] for field in rest))


def _word(corpus: Corpus, networks: Networks, extended_id: int) -> str:
    """A word of the extended vocabulary of the batch."""
    V = len(corpus.vocabulary)
    if extended_id < V:
        return corpus.vocabulary.words[extended_id]
    row, column = (networks.rewriting_batch.source.extended == extended_id).nonzero()[0].tolist()
    return corpus.store.lexicon[corpus.store.articles.sentence(int(corpus.pairs[row, 0]))[column]]


def _rewritings(corpus: Corpus, abstractor: Abstractor) -> str:
    rewriter = Rewriter(abstractor, corpus.vocabulary, corpus.store)
    found = rewriter.hypotheses([np.arange(corpus.store.articles.n_sentences)])
    owners = [(name, j) for name, article in zip(NAMES, ARTICLES, strict=True) for j in range(len(article))]
    rows = []
    for (name, j), (best, *_) in zip(owners, found, strict=True):
        assert best.score is not None and best.replaced is not None
        words = zip(corpus.text(best.words), best.replaced, strict=True)
        text = " ".join(f"**{word}**" if replaced else word for word, replaced in words)
        rows.append((f"{name}, $d_{j}$", text, number(best.score)))
    return table(["", "$g(d_j)$, in bold what stands for UNK", r"$\log P$"], rows)

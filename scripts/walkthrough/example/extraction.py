"""From ids to sentence codes, pointer scores and the extractors' losses (Sec. 2.1, 3.1, A.4).

The formulas stand here as in the paper, for one article; the results must equal the batched networks'.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.testing import assert_close

from model.pointer import PointerDecoder
from reference.networks import attend, encode_article, first_state, split_articles
from scripts.walkthrough.example.corpus import ARTICLES, NAMES, Corpus
from scripts.walkthrough.example.networks import Networks
from scripts.walkthrough.example.tables import number, table, vector


@torch.no_grad()
def blocks(corpus: Corpus, networks: Networks) -> dict[str, str]:
    return {
        "codes": _codes(networks),
        "pointer": _pointer(corpus, networks),
        "extraction loss": _extraction_loss(corpus, networks),
        "ff-ext": _ff_extractor(corpus, networks),
    }


def _codes(networks: Networks) -> str:
    network, articles = networks.rnn_extractor, networks.extraction_batch.articles
    r = network.sentence_encoder(articles)
    h, _ = network.encode(articles)
    rows = [(f"$d_{j}$", vector(r[j]), vector(h[0, j])) for j in range(len(ARTICLES[0]))]
    return table(["A", "$r_j$", "$h_j$"], rows)


def _steps(decoder: PointerDecoder, h: Tensor, labels: list[int]) -> list[dict[str, Tensor]]:
    """Eq. 1-5 for one article, with the labels as history."""
    steps = []
    previous: Tensor = decoder.initial_input
    state = first_state(decoder)
    for label in labels:
        z, state = decoder.lstm(previous[None, None], state)
        a = attend(decoder.glimpse, h, z[0, 0])
        alpha = a.softmax(0)
        e = alpha @ (h @ decoder.glimpse.key_weight)
        u = attend(decoder.pointing, h, e)
        steps.append({"z": z[0, 0], "a": a, "alpha": alpha, "e": e, "u": u, "P": u.softmax(0)})
        previous = h[label]
    return steps


def _pointer(corpus: Corpus, networks: Networks) -> str:
    network = networks.rnn_extractor
    h = encode_article(network, split_articles(networks.extraction_batch.articles)[0])
    tables = []
    for t, step in enumerate(_steps(network.pointer, h, corpus.labels[0].extracted)):
        rows = [(f"$d_{j}$", *(number(step[name][j]) for name in ("a", "alpha", "u", "P"))) for j in range(len(h))]
        tables += [
            f"Step $t = {t}$: $z_t$ = {vector(step['z'])}, $e_t$ = {vector(step['e'])}, "
            f"label $d_{corpus.labels[0].extracted[t]}$.",
            table(["A", "$a^t_j$", r"$\alpha^t_j$", "$u^t_j$", "$P$"], rows),
        ]
    return "\n\n".join(tables)


def _extraction_loss(corpus: Corpus, networks: Networks) -> str:
    network = networks.rnn_extractor
    rows, losses = [], []
    for name, words, labels in zip(
        NAMES, split_articles(networks.extraction_batch.articles), corpus.labels, strict=True
    ):
        for t, step in enumerate(_steps(network.pointer, encode_article(network, words), labels.extracted)):
            P = step["P"][labels.extracted[t]]
            losses.append(-P.log())
            rows.append((f"{name}, $t = {t}$", f"$d_{labels.extracted[t]}$", number(P), number(losses[-1])))
    assert_close(torch.stack(losses), network(networks.extraction_batch))
    rows.append(("mean", "", "", number(torch.stack(losses).mean())))
    return table(["", "label", r"$P(j_t)$", r"$-\log P(j_t)$"], rows)


def _ff_extractor(corpus: Corpus, networks: Networks) -> str:
    network, rows, losses = networks.ff_extractor, [], []
    for name, words, labels in zip(
        NAMES, split_articles(networks.extraction_batch.articles), corpus.labels, strict=True
    ):
        h = encode_article(network, words)
        x = torch.tanh(network.document(h.mean(0)))
        probabilities = torch.sigmoid(network.sentence_score(h).squeeze(1) + h @ x)
        for j, P in enumerate(probabilities):
            chosen = j in labels.extracted
            losses.append(-torch.log(P if chosen else 1 - P))
            rows.append((f"{name}, $d_{j}$", "yes" if chosen else "no", number(P), number(losses[-1])))
    assert_close(torch.stack(losses), network(networks.extraction_batch))
    return table(["", "labelled", "$P(d_j = 1)$", "loss"], rows)

"""The pointer-generator and its search as See et al. (2017) write them down: one article, one step at a time."""

from __future__ import annotations

import torch

from model.batches import END, START, UNK, RewritingBatch, SourceBatch
from model.copy_network import PROBABILITY_FLOOR
from model.pointer_generator import PointerGenerator


def rows_of(source: SourceBatch) -> list[SourceBatch]:
    """Articles one by one, without padding."""
    rows = [SourceBatch(*(field[i : i + 1] for field in source)) for i in range(len(source.words))]
    return [
        SourceBatch(row.words[:, : row.lengths[0]], row.extended[:, : row.lengths[0]], row.lengths, row.n_extra)
        for row in rows
    ]


class PlainDecoder:
    """Of one article; `step` gives the distribution over the extended vocabulary."""

    def __init__(self, network: PointerGenerator, source: SourceBatch) -> None:
        self.network, self.extended = network, source.extended[0]
        self.n_words = network.vocab_size + int(source.n_extra[0])
        embedded = network.embedding(source.words)
        encoder = network.encoder
        outputs, (h, c) = encoder.lstm(embedded, (encoder.initial_h[:, None], encoder.initial_c[:, None]))
        self.outputs = outputs[0]  # (S, 2H)
        h, c = (torch.cat([state[0, 0], state[1, 0]]) for state in (h, c))
        self.h, self.c = torch.relu(network.initial_h(h)), torch.relu(network.initial_c(c))
        self.context = torch.zeros_like(self.outputs[0])
        self.coverage = torch.zeros_like(self.outputs[:, 0])

    def copy(self) -> PlainDecoder:
        twin = object.__new__(PlainDecoder)
        twin.__dict__.update(self.__dict__)
        return twin

    def step(self, word: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """-> probabilities (X,), attention (S,), coverage loss"""
        network, attention = self.network, self.network.attention
        word = word if word < network.vocab_size else UNK
        x = network.merge(torch.cat([network.embedding.weight[word], self.context]))
        h, c = network.decoder(x[None], (self.h[None], self.c[None]))
        self.h, self.c = h[0], c[0]
        hidden = self.outputs @ attention.key_weight + self.h @ attention.query_weight + attention.bias
        if attention.coverage_weight is not None:
            hidden = hidden + self.coverage[:, None] * attention.coverage_weight
        a = (torch.tanh(hidden) @ attention.v).softmax(0)
        self.context = a @ self.outputs
        generated = (network.embedding.weight @ network.projection(torch.cat([self.h, self.context]))).softmax(0)
        gate = network.copy_gate
        p_gen = 1 - torch.sigmoid(self.context @ gate.v_context + self.h @ gate.v_state + x @ gate.v_input + gate.b)
        absent = generated.new_zeros(self.n_words - network.vocab_size)
        mixture = (p_gen * torch.cat([generated, absent])).index_add(0, self.extended, (1 - p_gen) * a)
        overlap = torch.minimum(a, self.coverage).sum()
        self.coverage = self.coverage + a
        return mixture, a, overlap


def plain_losses(network: PointerGenerator, batch: RewritingBatch) -> list[list[torch.Tensor]]:
    """Of every target word of every row."""
    table = []
    for row, source in enumerate(rows_of(batch.source)):
        decoder, losses = PlainDecoder(network, source), []
        for t in range(int(batch.lengths[row])):
            mixture, _, overlap = decoder.step(int(batch.inputs[row, t]))
            loss = -torch.log(mixture[batch.targets[row, t]] + PROBABILITY_FLOOR)
            losses.append(loss + overlap if network.coverage else loss)
        table.append(losses)
    return table


@torch.no_grad()
def plain_search(
    network: PointerGenerator, source: SourceBatch, beam: int, min_words: int, max_words: int
) -> tuple[list[int], float]:
    """The best summary of one article and its log probability, as their decoder finds it."""
    hypotheses = [([START], 0.0, PlainDecoder(network, source))]
    results: list[tuple[list[int], float]] = []
    for steps in range(max_words):
        children = []
        for words, score, decoder in hypotheses:
            following = decoder.copy()
            mixture, _, _ = following.step(words[-1])
            values, best = torch.log(mixture + PROBABILITY_FLOOR).topk(min(2 * beam, len(mixture)))
            children += [
                ([*words, word], score + value, following)
                for word, value in zip(best.tolist(), values.tolist(), strict=True)
            ]
        hypotheses = []
        for child in sorted(children, key=lambda c: -c[1] / len(c[0])):
            if child[0][-1] != END:
                hypotheses.append(child)
            elif steps >= min_words:
                results.append(child[:2])
            if beam in (len(hypotheses), len(results)):
                break
        if len(results) == beam:
            break
    words, score = max(results or [h[:2] for h in hypotheses], key=lambda c: c[1] / len(c[0]))
    words = words[1:]
    return (words[:-1] if words[-1] == END else words), score

"""The paper's formulas written out in plain loops: one article, one sentence, one step at a time.

Slow on purpose. The tests compare the batched networks with these, and the benchmarks measure against them.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from model.abstractor import Abstractor
from model.attention import AdditiveAttention
from model.batches import ArticleBatch, ExtractionBatch, RewritingBatch, SourceBatch
from model.extractor import FfExtractor, HierarchicalEncoder, RnnExtractor
from model.pointer import PointerDecoder, State

RewritingState = tuple[Tensor, Tensor, Tensor, Tensor]  # keys (B, S, H), hidden and cell state (B, H), output (B, E)


def split_articles(articles: ArticleBatch) -> list[Tensor]:
    """Each article's own (N, W) matrix of word ids."""
    rows = articles.words.split(articles.counts.tolist())
    widths = articles.widths.split(articles.counts.tolist())
    return [words[:, : int(width[0])] for words, width in zip(rows, widths, strict=True)]


def encode_article(network: HierarchicalEncoder, words: Tensor) -> Tensor:
    """(N, W) ids -> h (N, 2H)"""
    embedded = network.sentence_encoder.embedding(words).transpose(1, 2)
    codes = [conv(embedded).relu().max(2).values for conv in network.sentence_encoder.convolutions]
    r = torch.cat(codes, 1)  # (N, 3C)
    encoder = network.article_encoder
    h, _ = encoder.lstm(r[None], (encoder.initial_h[:, None].contiguous(), encoder.initial_c[:, None].contiguous()))
    return h[0]


def attend(attention: AdditiveAttention, memory: Tensor, query: Tensor) -> Tensor:
    """v^T tanh(W_1 h_j + W_2 q) for one query -> (N,)"""
    return torch.tanh(memory @ attention.key_weight + query @ attention.query_weight) @ attention.v


def pointer_scores(
    decoder: PointerDecoder, memory: Tensor, previous: Tensor, state: State
) -> tuple[Tensor, State]:
    """One decoding step (Eq. 1-5) for one article; memory: (N, 2H), previous: (2H,)"""
    z, state = decoder.lstm(previous[None, None], state)
    z = z[0, 0]
    alpha = attend(decoder.glimpse, memory, z).softmax(0)
    e = alpha @ (memory @ decoder.glimpse.key_weight)
    return attend(decoder.pointing, memory, e), state


def first_state(decoder: PointerDecoder) -> State:
    return decoder.initial_h[:, None].contiguous(), decoder.initial_c[:, None].contiguous()


def rnn_extractor_losses(network: RnnExtractor, batch: ExtractionBatch) -> Tensor:
    losses = []
    for words, targets in zip(split_articles(batch.articles), batch.targets, strict=True):
        h = encode_article(network, words)
        state = first_state(network.pointer)
        previous: Tensor = network.pointer.initial_input
        for target in targets[targets >= 0]:
            scores, state = pointer_scores(network.pointer, h, previous, state)
            losses.append(F.cross_entropy(scores[None], target[None]))
            previous = h[target]
    return torch.stack(losses)


def ff_logits(network: FfExtractor, words: Tensor) -> Tensor:
    h = encode_article(network, words)
    x = torch.tanh(network.document(h.mean(0)))
    return network.sentence_score(h).squeeze(1) + h @ x


def abstractor_losses(network: Abstractor, batch: RewritingBatch) -> Tensor:
    """Builds the whole distribution over the extended vocabulary at every step; losses step by step."""
    state = initial_state(network, batch.source)
    losses = []
    for t in range(batch.inputs.size(1)):
        log_p, _, state = dense_step(network, batch.source, batch.inputs[:, t], state)
        loss = -log_p.gather(1, batch.targets[:, t, None]).squeeze(1)
        losses.append(loss[batch.lengths > t])
    return torch.cat(losses)


def initial_state(network: Abstractor, source: SourceBatch) -> RewritingState:
    encoder = network.encoder
    embedded = network.embedding(source.words)
    packed = torch.nn.utils.rnn.pack_padded_sequence(embedded, source.lengths, batch_first=True, enforce_sorted=False)
    size = (-1, len(source.words), -1)
    start = [s[:, None].expand(*size).contiguous() for s in (encoder.initial_h, encoder.initial_c)]
    outputs, (h, c) = encoder.lstm(packed, tuple(start))
    outputs, _ = torch.nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    keys = outputs @ network.attention.key_weight
    h, c = (torch.cat(list(s), 1) for s in (h, c))  # one layer, two directions
    h, c = network.initial_h(h), network.initial_c(c)
    mean = keys.sum(1) / source.lengths[:, None]
    return keys, h, c, network.projection(torch.cat([h, mean], 1))


def dense_step(
    network: Abstractor, source: SourceBatch, words: Tensor, state: RewritingState
) -> tuple[Tensor, Tensor, RewritingState]:
    """-> log P (B, X), attention (B, S), state"""
    keys, h, c, output = state
    x = torch.cat([network.embedding(words), output], 1)
    h, c = network.decoder[0](x, (h, c))
    scores = (keys @ (h @ network.attention.query_weight)[:, :, None]).squeeze(2)
    padding = torch.arange(keys.size(1)) >= source.lengths[:, None]
    attention = scores.masked_fill(padding, -1e18).softmax(1)
    context = (attention[:, :, None] * keys).sum(1)
    output = network.projection(torch.cat([h, context], 1))
    logits = output @ network.embedding.weight.T
    extra = int(source.n_extra.max())
    slots = torch.full((len(logits), extra), 1e-6)
    slots = slots.masked_fill(torch.arange(extra) >= source.n_extra[:, None], -1e18)
    generated = torch.cat([logits, slots], 1).softmax(1)
    p = network.copy_gate(context, h, x)[:, None]
    mixture = ((1 - p) * generated).scatter_add(1, source.extended[:, : keys.size(1)], p * attention)
    return torch.log(mixture + 1e-8), attention, (keys, h, c, output)

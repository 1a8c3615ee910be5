"""The abstractor: golden numbers, the dense distribution, invariances, gradients, and learning to copy."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from released_gradients import check_gradients

from checkpoints.directory import load
from checkpoints.networks import ABSTRACTOR
from data.collate import collate_pairs
from data.store import TokenStore
from data.vocabulary import Vocabulary
from model.abstractor import Abstractor
from model.batches import RewritingBatch, SourceBatch
from model.copy_network import PROBABILITY_FLOOR, extended_partition
from model.greedy_search import greedy_search
from model.rnn import Packing
from reference.networks import abstractor_losses
from reference.random_batches import random_pairs

SIZES = {"vocab_size": 40, "emb_dim": 6, "n_hidden": 7}


def network(**sizes) -> Abstractor:
    torch.manual_seed(4)
    return Abstractor(**{**SIZES, **sizes})


def flat_in_step_order(rows: list[list[float]]) -> list[float]:
    """The network lists losses step by step, rows longest first."""
    order = sorted(range(len(rows)), key=lambda row: -len(rows[row]))
    return [rows[row][t] for t in range(len(rows[order[0]])) for row in order if t < len(rows[row])]


@pytest.mark.parametrize("name", ["abstractor_mixed", "abstractor_truncation", "abstractor_no_oov"])
def test_losses_and_gradients_equal_the_released_code(golden, name):
    case = json.loads((golden / "losses.json").read_text())[name]
    loaded = load(golden / "abs", nets=(ABSTRACTOR,))
    store = TokenStore.from_texts([[p["source"]] for p in case["pairs"]], [[p["target"]] for p in case["pairs"]])
    pairs = torch.arange(len(store))[:, None].expand(-1, 2).numpy()
    batch = collate_pairs(store, store.map_to(loaded.vocabulary), pairs, len(loaded.vocabulary))
    losses = loaded.network(batch)
    assert losses.tolist() == pytest.approx(flat_in_step_order(case["loss_per_token"]), abs=1e-4)
    losses.mean().backward()
    check_gradients(loaded, case)


@given(seed=st.integers(0, 10**6), batch=st.integers(1, 5))
@settings(max_examples=20)
def test_losses_equal_those_of_the_dense_distribution(seed, batch):
    net, pairs = network(), random_pairs(seed, batch, 40, source=(1, 8), target=(1, 6))
    assert torch.allclose(net(pairs), abstractor_losses(net, pairs), atol=1e-5)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_gradients_equal_those_of_the_dense_distribution(seed):
    net, pairs = network(), random_pairs(seed, 3, 40, source=(1, 8), target=(1, 6))
    parameters = list(net.parameters())
    ours = torch.autograd.grad(net(pairs).sum(), parameters)
    theirs = torch.autograd.grad(abstractor_losses(net, pairs).sum(), parameters)
    for (name, _), a, b in zip(net.named_parameters(), ours, theirs, strict=True):
        assert torch.allclose(a, b, atol=1e-4), name


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_the_copy_mixture_sums_to_one(seed):
    """What the loss says about every word of the extended vocabulary as the next one."""
    net, pairs = network(), random_pairs(seed, 3, 40, source=(1, 8), target=(2, 6))
    X = 40 + int(pairs.source.n_extra.max())
    first = pairs._replace(inputs=pairs.inputs[:, :2], lengths=torch.full_like(pairs.lengths, 2))
    losses = [net(first._replace(targets=torch.full_like(first.inputs, word))) for word in range(X)]
    total = (-torch.stack(losses)).exp().sub(PROBABILITY_FLOOR).sum(0)
    assert torch.allclose(total, torch.ones(6), atol=1e-5)


def test_a_row_does_not_depend_on_its_neighbours_or_their_padding():
    net, pairs = network(), random_pairs(8, 4, 40, source=(2, 12), target=(3, 9))
    together = net(pairs)
    starts = torch.tensor([0, *Packing.of(pairs.lengths).sizes]).cumsum(0)
    for row in range(4):
        words, extended, lengths, n_extra = (field[row : row + 1] for field in pairs.source)
        alone = SourceBatch(words[:, : lengths[0]], extended[:, : lengths[0]], lengths, n_extra)
        single = net(RewritingBatch(alone, *(field[row : row + 1] for field in pairs[1:])))
        own = torch.stack([together[starts[t] + row] for t in range(int(pairs.lengths[row]))])
        assert torch.allclose(own, single, atol=1e-5)


@pytest.mark.parametrize(
    "sizes", [{}, {"n_layer": 2}, {"bidirectional": False}, {"n_layer": 2, "bidirectional": False}]
)
def test_gradient_reaches_every_parameter(sizes):
    net = network(**sizes)
    net(random_pairs(1, 6, 40)).mean().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_one_batch_can_be_learned_by_heart():
    net, pairs = network(emb_dim=16, n_hidden=24), random_pairs(6, 4, 40, source=(4, 8), target=(3, 7))
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(200):
        optimizer.zero_grad()
        loss = net(pairs).mean()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.1


def test_words_outside_the_vocabulary_are_learned_to_be_copied():
    """The task: drop every 'and', keep the rest; half of the words were never seen in training."""
    random = torch.Generator().manual_seed(0)

    def texts(n, prefix):
        rare = lambda: f"{prefix}{int(torch.randint(10**6, (1,), generator=random))}"  # noqa: E731
        known = lambda: f"w{int(torch.randint(8, (1,), generator=random))}"  # noqa: E731
        return [[[rare(), "and", known(), rare(), "and", known()]] for _ in range(n)]

    vocabulary = Vocabulary.from_counter(Counter([f"w{i}" for i in range(8)] + ["and"]), 100)
    net = network(vocab_size=len(vocabulary), emb_dim=16, n_hidden=24)
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for step in range(80):
        articles = texts(16, f"t{step}x")
        store = TokenStore.from_texts(
            [[" ".join(s) for s in a] for a in articles],
            [[" ".join(w for w in s if w != "and") for s in a] for a in articles],
        )
        pairs = torch.arange(16)[:, None].expand(-1, 2).numpy()
        optimizer.zero_grad()
        net(collate_pairs(store, store.map_to(vocabulary), pairs, len(vocabulary))).mean().backward()
        optimizer.step()
    articles = texts(50, "new")
    store = TokenStore.from_texts([[" ".join(s) for s in a] for a in articles], [["x"]] * 50)
    batch = collate_pairs(
        store, store.map_to(vocabulary), torch.arange(50)[:, None].expand(-1, 2).numpy(), len(vocabulary)
    )
    found = greedy_search(net.eval(), batch.source, 10)
    kept = batch.source.extended != vocabulary.word_to_id["and"]
    words, lengths = found.words[:, 0], found.lengths[:, 0]
    right = [
        ids[:n].tolist() == source[keep].tolist()
        for ids, n, source, keep in zip(words, lengths, batch.source.extended, kept, strict=True)
    ]
    assert sum(right) == 50


def test_extra_words_enter_the_partition_with_a_constant_logit():
    logits = torch.tensor([[0.3, -1.0, 2.0]])
    extended = torch.cat([logits, torch.full((1, 2), 1e-6)], 1)
    found = extended_partition(logits.logsumexp(1), torch.tensor([2]))
    assert torch.allclose(found, extended.logsumexp(1))
    assert torch.equal(extended_partition(logits.logsumexp(1), torch.tensor([0])), logits.logsumexp(1))

"""rnn-ext and ff-ext: golden numbers, plain formulas, invariances, gradients, learning."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from released_gradients import check_gradients

from checkpoints.directory import load
from checkpoints.networks import FF_EXTRACTOR, RNN_EXTRACTOR
from data.collate import collate_articles, collate_extraction
from data.labels import proxy_labels
from data.store import TokenStore
from data.vocabulary import Vocabulary
from model.batches import ArticleBatch, ExtractionBatch
from model.extractor import FfExtractor, RnnExtractor
from reference.networks import encode_article, ff_logits, rnn_extractor_losses, split_articles
from reference.random_batches import random_articles, random_extraction
from sample.corpus import sample_article

SIZES = {"vocab_size": 50, "emb_dim": 6, "conv_hidden": 5, "lstm_hidden": 7}


def network(kind=RnnExtractor, **sizes):
    torch.manual_seed(3)
    built = kind(**{**SIZES, **sizes})
    built.sentence_encoder.embedding.weight.data.normal_()  # PAD too, as after word2vec
    return built


def golden_batch(case, vocabulary) -> ExtractionBatch:
    store = TokenStore.from_texts([article["article"] for article in case["batch"]])
    lists = [[label for label in article["extracted"] if label < 60] for article in case["batch"]]
    targets = torch.full((len(lists), max(map(len, lists))), -1)
    for row, labels in enumerate(lists):
        targets[row, : len(labels)] = torch.tensor(labels)
    batch = collate_extraction(store, store.map_to(vocabulary), torch.arange(len(store)).numpy(), 100, 60)
    return ExtractionBatch(batch.articles, targets)


@pytest.fixture(scope="module")
def losses(golden):
    return json.loads((golden / "losses.json").read_text())


def test_rnn_losses_and_gradients_equal_the_released_code(golden, losses):
    """Articles of equal length: elsewhere the released loss includes padding, which ours masks."""
    case = losses["extractor_same_length"]
    loaded = load(golden / "ext_rnn", nets=(RNN_EXTRACTOR,))
    found = loaded.network(golden_batch(case, loaded.vocabulary))
    flat = [loss for row in case["rnn"]["loss_per_step"] for loss in row]
    assert found.tolist() == pytest.approx(flat, abs=1e-4)
    found.mean().backward()
    check_gradients(loaded, case["rnn"])


@pytest.mark.parametrize("name", ["extractor_mixed", "extractor_truncation"])
def test_rnn_logits_of_padded_batches_equal_the_released_code(golden, losses, name):
    case = losses[name]
    loaded = load(golden / "ext_rnn", nets=(RNN_EXTRACTOR,))
    batch = golden_batch(case, loaded.vocabulary)
    network = loaded.network
    assert isinstance(network, RnnExtractor)
    memory = network.pointer.remember(*network.encode(batch.articles))
    scores = network.pointer.teacher_forcing(memory, batch.targets.clamp(min=0))
    expected = torch.tensor(case["rnn"]["logits_article0"])
    steps = int((batch.targets[0] >= 0).sum())  # later steps of the released code read another filler sentence
    assert torch.allclose(scores[0, :steps], expected[:steps], atol=1e-4)
    # With padding left in the softmax, as released, the loss is theirs too.
    labelled = batch.targets >= 0
    loss = torch.nn.functional.cross_entropy(scores[labelled], batch.targets[labelled])
    assert float(loss.detach()) == pytest.approx(case["rnn"]["loss_mean"], abs=1e-4)


@pytest.mark.parametrize("name", ["extractor_mixed", "extractor_same_length", "extractor_truncation"])
def test_ff_losses_and_gradients_equal_the_released_code(golden, losses, name):
    case = losses[name]
    loaded = load(golden / "ext_ff", nets=(FF_EXTRACTOR,))
    found = loaded.network(golden_batch(case, loaded.vocabulary)).mean()
    found.backward()
    assert float(found.detach()) == pytest.approx(case["ff"]["loss_mean"], abs=1e-4)
    check_gradients(loaded, case["ff"])


@pytest.mark.parametrize(("folder", "net"), [("ext_rnn", RNN_EXTRACTOR), ("ext_ff", FF_EXTRACTOR)])
def test_extraction_equals_the_released_code(golden, expected, folder, net):
    loaded = load(golden / folder, nets=(net,))
    texts = [json.loads((golden / f"data/test/{i}.json").read_text())["article"] for i in range(30)]
    store = TokenStore.from_texts(texts)
    batch = collate_extraction(store, store.map_to(loaded.vocabulary), torch.arange(30).numpy(), None, None)
    assert isinstance(loaded.network, RnnExtractor | FfExtractor)
    found = loaded.network.extract(batch.articles, 6)
    key = "ext_rnn_extract" if net == RNN_EXTRACTOR else "ext_ff_top6_set"
    assert [chosen.sentences for chosen in found] == [article[key] for article in expected["articles"]]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_a_batch_gives_what_a_loop_over_its_articles_gives(seed):
    net = network()
    batch = random_extraction(seed, 4, 50, sentences=(1, 9), words=(0, 12))
    assert torch.allclose(net(batch), rnn_extractor_losses(net, batch), atol=1e-5)
    ff = network(FfExtractor)
    logits, _ = ff.logits(batch.articles)
    for row, words in enumerate(split_articles(batch.articles)):
        assert torch.allclose(logits[row, : len(words)], ff_logits(ff, words), atol=1e-5)


def test_more_padding_changes_nothing():
    net = network()
    batch = random_extraction(5, 3, 50, sentences=(2, 6), words=(3, 9))
    words = torch.nn.functional.pad(batch.articles.words, (0, 7))
    wider = batch.articles._replace(words=words)
    targets = torch.nn.functional.pad(batch.targets, (0, 3), value=-1)
    assert torch.allclose(net(batch), net(ExtractionBatch(wider, targets)), atol=1e-6)


def test_a_sentence_code_depends_on_its_articles_longest_sentence():
    net = network()
    words = torch.tensor([[4, 5, 6, 7, 8, 0, 0, 0]])
    codes = [
        net.sentence_encoder(ArticleBatch(words, torch.tensor([5]), torch.tensor([width]), torch.tensor([1])))
        for width in (5, 8)
    ]
    assert not torch.allclose(*codes)


def test_articles_of_one_sentence_and_sentences_without_words_are_encoded():
    net = network()
    empty = ArticleBatch(torch.zeros(1, 5, dtype=torch.long), torch.tensor([0]), torch.tensor([5]), torch.tensor([1]))
    assert torch.allclose(net.encode(empty)[0][0], encode_article(net, empty.words), atol=1e-6)
    assert [chosen.sentences for chosen in net.extract(empty, 3)] == [[0]]


@pytest.mark.parametrize("kind", [RnnExtractor, FfExtractor])
@pytest.mark.parametrize("sizes", [{}, {"lstm_layer": 2}, {"bidirectional": False}])
def test_gradient_reaches_every_parameter(kind, sizes):
    net = network(kind, **sizes)
    net(random_extraction(1, 4, 50)).mean().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("kind", [RnnExtractor, FfExtractor])
def test_one_batch_can_be_learned_by_heart(kind):
    net = network(kind, conv_hidden=12, lstm_hidden=16)
    batch = random_extraction(2, 4, 50, sentences=(3, 8))
    optimizer = torch.optim.Adam(net.parameters(), 0.005)
    for _ in range(400):
        optimizer.zero_grad()
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.1
    labels = [row[row >= 0].tolist() for row in batch.targets]
    found = [net.extract(batch.articles, len(row))[i].sentences for i, row in enumerate(labels)]
    assert [sorted(row) for row in found] == [sorted(row) for row in labels]


def test_no_sentence_is_extracted_twice():
    articles = random_articles(9, 6, 50, sentences=(1, 9))
    for (chosen, _), count in zip(network().extract(articles, 6), articles.counts.tolist(), strict=True):
        assert len(chosen) == len(set(chosen)) == min(6, count)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RnnExtractor, FfExtractor])
def test_extractors_learn_the_sample_corpus_above_lead(kind):
    """Of the proxy labels of new articles, more are found among the first three choices than in the lead-3."""
    articles = [sample_article(0, split, i) for split, n in (("train", 320), ("test", 60)) for i in range(n)]
    labels = [proxy_labels(a.article, a.abstract).extracted for a in articles]
    store = TokenStore.from_texts([a.article for a in articles])
    counts = Counter(word for a in articles[:320] for s in a.article for word in s.split())
    vocabulary = Vocabulary.from_counter(counts, 1500)

    def batch(indices) -> ExtractionBatch:
        targets = torch.full((len(indices), 6), -1)
        for row, index in enumerate(indices):
            targets[row, : len(labels[index])] = torch.tensor(labels[index][:6])
        return ExtractionBatch(collate_articles(store, store.map_to(vocabulary), np.array(indices)), targets)

    net = network(kind, vocab_size=len(vocabulary), emb_dim=24, conv_hidden=24, lstm_hidden=32)
    optimizer = torch.optim.Adam(net.parameters(), 4e-3)
    for step in range(60):
        optimizer.zero_grad()
        net(batch([(step * 16 + i) % 320 for i in range(16)])).mean().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        optimizer.step()
    held_out = list(range(320, 380))
    found = net.extract(batch(held_out).articles, 3)
    hits = sum(len(set(chosen.sentences) & set(labels[i])) for chosen, i in zip(found, held_out, strict=True))
    lead = sum(len({0, 1, 2} & set(labels[i])) for i in held_out)
    assert hits > 1.3 * lead

from __future__ import annotations

import itertools
import multiprocessing
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from tiny_data import random_pairs, write_counts, write_split

import data.batching
from data.batching import (
    ArticleData,
    ExtractionData,
    RewritingData,
    RLBatch,
    training_batches,
    validation_batches,
)
from data.store import open_store
from data.vocabulary import Vocabulary
from model.abstractor import Abstractor
from model.batches import END
from model.extractor import RnnExtractor
from support.errors import UserError

PAIRS = random_pairs(90, seed=3)
KINDS: list[Any] = [ExtractionData, RewritingData, ArticleData]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    root = write_split(tmp_path_factory.mktemp("data"), "train", PAIRS, labels=True)
    vocabulary = Vocabulary.from_counter(write_counts(root, PAIRS), 40)
    return open_store(root, "train"), vocabulary


@pytest.fixture(autouse=True)
def small_hyper_batches(monkeypatch):
    monkeypatch.setattr(data.batching, "HYPER_BATCH", 32)


def flat(batch) -> list[torch.Tensor]:
    if isinstance(batch, torch.Tensor):
        return [batch]
    return [tensor for field in batch for tensor in flat(field)]


def same(one, two) -> bool:
    return type(one) is type(two) and all(
        torch.equal(a, b) for a, b in zip(flat(one), flat(two), strict=True)
    )


def take(count, *arguments, **options):
    return list(itertools.islice(training_batches(*arguments, **options), count))


def epoch_order(kind, epoch, seed=0, batch_size=4):
    order = data.batching._training_order(kind, batch_size, seed, 0)
    for _ in range(epoch + 1):
        seen, items = 0, []
        while seen < len(kind):
            items.append(next(order))
            seen += len(items[-1])
    return items


@pytest.mark.parametrize("kind", KINDS)
def test_every_epoch_visits_every_item_once_in_another_order(dataset, kind):
    items = kind(*dataset)
    epochs = [epoch_order(items, epoch) for epoch in range(3)]
    for batches in epochs:
        assert sorted(np.concatenate(batches)) == list(range(len(items)))
    first, second = (np.concatenate(batches).tolist() for batches in epochs[:2])
    assert first != second


@pytest.mark.parametrize("kind", KINDS)
def test_any_start_continues_the_same_stream(dataset, kind):
    items = kind(*dataset)
    stream = take(120, items, 8, 5)
    for start in (1, 17, 60, 119):
        rest = take(120 - start, items, 8, 5, start=start)
        assert all(same(a, b) for a, b in zip(rest, stream[start:], strict=True))
    assert not all(same(a, b) for a, b in zip(stream, take(120, items, 8, 6), strict=True))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_never_change_the_batches(dataset, method):
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method(method, force=True)
    try:
        for kind in KINDS if method == "fork" else [RewritingData]:
            items = kind(*dataset)
            trained = zip(take(30, items, 8, 5, workers=2), take(30, items, 8, 5), strict=True)
            assert all(same(a, b) for a, b in trained)
            validated = validation_batches(items, 8, workers=1)
            assert all(same(a, b) for a, b in zip(validated, validation_batches(items, 8), strict=True))
    finally:
        multiprocessing.set_start_method(before, force=True)


@pytest.mark.parametrize("world", [2, 3])
def test_processes_tile_the_global_batch(dataset, world):
    rewriting, articles = RewritingData(*dataset), ArticleData(*dataset)
    whole = take(40, rewriting, 8, 1)
    shares = [take(40, rewriting, 8, 1, rank=rank, world=world) for rank in range(world)]
    for batch, parts in zip(whole, zip(*shares, strict=True), strict=True):
        for rank, part in enumerate(parts):
            assert part.lengths.tolist() == batch.lengths[rank::world].tolist()
            T, S = part.targets.shape[1], part.source.words.shape[1]
            assert torch.equal(part.targets, batch.targets[rank::world, :T])
            assert torch.equal(part.source.extended, batch.source.extended[rank::world, :S])
            assert torch.equal(part.source.n_extra, batch.source.n_extra[rank::world])
    whole_rl = take(20, articles, 8, 1)
    parts_rl = [take(20, articles, 8, 1, rank=rank, world=world) for rank in range(world)]
    for step, batch in enumerate(whole_rl):
        for rank in range(world):
            assert parts_rl[rank][step].indices.tolist() == batch.indices[rank::world].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_validation_shards_are_the_batches_of_one_process(dataset, kind):
    items = kind(*dataset)
    whole = list(validation_batches(items, 8))
    shards = [list(validation_batches(items, 8, rank=rank, world=2)) for rank in (0, 1)]
    assert all(same(a, b) for a, b in zip(shards[0], whole[0::2], strict=True))
    assert all(same(a, b) for a, b in zip(shards[1], whole[1::2], strict=True))
    assert len(shards[0]) + len(shards[1]) == len(whole)


def test_batches_of_a_hyper_batch_are_buckets_of_nearly_equal_size(dataset):
    rewriting = RewritingData(*dataset)
    hyper_batches = rewriting.hyper_batches(np.random.default_rng([0, 0]))
    keys = list(zip(rewriting._target_lengths, rewriting._source_lengths, strict=True))
    assert len(hyper_batches) == 3
    sizes = Counter(len(batch) for batch in epoch_order(rewriting, 0, batch_size=8))
    assert max(sizes) <= 8 and min(sizes) >= 7
    for part in hyper_batches:
        assert [keys[item] for item in part] == sorted(keys[item] for item in part)


def test_rewriting_pairs_are_those_of_a_plain_reading(dataset):
    store, vocabulary = dataset
    items = RewritingData(store, vocabulary)
    expected = []
    for index in range(len(PAIRS)):
        labels = store.labels[store.label_offsets[index] : store.label_offsets[index + 1]]
        article, abstract = PAIRS[index]
        chosen = [(article[label].split(), target.split()) for label, target in zip(labels, abstract)]  # noqa: B905
        expected += [(source, target) for source, target in chosen if source and target]
    spell = store.lexicon.__getitem__
    found = [
        ([*map(spell, store.articles.sentence(source))], [*map(spell, store.abstracts.sentence(target))])
        for source, target in items.pairs
    ]
    assert found == expected
    assert sum(len(batch.lengths) for batch in validation_batches(items, 8)) == len(expected)


@pytest.mark.parametrize("kind", [RewritingData, ExtractionData])
def test_batches_validated_together_have_the_losses_of_single_ones(dataset, kind):
    """Also of words outside the vocabulary, whose numbers are those of their own batch."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"vocab_size": len(dataset[1]), "emb_dim": 8}
    network = Abstractor(**sizes, n_hidden=7) if kind is RewritingData else RnnExtractor(**sizes, lstm_hidden=7)

    def losses(together: int) -> torch.Tensor:
        items = kind(*dataset)
        items.together = together
        with torch.no_grad():
            return torch.cat([network(batch) for batch in validation_batches(items, 8)]).sort().values

    single, joined = losses(1), losses(4)
    assert len(single) > 100 and torch.allclose(single, joined, atol=1e-5)
    assert float(single.mean()) == pytest.approx(float(joined.mean()), abs=1e-6)


def test_pairs_validated_together_keep_the_numbers_of_their_batch(dataset):
    items = RewritingData(*dataset)
    (part, *_) = items.hyper_batches(None)
    batches = [part[0:8], part[8:16], part[16:24]]
    joined, single = items.collate_together(batches), [items.collate(batch, 0, 1) for batch in batches]

    def rows(batch) -> list[tuple]:
        fields = batch.source.extended, batch.source.lengths, batch.source.n_extra, batch.targets, batch.lengths
        table = zip(*(field.tolist() for field in fields), strict=True)
        return sorted((source[:n], extra, target[:m]) for source, n, extra, target, m in table)

    assert rows(joined) == sorted(row for batch in single for row in rows(batch))
    assert joined.lengths.tolist() == sorted(joined.lengths.tolist(), reverse=True)
    assert rows(joined) != rows(items.collate(np.concatenate(batches), 0, 1)), "the batch decides these numbers"


def test_validation_runs_in_sorted_order(dataset, monkeypatch):
    monkeypatch.setattr(data.batching, "HYPER_BATCH", 6400)
    longest = [int(batch.lengths.max()) for batch in validation_batches(RewritingData(*dataset), 8)]
    assert longest == sorted(longest)
    counts = [batch.articles.counts for batch in validation_batches(ExtractionData(*dataset), 8)]
    assert torch.cat(counts).tolist() == sorted(torch.cat(counts).tolist())
    visited = [i for batch in validation_batches(ArticleData(*dataset), 8) for i in batch.indices.tolist()]
    assert visited == [i for i, (article, abstract) in enumerate(PAIRS) if article and abstract]


def test_empty_texts_never_shift_pairs(dataset):
    store, vocabulary = dataset
    word_of = {word: index for index, word in enumerate(vocabulary.words)}
    assert any(not article for article, _ in PAIRS) and any(not abstract for _, abstract in PAIRS)
    for batch in validation_batches(ArticleData(store, vocabulary), 8):
        assert isinstance(batch, RLBatch)
        rows = iter(zip(batch.articles.words.tolist(), batch.articles.lengths.tolist(), strict=True))
        for index in batch.indices.tolist():
            for sentence in PAIRS[index][0]:
                words, length = next(rows)
                assert words[:length] == [word_of.get(word, 1) for word in sentence.split()]


def test_loading_draws_nothing_from_the_global_generator(dataset):
    before = torch.get_rng_state()
    take(3, ArticleData(*dataset), 8, 0)
    list(validation_batches(ArticleData(*dataset), 8))
    assert torch.equal(torch.get_rng_state(), before)


def test_every_target_ends(dataset):
    store, vocabulary = dataset
    for batch in validation_batches(RewritingData(store, vocabulary, max_abs=3), 8):
        last = batch.targets[torch.arange(len(batch.lengths)), batch.lengths - 1]
        assert (last == END).all() and batch.lengths.max() <= 4


def test_missing_labels_say_which_script_adds_them(tmp_path):
    write_split(tmp_path, "train", [(["a"], ["a"]), ([], ["a"])])
    store = open_store(tmp_path, "train")
    for kind in (ExtractionData, RewritingData):
        with pytest.raises(UserError, match=r"1 of 2 articles .* make_extraction_labels\.py"):
            kind(store, Vocabulary(["p", "u", "s", "e"]))


def test_a_split_of_empty_texts_cannot_be_trained_on(tmp_path):
    store = open_store(write_split(tmp_path, "train", [([], ["a"]), (["a"], [])], labels=True), "train")
    for kind in KINDS:
        with pytest.raises(UserError, match="train has no"):
            kind(store, Vocabulary(["p", "u", "s", "e"]))


def test_more_processes_than_items_is_an_error(dataset):
    with pytest.raises(UserError, match="cannot be shared"):
        training_batches(ArticleData(*dataset), 8, 0, world=1000)

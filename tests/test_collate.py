from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_data import write_split

from data.collate import collate_articles, collate_extraction, collate_pairs, collate_sources
from data.store import TokenStore, open_store
from data.vocabulary import SPECIAL_NAMES, Vocabulary
from model.batches import END, PAD, START, UNK

VOCABULARY = Vocabulary([*SPECIAL_NAMES, "a", "b", "c"])
V = len(VOCABULARY)
sentences = st.lists(st.sampled_from(["a", "b", "c", "x", "y", "z", "<end>"]), max_size=8).map(" ".join)
full = sentences.filter(bool)


def store_of(articles, abstracts=None):
    store = TokenStore.from_texts(articles, abstracts)
    return store, store.map_to(VOCABULARY)


def model_id(word: str) -> int:
    return {"a": 4, "b": 5, "c": 6}.get(word, UNK)


def padded(rows, width, fill=PAD):
    return [list(row) + [fill] * (width - len(row)) for row in rows]


@given(
    st.lists(st.lists(sentences, min_size=1, max_size=6), min_size=1, max_size=4),
    st.none() | st.integers(1, 7),
    st.none() | st.integers(1, 4),
    st.randoms(),
)
def test_articles_equal_a_plain_reference(articles, max_words, max_sentences, random):
    store, word_map = store_of(articles)
    indices = [random.randrange(len(articles)) for _ in range(3)]
    batch = collate_articles(store, word_map, np.array(indices), max_words, max_sentences)
    kept = [[s.split()[:max_words] for s in articles[index][:max_sentences]] for index in indices]
    widths = [max(5, *map(len, article)) for article in kept]
    flat = list(itertools.chain.from_iterable(kept))
    assert batch.words.tolist() == padded([[model_id(w) for w in s] for s in flat], max(widths))
    assert batch.lengths.tolist() == list(map(len, flat))
    assert batch.widths.tolist() == [w for w, article in zip(widths, kept, strict=True) for _ in article]
    assert batch.counts.tolist() == list(map(len, kept))
    assert {field.dtype for field in batch} == {torch.int64}


def test_an_article_without_sentences_is_no_input():
    store, word_map = store_of([[], ["a"]])
    with pytest.raises(AssertionError, match="without sentences"):
        collate_articles(store, word_map, np.array([1, 0]))


def reference_numbers(rows, shared):
    """Extended ids as the released code gives them, and row by row."""
    ids: dict[int, int] = {}
    extended = []
    for row in rows:
        ids = ids if shared else {}
        for word in row:
            if model_id(word) == UNK:
                ids.setdefault(word, V + len(ids))
        extended.append(dict(ids))
    return [dict(ids) if shared else own for own in extended]


@given(st.lists(sentences, min_size=1, max_size=6), st.none() | st.integers(1, 5), st.booleans())
def test_sources_equal_a_plain_reference(texts, max_words, shared):
    store, word_map = store_of([texts])
    sources = collate_sources(store, word_map, np.arange(len(texts)), V, max_words, shared)
    rows = [text.split()[:max_words] for text in texts]
    numbers = reference_numbers(rows, shared)
    S = max(1, *map(len, rows))
    batch = sources.batch
    assert batch.words.tolist() == padded([[model_id(w) for w in row] for row in rows], S)
    extended = [[own.get(w, model_id(w)) for w in row] for own, row in zip(numbers, rows, strict=True)]
    assert batch.extended.tolist() == padded(extended, S)
    assert batch.lengths.tolist() == [max(1, len(row)) for row in rows]
    assert batch.n_extra.tolist() == list(map(len, numbers))
    found = [[store.lexicon[word] for word in row if word >= 0] for row in sources.extra_words]
    assert found == [list(own) for own in numbers]
    assert sources.extra_words.shape == (len(rows), max(map(len, numbers)))


@given(st.lists(sentences, min_size=2, max_size=6))
def test_unshared_rows_do_not_depend_on_their_neighbours(texts):
    store, word_map = store_of([texts])
    together = collate_sources(store, word_map, np.arange(len(texts)), V, shared=False)
    for row in range(len(texts)):
        alone = collate_sources(store, word_map, np.array([row]), V, shared=False)
        length = int(alone.batch.lengths)
        assert torch.equal(together.batch.extended[row, :length], alone.batch.extended[0])
        assert together.batch.n_extra[row] == alone.batch.n_extra[0]
        n = int(alone.batch.n_extra)
        assert together.extra_words[row, :n].tolist() == alone.extra_words[0].tolist()


@given(st.lists(st.tuples(full, full), min_size=1, max_size=6), st.integers(1, 9), st.integers(1, 9))
def test_pairs_equal_a_plain_reference(pairs, max_art, max_abs):
    store, word_map = store_of([[source for source, _ in pairs]], [[target for _, target in pairs]])
    order = np.arange(len(pairs))
    batch = collate_pairs(store, word_map, np.stack([order, order], 1), V, max_art, max_abs)
    rows = [(source.split()[:max_art], target.split()[:max_abs]) for source, target in pairs]
    ids = reference_numbers([source for source, _ in rows], shared=True)[0]
    rows.sort(key=lambda row: -len(row[1]))  # stable
    S, T = max(len(source) for source, _ in rows), max(len(target) for _, target in rows) + 1
    known = {"a": 4, "b": 5, "c": 6} | ids
    assert batch.source.extended.tolist() == padded([[known[w] for w in s] for s, _ in rows], S)
    assert batch.inputs.tolist() == padded([[START] + [model_id(w) for w in t] for _, t in rows], T)
    assert batch.targets.tolist() == padded([[known.get(w, UNK) for w in t] + [END] for _, t in rows], T)
    assert batch.lengths.tolist() == [len(t) + 1 for _, t in rows]
    assert batch.source.n_extra.tolist() == [len(ids)] * len(rows)


@given(st.lists(st.tuples(full, full), min_size=3, max_size=7), st.integers(1, 3))
def test_shares_of_processes_tile_the_batch(pairs, world):
    store, word_map = store_of([[source for source, _ in pairs]], [[target for _, target in pairs]])
    items = np.stack([np.arange(len(pairs))] * 2, 1)
    whole = collate_pairs(store, word_map, items, V)
    for rank in range(world):
        share = collate_pairs(store, word_map, items, V, rows=slice(rank, None, world))
        for part, all_rows in zip((*share.source, *share[1:]), (*whole.source, *whole[1:]), strict=True):
            own = all_rows[rank::world]
            assert torch.equal(part, own if own.dim() == 1 else own[:, : part.shape[1]])
            assert own.dim() == 1 or not own[:, part.shape[1] :].any()
        assert share.source.words.shape[1] == share.source.lengths.max()
        assert share.targets.shape[1] == share.lengths.max()


def test_labels_beyond_the_last_kept_sentence_are_dropped(tmp_path):
    articles = [
        (["a", "b", "c x"], ["c x", "a", "zz"]),  # labels 2, 0, 1
        (["a"], ["b"]),
        (["q", "r", "s a"], ["s a"]),  # label 2
    ]
    store = open_store(write_split(tmp_path, "train", articles, labels=True), "train")
    word_map = store.map_to(VOCABULARY)
    everything = collate_extraction(store, word_map, np.arange(3), 100, 60)
    assert everything.targets.tolist() == [[2, 0, 1], [0, -1, -1], [2, -1, -1]]
    cut = collate_extraction(store, word_map, np.arange(3), 100, 2)
    assert cut.targets.tolist() == [[0, 1], [0, -1], [-1, -1]]
    assert cut.articles.counts.tolist() == [2, 1, 2]
    assert collate_extraction(store, word_map, np.array([2]), 100, 2).targets.tolist() == [[-1]]


@pytest.mark.parametrize("case", ["abstractor_mixed", "abstractor_truncation", "abstractor_no_oov"])
def test_golden_pairs_get_the_golden_ids(golden, case):
    expected = json.loads((golden / "losses.json").read_text())[case]
    vocabulary = Vocabulary.load(golden / "abs" / "vocab.pkl")
    sources, targets = ([pair[side] for pair in expected["pairs"]] for side in ("source", "target"))
    store = TokenStore.from_texts([sources], [targets])
    items = np.stack([np.arange(len(sources))] * 2, 1)
    batch = collate_pairs(store, store.map_to(vocabulary), items, len(vocabulary))
    order = sorted(range(len(targets)), key=lambda row: -len(expected["target_ids_extended"][row]))
    for row, original in enumerate(order):
        source = batch.source.extended[row, : batch.source.lengths[row]].tolist()
        assert source == expected["source_ids_extended"][original]
        assert batch.targets[row, : batch.lengths[row]].tolist() == expected["target_ids_extended"][original]
    if batch.source.n_extra.any():
        assert len(vocabulary) + int(batch.source.n_extra[0]) == expected["extended_size"]


@pytest.mark.parametrize("case", ["extractor_mixed", "extractor_truncation"])
def test_golden_labels_are_cut_as_released(golden, tmp_path, case):
    expected = json.loads((golden / "losses.json").read_text())[case]
    (tmp_path / "train").mkdir()
    for index, article in enumerate(expected["batch"]):
        n = len(article["extracted"])
        labelled = {"abstract": ["-"] * n, "score": [0] * n} | article
        (tmp_path / "train" / f"{index}.json").write_text(json.dumps(labelled))
    store = open_store(tmp_path, "train")
    word_map = store.map_to(Vocabulary.load(golden / "ext_rnn" / "vocab.pkl"))
    batch = collate_extraction(store, word_map, np.arange(len(store)))
    found = [[label for label in row if label >= 0] for row in batch.targets.tolist()]
    assert found == expected["rnn"]["targets_after_truncation"]
    assert batch.articles.counts.max() <= 60 and batch.articles.lengths.max() <= 100

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import resource
import shutil
import signal
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from kills import struck
from tiny_data import contents, corpora, random_pairs, run_python, write_counts, write_split

from data import store_build
from data.articles import article_path, read_article
from data.store import TokenStore, open_store
from data.store_files import StoreWriter
from data.vocabulary import SPECIAL_NAMES, Vocabulary
from model.batches import UNK
from support import files
from support.errors import UserError

BUILD = "import sys; from data.store import open_store; open_store(sys.argv[1], 'train', int(sys.argv[2]))"


def tokens(text: list[str]) -> list[list[str]]:
    return [sentence.lower().split() for sentence in text]


def words_of(store: TokenStore, documents) -> list[list[list[str]]]:
    def spell(sentence):
        return [store.lexicon[word] for word in sentence]

    return [[spell(sentence) for sentence in documents.document(d)] for d in range(len(documents))]


def expected_lexicon(counter: Counter | None, pairs) -> list[str]:
    ranked = [word for word, _ in counter.most_common()] if counter else []
    lexicon = [word for word in ranked if word not in SPECIAL_NAMES]
    lexicon += [name for name in SPECIAL_NAMES if name in ranked]
    known = set(lexicon)
    for article, abstract in pairs:
        for sentence in tokens(article) + tokens(abstract):
            for word in sentence:
                if word not in known:
                    known.add(word)
                    lexicon.append(word)
    return [*SPECIAL_NAMES, *lexicon]


@settings(max_examples=60)
@given(corpora, corpora)
def test_store_equals_a_plain_reading_of_the_files(train, val):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_split(root, "train", train, labels=True)
        write_split(root, "val", val)
        counter = write_counts(root, train)
        for split, pairs in (("train", train), ("val", val)):
            store = open_store(root, split)
            assert words_of(store, store.articles) == [tokens(article) for article, _ in pairs]
            assert words_of(store, store.abstracts) == [tokens(abstract) for _, abstract in pairs]
            assert store.lexicon == expected_lexicon(counter, pairs)
            for index in range(len(pairs)):
                labels = store.labels[store.label_offsets[index] : store.label_offsets[index + 1]]
                assert labels.tolist() == (read_article(article_path(root, split, index)).extracted or [])


@settings(max_examples=30)
@given(corpora)
def test_texts_in_memory_have_the_same_form(pairs):
    with tempfile.TemporaryDirectory() as folder:
        on_disk = open_store(write_split(Path(folder), "test", pairs), "test")
        store = TokenStore.from_texts([article for article, _ in pairs], [abstract for _, abstract in pairs])
        assert words_of(store, store.articles) == words_of(on_disk, on_disk.articles)
        assert words_of(store, store.abstracts) == words_of(on_disk, on_disk.abstracts)
        assert len(store) == len(on_disk) == len(pairs) and len(store.labels) == 0
        assert sorted(store.lexicon) == sorted(on_disk.lexicon)


def test_without_abstracts_every_abstract_is_empty():
    store = TokenStore.from_texts([["a b"], [], ["c"]])
    assert store.abstracts.sentence_counts.tolist() == [0, 0, 0]
    assert store.articles.sentence_counts.tolist() == [1, 0, 1]


def test_own_vocabulary_is_a_comparison(golden):
    counts = pickle.loads((golden / "data" / "vocab_cnt.pkl").read_bytes())
    store = open_store(golden / "data", "val")
    ids = np.arange(len(store.lexicon))
    for vsize in (10, 300):
        word_map = store.map_to(Vocabulary.from_counter(counts, vsize))
        assert word_map.dtype == np.int32
        assert np.array_equal(word_map, np.where(ids < vsize + 4, ids, UNK))


def test_maps_to_and_from_a_foreign_vocabulary():
    store = TokenStore.from_texts([["x y PAD <pad> z"]])
    vocabulary = Vocabulary(["PAD", "UNK", "GO", "EOS", "z", "never", "x", "<pad>", "rare"])
    to, back = store.map_to(vocabulary), store.map_from(vocabulary)
    named = {word: to[index] for index, word in enumerate(store.lexicon) if index >= 4}
    assert named == {"x": 6, "y": UNK, "pad": UNK, "<pad>": 7, "z": 4}
    assert to[:4].tolist() == back[:4].tolist() == [0, 1, 2, 3]
    assert [store.lexicon[i] if i >= 0 else i for i in back[4:].tolist()] == ["z", -6, "x", "<pad>", -9]


def test_tokens_spelled_like_special_names_are_unknown_words(tmp_path):
    pairs = [(["<pad> <pad> a <end> b"], ["<unk> a"])]
    write_split(tmp_path, "train", pairs)
    vocabulary = Vocabulary.from_counter(write_counts(tmp_path, pairs), 100)
    store = open_store(tmp_path, "train")
    assert store.map_to(vocabulary)[store.articles.words].tolist() == [UNK, UNK, 4, UNK, 5]
    assert [store.lexicon[word] for word in store.articles.words] == ["<pad>", "<pad>", "a", "<end>", "b"]


def test_any_number_of_workers_builds_the_same_bytes(tmp_path):
    pairs = random_pairs(1100)
    for workers in (1, 2):
        write_split(tmp_path / str(workers), "train", pairs, labels=True)
        write_counts(tmp_path / str(workers), pairs[:600])
        open_store(tmp_path / str(workers), "train", workers=workers)
    one, two = (contents(tmp_path / workers / ".store" / "train", "*.bin") for workers in "12")
    assert one == two and len(one) == 8
    words = "train/words.json"
    assert (tmp_path / "1/.store" / words).read_bytes() == (tmp_path / "2/.store" / words).read_bytes()


def test_builds_in_spawned_processes(tmp_path):
    write_split(tmp_path, "train", random_pairs(1100))
    script = tmp_path / "build.py"
    script.write_text(
        "import multiprocessing\nfrom data.store import open_store\n"
        "if __name__ == '__main__':\n"
        "    multiprocessing.set_start_method('spawn')\n"
        f"    print(len(open_store({str(tmp_path)!r}, 'train', workers=2)))\n"
    )
    result = run_python(str(script))
    assert (result.stdout, result.returncode) == ("1100\n", 0), result.stderr


def built_at(root: Path, split: str = "train") -> int:
    return (root / ".store" / split / "meta.json").stat().st_ino


def test_a_built_store_is_opened_as_it_is_and_rebuilt_when_the_source_changes(tmp_path):
    write_split(tmp_path, "train", [(["a b"], ["a"]), (["c"], ["c"])])
    open_store(tmp_path, "train")
    first = built_at(tmp_path)
    open_store(tmp_path, "train")
    assert built_at(tmp_path) == first

    path = article_path(tmp_path, "train", 1)
    path.write_text(path.read_text().replace('"c"', '"d"'))
    os.utime(path, ns=(0, time.time_ns()))
    assert open_store(tmp_path, "train").lexicon[-1] == "d"
    path.write_text(path.read_text().replace('"d"', '"e"'))
    os.utime(path, ns=(0, time.time_ns()))
    assert open_store(tmp_path, "train").lexicon[-1] == "e"

    write_split(tmp_path, "train", [(["a b"], ["a"]), (["c"], ["c"]), (["new"], [])])
    assert len(open_store(tmp_path, "train")) == 3
    article_path(tmp_path, "train", 2).unlink()
    assert len(open_store(tmp_path, "train")) == 2

    (tmp_path / "vocab_cnt.pkl").write_bytes(pickle.dumps(Counter({"c": 3, "a": 1})))
    assert open_store(tmp_path, "train").lexicon[4:] == ["c", "a", "b"]
    (tmp_path / "vocab_cnt.pkl").write_bytes(pickle.dumps(Counter({"b": 3, "zz": 1})))
    assert open_store(tmp_path, "train").lexicon[4:] == ["b", "zz", "a", "c"]
    assert len(list((tmp_path / ".store").glob("lexicon-*"))) == 1


def test_a_store_belongs_to_the_names_sizes_and_times_of_its_articles(tmp_path):
    write_split(tmp_path, "train", random_pairs(12))
    open_store(tmp_path, "train")
    described = ""
    for index in range(12):
        status = article_path(tmp_path, "train", index).stat()
        described += f"{index}.json {status.st_size} {status.st_mtime_ns}\n"
    expected = hashlib.blake2b(f"{described}None 1".encode(), digest_size=16).hexdigest()
    assert json.loads((tmp_path / ".store/train/meta.json").read_text())["fingerprint"] == expected


def test_a_link_to_nowhere_is_named(tmp_path):
    write_split(tmp_path, "train", random_pairs(3))
    article_path(tmp_path, "train", 1).unlink()
    article_path(tmp_path, "train", 1).symlink_to(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"train/1\.json is not readable"):
        open_store(tmp_path, "train")


def test_splits_share_the_counted_words(tmp_path):
    pairs = random_pairs(20)
    for split in ("train", "val"):
        write_split(tmp_path, split, pairs)
    counter = write_counts(tmp_path, pairs)
    assert open_store(tmp_path, "train").lexicon == open_store(tmp_path, "val").lexicon
    assert len(open_store(tmp_path, "val").lexicon) == len(counter) + 4
    assert json.loads((tmp_path / ".store/val/words.json").read_text()) == []


def stored(root: Path) -> dict[str, bytes]:
    """The stores' files but meta.json, which knows when they were written."""
    return {name: content for name, content in contents(root / ".store").items() if not name.endswith("meta.json")}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES = {
    "cut": cut,
    "random": lambda path: path.write_bytes(random.Random(0).randbytes(path.stat().st_size)),
    "gone": Path.unlink,
    "a pipe": make_pipe,
    "[]": lambda path: path.write_text("[]"),
    "[": lambda path: path.write_text("["),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["train/labels.bin", "train/article_words.bin", "train/meta.json", "train/words.json"])
def test_a_damaged_store_is_built_again(tmp_path, name, damage):
    write_split(tmp_path, "train", random_pairs(20), labels=True)
    open_store(tmp_path, "train")
    whole = stored(tmp_path)
    DAMAGES[damage](tmp_path / ".store" / name)
    open_store(tmp_path, "train", workers=1)
    assert stored(tmp_path) == whole


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_lexicon_is_written_again_and_then_stays(tmp_path, damage):
    pairs = random_pairs(20)
    for split in ("train", "val"):
        write_split(tmp_path, split, pairs)
    write_counts(tmp_path, pairs)
    lexicons = {split: open_store(tmp_path, split).lexicon for split in ("train", "val")}
    whole = stored(tmp_path)
    DAMAGES[damage](next((tmp_path / ".store").glob("lexicon-*")))
    for split, lexicon in lexicons.items():
        assert open_store(tmp_path, split, workers=1).lexicon == lexicon
    assert stored(tmp_path) == whole
    built = built_at(tmp_path), built_at(tmp_path, "val")
    for split in lexicons:
        open_store(tmp_path, split)
    assert built == (built_at(tmp_path), built_at(tmp_path, "val"))


def test_a_store_without_times_is_built_again_and_leaves_the_articles_alone(tmp_path):
    """As older versions wrote it."""
    write_split(tmp_path, "train", random_pairs(20), labels=True)
    open_store(tmp_path, "train")
    articles, whole = contents(tmp_path / "train"), stored(tmp_path)
    path = tmp_path / ".store" / "train" / "meta.json"
    meta = json.loads(path.read_text())
    del meta["times"]
    path.write_text(json.dumps(meta))
    open_store(tmp_path, "train", workers=1)
    assert stored(tmp_path) == whole and contents(tmp_path / "train") == articles
    assert "times" in json.loads(path.read_text())


@pytest.mark.parametrize("at", ["first piece", "in the middle", "last piece", "in its place"])
def test_kill_during_building_then_again_gives_the_same_store(tmp_path, monkeypatch, at):
    pairs = random_pairs(50, n_words=300)
    write_split(tmp_path, "train", pairs)
    write_counts(tmp_path, pairs)
    open_store(tmp_path, "train", workers=1)
    whole = stored(tmp_path)
    shutil.rmtree(tmp_path / ".store")
    monkeypatch.setattr(store_build, "_PIECE", 10)
    points = {"first piece": 1, "in the middle": 6, "last piece": 10}  # articles and abstracts of five pieces
    owner, name, n = (StoreWriter, "append", points[at]) if at in points else (files, "_clear_leftovers", 2)
    assert struck(lambda: open_store(tmp_path, "train", workers=1), owner, name, n) == -signal.SIGKILL
    assert (tmp_path / ".store" / "train").exists() == (at not in points)
    open_store(tmp_path, "train", workers=1)
    assert stored(tmp_path) == whole


def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path):
    write_split(tmp_path, "train", random_pairs(300))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limit[1]))
    try:
        with pytest.raises(UserError, match="cannot be written"):
            open_store(tmp_path, "train", workers=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert os.listdir(tmp_path / ".store") == ["lock"]
    assert len(open_store(tmp_path, "train")) == 300


def test_two_builders_at_once_both_succeed(tmp_path):
    write_split(tmp_path, "train", random_pairs(1500))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: run_python("-c", BUILD, str(tmp_path), "1"), range(2)))
    assert [result.returncode for result in results] == [0, 0], results
    assert sorted(os.listdir(tmp_path / ".store")) == ["lock", "train"]


def test_a_read_only_data_set_gets_its_store_elsewhere(tmp_path, monkeypatch, capsys):
    write_split(tmp_path / "data", "train", random_pairs(5))
    (tmp_path / "data" / ".store").write_text("a file where the directory would go")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert len(open_store(tmp_path / "data", "train")) == 5
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and str(tmp_path / "temporary") in message
    assert list((tmp_path / "temporary").glob("*/*/train/meta.json"))


def test_labels_that_do_not_fit_are_named(tmp_path):
    write_split(tmp_path, "train", [(["a"], ["a"])])
    path = article_path(tmp_path, "train", 0)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"extracted": [1], "score": [1.0]}))
    with pytest.raises(UserError, match=r"train/0\.json.*do not fit"):
        open_store(tmp_path, "train")
    assert not (tmp_path / ".store" / "train").exists()


def test_pickled_stores_are_mapped_anew_or_copied(tmp_path):
    write_split(tmp_path, "train", random_pairs(200))
    for store in (open_store(tmp_path, "train"), TokenStore.from_texts([["a b"], ["c"]], [["a"], []])):
        copy = pickle.loads(pickle.dumps(store))
        assert np.array_equal(copy.articles.words, store.articles.words) and copy.lexicon == store.lexicon
        assert np.array_equal(copy.abstracts.document_offsets, store.abstracts.document_offsets)
    assert len(pickle.dumps(open_store(tmp_path, "train"))) < 1000

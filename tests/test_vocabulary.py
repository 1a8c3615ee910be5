from __future__ import annotations

import os
import pickle
from collections import Counter

import pytest
from commands import run_here
from tiny_data import contents, random_pairs, write_counts, write_split

from data.articles import split_directory
from data.count_words import count_words
from data.vocabulary import SPECIAL_NAMES, Vocabulary, load_word_counts
from support.errors import UserError


def test_golden_vocabularies_are_rebuilt_from_the_golden_counts(golden):
    vocabulary = Vocabulary.from_counter(load_word_counts(golden / "data"), 300)
    for name in ("abs/vocab.pkl", "ext_rnn/vocab.pkl", "rl/agent_vocab.pkl"):
        loaded = Vocabulary.load(golden / name)
        assert loaded.words == vocabulary.words
        assert loaded.word_to_id == pickle.loads((golden / name).read_bytes())


def test_golden_counts_are_rebuilt_in_order(golden):
    counted = count_words(golden / "data", workers=2)
    assert list(counted.items()) == list(load_word_counts(golden / "data").items())


def test_any_number_of_workers_counts_in_the_same_order(tmp_path):
    pairs = random_pairs(1200)
    write_split(tmp_path, "train", pairs)
    expected = write_counts(tmp_path, pairs)
    for workers in (1, 3):
        assert list(count_words(tmp_path, workers).items()) == list(expected.items())


def test_special_ids_come_first_and_ties_keep_the_order_of_counting():
    words = Vocabulary.from_counter(Counter({"b": 2, "a": 2, "c": 9, "d": 1}), 3).words
    assert words == [*SPECIAL_NAMES, "c", "b", "a"]


def test_a_token_spelled_like_a_special_name_never_enters():
    counter = Counter({"<end>": 50, "x": 3, "<pad>": 20, "y": 2})
    vocabulary = Vocabulary.from_counter(counter, 2)
    assert vocabulary.words == [*SPECIAL_NAMES, "x", "y"]
    assert len(vocabulary) == max(vocabulary.word_to_id.values()) + 1


def test_special_names_may_be_spelled_otherwise(tmp_path):
    ids = {"PAD": 0, "x": 4, "UNK": 1, "GO": 2, "EOS": 3}
    (tmp_path / "vocab.pkl").write_bytes(pickle.dumps(ids, protocol=3))
    assert Vocabulary.load(tmp_path / "vocab.pkl").words == ["PAD", "UNK", "GO", "EOS", "x"]


def test_saved_vocabulary_is_a_plain_dict(tmp_path):
    vocabulary = Vocabulary.from_counter(Counter("abca"), 10)
    vocabulary.save(tmp_path / "vocab.pkl")
    value = pickle.loads((tmp_path / "vocab.pkl").read_bytes())
    assert type(value) is dict and value == vocabulary.word_to_id
    assert Vocabulary.load(tmp_path / "vocab.pkl").words == vocabulary.words


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


BAD = {
    "code": pickle.dumps(Bomb()),
    "a list": pickle.dumps(["a"]),
    "truncated": pickle.dumps({"a": 0})[:-3],
    "binary": bytes(range(256)),
    "float ids": pickle.dumps({"a": 0.0, "b": 1, "c": 2, "d": 3}),
    "number as word": pickle.dumps({7: 0, "b": 1, "c": 2, "d": 3}),
    "a stolen id": pickle.dumps({"<pad>": 0, "<unk>": 1, "<start>": 2, "<end>": 5, "a": 4}),
    "twice the same id": pickle.dumps({"<pad>": 0, "<unk>": 1, "<start>": 2, "<end>": 3, "a": 4, "b": 4}),
    "too short": pickle.dumps({"<pad>": 0}),
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_bad_vocabularies_are_refused_and_run_nothing(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vocab.pkl").write_bytes(content)
    with pytest.raises(UserError, match=r"vocab\.pkl"):
        Vocabulary.load(tmp_path / "vocab.pkl")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("counts", [{}, {"<pad>": 3, "<end>": 1}])
def test_a_counter_without_words_is_refused(tmp_path, counts):
    (tmp_path / "vocab_cnt.pkl").write_bytes(pickle.dumps(Counter(counts)))
    with pytest.raises(UserError, match=r"vocab_cnt\.pkl counts no word; `python -m data\.count_words"):
        load_word_counts(tmp_path)


def test_missing_counts_name_the_command_that_builds_them(tmp_path):
    with pytest.raises(UserError, match=r"python -m data\.count_words"):
        load_word_counts(tmp_path)


def test_the_command_writes_the_counts_and_leaves_no_other_file(tmp_path):
    pairs = random_pairs(30)
    write_split(tmp_path, "train", pairs)
    expected = write_counts(tmp_path, pairs)
    before = contents(split_directory(tmp_path, "train"))
    (tmp_path / "vocab_cnt.pkl").unlink()
    result = run_here("-m", "data.count_words", DATA=str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert list(load_word_counts(tmp_path).items()) == list(expected.items())
    assert sorted(os.listdir(tmp_path)) == ["train", "vocab_cnt.pkl"]
    assert contents(split_directory(tmp_path, "train")) == before

from __future__ import annotations

import os
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import run_here
from gensim.models import KeyedVectors, Word2Vec, keyedvectors, word2vec
from other_writer import other_writer

import data.word2vec
import train_word2vec
from data.embeddings import initial_embedding
from data.store import TokenStore
from data.vocabulary import SPECIAL_NAMES, Vocabulary
from data.word2vec import train_word_vectors
from data.word2vec_state import RESUME_FILE, ResumeFile
from support.errors import UserError
from support.flags import parse
from support.parallel import available_cores

VOCABULARY = Vocabulary([*SPECIAL_NAMES, "a", "b", "never"])


@pytest.fixture(scope="module")
def vectors(golden, tmp_path_factory) -> Path:
    """Trained by the script on the golden articles."""
    folder = tmp_path_factory.mktemp("word2vec")
    result = run_here("train_word2vec.py", "--path", str(folder), "--dim", "16", DATA=str(golden / "data"))
    assert result.returncode == 0, result.stderr
    assert len(re.findall("epoch . of 5", result.stdout)) == 5
    assert sorted(os.listdir(folder)) == ["word2vec.16d.0k.bin", "word2vec.16d.0k.w2v"]
    return folder / "word2vec.16d.0k.bin"


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    store = TokenStore.from_texts([["a b", "b c", "<end> rare"]] * 4, [["A  b"]] * 4)
    return train_word_vectors(store, tmp_path_factory.mktemp("small"), dim=8, epochs=1)


def test_files_load_as_the_released_consumer_loads_them(vectors):
    assert int(os.path.basename(vectors).split(".")[-3][:-1]) == 16
    words = Word2Vec.load(str(vectors)).wv
    text = KeyedVectors.load_word2vec_format(str(vectors.with_suffix(".w2v")))
    assert words.vector_size == 16 and words.index_to_key == text.index_to_key
    assert np.allclose(words.vectors, text.vectors)


def test_sentences_are_marked_lower_cased_and_counted(small):
    model = Word2Vec.load(str(small))
    counts = {word: model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key}
    assert counts == {"<s>": 16, r"<\s>": 16, "b": 12, "a": 8}
    assert model.sg == 1 and model.window == 5 and model.negative == 5 and model.min_count == 5


@pytest.mark.parametrize("suffix", [".bin", ".w2v"])
def test_embedding_starts_as_released(small, suffix):
    words = Word2Vec.load(str(small)).wv
    path = small.with_suffix(suffix)
    matrix = initial_embedding(path, VOCABULARY, 8, torch.Generator().manual_seed(3))
    random = torch.randn(7, 8, generator=torch.Generator().manual_seed(3))
    for row, name in {2: "<s>", 3: r"<\s>", 4: "a", 5: "b"}.items():
        assert np.array_equal(matrix[row].numpy(), words[name])
    for row in (0, 1, 6):
        assert torch.equal(matrix[row], random[row])


def test_arrays_beside_the_model_are_found(vectors, golden, tmp_path):
    vocabulary = Vocabulary.load(golden / "abs" / "vocab.pkl")
    Word2Vec.load(str(vectors)).save(str(tmp_path / "word2vec.16d.0k.bin"), sep_limit=100)
    assert (tmp_path / "word2vec.16d.0k.bin.wv.vectors.npy").exists()
    one, two = (
        initial_embedding(path, vocabulary, 16, torch.Generator().manual_seed(0))
        for path in (vectors, tmp_path / "word2vec.16d.0k.bin")
    )
    assert torch.equal(one, two)
    words = Word2Vec.load(str(vectors)).wv
    assert all(np.array_equal(one[row].numpy(), words[vocabulary.words[row]]) for row in range(4, 304))


def test_files_of_gensim_3_are_read(tmp_path, small, monkeypatch):
    """Its field was index2word, its pickles were of protocol 2, with arrays as text."""
    words = Word2Vec.load(str(small)).wv
    old = type("Word2VecKeyedVectors", (), {"__module__": "gensim.models.keyedvectors"})
    model = type("Word2Vec", (), {"__module__": "gensim.models.word2vec"})
    monkeypatch.setattr(keyedvectors, "Word2VecKeyedVectors", old)
    monkeypatch.setattr(word2vec, "Word2Vec", model)
    top, inner = model(), old()
    inner.__dict__ = {"vectors": words.vectors, "index2word": words.index_to_key, "vocab": {"a": old()}}
    top.__dict__ = {"wv": inner, "random": np.random.RandomState(1), "cum_table": np.arange(3)}
    (tmp_path / "old.bin").write_bytes(pickle.dumps(top, protocol=2))
    matrix = initial_embedding(tmp_path / "old.bin", VOCABULARY, 8)
    assert np.array_equal(matrix[4].numpy(), words["a"])


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


@pytest.mark.parametrize("content", [pickle.dumps(Bomb()), b"", bytes(range(256)), pickle.dumps({"wv": 1})])
def test_what_is_no_model_is_refused_and_runs_nothing(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    for name in ("x.bin", "x.w2v"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=re.escape(name)):
            initial_embedding(tmp_path / name, VOCABULARY, 8)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_text_file_with_numbers_that_are_not_finite_is_refused(tmp_path, number):
    (tmp_path / "x.w2v").write_text(f"2 2\na 1 2\nb 3 {number}\n")
    with pytest.raises(UserError, match=r"x\.w2v: the vector of 'b' holds a number that is not finite"):
        initial_embedding(tmp_path / "x.w2v", VOCABULARY, 2)


MATRIX = np.ones((2, 2), np.float32)


@pytest.mark.parametrize(
    ("words", "matrix", "told"),
    [
        (["a", 5], MATRIX, "words are not strings"),
        (7, MATRIX, "words are not strings"),
        (["a", "b"], MATRIX[0], "not a matrix of numbers"),
        (["a", "b"], np.array([["x", "y"]] * 2), "not a matrix of numbers"),
        (["a", "b"], np.array([[None, {}]] * 2, object), "not a matrix of numbers"),
        (["a", "b"], MATRIX.astype(int), "not a matrix of numbers"),
        (["a", "b"], 3, "not a matrix of numbers"),
        (["a", "b", "c"], MATRIX, "3 words but 2 vectors"),
        (["a", "b"], MATRIX * np.nan, "not finite"),
    ],
)
def test_a_gensim_file_of_other_types_is_refused(tmp_path, monkeypatch, words, matrix, told):
    kinds = [type(name, (), {"__module__": module.__name__}) for name, module in KINDS]
    for (name, module), kind in zip(KINDS, kinds, strict=True):
        monkeypatch.setattr(module, name, kind)
    model, vectors = (kind() for kind in kinds)
    vectors.__dict__ = {"vectors": matrix, "index_to_key": words}
    model.__dict__ = {"wv": vectors}
    (tmp_path / "x.bin").write_bytes(pickle.dumps(model))
    with pytest.raises(UserError, match=rf"x\.bin.*{told}"):
        initial_embedding(tmp_path / "x.bin", VOCABULARY, 2)


KINDS = [("Word2Vec", word2vec), ("KeyedVectors", keyedvectors)]


def test_wrong_dimensions_and_missing_files_are_told(small, tmp_path):
    with pytest.raises(UserError, match=re.escape("x.²d.k.bin cannot be read")):
        initial_embedding(tmp_path / "x.²d.k.bin", VOCABULARY, 16)
    with pytest.raises(UserError, match="named for 8 dimensions, the model needs 16"):
        initial_embedding(small, VOCABULARY, 16)
    for suffix in (".bin", ".w2v"):
        other = tmp_path / f"plain{suffix}"
        other.write_bytes(small.with_suffix(suffix).read_bytes())
        with pytest.raises(UserError, match="has 8 dimensions, the model needs 16"):
            initial_embedding(other, VOCABULARY, 16)
        with pytest.raises(UserError, match="cannot be read"):
            initial_embedding(tmp_path / f"absent{suffix}", VOCABULARY, 16)
    with pytest.raises(UserError, match="has no word"):
        initial_embedding(small, Vocabulary([*SPECIAL_NAMES, "other"]), 8)


def test_too_little_text_is_told(tmp_path):
    with pytest.raises(UserError, match="need more text"):
        train_word_vectors(TokenStore.from_texts([["a b c"]]), tmp_path)
    assert os.listdir(tmp_path) == []


def test_one_thread_and_one_seed_give_one_result(tmp_path):
    store = TokenStore.from_texts([["a b c a b", "b c a a"]] * 9)
    seeds = {"a": 7, "b": 7, "c": 8}
    paths = [train_word_vectors(store, tmp_path / name, 4, seed=seed) for name, seed in seeds.items()]
    first, second, other = (path.with_suffix(".w2v").read_bytes() for path in paths)
    assert first == second != other


def test_a_text_in_pieces_is_learned_in_all_of_them(tmp_path, monkeypatch):
    """Piece by piece the learning rate falls as it does in one, and what is left of a killed run goes away."""
    store = TokenStore.from_texts([["a b c a b", "b c a a"]] * 9 + [[]])
    rates = []
    train = Word2Vec.train

    def noted(self, **arguments):
        rates.append((arguments["start_alpha"], arguments["end_alpha"], arguments["total_words"]))
        return train(self, **arguments)

    monkeypatch.setattr(Word2Vec, "train", noted)
    monkeypatch.setattr(data.word2vec, "PIECE", 4)
    (tmp_path / ".word2vec.old").mkdir()
    (tmp_path / ".resume.npz.abcd1234.tmp").touch()
    path = train_word_vectors(store, tmp_path, 4, epochs=2)
    assert [round(end, 9) for _, end, _ in rates[:-1]] == [round(start, 9) for start, _, _ in rates[1:]]
    assert rates[0][0] == 0.025 and rates[-1][1] == pytest.approx(0.0001)
    falls = [(start - end) / words for start, end, words in rates]
    assert falls == pytest.approx([falls[0]] * 6) and sum(words for *_, words in rates) == 2 * 9 * (5 + 4 + 4)
    model = Word2Vec.load(str(path))
    assert {word: model.wv.get_vecattr(word, "count") for word in "abc"} == {"a": 36, "b": 27, "c": 18}
    assert (model.alpha, model.epochs) == (0.025, 2) and len(os.listdir(tmp_path)) == 2


def test_two_trainings_in_one_folder_are_refused(tmp_path):
    store = TokenStore.from_texts([["a b c a b", "b c a a"]] * 9)
    with other_writer(tmp_path), pytest.raises(UserError, match="another process is writing into"):
        train_word_vectors(store, tmp_path, 4)
    train_word_vectors(store, tmp_path, 4)


@pytest.mark.parametrize(("flags", "told"), [(["--seed", 5 * 10**9], "--seed"), (["--dim", 10**12], "--dim")])
def test_impossible_numbers_are_told_in_one_line(golden, tmp_path, complaint, flags, told):
    shutil.copytree(golden / "data", tmp_path / "data")
    arguments = ["--path", tmp_path / "out", "--data_dir", tmp_path / "data", *flags]
    assert told in complaint("train_word2vec", *arguments)
    assert not (tmp_path / "out").exists()


def test_all_cores_are_used_by_default():
    flags = parse(train_word2vec.Flags, "", ["--path", "x", "--data_dir", "x"])
    assert flags.workers == min(available_cores(), 16)


class Killed(Exception):
    pass


def test_a_killed_training_is_resumed_and_ends_the_same(monkeypatch, tmp_path):
    """With one thread, to the last bit."""
    articles = [[f"w{(i * j) % 7} w{(i + j) % 5} w{i % 3}" for j in range(4)] for i in range(30)]
    store = TokenStore.from_texts(articles, [["w1 w2"]] * 30)
    monkeypatch.setattr("data.word2vec.PIECE", 8)
    monkeypatch.setattr("data.word2vec_state.SAVE_EVERY_SECONDS", 0)
    whole = train_word_vectors(store, tmp_path / "whole", dim=8, epochs=3)
    save = ResumeFile.save

    def killed_after_six(self, model, done):
        save(self, model, done)
        if done == 6:
            raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(ResumeFile, "save", killed_after_six)
        train_word_vectors(store, tmp_path / "parts", dim=8, epochs=3)
    other = TokenStore.from_texts(articles, [["w1 w3"]] * 30)
    for texts, epochs in ((store, 4), (other, 3)):
        with pytest.raises(UserError, match="other texts or flags"):
            train_word_vectors(texts, tmp_path / "parts", dim=8, epochs=epochs, resume=True)
    parts = train_word_vectors(store, tmp_path / "parts", dim=8, epochs=3, resume=True)
    assert parts.with_suffix(".w2v").read_bytes() == whole.with_suffix(".w2v").read_bytes()
    assert sorted(os.listdir(parts.parent)) == sorted(os.listdir(whole.parent))


@pytest.mark.parametrize("damage", ["cut", "other shape", "no numbers", "position beyond the generator"])
def test_a_damaged_resume_file_is_named(monkeypatch, tmp_path, damage):
    store = TokenStore.from_texts([["a b", "b c"]] * 6, [["a b"]] * 6)
    monkeypatch.setattr("data.word2vec_state.SAVE_EVERY_SECONDS", 0)
    monkeypatch.setattr(ResumeFile, "remove", lambda self: None)
    train_word_vectors(store, tmp_path, dim=8, epochs=1)
    path = tmp_path / RESUME_FILE
    with np.load(path) as content:
        arrays = dict(content)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    elif damage == "position beyond the generator":
        np.savez(path, **{**arrays, "random_position": np.array(2**31 - 1)})
    else:
        words = arrays["words"][:1] if damage == "other shape" else np.full_like(arrays["words"], np.nan)
        np.savez(path, **{**arrays, "words": words})
    with pytest.raises(UserError, match=r"resume\.npz is damaged"):
        train_word_vectors(store, tmp_path, dim=8, epochs=1, resume=True)

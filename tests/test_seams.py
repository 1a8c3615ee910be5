"""Places where others change things: another sentence encoder, another reward, another rewriter g."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from commands import call
from contributing import defined_in
from training_runs import EXTRACTOR, assert_same_weights

from checkpoints.directory import best_checkpoint, load, read_checkpoint, read_meta
from checkpoints.networks import AGENT, RNN_EXTRACTOR
from data.batching import RLBatch
from data.collate import collate_articles
from data.store import TokenStore
from data.vocabulary import Vocabulary
from decoding import Options, Summarizer
from inference.rewriting import ByFunction
from model.actor_critic import ActorCritic
from model.sentence_encoder import SENTENCE_ENCODERS
from training import reinforcement
from training.reinforcement import ActorCriticTraining, Environment
from training.rewards import REWARDS, Reward, RewardFlags


@pytest.fixture
def mean_of_words(monkeypatch):
    monkeypatch.setitem(SENTENCE_ENCODERS, "mean", defined_in("mean_encoder.py")["MeanOfWords"])
    return SENTENCE_ENCODERS["mean"]


def test_another_sentence_encoder_is_trained_resumed_reinforced_and_decodes(
    monkeypatch, mean_of_words, data, tmp_path, decode
):
    flags = [*EXTRACTOR, "--data_dir", data, "--sentence_encoder", "mean", "--ckpt_freq", 2]
    call(monkeypatch, "train_extractor_ml.py", *flags, "--path", tmp_path / "ext", "--max_steps", 4)
    flags += ["--path", tmp_path / "parts"]
    for steps in (1, 4):
        call(monkeypatch, "train_extractor_ml.py", *flags, "--max_steps", steps, "--resume")
    assert_same_weights(tmp_path / "ext", tmp_path / "parts")
    assert read_meta(tmp_path / "ext")["net_args"]["sentence_encoder"] == "mean"
    state = read_checkpoint(best_checkpoint(tmp_path / "ext", highest=False).path)["state_dict"]
    assert {"_sent_enc._embedding.weight", "sentence_encoder.projection.weight", "_art_enc._init_h"} <= state.keys()
    agent = ["--data_dir", data, "--ext_dir", tmp_path / "ext", "--path", tmp_path / "rl", "--workers", 0]
    call(monkeypatch, "train_full_rl.py", *agent, "--max_steps", 1)
    assert isinstance(load(tmp_path / "rl", nets=(AGENT,)).network.sentence_encoder, mean_of_words)
    more = ["--data_dir", data, "--init_from", tmp_path / "ext", "--path", tmp_path / "more", "--workers", 0]
    call(monkeypatch, "train_extractor_ml.py", *more, "--max_steps", 1)
    assert isinstance(load(tmp_path / "more", nets=(RNN_EXTRACTOR,)).network.sentence_encoder, mean_of_words)
    flags = ["--model_dir", tmp_path / "rl", "--data_dir", data, "--test"]
    decode("decode_full_model", "--path", tmp_path / "out", *flags)
    assert len(list((tmp_path / "out/output").iterdir())) == 30


def test_the_papers_sentence_encoder_is_not_written(monkeypatch, data, golden, tmp_path):
    """So that the released code, which knows no such argument, loads the model."""
    call(monkeypatch, "train_extractor_ml.py", *EXTRACTOR, "--data_dir", data, "--path", tmp_path, "--max_steps", 1)
    theirs = json.loads((golden / "ext_rnn/meta.json").read_text())
    assert read_meta(tmp_path)["net_args"].keys() == theirs["net_args"].keys()


def small_agent(store: TokenStore) -> ActorCritic:
    torch.manual_seed(0)
    return ActorCritic(vocab_size=len(store.lexicon), emb_dim=6, conv_hidden=5, lstm_hidden=7)


def objective(environment: Environment, directory: Path, **rewards: Any) -> ActorCriticTraining:
    return ActorCriticTraining(
        small_agent(environment.store),
        environment,
        environment,
        RewardFlags(**rewards),
        detach_baseline=True,
        device=torch.device("cpu"),
        directory=directory,
    )


def batch_of(store: TokenStore) -> RLBatch:
    indices = np.arange(len(store))
    words = store.map_to(Vocabulary(store.lexicon))
    return RLBatch(collate_articles(store, words, indices), torch.from_numpy(indices))


def takes_the_first_sentence(scores: torch.Tensor) -> torch.Tensor:
    first = scores.size(1) - 1 if bool(torch.isinf(scores[0, 0])) else 0
    return torch.full((len(scores),), first)


def test_a_reward_on_texts(tmp_path, monkeypatch):
    """It is given strings: of every sentence, and of the whole when the agent stops."""
    seen: list[tuple[str, str]] = []

    def same_letters(outputs: Sequence[str], references: Sequence[str]) -> np.ndarray:
        seen.extend(zip(outputs, references, strict=True))
        return np.array([len(set(a) & set(b)) / len(set(a) | set(b)) for a, b in zip(outputs, references, strict=True)])

    monkeypatch.setitem(REWARDS, "letters", Reward(same_letters, on_texts=True))
    store = TokenStore.from_texts([["c a b", "x y"]], [["a b d", "x"]])
    training = objective(Environment(store, ByFunction(store, lambda texts: texts)), tmp_path, reward="letters")
    training.choose = takes_the_first_sentence
    metrics = training.step(batch_of(store)).metrics
    assert seen == [("c a b", "a b d")]
    assert metrics["step_reward"] == pytest.approx(3 / 5)  # with the space
    seen.clear()
    training = objective(Environment(store, ByFunction(store, lambda texts: texts)), tmp_path, stop_reward="letters")
    training.choose = takes_the_first_sentence
    training.step(batch_of(store))
    assert seen == [("c a b", "a b d x")]


def test_a_reward_on_ids(tmp_path, monkeypatch):
    lengths = Reward(lambda outputs, references: np.array([float(len(words)) for words in outputs]))
    monkeypatch.setitem(REWARDS, "length", lengths)
    store = TokenStore.from_texts([["c a b", "x y"]], [["a b d", "x"]])
    training = objective(Environment(store, ByFunction(store, lambda texts: texts)), tmp_path, reward="length")
    training.choose = takes_the_first_sentence
    assert training.step(batch_of(store)).metrics["step_reward"] == 3


def in_other_words(texts: list[str]) -> list[str]:
    """The first two words, and one that no text has."""
    return [" ".join([*text.split()[:2], "indeed"]) for text in texts]


def test_any_function_rewrites_in_reinforcement_learning(tmp_path, monkeypatch):
    store = TokenStore.from_texts([["c a b", "x y"]], [["c a", "x"]])
    training = objective(Environment.of(ByFunction(store, in_other_words)), tmp_path, reward="rouge-1")
    training.choose = takes_the_first_sentence
    assert training.step(batch_of(store)).metrics["step_reward"] == pytest.approx(2 * 2 / (3 + 2))
    monkeypatch.setattr(reinforcement, "greedy", takes_the_first_sentence)
    with torch.no_grad():
        training.validate([batch_of(store)], 7)
    assert "indeed" in (tmp_path / "examples/7.txt").read_text()


@pytest.mark.parametrize("beam", [1, 5])
def test_any_function_rewrites_in_decoding(golden, beam):
    agent = load(golden / "rl", nets=(AGENT,))
    articles = [["the first sentence of it .", "and another one ."], [], ["Short"]]
    found = Summarizer(agent, in_other_words, Options(beam=beam)).summarize_texts(articles)
    plain = Summarizer(agent, None, Options(beam=beam)).summarize_texts(articles)
    for ours, theirs in zip(found, plain, strict=True):
        assert [s.source for s in ours.sentences] == [s.source for s in theirs.sentences]
        assert ours.lines() == in_other_words(theirs.lines())
        assert all(s.rewriting_score is None and s.copied is None for s in ours.sentences)


def test_a_function_that_loses_sentences_is_told(golden):
    store = TokenStore.from_texts([["a b", "c d"]])
    with pytest.raises(ValueError, match="2 sentences were rewritten to 1"):
        ByFunction(store, lambda texts: texts[:1])(np.arange(2))

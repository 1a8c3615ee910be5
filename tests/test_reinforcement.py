"""The agent and its training: golden update, batch equals loop, learning to pick and to stop, edge cases."""

from __future__ import annotations

import json
import resource
import shutil
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import call, complaint
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from training_runs import assert_same_weights

from checkpoints.directory import load, read_meta
from checkpoints.networks import ABSTRACTOR, AGENT
from data.batching import TOGETHER, RLBatch
from data.collate import collate_articles
from data.store import TokenStore
from data.vocabulary import Vocabulary
from inference.rewriter import Rewriter
from model import attention
from model.abstractor import Abstractor
from model.actor_critic import ActorCritic, entropy, greedy, sample
from model.extractor import RnnExtractor
from reference.networks import attend, encode_article, first_state, pointer_scores, split_articles
from reference.random_batches import random_articles
from support.errors import UserError
from training.metrics_log import read_metrics
from training.reinforcement import ActorCriticTraining, Environment
from training.rewards import RewardFlags
from training.rewriting_cache import RewritingCache

SIZES = {"vocab_size": 50, "emb_dim": 6, "conv_hidden": 5, "lstm_hidden": 7}


def agent(recurrent=True, **sizes) -> ActorCritic:
    torch.manual_seed(3)
    return ActorCritic(**{**SIZES, **sizes}, recurrent_critic=recurrent)


def sentences_themselves(store):
    return lambda numbers: [store.articles.sentence(int(number)) for number in numbers]


def training(network, store, tmp_path, rewrite=None, detach=True, **rewards) -> ActorCriticTraining:
    environment = Environment(store, rewrite or sentences_themselves(store))
    flags = RewardFlags(**rewards)
    cpu = torch.device("cpu")
    return ActorCriticTraining(
        network, environment, environment, flags, detach_baseline=detach, device=cpu, directory=tmp_path
    )


def batch_of(store, vocabulary, indices=None) -> RLBatch:
    indices = np.arange(len(store)) if indices is None else np.array(indices)
    return RLBatch(collate_articles(store, store.map_to(vocabulary), indices), torch.from_numpy(indices))


def forced(actions, stop):
    """Chooses given sentences, then stops."""
    steps = iter(range(10**6))

    def choose(scores):
        t = next(steps)
        return torch.tensor([row[t] if t < len(row) else stop for row in actions])

    return choose


@pytest.mark.parametrize("key", ["step_with_abstractor", "step_extraction_only"])
def test_an_update_equals_the_released_code(golden, tmp_path, key):
    case = json.loads((golden / "rl_step.json").read_text())[key]
    loaded = load(golden / case["model"], nets=(AGENT,))
    network = loaded.network
    assert isinstance(network, ActorCritic)
    texts = [[article[field] for article in case["batch"]] for field in ("article", "abstract")]
    store = TokenStore.from_texts(*texts)
    rewrite = None
    if key == "step_with_abstractor":
        abstractor = load(golden / "rl/abstractor", nets=(ABSTRACTOR,))
        assert isinstance(abstractor.network, Abstractor)
        rewrite = Rewriter(abstractor.network, abstractor.vocabulary, store, shared=True)
    objective = training(network.train(), store, tmp_path, rewrite, detach=False)
    batch = batch_of(store, loaded.vocabulary)
    counts, stop = batch.articles.counts.tolist(), int(batch.articles.counts.max())
    actions = [[stop if a == n else a for a in row] for row, n in zip(case["actions"], counts, strict=True)]

    h, mask = network.encode(batch.articles)
    memory = network.remember(h, mask)
    episode = network.act(memory, forced(actions, stop))
    log_pi = network.policy(memory, episode.actions)
    values = network.critic(h, mask, episode.actions)
    for row, log_probs in enumerate(case["log_probs"]):
        n = len(log_probs)
        assert episode.happened[row].sum() == n
        taken = log_pi[row, range(n), episode.actions[row, :n]]
        for found in (taken, episode.log_probs[row, :n]):
            assert found.tolist() == pytest.approx(log_probs, abs=1e-4)
        assert entropy(log_pi)[row, :n].tolist() == pytest.approx(case["entropies"][row], abs=1e-4)
        assert values[row, :n].tolist() == pytest.approx(case["critic_values"][row], abs=1e-4)

    objective.choose = forced(actions, stop)
    step = objective.step(batch)
    assert float(step.losses.mean().detach()) == pytest.approx(case["total_loss"], abs=1e-4)
    for ours, theirs in [
        ("policy_loss", "policy_loss"),
        ("critic_loss", "critic_loss"),
        ("advantage", "mean_advantage"),
        ("stop_reward", "mean_stop_reward"),
    ]:
        assert step.metrics[ours] == pytest.approx(case[theirs], abs=1e-4)
    step.losses.mean().backward()
    norms = {
        name: sum(float(p.grad.square().sum()) for p in part.parameters()) ** 0.5
        for name, part in objective.gradient_groups.items()
    }
    assert network.stop.grad is not None
    norms["ext"] = (norms["ext"] ** 2 + float(network.stop.grad.square().sum())) ** 0.5
    for name, value in case["grad_norm_children"].items():
        assert norms[name.removeprefix("_")] == pytest.approx(value, rel=1e-3), name


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_a_batch_acts_and_criticises_as_a_loop_over_its_articles(seed):
    network = agent()
    articles = random_articles(seed, 4, 50, sentences=(1, 7), words=(1, 9))
    h, mask = network.encode(articles)
    torch.manual_seed(seed)
    memory = network.remember(h, mask)
    episode = network.act(memory, sample)
    log_probs = network.policy(memory, episode.actions).gather(2, episode.actions[:, :, None]).squeeze(2)
    values = network.critic(h, mask, episode.actions)
    for row, words in enumerate(split_articles(articles)):
        own = encode_article(network, words)
        n = len(own)
        taken = episode.actions[row][episode.happened[row]].tolist()
        chosen = [action for action in taken if action < episode.stop]
        assert len(set(chosen)) == len(chosen) and taken[-1] == episode.stop
        candidates = torch.cat([own, network.stop[None]])
        state, critic_state = first_state(network.actor), first_state(network.critic.decoder)
        previous: Tensor = network.actor.initial_input
        critic_input: Tensor = network.critic.decoder.initial_input
        barred = torch.zeros(n + 1, dtype=torch.bool)
        for t, action in enumerate(taken):
            scores, state = pointer_scores(network.actor, candidates, previous, state)
            log_pi = scores.masked_fill(barred, float("-inf")).log_softmax(0)
            action = min(action, n)
            for found in (episode.log_probs, log_probs):
                assert found[row, t].item() == pytest.approx(log_pi[action].item(), abs=1e-4)
            u, critic_state = pointer_scores(network.critic.decoder, own, critic_input, critic_state)
            value = network.critic.value(u.softmax(0) @ own)
            assert values[row, t].item() == pytest.approx(value.item(), abs=1e-4)
            if action < n:
                barred[action] = True
                previous = critic_input = own[action]


def test_the_released_critic_keeps_its_state_and_reads_its_own_context():
    network = agent(recurrent=False)
    articles = random_articles(1, 1, 50, sentences=(4, 5))
    h, mask = network.encode(articles)
    values = network.critic(h, mask, torch.tensor([[0, 1, 2]]))[0]
    decoder = network.critic.decoder
    previous: Tensor = decoder.initial_input
    for value in values:
        scores, _ = pointer_scores(decoder, h[0], previous, first_state(decoder))
        previous = scores.softmax(0) @ h[0]
        assert value.item() == pytest.approx(network.critic.value(previous).item(), abs=1e-5)
    assert attend(decoder.glimpse, h[0], values.new_zeros(7)).shape == (4,)


def test_a_fixed_number_of_sentences_is_taken_whatever_the_stop_action_says():
    network = agent()
    network.stop.data.fill_(50.0)
    articles = random_articles(2, 5, 50, sentences=(1, 8))
    h, mask = network.encode(articles)
    for k in (0, 1, 3):
        extracted = network.act(network.remember(h, mask), greedy, n_sentences=k).extracted()
        assert [len(chosen) for chosen in extracted] == [min(k, n) for n in articles.counts.tolist()]


def test_long_episodes_are_learned_from_in_parts_with_the_same_gradients(monkeypatch):
    network, articles = agent(), random_articles(0, 3, 50, sentences=(5, 9), words=(3, 8))
    found = []
    for kept in (attention._KEPT, 1):
        monkeypatch.setattr(attention, "_KEPT", kept)
        network.zero_grad()
        h, mask = network.encode(articles)
        actions = torch.arange(5).repeat(3, 1)
        loss = network.policy(network.remember(h, mask), actions)[:, range(5), range(5)].sum()
        (loss + network.critic(h, mask, actions).square().sum()).backward()
        found.append([p.grad.clone() for p in network.parameters() if p.grad is not None])
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-7)
    assert len(found[0]) > 20


@torch.no_grad()
def peak_of_a_long_episode(n_sentences: int) -> int:
    network, h = ActorCritic(vocab_size=20), torch.randn(1, 4000, 512)
    network.act(network.remember(h, torch.ones(1, 4000, dtype=torch.bool)), greedy, n_sentences)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_a_long_episode_uses_the_memory_of_its_steps_again():
    """A step's attention over 4,000 sentences takes 4 MB."""
    peaks = []
    for n_sentences in (5, 150):
        with ProcessPoolExecutor(1, get_context("spawn")) as new_process:
            peaks.append(new_process.submit(peak_of_a_long_episode, n_sentences).result())
    assert peaks[1] - peaks[0] < 100_000  # kB on Linux


def test_the_agent_starts_as_the_extractor():
    torch.manual_seed(0)
    extractor, network = RnnExtractor(**SIZES), agent()
    network.start_from(extractor)
    articles = random_articles(3, 4, 50, sentences=(2, 8))
    network.stop.data.fill_(0.0)
    assert torch.equal(network.encode(articles)[0], extractor.encode(articles)[0])
    for name, weight in extractor.pointer.state_dict().items():
        assert torch.equal(network.actor.state_dict()[name], weight)
        assert torch.equal(network.critic.decoder.state_dict()[name], weight)


def toy_corpus(n: int, seed: int):
    """The summary is every sentence that begins with 'key'; there are one to three of them."""
    random = np.random.default_rng(seed)
    articles, abstracts = [], []
    for _ in range(n):
        sentences = [f"filler w{random.integers(20)} w{random.integers(20)} ." for _ in range(6)]
        places = sorted(random.choice(6, random.integers(1, 4), replace=False))
        for place in places:
            sentences[place] = f"key w{random.integers(20)} w{random.integers(20)} ."
        articles.append(sentences)
        abstracts.append([sentences[place] for place in places])
    return TokenStore.from_texts(articles, abstracts)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["paper", "released"])
def test_the_agent_learns_to_pick_the_right_sentences_and_to_stop(tmp_path, variant):
    store = toy_corpus(200, 0)
    vocabulary = Vocabulary(store.lexicon)
    torch.manual_seed(1)
    sizes = {"vocab_size": len(vocabulary), "emb_dim": 8, "conv_hidden": 8, "lstm_hidden": 16}
    network = ActorCritic(**sizes, recurrent_critic=variant == "paper")
    objective = training(network, store, tmp_path, detach=variant == "paper")
    optimizer = torch.optim.Adam(network.parameters(), 5e-3)
    random = np.random.default_rng(2)
    for _ in range(150):
        optimizer.zero_grad()
        step = objective.step(batch_of(store, vocabulary, random.choice(200, 16, replace=False)))
        step.losses.mean().backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 2.0)
        optimizer.step()
    held_out = toy_corpus(50, 9)
    batch = batch_of(held_out, Vocabulary(store.lexicon))
    with torch.no_grad():
        extracted = network.act(network.remember(*network.encode(batch.articles)), greedy).extracted()
    keys = [
        {j for j, s in enumerate(held_out.articles.document(d)) if held_out.lexicon[s[0]] == "key"} for d in range(50)
    ]
    assert np.mean([set(chosen) == wanted for chosen, wanted in zip(extracted, keys, strict=True)]) > 0.8
    assert np.corrcoef([len(c) for c in extracted], [len(k) for k in keys])[0, 1] > 0.8


def test_a_batch_in_which_every_agent_stops_at_once_is_an_update_like_others(tmp_path):
    store = toy_corpus(2, 1)
    network = agent(vocab_size=len(store.lexicon))
    objective = training(network, store, tmp_path)
    objective.choose = lambda scores: torch.full((len(scores),), scores.size(1) - 1)
    for indices in ([0], [0, 1]):
        step = objective.step(batch_of(store, Vocabulary(store.lexicon), indices))
        step.losses.mean().backward()
        assert torch.isfinite(step.losses).all() and len(step.losses) == len(indices)
        assert step.metrics["extracted"] == 0 and step.metrics["stop_rate"] == 1


def test_one_sentence_articles_and_empty_abstracts_are_learned_from(tmp_path):
    store = TokenStore.from_texts([["a b ."], ["c d .", "e f ."]], [["a b ."], []])
    objective = training(agent(vocab_size=len(store.lexicon)), store, tmp_path)
    objective.choose = forced([[0], [0]], stop=2)
    step = objective.step(batch_of(store, Vocabulary(store.lexicon)))
    assert step.metrics["step_reward"] == step.metrics["stop_reward"] == 0.5  # 1 of the first, 0 of the second
    step.losses.mean().backward()
    norms = [float(parameter.grad.norm()) for parameter in objective.network.parameters() if parameter.grad is not None]
    assert len(step.losses) == 4 and 0 < sum(norms) < float("inf")


def test_a_process_without_validation_articles_adds_nothing_under_the_same_names(tmp_path):
    store = toy_corpus(2, 1)
    objective = training(agent(vocab_size=len(store.lexicon)), store, tmp_path)
    with torch.no_grad():
        some, none = (objective.validate(batches, 0) for batches in ([batch_of(store, Vocabulary(store.lexicon))], []))
    assert none[:2] == (0.0, 0) and not any(none[2].values())
    assert list(none[2]) == list(some[2]) and some[1] == 2


def test_the_reward_flag_acts(tmp_path):
    """The sentence has the summary's words in another order: 2/3 in sequence, one bigram of two."""
    store = TokenStore.from_texts([["c a b"]], [["a b c"]])
    vocabulary = Vocabulary(store.lexicon)
    for name, value in [("rouge-1", 1.0), ("rouge-2", 0.5), ("rouge-l", 2 / 3)]:
        objective = training(agent(vocab_size=len(vocabulary)), store, tmp_path, reward=name, stop_reward=name)
        objective.choose = forced([[0]], 1)
        metrics = objective.step(batch_of(store, vocabulary)).metrics
        assert metrics["step_reward"] == metrics["stop_reward"] == pytest.approx(value)


def test_a_cached_rewriting_is_computed_once_and_memory_is_bounded():
    asked = []

    def rewrite(numbers):
        asked.extend(numbers.tolist())
        return [np.array([number, number + 1], np.int32) for number in numbers]

    cache = RewritingCache(n_sentences=100, max_words=4, capacity=10)
    cached = cache.through(rewrite)
    for numbers in ([1, 2, 3], [2, 3, 4], []):
        assert [words.tolist() for words in cached(np.array(numbers, np.int64))] == [[n, n + 1] for n in numbers]
    assert asked == [1, 2, 3, 4] and cache.take_hit_rate() == pytest.approx(2 / 6)
    validation = cache.through(rewrite, first=50)
    assert validation(np.array([1]))[0].tolist() == [1, 2]
    cached(np.arange(20, 40))
    assert (cache.row_of >= 0).sum() == 10
    asked.clear()
    assert cached(np.array([1, 39]))[0].tolist() == [1, 2]
    assert asked == [1]


def test_kept_rewritings_serve_the_same_abstractor_only(tmp_path):
    cache = RewritingCache(50, 4, 50)
    cache.through(lambda numbers: [np.array([7, 8], np.int32) for _ in numbers])(np.array([3, 4]))
    cache.save(tmp_path / "kept.npz", "abstractor a")
    again = RewritingCache(50, 4, 50)
    assert not again.load(tmp_path / "kept.npz", "abstractor b")
    assert again.load(tmp_path / "kept.npz", "abstractor a")
    assert again.through(lambda numbers: pytest.fail("asked again"))(np.array([4]))[0].tolist() == [7, 8]
    content = dict(np.load(tmp_path / "kept.npz"))
    np.savez(tmp_path / "kept.npz", **{**content, "words": content["words"] + 10**6})
    with pytest.raises(UserError, match=r"kept\.npz holds no rewritings \(its numbers have changed\)"):
        again.load(tmp_path / "kept.npz", "abstractor a")
    del content["digest"]
    np.savez(tmp_path / "kept.npz", **content)
    with pytest.raises(UserError, match=r"kept\.npz holds no rewritings \(.* of an earlier version\)"):
        again.load(tmp_path / "kept.npz", "abstractor a")


@pytest.fixture(scope="module")
def trained(golden, tmp_path_factory) -> Path:
    """Golden data and models in a writable place."""
    folder = tmp_path_factory.mktemp("rl")
    for name in ("data", "abs", "ext_rnn"):
        shutil.copytree(golden / name, folder / name)
    return folder


def test_resumed_reinforcement_equals_an_uninterrupted_run(monkeypatch, trained, tmp_path):
    flags = ["--data_dir", trained / "data", "--ext_dir", trained / "ext_rnn", "--abs_dir", trained / "abs"]
    flags += ["--workers", 0, "--batch", 8, "--ckpt_freq", 3]
    call(monkeypatch, "train_full_rl.py", *flags, "--path", tmp_path / "whole", "--max_steps", 7)
    for steps in (2, 5, 7):
        call(monkeypatch, "train_full_rl.py", *flags, "--path", tmp_path / "parts", "--max_steps", steps, "--resume")
    assert_same_weights(tmp_path / "whole", tmp_path / "parts")
    names = set().union(*read_metrics(tmp_path / "whole/metrics.jsonl"))
    for name in (
        "reward",
        "step_reward",
        "stop_reward",
        "policy_loss",
        "critic_loss",
        "advantage",
        "entropy",
        "extracted",
        "stop_rate",
        "grad_norm",
        "grad_norm_sent_enc",
        "grad_norm_art_enc",
        "grad_norm_ext",
        "grad_norm_scr",
        "cache_hits",
        "seconds_rewrite",
        "val_metric",
        "val_extracted",
    ):
        assert name in names
    assert "ref" in (tmp_path / "whole/examples/6.txt").read_text()


@pytest.mark.parametrize(("variant", "together"), [("paper", TOGETHER), ("released", 1)])
def test_only_rewritings_that_depend_on_the_batch_are_validated_batch_by_batch(
    monkeypatch, trained, tmp_path, variant, together
):
    class Asked(Exception):
        pass

    def stop(_store: object, _vocabulary: object, _max_sentences: object, together: int) -> None:
        raise Asked(together)

    monkeypatch.setattr("train_full_rl.ArticleData", stop)
    flags = ["--data_dir", trained / "data", "--ext_dir", trained / "ext_rnn", "--path", tmp_path, "--variant", variant]
    with pytest.raises(Asked, match=rf"^{together}$"):
        call(monkeypatch, "train_full_rl.py", *flags)


def test_the_trained_agents_directory_is_complete(monkeypatch, trained, tmp_path):
    flags = ["--data_dir", trained / "data", "--ext_dir", trained / "ext_rnn", "--workers", 0, "--max_steps", 1]
    call(
        monkeypatch,
        "train_full_rl.py",
        *flags,
        "--abs_dir",
        trained / "abs",
        "--path",
        tmp_path / "full",
        "--rewritings",
        tmp_path / "kept.npz",
    )
    load(tmp_path / "full", nets=(AGENT,))
    load(tmp_path / "full/abstractor", nets=(ABSTRACTOR,))
    assert read_meta(tmp_path / "full")["variant"] == "paper" and (tmp_path / "kept.npz").exists()
    call(monkeypatch, "train_full_rl.py", *flags, "--path", tmp_path / "extractive", "--variant", "released")
    meta = read_meta(tmp_path / "extractive")
    assert meta["net_args"]["abstractor"] is None and meta["variant"] == "released"
    assert not (tmp_path / "extractive/abstractor").exists()


@pytest.mark.parametrize("spelling", ["--init_from", "--ckpt"])
def test_an_agent_can_start_from_another(monkeypatch, golden, trained, tmp_path, spelling):
    flags = ["--data_dir", trained / "data", "--workers", 0, "--max_steps", 1, "--lr", 1e-12]
    call(monkeypatch, "train_full_rl.py", *flags, "--path", tmp_path / "run", spelling, golden / "rl")
    ours, theirs = (load(d, nets=(AGENT,)).network.state_dict() for d in (tmp_path / "run", golden / "rl"))
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-8) for name in theirs)


def test_the_wrong_kind_of_model_is_told_in_one_line(trained, tmp_path):
    flags = ["--data_dir", trained / "data", "--path", tmp_path / "run"]
    line = complaint("train_full_rl.py", *flags, "--ext_dir", trained / "abs")
    assert "base_abstractor" in line and "ml_rnn_extractor" in line

"""The paths of a GPU, executed on a pretended one: same numbers as on the CPU, and few waits and launches a step."""

from __future__ import annotations

import copy
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gpu_cases import EXTRACTOR, UPDATES, V, articles, seeded, small, summarizer, trainer
from launches import a_step, never_ending
from pretended_gpu import AVAILABLE, GPU, pretended_gpu

from inference.rewriter import Rewriter
from model.abstractor import Abstractor
from model.actor_critic import ActorCritic, greedy
from model.beam_search import beam_search
from model.extractor import FfExtractor, RnnExtractor
from model.greedy_search import greedy_search
from model.pointer_generator import PointerGenerator
from reference.random_batches import random_articles, random_pairs
from reference.random_models import random_abstractor, random_source
from training import reinforcement

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="this torch has other private parts")
CPU = torch.device("cpu")
AMP = {"rtol": 0.05, "atol": 0.02}  # bfloat16 has 8 bits: products are off by 1 in 256, and errors add up


@pytest.fixture
def gpu():
    with pretended_gpu() as counts:
        yield counts


def test_operations_on_two_devices_and_numpy_are_refused(gpu):
    tensor = torch.ones(3).to(GPU)
    with pytest.raises(RuntimeError, match="one device"):
        tensor + torch.ones(3)
    with pytest.raises((RuntimeError, TypeError)):
        tensor.numpy()
    assert (tensor + 1).cpu().tolist() == [2, 2, 2]


def test_products_are_made_in_bfloat16_under_autocast(gpu):
    left = torch.rand(4, 4).to(GPU)
    with torch.autocast(GPU.type, torch.bfloat16):
        product, exact = left @ left, left.exp()
        cell = torch.nn.LSTMCell(4, 4).to(GPU)(left)[0]
    assert (product.dtype, cell.dtype, exact.dtype) == (torch.bfloat16, torch.bfloat16, torch.float32)
    assert not torch.equal(product.float().cpu(), (left @ left).cpu())


def updated(name, device, path, amp=False):
    """Losses and all weights after one update."""
    objective, batch = small(name, device, path)
    values = trainer(objective, device, path, amp)._update(batch)
    return values, {key: weight.cpu() for key, weight in objective.network.state_dict().items()}, objective


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_equals_that_of_the_cpu(gpu, tmp_path, name):
    ours, weights, objective = updated(name, GPU, tmp_path / "gpu")
    theirs, expected, _ = updated(name, CPU, tmp_path / "cpu")
    assert all(parameter.device == GPU for parameter in objective.network.parameters())
    compared = [key for key in theirs if not key.startswith("seconds")]
    assert [ours[key] for key in compared] == pytest.approx([theirs[key] for key in compared], rel=1e-4, abs=1e-5)
    for key, weight in weights.items():
        torch.testing.assert_close(weight, expected[key], rtol=1e-3, atol=2e-5, msg=key)


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_with_amp_is_near(gpu, tmp_path, name):
    ours, _, objective = updated(name, GPU, tmp_path / "gpu", amp=True)
    theirs, _, _ = updated(name, CPU, tmp_path / "cpu")
    compared = [key for key in theirs if not key.startswith(("seconds", "grad_norm", "advantage", "policy"))]
    for key in compared:
        assert ours[key] == pytest.approx(theirs[key], rel=AMP["rtol"], abs=AMP["atol"]), key
    assert all(parameter.grad.isfinite().all() for parameter in objective.network.parameters())


def test_the_policy_is_kept_in_float32_under_amp(gpu):
    network = seeded(ActorCritic, **EXTRACTOR).to(GPU)
    with torch.autocast(GPU.type, torch.bfloat16):
        memory = network.remember(*network.encode(random_articles(1, 3, V, sentences=(2, 6)).to(GPU)))
        episode = network.act(memory, greedy)
        assert memory.pointing_keys.dtype == torch.bfloat16
        assert episode.log_probs.dtype == network.policy(memory, episode.actions).dtype == torch.float32


def test_rewriting_is_the_same_within_autocast(gpu):
    """So that the texts, and the cache that keeps them, do not depend on --amp."""
    store, vocabulary = articles(3, 6)
    for beam in (1, 3):
        rewriter = Rewriter(random_abstractor(1, V).float().to(GPU), vocabulary, store, beam=beam, max_words=8)
        sentences = np.arange(store.articles.n_sentences)
        outside = rewriter.hypotheses([sentences])
        with torch.autocast(GPU.type, torch.bfloat16):
            inside = rewriter.hypotheses([sentences])
        for ours, theirs in zip(inside, outside, strict=True):
            assert [(h.words.tolist(), h.score) for h in ours] == [(h.words.tolist(), h.score) for h in theirs]


@pytest.mark.parametrize("kind", [RnnExtractor, FfExtractor])
def test_extraction_equals_that_of_the_cpu(gpu, kind):
    batch, network = random_articles(4, 4, V, sentences=(1, 8)), seeded(kind, **EXTRACTOR)
    expected = network.extract(batch, 4)
    found = network.to(GPU).extract(batch.to(GPU), 4)
    assert [chosen.sentences for chosen in found] == [chosen.sentences for chosen in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.scores == pytest.approx(theirs.scores, abs=1e-5)


@pytest.mark.parametrize("ask_every", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_searches_equal_those_of_the_cpu(gpu, seed, ask_every):
    network, source = random_abstractor(seed), random_source(seed, 6)
    remote = copy.deepcopy(network).to(GPU)
    for search in (partial(greedy_search, max_words=9), partial(beam_search, max_words=9, beam=3)):
        expected = search(network, source)
        found = search(remote, source.to(GPU), ask_every=ask_every)
        for row, lengths in enumerate(expected.lengths.tolist()):
            for k, n in enumerate(lengths):
                assert int(found.lengths[row, k]) == n
                for field in ("words", "attended", "copied"):
                    ours, theirs = (getattr(x, field)[row, k, :n].cpu() for x in (found, expected))
                    torch.testing.assert_close(ours, theirs, msg=field)
        torch.testing.assert_close(found.scores.cpu(), expected.scores)


@pytest.mark.parametrize("options", [{}, {"beam": 3}, {"beam": 2, "n_sentences": 3}])
def test_whole_summaries_equal_those_of_the_cpu(gpu, options):
    store, vocabulary = articles(5, 7)
    ours, theirs = (
        list(summarizer(device, vocabulary, max_words=8, **options).summarize(store, np.arange(5)))
        for device in (GPU, CPU)
    )
    assert [summary.lines() for summary in ours] == [summary.lines() for summary in theirs]
    assert [[s.source for s in summary.sentences] for summary in ours] == [
        [s.source for s in summary.sentences] for summary in theirs
    ]


@pytest.mark.parametrize(("search", "launches", "waits"), [("greedy", 50, 0.25), ("beam", 100, 1.25)])
def test_a_step_of_a_search_has_few_launches_and_waits(gpu, search, launches, waits):
    source = random_source(0, 8, V).to(GPU)
    network = never_ending(seeded(Abstractor, V, 8, 6)).to(GPU).eval()

    def run(steps):
        if search == "greedy":
            greedy_search(network, source, steps, ask_every=4)
        else:
            beam_search(network, source, steps, 5, ask_every=4)

    found = a_step(gpu, run)
    assert found[0] <= launches and found[1] <= waits


@pytest.mark.parametrize(("kind", "launches"), [(Abstractor, 52), (PointerGenerator, 55)])
def test_a_step_of_teacher_forcing_has_few_launches_and_no_wait(gpu, kind, launches):
    network = seeded(kind, V, 8, 6).to(GPU)

    def run(steps):
        pairs = random_pairs(1, 4, V, source=(5, 9), target=(steps, steps + 1))
        network(pairs.to(GPU)).sum().backward()

    found = a_step(gpu, run)
    assert found[0] <= launches and found[1] == 0


def test_a_step_of_extraction_has_few_launches_and_one_wait(gpu):
    """The agent is asked after each step whether it goes on; rnn-ext never."""
    batch = random_articles(2, 3, V, sentences=(20, 21)).to(GPU)
    agent, extractor = (seeded(kind, **EXTRACTOR).to(GPU) for kind in (ActorCritic, RnnExtractor))
    of_agent = a_step(gpu, lambda n: agent.act(agent.remember(*agent.encode(batch)), greedy, n))
    of_extractor = a_step(gpu, lambda n: extractor.extract(batch, n))
    assert of_agent[0] <= 40 and of_agent[1] <= 1
    assert of_extractor[0] <= 25 and of_extractor[1] == 0


@pytest.mark.parametrize("name", [name for name in UPDATES if not name.startswith("RL")])
def test_a_supervised_update_waits_once(gpu, tmp_path, name):
    objective, batch = small(name, GPU, tmp_path)
    loop = trainer(objective, GPU, tmp_path)
    loop._update(batch)
    gpu.clear()
    loop._update(batch)
    assert gpu.waits == 1


def test_clocks_of_reinforcement_stop_when_the_gpu_has_nothing_left_to_do(gpu, tmp_path, monkeypatch):
    """Otherwise a phase would be charged for the work that the one before left there."""
    objective, batch = small("RL, nothing cached", GPU, tmp_path)
    objective.network.to(GPU)
    clock, pending = reinforcement.time.perf_counter, []

    def perf_counter() -> float:
        pending.append(gpu.pending)
        return clock()

    monkeypatch.setattr(reinforcement, "time", SimpleNamespace(perf_counter=perf_counter))
    metrics = objective.step(batch.to(GPU)).metrics
    assert {"seconds_act", "seconds_rewrite", "seconds_score"} <= metrics.keys()
    assert len(pending) == 6 and pending[1::2] == [0, 0, 0]

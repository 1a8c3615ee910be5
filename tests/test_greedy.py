from __future__ import annotations

import pytest
import torch
from decode_runs import summarize

from model.copy_network import IMPOSSIBLE, log_probability
from model.greedy_search import greedy_search
from model.kernels.candidates import CandidateChoice, _first_positions
from model.kernels.vocabulary_top import VocabularyTop
from reference.decoding import dense_log_probs, plain_greedy
from reference.random_models import random_abstractor, random_source


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("layers", [1, 2])
def test_greedy_equals_the_dense_loop(seed, layers):
    abstractor, source = random_abstractor(seed, layers=layers), random_source(seed, batch=7)
    found = greedy_search(abstractor, source, max_words=12)
    for row, (words, attended, score) in enumerate(plain_greedy(abstractor, source, 12)):
        n = int(found.lengths[row, 0])
        assert found.words[row, 0, :n].tolist() == words
        assert found.attended[row, 0, :n].tolist() == attended
        assert found.scores[row, 0].item() == pytest.approx(score, abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("k", [1, 3, 5])
def test_candidates_hold_the_best_words_of_the_dense_distribution(seed, k):
    abstractor, source = random_abstractor(seed), random_source(seed, batch=5)
    memory, state = abstractor.encode(source)
    _, step = abstractor.step(abstractor.embedding(torch.full((5,), 2)), state, memory)
    choose = CandidateChoice(abstractor.embedding.weight, abstractor.extra_logit).among(source, k)
    words, probabilities, _ = choose.candidates(*abstractor.generator(step), step.attention)
    dense = dense_log_probs(abstractor, step, source)
    best = log_probability(probabilities.topk(k, 1).values)
    torch.testing.assert_close(best, dense.topk(k, 1).values)
    possible = probabilities != IMPOSSIBLE
    torch.testing.assert_close(
        log_probability(probabilities)[possible], dense.gather(1, words.clamp(max=23))[possible]
    )


@torch.no_grad()
def test_no_candidate_is_listed_twice():
    abstractor, source = random_abstractor(0), random_source(0, batch=6, longest=20)
    memory, state = abstractor.encode(source)
    _, step = abstractor.step(abstractor.embedding(torch.full((6,), 2)), state, memory)
    choose = CandidateChoice(abstractor.embedding.weight, abstractor.extra_logit).among(source, 5)
    all_words, all_probabilities, _ = choose.candidates(*abstractor.generator(step), step.attention)
    for words, probabilities in zip(all_words, all_probabilities, strict=True):
        possible = words[probabilities >= 0].tolist()
        assert len(possible) == len(set(possible))


def test_the_first_position_of_every_word_is_found():
    ids = torch.tensor([[7, 3, 7, 3, 5, 7], [1, 1, 1, 2, 1, 2]])
    assert _first_positions(ids).tolist() == [[0, 1, 0, 1, 4, 0], [0, 0, 0, 3, 0, 3]]


def test_spare_extended_ids_are_found_beyond_the_sources_own():
    abstractor, source = random_abstractor(3), random_source(3, batch=2, n_extra=8)
    source.extended[:, 0] = 20
    spare = CandidateChoice(abstractor.embedding.weight, abstractor.extra_logit).among(source, 3).source.spare
    for row, extended in zip(spare.tolist(), source.extended.tolist(), strict=True):
        assert row == [x for x in range(20, 60) if x not in extended][:3]


@pytest.mark.parametrize("size", [5, 2047, 2048, 2049, 5000, 6145])
@pytest.mark.parametrize("scale", [1.0, 40.0, 1e-3])
@pytest.mark.parametrize("k", [1, 5])
def test_tiled_vocabulary_equals_the_whole_product(size, scale, k):
    """Logits of several hundred need the softmax's maximum subtracted; small ones do not."""
    torch.manual_seed(size)
    outputs, embedding = scale * torch.randn(6, 16), torch.randn(size, 16)
    top, words, partition = VocabularyTop(embedding)(outputs, k)
    logits = outputs @ embedding.T
    torch.testing.assert_close(top, logits.topk(k, 1).values, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(logits.gather(1, words), top, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(partition, logits.logsumexp(1, keepdim=True), rtol=1e-5, atol=1e-4)


def test_share_copied_is_one_for_unknown_words_and_zero_for_words_the_source_lacks():
    abstractor, source = random_abstractor(1), random_source(1, batch=8)
    abstractor.copy_gate.b.data.fill_(3.0)
    found = greedy_search(abstractor, source, 6)
    for row in range(8):
        own = set(source.extended[row, : source.lengths[row]].tolist())
        for t in range(int(found.lengths[row, 0])):
            share, word = found.copied[row, 0, t].item(), found.words[row, 0, t].item()
            assert 0 <= share <= 1.0001
            assert word in own or share == 0
            assert not (word >= 20 and word in own) or share > 0.9


def test_greedy_equals_the_released_texts(golden, expected):
    for name, options in (("greedy_all", {}), ("greedy_batch4", {"batch": 4})):
        found = summarize(golden, "rl", **options)
        assert [summary.lines() for summary in found] == [article[name] for article in expected["articles"]]
        scores = [[s.rewriting_score for s in summary.sentences] for summary in found]
        for ours, article in zip(scores, expected["articles"], strict=True):
            assert ours == pytest.approx(article[f"{name}_logp"], abs=1e-4)

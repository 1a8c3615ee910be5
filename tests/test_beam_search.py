from __future__ import annotations

import itertools

import pytest
import torch

from checkpoints.directory import load
from checkpoints.networks import ABSTRACTOR
from data.store import open_store
from inference.rewriter import Rewriter
from model.abstractor import Abstractor
from model.batches import END, SourceBatch
from model.beam_search import REPEATED, Beams, Children, beam_search
from model.greedy_search import greedy_search
from reference.decoding import dense_log_probs, plain_beam, repeats_trigram
from reference.random_models import random_abstractor, random_source


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize(("beam", "diversity", "max_words"), [(2, 1.0, 10), (3, 0.3, 12), (5, 1.0, 12), (4, 0.0, 5)])
def test_tensor_beam_equals_the_plain_beam(seed, beam, diversity, max_words):
    abstractor, source = random_abstractor(seed), random_source(seed, batch=4)
    found = beam_search(abstractor, source, max_words, beam, diversity)
    for row, hypotheses in enumerate(plain_beam(abstractor, source, max_words, beam, diversity)):
        lengths = found.lengths[row].tolist()
        assert [found.words[row, k, :n].tolist() for k, n in enumerate(lengths)] == [h[0] for h in hypotheses]
        assert [found.attended[row, k, :n].tolist() for k, n in enumerate(lengths)] == [h[1] for h in hypotheses]
        assert found.scores[row].tolist() == pytest.approx([h[2] for h in hypotheses], abs=1e-6)


def test_random_models_exercise_every_rule():
    """Otherwise the test above would show less than it seems to."""
    repeated = empty = unfinished = 0
    for seed in range(25):
        source = random_source(seed, batch=4)
        for hypotheses in plain_beam(random_abstractor(seed), source, 10, 3, 1.0):
            repeated += sum(h[2] <= REPEATED / 2 for h in hypotheses)
            empty += sum(not h[0] for h in hypotheses)
            unfinished += sum(len(h[0]) == 9 for h in hypotheses)
    assert min(repeated, empty, unfinished) > 5


@pytest.mark.parametrize("seed", range(20))
def test_beam_of_one_equals_greedy(seed):
    """But for the last word of a sentence that does not end, which only the beam loses."""
    abstractor, source = random_abstractor(seed), random_source(seed, batch=8)
    one, greedy = beam_search(abstractor, source, 12, 1), greedy_search(abstractor, source, 12)
    for row in range(8):
        n, m = int(one.lengths[row, 0]), int(greedy.lengths[row, 0])
        assert n == (m if END in greedy.words[row, 0].tolist() else m - 1)
        assert one.words[row, 0, :n].tolist() == greedy.words[row, 0, :n].tolist()


@pytest.mark.parametrize("seed", range(6))
def test_a_wide_beam_equals_exhaustive_search(seed):
    vocab_size, limit = 6, 3
    abstractor = random_abstractor(seed, vocab_size=vocab_size)
    source = random_source(seed, batch=1, vocab_size=vocab_size, n_extra=1)
    found = beam_search(abstractor, source, limit, beam=300, diversity=0.0)
    best = _exhaustive(abstractor, source, limit)
    ours: dict[tuple[int, ...], float] = {}
    for k, score in enumerate(found.scores[0].tolist()):
        if score > -float("inf"):
            ours.setdefault(tuple(found.words[0, k, : found.lengths[0, k]].tolist()), score)
    assert list(ours)[: len(best)] == [words for words, _ in best]
    assert list(ours.values())[: len(best)] == pytest.approx([score for _, score in best], abs=1e-6)


@torch.no_grad()
def _exhaustive(abstractor, source: SourceBatch, limit: int) -> list[tuple[tuple[int, ...], float]]:
    """Every sentence of less than `limit` words, by score / length."""
    memory, start = abstractor.encode(source)
    words = [w for w in range(abstractor.vocab_size + 1) if w != END]
    scored = []
    for n in range(limit):
        for sentence in itertools.product(words, repeat=n):
            state, score = start, 0.0
            for previous, word in itertools.pairwise([2, *sentence, END]):
                known = previous if previous < abstractor.vocab_size else 1
                state, step = abstractor.step(abstractor.embedding(torch.tensor([known])), state, memory)
                score += dense_log_probs(abstractor, step, source)[0, word].item()
            scored.append((sentence, REPEATED if repeats_trigram([2, *sentence]) else score))
    return sorted(scored, key=lambda item: -item[1] / (len(item[0]) + 1))


def grow(beams: Beams, words: list[list[int]], log_probs: list[list[float]]) -> list[int]:
    """One sentence; children of each open hypothesis, best first."""
    rows, copied = torch.arange(len(words)), torch.zeros(len(words), len(words[0]))
    return beams.grow(Children(torch.tensor(words), torch.tensor(log_probs), rows, copied)).tolist()


def test_the_diversity_penalty_stays_in_the_score():
    beams = Beams(1, 10, 2, 1.0, torch.device("cpu"))
    grow(beams, [[10, 11]], [[-1.0, -1.5]])
    assert beams.open.scores.tolist() == [[-1.0, -2.5]]
    assert grow(beams, [[12, 13], [14, 15]], [[-1.0, -1.0], [-0.1, -0.2]]) == [0, 1]
    assert beams.open.scores[0].tolist() == pytest.approx([-2.0, -2.6])


def test_the_first_hypothesis_is_doubled_where_one_ends_at_once():
    beams = Beams(1, 10, 3, 1.0, torch.device("cpu"))
    grow(beams, [[END, 11, 12]], [[-1.0, -1.5, -1.6]])
    assert beams.open.words[0, :, 0].tolist() == [11, 12, 11]
    assert beams.n_finished.tolist() == [1]
    assert beams.finished.lengths[0, 0] == 0


def test_an_ending_below_the_kept_hypotheses_is_not_taken():
    beams = Beams(1, 10, 2, 0.0, torch.device("cpu"))
    grow(beams, [[10, 11]], [[-1.0, -1.1]])
    grow(beams, [[12, END], [13, END]], [[-0.1, -5.0], [-0.1, -0.2]])
    assert beams.n_finished.tolist() == [0]


def test_a_repeated_trigram_is_taken_where_it_ranks_and_only_then_punished():
    beams = Beams(1, 10, 2, 0.0, torch.device("cpu"))
    grow(beams, [[10, 20]], [[-0.1, -9.0]])
    for word in (11, 12, 10, 11):
        grow(beams, [[word, 21], [word, 22]], [[-0.1, -9.0], [-9.0, -9.1]])
    assert beams.open.scores[0, 0] > REPEATED
    grow(beams, [[12, 21], [12, 22]], [[-0.1, -9.0], [-0.2, -9.1]])
    assert beams.open.words[0, 0, :6].tolist() == [10, 11, 12, 10, 11, 12]
    assert beams.open.scores[0, 0] == REPEATED


def test_unfinished_hypotheses_come_after_finished_ones_and_lose_their_last_word():
    beams = Beams(1, 2, 2, 0.0, torch.device("cpu"))
    grow(beams, [[10, 11]], [[-0.1, -0.2]])
    grow(beams, [[12, END], [13, 14]], [[-0.1, -0.15], [-0.5, -0.6]])
    found = beams.results()
    assert found.lengths.tolist() == [[1, 1]]
    assert found.words[0, :, 0].tolist() == [10, 10]
    assert found.scores[0].tolist() == pytest.approx([-0.25, -0.2])


def test_a_source_word_can_be_chosen_though_the_vocabulary_is_smaller_than_the_beam():
    abstractor, source = random_abstractor(2, vocab_size=5), random_source(2, batch=2, vocab_size=5, n_extra=1)
    found = beam_search(abstractor, source, 4, beam=8)
    words, _, score = plain_beam(abstractor, source, 4, 8, 1.0)[1][0]
    assert found.words[1, 0, : int(found.lengths[1, 0])].tolist() == words == [4, 4, 5]  # 5 lies outside of it
    assert found.scores[1, 0].item() == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("beam5_raw", {"beam": 5}),
        ("beam5_maxlen8_raw", {"beam": 5, "max_words": 8}),
        ("beam3_div0.3_raw", {"beam": 3, "diversity": 0.3}),
    ],
)
def test_beams_equal_the_released_ones_in_text_order_and_score(golden, expected, name, options):
    store = open_store(golden / "data", "test")
    loaded = load(golden / "rl" / "abstractor", nets=(ABSTRACTOR,))
    assert isinstance(loaded.network, Abstractor)
    rewriter = Rewriter(loaded.network, loaded.vocabulary, store, shared=True, **options)
    articles = expected["articles"]
    firsts = store.articles.document_offsets
    sentences = [int(firsts[i]) + j for i, a in enumerate(articles) for j in a["rewritten_indices"]]
    wanted = [hypotheses for a in articles for hypotheses in {**a, **a["variants"]}[name]]
    found = rewriter.hypotheses([torch.tensor(sentences).numpy()])
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert [" ".join(rewriter.store.text(h.words, rewriter.own)) for h in ours] == [h["text"] for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h["score"] for h in theirs], abs=5e-4)

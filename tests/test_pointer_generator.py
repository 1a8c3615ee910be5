"""The flat baseline: plain formulas, invariances, coverage, learning, their beam search, and its scripts."""

from __future__ import annotations

import json
import pickle
import shutil

import numpy as np
import pytest
import torch
from commands import call, complaint
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints.directory import load
from checkpoints.networks import POINTER_GENERATOR
from data.batching import training_batches, validation_batches
from data.flat_documents import FlatData, FlatStore
from data.store import TokenStore, open_store
from data.vocabulary import Vocabulary
from inference.flat import FlatOptions, FlatSummarizer
from model.attention import padding_of
from model.batches import END, UNK, RewritingBatch, SourceBatch
from model.beam_search import Rules, beam_search
from model.copy_network import PROBABILITY_FLOOR
from model.greedy_search import greedy_search
from model.pointer_generator import CoverageAttention, DocumentMemory, PointerGenerator
from model.rnn import Packing
from reference.pointer_generator import plain_losses, plain_search, rows_of
from reference.random_batches import random_pairs
from reference.random_models import random_source
from support.errors import UserError

V = 20
SHORT = 6  # a seed whose network writes short summaries
THEIRS = Rules(avoid_trigrams=False, children=2, end_counts=True, cut_unfinished=False)
TINY = ["--vsize", 300, "--emb_dim", 16, "--n_hidden", 20, "--max_art", 60, "--max_sum", 20, "--workers", 0]


def network(seed: int = 0, coverage: bool = False, **sizes) -> PointerGenerator:
    torch.manual_seed(seed)
    return PointerGenerator(**{"vocab_size": V, "emb_dim": 8, "n_hidden": 6, **sizes}, coverage=coverage).double()


def lively(seed: int, coverage: bool = False) -> PointerGenerator:
    """With every other seed summaries like to end early."""
    net = network(seed, coverage).eval()
    for parameter in net.parameters():
        parameter.data.copy_(torch.randn_like(parameter) * 0.9)
    if seed % 2 == 0:
        net.copy_gate.b.data -= 3
        net.projection.bias.data += net.embedding.weight.data[END]
    return net


def table_of(losses: torch.Tensor, lengths: torch.Tensor) -> list[list[torch.Tensor]]:
    """From one flat list, step by step, to a list for each row."""
    table: list[list[torch.Tensor]] = [[] for _ in lengths]
    flat = iter(losses)
    for rows in Packing.of(lengths).sizes.tolist():
        for row in range(rows):
            table[row].append(next(flat))
    return table


@pytest.mark.parametrize("coverage", [False, True])
@given(seed=st.integers(0, 10**6), batch=st.integers(1, 4))
@settings(max_examples=10)
def test_losses_and_gradients_equal_the_plain_formulas(coverage, seed, batch):
    net, pairs = lively(seed, coverage), random_pairs(seed, batch, V, source=(1, 8), target=(1, 6))
    ours, theirs = net(pairs), plain_losses(net, pairs)
    for own, plain in zip(table_of(ours, pairs.lengths), theirs, strict=True):
        assert torch.allclose(torch.stack(own), torch.stack(plain), atol=1e-9)
    parameters = list(net.parameters())
    expected = torch.autograd.grad(torch.stack([loss for row in theirs for loss in row]).sum(), parameters)
    found = torch.autograd.grad(ours.sum(), parameters)
    for (name, _), a, b in zip(net.named_parameters(), found, expected, strict=True):
        assert torch.allclose(a, b, atol=1e-8), name


def test_hypotheses_of_one_article_read_the_same_memory():
    attention = CoverageAttention(6, 4, coverage=True).double()
    outputs = torch.randn(2, 5, 6, dtype=torch.float64)
    keys = attention.keys(outputs)
    memory = DocumentMemory(keys, outputs, padding_of(keys, torch.tensor([5, 3])))
    both = memory.select(torch.tensor([1, 0]))
    query, seen = torch.randn(4, 4, dtype=torch.float64), torch.rand(4, 5, dtype=torch.float64)
    weights, context = attention(query, both, seen)
    for row, owner in enumerate([1, 1, 0, 0]):
        one = memory.select(torch.tensor([owner]))
        alone = attention(query[row : row + 1], one, seen[row : row + 1])
        assert torch.allclose(weights[row], alone[0][0]) and torch.allclose(context[row], alone[1][0])
    assert not weights[:2, 3:].any() and torch.allclose(weights.sum(1), weights.new_ones(4))


@pytest.mark.parametrize("seed", range(5))
def test_the_mixture_sums_to_one_and_words_outside_the_vocabulary_are_only_copied(seed):
    """What the loss says about every word of the extended vocabulary as the first one."""
    net, source = lively(seed), random_source(seed, batch=1, n_extra=40)
    words = torch.arange(V + 40)
    starts = torch.full((1, 1), 2)
    losses = [net(RewritingBatch(source, starts, word.view(1, 1), torch.tensor([1]))) for word in words]
    mixture = torch.cat(losses).detach().neg().exp() - PROBABILITY_FLOOR
    assert float(mixture.sum()) == pytest.approx(1)
    in_source = torch.isin(words[V:], source.extended)
    assert (mixture[V:][in_source] > 1e-12).all() and (mixture[V:][~in_source].abs() < 1e-12).all()


@pytest.mark.parametrize("coverage", [False, True])
def test_an_article_does_not_depend_on_its_neighbours_or_their_padding(coverage):
    net, pairs = lively(1, coverage), random_pairs(8, 4, V, source=(2, 12), target=(3, 9))
    together = table_of(net(pairs), pairs.lengths)
    for row, source in enumerate(rows_of(pairs.source)):
        alone = net(RewritingBatch(source, *(field[row : row + 1] for field in pairs[1:])))
        assert torch.allclose(torch.stack(together[row]), alone)


def test_numbers_of_extra_words_of_others_change_nothing():
    """Unlike in the abstractor, whose released softmax counts them."""
    net, pairs = lively(2), random_pairs(8, 4, V, source=(2, 12), target=(3, 9))
    more = pairs._replace(source=pairs.source._replace(n_extra=pairs.source.n_extra + 9))
    assert torch.equal(net(pairs), net(more))


@pytest.mark.parametrize("coverage", [False, True])
def test_gradient_reaches_every_parameter(coverage):
    net = network(coverage=coverage)
    net(random_pairs(1, 6, V)).mean().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


class PrescribedAttention(CoverageAttention):
    def __init__(self, weights: list[list[float]]) -> None:
        super().__init__(1, 1, coverage=True)
        self.weights = iter(weights)
        self.covered: list[list[float]] = []

    def forward(self, queries, memory, coverage):  # type: ignore[override]
        self.covered.append(coverage[0].tolist())
        return torch.tensor([next(self.weights)], dtype=queries.dtype), queries.new_zeros(1, memory.values.size(2))


def test_coverage_and_its_loss_equal_a_case_worked_by_hand():
    """Attention .5 .5 0, then 0 .5 .5, then 1 0 0."""
    net = network(coverage=True)
    source = SourceBatch(torch.tensor([[4, 5, 6]]), torch.tensor([[4, 5, 6]]), torch.tensor([3]), torch.tensor([0]))
    memory, state = net.encode(source)
    net.attention = attention = PrescribedAttention([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    penalties = []
    for word in (2, 4, 5):
        state, step = net.step(net.embedding(torch.tensor([word])), state, memory)
        penalty = net.penalty(step)
        assert penalty is not None
        penalties.append(float(penalty))
    assert attention.covered == [[0, 0, 0], [0.5, 0.5, 0], [0.5, 1, 0.5]]
    assert penalties == [0.0, 0.5, 0.5]  # 0;  min(.5, .5);  min(1, .5)


def test_coverage_adds_its_loss_to_every_word_of_the_same_network():
    """An attention that never moves looks at everything again: 0 for the first word, 1 for all others."""
    with_coverage, without = network(coverage=True), network()
    with_coverage.attention.v.data.zero_()
    without.load_state_dict(with_coverage.state_dict(), strict=False)
    pairs = random_pairs(3, 4, V)
    for row in table_of((with_coverage(pairs) - without(pairs)).detach(), pairs.lengths):
        assert [float(x) for x in row] == pytest.approx([0.0] + [1.0] * (len(row) - 1))


@pytest.mark.parametrize("coverage", [False, True])
def test_one_batch_can_be_learned_by_heart(coverage):
    net, pairs = network(4, coverage, emb_dim=16, n_hidden=24), random_pairs(6, 4, V, source=(8, 12), target=(3, 7))
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(100):
        optimizer.zero_grad()
        loss = net(pairs)
        loss.mean().backward()
        optimizer.step()
    net.coverage = False  # its loss has a floor of its own
    assert float(net(pairs).mean().detach()) < 0.1


@pytest.mark.slow
def test_words_outside_the_vocabulary_are_learned_to_be_copied():
    """The task: drop every 'and', keep the rest; half of the words were never seen in training."""
    dice = np.random.default_rng(0)
    vocabulary = Vocabulary(["<pad>", "<unk>", "<start>", "<end>", "and", *(f"w{i}" for i in range(8))])
    net = network(4, vocab_size=len(vocabulary), emb_dim=16, n_hidden=24)

    def data(n: int, prefix: str) -> FlatData:
        rare = [[f"{prefix}{dice.integers(10**6)}" for _ in range(2)] for _ in range(n)]
        known = [[f"w{dice.integers(8)}" for _ in range(2)] for _ in range(n)]
        articles = [[f"{a} and {b}", f"{c} and {d}"] for (a, c), (b, d) in zip(rare, known, strict=True)]
        summaries = [[" ".join(sentences).replace("and ", "")] for sentences in articles]
        return FlatData(TokenStore.from_texts(articles, summaries), vocabulary)

    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for step in range(250):
        batch = next(validation_batches(data(16, f"t{step}x"), 16))
        optimizer.zero_grad()
        net(batch).mean().backward()
        optimizer.step()
    batch = next(validation_batches(data(50, "new"), 50))
    found = greedy_search(net.eval(), batch.source, 10)
    wanted = [row[: n - 1].tolist() for row, n in zip(batch.targets, batch.lengths.tolist(), strict=True)]
    assert all(any(word >= len(vocabulary) for word in row) for row in wanted)
    written = [row[:n].tolist() for row, n in zip(found.words[:, 0], found.lengths[:, 0].tolist(), strict=True)]
    assert sum(ours == theirs for ours, theirs in zip(written, wanted, strict=True)) >= 45


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize(("beam", "min_words", "max_words"), [(4, 5, 12), (2, 0, 8), (1, 3, 6), (3, 6, 6)])
def test_the_tensor_beam_finds_what_their_search_finds(seed, beam, min_words, max_words):
    net, source = lively(seed, coverage=seed % 4 > 1), random_source(seed, batch=3)
    found = beam_search(net, source, max_words, beam, 0.0, THEIRS._replace(min_words=min_words))
    for row, alone in enumerate(rows_of(source)):
        words, score = plain_search(net, alone, beam, min_words, max_words)
        assert found.words[row, 0, : found.lengths[row, 0]].tolist() == words
        assert float(found.scores[row, 0]) == pytest.approx(score, abs=1e-6)


def test_random_networks_exercise_the_rules_of_their_search():
    """Otherwise the test above would show less than it seems to."""
    lengths = [
        len(plain_search(lively(seed), source, 4, 5, 12)[0])
        for seed in range(16)
        for source in rows_of(random_source(seed, batch=3))
    ]
    assert lengths.count(5) > 2 and lengths.count(12) > 2 and any(5 < n < 12 for n in lengths) and min(lengths) == 5


def test_no_summary_is_shorter_than_the_minimum():
    net, source = lively(SHORT), random_source(SHORT, batch=5)
    free = beam_search(net, source, 15, 4, 0.0, THEIRS).lengths
    bound = beam_search(net, source, 15, 4, 0.0, THEIRS._replace(min_words=9)).lengths
    assert free[:, 0].max() < 9 <= bound.min()


def test_a_flat_text_runs_on_over_its_sentences_and_is_cut():
    store = TokenStore.from_texts([["a b", "c d e", "f"], ["g"]], [["s t", "u"], ["v"]])
    vocabulary = Vocabulary(["<pad>", "<unk>", "<start>", "<end>", *"abcdefgstuv"])
    batch = FlatData(store, vocabulary, max_art=4, max_sum=2).collate(np.array([0, 1]), 0, 1)
    ids = vocabulary.word_to_id
    assert batch.source.words.tolist() == [[ids[w] for w in "abcd"], [ids["g"], 0, 0, 0]]
    assert batch.targets.tolist() == [[ids["s"], ids["t"], END], [ids["v"], END, 0]]


def test_a_target_that_only_another_article_has_is_unknown():
    store = TokenStore.from_texts([["x a"], ["y a"]], [["x y"], ["y y"]])
    vocabulary = Vocabulary(["<pad>", "<unk>", "<start>", "<end>", "a"])
    batch = FlatData(store, vocabulary).collate(np.array([0, 1]), 0, 1)
    assert batch.targets.tolist() == [[5, UNK, END], [6, 6, END]]


def test_articles_without_words_or_summary_are_left_out():
    store = TokenStore.from_texts([["a"], [], [""], ["a"], ["a"]], [["a"], ["a"], ["a"], [], [""]])
    data = FlatData(store, Vocabulary(["<pad>", "<unk>", "<start>", "<end>", "a"]))
    assert data.indices.tolist() == [0]


def test_two_processes_share_the_rows_of_every_batch(golden):
    store = open_store(golden / "data", "train")
    data = FlatData(store, Vocabulary(store.lexicon[:300]), 50, 20)
    of_process = [(0, 1), (0, 2), (1, 2)]
    whole, *shares = (next(training_batches(data, 8, 1, rank=rank, world=world)) for rank, world in of_process)
    for rank, share in enumerate(shares):
        width = share.source.words.size(1)
        assert torch.equal(share.source.extended, whole.source.extended[rank::2, :width])
        assert torch.equal(share.targets, whole.targets[rank::2, : share.targets.size(1)])


def test_a_flat_store_stays_flat_in_another_process(golden):
    for store in (open_store(golden / "data", "val"), TokenStore.from_texts([["a b", "c"]], [["d", "e"]])):
        flat = FlatStore.of(store)
        again = pickle.loads(pickle.dumps(flat))
        assert np.array_equal(again.articles.sentence_offsets, flat.articles.sentence_offsets)
        assert np.array_equal(again.articles.words, flat.articles.words) and again.lexicon == flat.lexicon


def test_summaries_are_cut_into_sentences_at_full_stops():
    store = TokenStore.from_texts([["a b . c d .", "e f"], [""]])
    vocabulary = Vocabulary([*store.lexicon])
    net = PointerGenerator(len(vocabulary), 8, 6)
    summarizer = FlatSummarizer(net.eval(), vocabulary, FlatOptions(min_words=12, max_words=12))
    written, empty = summarizer.summarize(store, np.array([0, 1]))
    assert written.n_words == 12 and empty.lines() == []
    for sentence in written.sentences[:-1]:
        assert sentence.words.index(".") == len(sentence.words) - 1
    for sentence in written.sentences:
        assert sentence.copied is not None and sentence.replaced is not None
        assert len(sentence.copied) == len(sentence.words) == len(sentence.replaced)


@pytest.fixture(scope="module")
def data(golden, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "golden"
    shutil.copytree(golden / "data", folder)
    return folder


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "pg"
    with pytest.MonkeyPatch.context() as patch:
        call(patch, "train_pointer_generator.py", *TINY, "--data_dir", data, "--path", path, "--max_steps", 4)
    return path


def test_a_lengthened_run_equals_an_uninterrupted_one_bit_for_bit(monkeypatch, data, tmp_path):
    command = ["train_pointer_generator.py", *TINY, "--data_dir", data, "--ckpt_freq", 3, "--coverage"]
    call(monkeypatch, *command, "--path", tmp_path / "whole", "--max_steps", 7)
    for steps in (2, 5, 7):
        call(monkeypatch, *command, "--path", tmp_path / "parts", "--max_steps", steps, "--resume")
    saved = (torch.load(tmp_path / run / "resume.pt", weights_only=True) for run in ("whole", "parts"))
    ours, theirs = (state["network"] for state in saved)
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_coverage_goes_on_from_a_network_without_it(monkeypatch, data, trained, tmp_path):
    before = load(trained, nets=(POINTER_GENERATOR,))
    flags = ["--data_dir", data, "--workers", 0, "--max_art", 60, "--max_sum", 20, "--max_steps", 1, "--lr", 1e-9]
    call(monkeypatch, "train_pointer_generator.py", *flags, "--path", tmp_path, "--coverage", "--init_from", trained)
    after = load(tmp_path, nets=(POINTER_GENERATOR,))
    assert after.meta["net_args"] == {**before.meta["net_args"], "coverage": True}
    assert after.vocabulary.words == before.vocabulary.words
    weights, new = before.network.state_dict(), after.network.state_dict()
    assert new.keys() - weights.keys() == {"attention.coverage_weight"}
    assert all(torch.allclose(weights[name], new[name], atol=1e-7) for name in weights)


def test_a_split_is_decoded_in_the_common_layout_and_resumed(monkeypatch, data, trained, tmp_path):
    flags = ["--data_dir", data, "--model_dir", trained, "--val", "--workers", 1, "--max_art", 60, "--device", "cpu"]
    flags += ["--path", tmp_path, "--min_dec_word", 8, "--max_dec_word", 14]
    call(monkeypatch, "decode_pointer_generator.py", *flags)
    log, files = json.loads((tmp_path / "log.json").read_text()), sorted(tmp_path.glob("output/*.dec"))
    store = open_store(data, "val")
    assert len(files) == len(store) and log["timing"]["articles"] == len(store)
    assert log["abstractor"]["net"] == "pointer_generator" and (log["beam"], log["min_dec_word"]) == (4, 8)
    texts = {path.name: path.read_text() for path in files}
    empty = {f"{i}.dec" for i in np.flatnonzero(FlatStore.of(store).articles.sentence_lengths == 0)}
    assert {name for name, text in texts.items() if not text} == empty
    assert {len(text.split()) for name, text in texts.items() if name not in empty} <= set(range(8, 15))
    files[0].unlink()
    call(monkeypatch, "decode_pointer_generator.py", *flags, "--resume")
    assert {path.name: path.read_text() for path in files} == texts


def test_bad_input_is_refused_in_one_line(monkeypatch, data, trained, golden, tmp_path):
    train = ["train_pointer_generator.py", "--data_dir", data, "--path", tmp_path / "new"]
    decode = ["decode_pointer_generator.py", "--data_dir", data, "--path", tmp_path / "out", "--val"]
    for words, command in (
        ("ml_rnn_extractor", [*train, "--init_from", golden / "ext_rnn"]),
        ("--w2v", [*train, "--init_from", trained, "--w2v", "x.bin"]),
        ("--min_dec_word", [*decode, "--model_dir", trained, "--max_dec_word", 20]),
    ):
        with pytest.raises(UserError, match=words):
            call(monkeypatch, *command)
    assert "base_abstractor" in complaint(*decode, "--model_dir", golden / "abs")

"""Every kernel equals the plain function of model/ that it replaces on a CPU, forward and backward."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import model.word_choice  # noqa: F401  (all modules with kernels are imported here or by it)
from model.abstractor import Abstractor
from model.attention import padding_of
from model.batches import SourceBatch
from model.kernels import KERNELS
from model.kernels.packed_lstm import packed_lstm
from model.pointer_generator import CoverageAttention, DocumentMemory, PointerGenerator
from model.rnn import BiLSTM, Packing
from model.sentence_encoder import SentenceEncoder
from reference.random_batches import random_articles, random_pairs
from reference.random_models import random_source

ROOT = Path(__file__).parents[1]
V = 30
Network = TypeVar("Network", bound=nn.Module)


def leaf(*size: int) -> Tensor:
    return torch.randn(*size, dtype=torch.float64, requires_grad=True)


def lively(network: Network) -> Network:
    for parameter in network.parameters():
        parameter.data = torch.randn_like(parameter, dtype=torch.float64) * 0.7
    return network.double()


def gradient_leaves(*parts: object) -> list[Tensor]:
    parameters = [p for part in parts if isinstance(part, nn.Module) for p in part.parameters()]
    return parameters + [x for x in tree_leaves(parts) if isinstance(x, Tensor) and x.requires_grad]


# Each case gives the arguments of a function, or a function of the class that stands for it, and what they depend on.


def scores(seed: int):
    keys, queries, v = leaf(3, 5, 4), leaf(3, 2, 4), leaf(4)
    coverage = (leaf(3, 2, 5), leaf(4)) if seed % 2 else ()
    return (keys, queries, v, *coverage), gradient_leaves(keys, queries, v, coverage)


def convolution(seed: int):
    encoder = lively(SentenceEncoder(V, emb_dim=6, channels=5))
    words, lengths, widths, _ = random_articles(seed, 3, V, sentences=(1, 9), words=(0, 12))
    parts = words, lengths, widths, encoder.embedding, [*encoder.convolutions]
    return parts, [*encoder.parameters()]


def lstm(seed: int):
    net = BiLSTM(5, 4, layers=1 + seed % 2, bidirectional=seed % 3 > 0).double()
    inputs, states = leaf(6, 7, 5), [leaf(net.initial_h.size(0), 6, 4) for _ in range(2)]
    packing = Packing.of(torch.randint(1, 8, (6,)))
    return (inputs, net.lstm, packing, *states), gradient_leaves(net.lstm, inputs, states)


def lookup(seed: int):
    embedding = leaf(9, 4)
    return (embedding, torch.randint(9, (2, 3)), torch.randint(9, (5,))), [embedding]


def partition(seed: int):
    """The last cases have logits so large that the softmax's maximum must be subtracted."""
    outputs, embedding = leaf(5, 16), leaf(2500 if seed % 2 else 9, 16)
    with torch.no_grad():
        outputs *= (1.0, 1e-3, 30.0, 300.0)[seed % 4]
    return (outputs, embedding, torch.randint(len(embedding), (5,))), [outputs, embedding]


def attention(seed: int):
    module = lively(CoverageAttention(6, 4, coverage=seed % 2 == 0))
    keys, values, queries, seen = leaf(3, 5, 6), leaf(3, 5, 6), leaf(6, 6), leaf(6, 5)
    memory = DocumentMemory(keys, values, padding_of(keys, torch.tensor([5, 3, 4])))
    own = [module.v, *([] if module.coverage_weight is None else [module.coverage_weight, seen])]
    return (queries, memory, seen, module.v, module.coverage_weight), [keys, values, queries, *own]


def steps_of(network, seed: int):
    pairs = random_pairs(seed, 5, V, source=(1, 8), target=(1, 9))
    embedded = network.embedding(pairs.inputs)
    memory, state = network.encode(pairs.source)
    return (network, embedded, state, memory, Packing.of(pairs.lengths)), [*network.parameters()]


def abstractor(seed: int):
    layers, both = 1 + seed % 2, seed % 3 > 0
    return steps_of(lively(Abstractor(V, emb_dim=4, n_hidden=6, n_layer=layers, bidirectional=both)), seed)


def pointer_generator(seed: int):
    return steps_of(lively(PointerGenerator(V, emb_dim=4, n_hidden=6, coverage=seed % 2 == 0)), seed)


CASES = {
    "model.attention.additive_scores": scores,
    "model.sentence_encoder.convolve": convolution,
    "model.rnn.packed": lstm,
    "model.copy_network.look_up": lookup,
    "model.copy_network.log_partition_and_logit": partition,
    "model.pointer_generator.attend": attention,
    "model.abstractor.Abstractor.teacher_forcing": abstractor,
    "model.pointer_generator.PointerGenerator.teacher_forcing": pointer_generator,
}
SEARCHES = {"model.word_choice.WordChoice"}  # prepares, and then chooses words, which has no gradient


def test_every_kernel_is_tested():
    assert KERNELS.keys() == CASES.keys() | SEARCHES


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_equals_its_plain_function(name, seed):
    torch.manual_seed(seed)
    plain, fast = KERNELS[name]
    arguments, leaves = CASES[name](seed)
    found = []
    for function in (fast, plain):
        results = [result for result in tree_leaves(function(*arguments)) if result.requires_grad]
        weights = torch.Generator().manual_seed(seed)
        total = sum((x * torch.randn(x.shape, generator=weights, dtype=x.dtype)).sum() for x in results)
        gradients = torch.autograd.grad(total, leaves, retain_graph=True, allow_unused=True)
        found.append((results, gradients))
    for ours, theirs in zip(*(part[0] for part in found), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(*(part[1] for part in found), strict=True):
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-8)
    assert any(gradient is not None and gradient.abs().sum() > 0 for gradient in found[0][1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("extra_logit", [1e-6, float("-inf")])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("end", [True, False])
def test_both_choices_of_words_agree(seed, extra_logit, k, end):
    torch.manual_seed(seed)
    source, embedding = random_source(seed, batch=4, vocab_size=V), torch.randn(V, 6, dtype=torch.float64)
    source = source._replace(n_extra=torch.tensor([4, 5, 4, 6]))
    K = 1 + seed % 3
    o, p_copy = torch.randn(4 * K, 6, dtype=torch.float64), torch.rand(4 * K, dtype=torch.float64)
    real = torch.arange(source.words.size(1)) < source.lengths[:, None]
    attention = torch.rand(4, K, source.words.size(1), dtype=torch.float64) * real[:, None]
    attention = (attention / attention.sum(2, keepdim=True)).flatten(0, 1)
    rows = torch.tensor([2, 0, 3])
    of_rows = (rows[:, None] * K + torch.arange(K)).flatten()
    found = []
    for choice in KERNELS["model.word_choice.WordChoice"]:
        choose = choice(embedding, extra_logit).among(source, k)
        found.append((*choose(o, p_copy, attention, end),))
        found.append(choose.select(rows)(o[of_rows], p_copy[of_rows], attention[of_rows], end))
    for fast, plain in zip(found[:2], found[2:], strict=True):
        for ours, theirs in zip(fast, plain, strict=True):
            torch.testing.assert_close(ours, theirs)
    assert end or not (found[0][0] == 3).any()


def test_the_gradient_that_a_look_up_is_given_stays_as_it_is():
    embedding, weight = leaf(6, 3), torch.randn(6, 3, dtype=torch.float64)
    given: list[Tensor] = []
    matrix, rows = KERNELS["model.copy_network.look_up"].fast(embedding, torch.tensor([1, 1, 4]))
    matrix.register_hook(given.append)
    ((matrix * weight).sum() + rows.sum()).backward()
    assert torch.equal(given[0], weight)


def test_the_packed_lstms_backward_passes_gradcheck():
    torch.manual_seed(0)
    net = nn.LSTM(2, 2, bidirectional=True).double()
    packing = Packing.of(torch.tensor([2, 3, 1]))
    weights = [weight.detach().clone().requires_grad_() for weight in net.parameters()]

    names = [name for name, _ in net.named_parameters()]

    def with_weights(inputs, h, c, *weights):
        copy: Any = SimpleNamespace(bidirectional=True, num_layers=1, **dict(zip(names, weights, strict=True)))
        return packed_lstm(inputs, copy, packing, h, c)

    assert torch.autograd.gradcheck(with_weights, [leaf(3, 3, 2), leaf(2, 3, 2), leaf(2, 3, 2), *weights])


def asks_for_the_device(path: Path) -> list[int]:
    """Lines that compare a device or its type, or read `is_cuda` and the like."""
    lines = []
    expressions = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.expr)]
    for node in expressions:
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        named = [ast.unparse(side).split(".") for side in sides if isinstance(side, ast.Attribute | ast.Name)]
        if any("device" in names[-2:] for names in named):
            lines.append(node.lineno)
        if isinstance(node, ast.Attribute) and node.attr in {"is_cuda", "is_cpu", "is_available"}:
            lines.append(node.lineno)
    return lines


def test_one_place_asks_for_the_device():
    files = [path for folder in ("model", "inference") for path in (ROOT / folder).rglob("*.py")]
    asking = {path.relative_to(ROOT).as_posix(): asks_for_the_device(path) for path in files}
    assert {name: len(lines) for name, lines in asking.items() if lines} == {"model/kernels/__init__.py": 1}


def test_a_source_without_words_outside_the_vocabulary_has_k_words_to_choose_from():
    source = SourceBatch(*(torch.tensor([[4, 5]]),) * 2, torch.tensor([2]), torch.tensor([0]))
    for choice in KERNELS["model.word_choice.WordChoice"]:
        choose = choice(torch.randn(6, 3), 1e-6).among(source, 8)
        words, probabilities, _ = choose(torch.randn(1, 3), torch.tensor([0.5]), torch.tensor([[0.5, 0.5]]))
        assert words.shape == (1, 8) and sorted(words[probabilities > 0].tolist()) == [0, 1, 2, 3, 4, 5]

"""The paper's numbered equations, each against arithmetic that is written out for a few small numbers."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from data.labels import proxy_labels
from metrics.sentence_rouge import REWARDS
from model.actor_critic import ActorCritic
from model.attention import AdditiveAttention, masked_softmax
from model.batches import ArticleBatch, ExtractionBatch
from model.extractor import FfExtractor, RnnExtractor
from model.pointer import PointerDecoder
from training.a2c import a2c_loss, discounted_returns, episode_rewards

Vector = list[float]
H = [[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]]  # h_j of an article of three sentences
ALL = torch.ones(1, 3, dtype=torch.bool)


def product(x: Vector, matrix: Tensor) -> Vector:
    rows = matrix.tolist()
    return [sum(a * row[k] for a, row in zip(x, rows, strict=True)) for k in range(len(rows[0]))]


def dot(x: Vector, y: Vector) -> float:
    return sum(a * b for a, b in zip(x, y, strict=True))


def softmax(x: Vector) -> Vector:
    powers = [math.exp(value) for value in x]
    return [power / sum(powers) for power in powers]


def scores(attention: AdditiveAttention, query: Vector) -> Vector:
    """v^T tanh(W_1 h_j + W_2 q) for each j."""
    moved = product(query, attention.query_weight)
    found = []
    for h in H:
        hidden = [math.tanh(k + q) for k, q in zip(product(h, attention.key_weight), moved, strict=True)]
        found.append(dot(attention.v.tolist(), hidden))
    return found


def glimpse(decoder: PointerDecoder, z: Vector) -> Vector:
    """e_t"""
    alpha = softmax(scores(decoder.glimpse, z))
    keys = [product(h, decoder.glimpse.key_weight) for h in H]
    return [sum(weight * key[k] for weight, key in zip(alpha, keys, strict=True)) for k in range(len(z))]


def lively(network: torch.nn.Module) -> None:
    generator = torch.Generator().manual_seed(0)
    for parameter in network.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)


@pytest.fixture
def decoder() -> PointerDecoder:
    decoder = PointerDecoder(memory_size=2, hidden=2).double()
    lively(decoder)
    return decoder


def z_of(decoder: PointerDecoder, inputs: list[Tensor]) -> Vector:
    """The LSTM's last output after these inputs."""
    _, state = decoder.start(1)
    z, _ = decoder.lstm(torch.stack(inputs)[None], state)
    return z[0, -1].tolist()


def memory_of(decoder: PointerDecoder):
    return decoder.remember(torch.tensor([H], dtype=torch.float64), ALL)


@torch.no_grad()
def test_equation_1_pointer_scores_and_no_sentence_twice(decoder):
    """Eq. 1: u_j = v^T tanh(W_p1 h_j + W_p2 e_t), and minus infinity for sentences that were chosen before."""
    memory, h = memory_of(decoder), torch.tensor(H, dtype=torch.float64)
    first, state = decoder.start(1)
    selectable = ALL.clone()
    found, state = decoder.step(memory, first, state, selectable)
    e = glimpse(decoder, z_of(decoder, [decoder.initial_input]))
    assert found[0].tolist() == pytest.approx(scores(decoder.pointing, e))
    selectable[0, 1] = False
    found, _ = decoder.step(memory, h[1:2], state, selectable)
    e = glimpse(decoder, z_of(decoder, [decoder.initial_input, h[1]]))
    u = scores(decoder.pointing, e)
    assert found[0].tolist() == pytest.approx([u[0], -math.inf, u[2]])


@torch.no_grad()
def test_equation_2_probabilities_are_the_softmax_of_the_scores():
    """Eq. 2: of the policy among the sentences that are left and the stop, and of the cross entropy among all."""
    agent = ActorCritic(vocab_size=9, emb_dim=2, conv_hidden=2, lstm_hidden=2, bidirectional=False).double()
    lively(agent)
    memory = agent.remember(torch.tensor([H], dtype=torch.float64), ALL)
    u = agent.actor.teacher_forcing(memory, torch.tensor([[2, 0, 3]]))[0].tolist()
    found = agent.policy(memory, torch.tensor([[2, 0, 3]]))[0].exp().tolist()
    assert found[0] == pytest.approx(softmax(u[0]))
    without_2 = softmax([u[1][0], u[1][1], u[1][3]])
    assert found[1] == pytest.approx([*without_2[:2], 0, without_2[2]])
    assert found[2] == pytest.approx([0, softmax([u[2][1], u[2][3]])[0], 0, softmax([u[2][1], u[2][3]])[1]])

    extractor = RnnExtractor(vocab_size=9, emb_dim=2, conv_hidden=2, lstm_hidden=2, bidirectional=False).double()
    lively(extractor)
    ids, fives = torch.tensor([[4, 5, 6, 4, 5], [7, 8, 4, 5, 5]]), torch.tensor([5, 5])
    words = ArticleBatch(ids, fives, fives, torch.tensor([2]))
    labels = torch.tensor([[1, 0]])
    u = extractor.pointer.teacher_forcing(extractor.pointer.remember(*extractor.encode(words)), labels)[0].tolist()
    losses = extractor(ExtractionBatch(words, labels)).tolist()
    assert losses == pytest.approx([-math.log(softmax(u[0])[1]), -math.log(softmax(u[1])[0])])


@torch.no_grad()
def test_equation_3_scores_of_the_glimpse(decoder):
    """Eq. 3: a_j = v_g^T tanh(W_g1 h_j + W_g2 z_t)."""
    z = [0.3, -1.2]
    found = decoder.glimpse(memory_of(decoder).glimpse_keys, torch.tensor([[z]], dtype=torch.float64))
    assert found.flatten().tolist() == pytest.approx(scores(decoder.glimpse, z))


def test_equation_4_weights_of_the_glimpse():
    """Eq. 4: alpha = softmax(a), over the sentences of the article alone."""
    a = torch.tensor([[0.5, -1.0, 2.0], [0.5, -1.0, 9.0]])
    found = masked_softmax(a, torch.tensor([[True, True, True], [True, True, False]]))
    assert found[0].tolist() == pytest.approx(softmax([0.5, -1.0, 2.0]))
    assert found[1].tolist() == pytest.approx([*softmax([0.5, -1.0]), 0])


@torch.no_grad()
def test_equation_5_the_glimpse_is_a_mean_of_projected_sentences(decoder):
    """Eq. 5: e_t = sum_j alpha_j W_g1 h_j, seen through a pointer whose score is tanh of one element of e_t."""
    decoder.pointing.key_weight.zero_()
    decoder.pointing.query_weight.copy_(torch.eye(2))
    e = glimpse(decoder, z_of(decoder, [decoder.initial_input]))
    for k in range(2):
        decoder.pointing.v.copy_(torch.eye(2)[k])
        first, state = decoder.start(1)
        u, _ = decoder(memory_of(decoder), first[:, None], state)
        assert u.flatten().tolist() == pytest.approx([math.tanh(e[k])] * 3)


def test_equation_6_the_label_has_the_highest_recall():
    """Eq. 6: argmax over i of the LCS's share of the summary sentence, among sentences that are not yet taken."""
    article = ["a x b", "a b c y z z z", "c", "a b c"]
    labels = proxy_labels(article, ["a b c", "a b d d", "c d"])
    assert labels.extracted == [1, 0, 2]  # 2/3, 3/3, 1/3, 3/3;  2/4, -, 0, 2/4;  -, -, 1/2, 1/2
    assert labels.score == [3 / 3, 2 / 4, 1 / 2]


def test_equation_7_the_reward_of_a_step_is_f1():
    """Eq. 7: r(t+1) = ROUGE-L F1 of the rewritten sentence with the summary sentence of its turn."""
    written, wanted = [[1, 2, 3, 4], [5, 6]], [[1, 4], [6, 5, 7]]
    (found,) = episode_rewards([written], [wanted], REWARDS["rouge-l"], REWARDS["rouge-1"], 1.0)
    first = 2 * (2 / 4) * (2 / 2) / (2 / 4 + 2 / 2)  # LCS 1 4
    second = 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3)  # LCS 5 or 6
    assert found[:2].tolist() == pytest.approx([first, second])


def expected_gradient(logits: Vector, q: Vector, baseline: float) -> Vector:
    """Of -E[log pi A] as `a2c_loss` has it, by going through all actions instead of sampling."""
    u = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    log_pi = u.log_softmax(0)
    values = torch.full((len(q),), baseline, dtype=torch.float64)
    policy = a2c_loss(log_pi, values, torch.tensor(q, dtype=torch.float64), detach_baseline=True).policy
    (gradient,) = torch.autograd.grad((log_pi.detach().exp() * policy).sum(), u)
    return gradient.tolist()


@pytest.mark.parametrize("baseline", [0.0, 0.4, -3.0])
def test_equations_8_and_10_the_expected_gradient_is_that_of_the_expected_return(baseline):
    """Eq. 8 and Eq. 10: d/du_k of sum_j pi_j Q_j is pi_k (Q_k - sum_j pi_j Q_j), whatever the baseline."""
    logits, q = [0.2, -1.0, 0.7], [0.1, 0.9, 0.5]
    pi = softmax(logits)
    ascent = [p * (value - dot(pi, q)) for p, value in zip(pi, q, strict=True)]
    assert expected_gradient(logits, q, baseline) == pytest.approx([-value for value in ascent])


def test_equation_9_the_return_is_the_discounted_sum():
    """Eq. 9: R_t = sum_k gamma^k r(t + k + 1), of every step."""
    found = discounted_returns(torch.tensor([[1.0, 0.5, 2.0], [3.0, 0.0, 0.0]], dtype=torch.float64), 0.9)
    assert found[0].tolist() == pytest.approx([1.0 + 0.9 * 0.5 + 0.81 * 2.0, 0.5 + 0.9 * 2.0, 2.0])
    assert found[1].tolist() == pytest.approx([3.0, 0.0, 0.0])


@pytest.mark.parametrize("values", [[0.0, 0.0], [0.25, -1.0]])
def test_equations_11_and_12_the_estimate_is_a_mean_over_an_episode(values):
    """Eq. 11 (no critic: A = R) and Eq. 12 (A = R - b): 1/N_s sum_t of the gradient of log pi(c_t, j_t) times A_t."""
    logits = torch.tensor([[0.2, -1.0], [0.5, 0.3]], dtype=torch.float64, requires_grad=True)
    actions, returns = [0, 1], [1.5, -0.5]
    log_probs = logits.log_softmax(1)[range(2), actions]
    loss = a2c_loss(log_probs, torch.tensor(values).double(), torch.tensor(returns).double(), detach_baseline=True)
    (found,) = torch.autograd.grad(loss.policy.mean(), logits)
    for t, (action, total, value) in enumerate(zip(actions, returns, values, strict=True)):
        pi = softmax(logits[t].tolist())
        of_log_pi = [(k == action) - p for k, p in enumerate(pi)]
        assert found[t].tolist() == pytest.approx([-g * (total - value) / 2 for g in of_log_pi])


@pytest.fixture
def ff_extractor(monkeypatch) -> FfExtractor:
    """It reads the article whose h_j are H."""
    network = FfExtractor(vocab_size=9, emb_dim=2, conv_hidden=2, lstm_hidden=2, bidirectional=False).double()
    lively(network)
    monkeypatch.setattr(network, "encode", lambda _: (torch.tensor([H], dtype=torch.float64), ALL))
    return network


def ff_logits(network: FfExtractor) -> Vector:
    """W_c h_j + h_j^T x + b with x of Eq. 14; the paper's W_s is left out, as in the released network."""
    mean = [sum(h[k] for h in H) / 3 for k in range(2)]
    moved = zip(product(mean, network.document.weight.T), network.document.bias.tolist(), strict=True)
    x = [math.tanh(value + bias) for value, bias in moved]
    weight, (bias,) = network.sentence_score.weight[0].tolist(), network.sentence_score.bias.tolist()
    return [dot(weight, h) + dot(h, x) + bias for h in H]


ONE = ArticleBatch(torch.zeros(3, 5, dtype=torch.long), *(torch.full((3,), 5),) * 2, torch.tensor([3]))


@torch.no_grad()
def test_equation_13_sentences_are_summarised_in_their_own_order(ff_extractor):
    """Eq. 13: j_1 < j_2 < ..., whatever their scores."""
    logits = ff_logits(ff_extractor)
    for k in (1, 2, 3):
        (found,) = ff_extractor.extract(ONE, k)
        best = sorted(range(3), key=lambda j: -logits[j])[:k]
        assert found.sentences == sorted(best)


@torch.no_grad()
def test_equation_14_the_document_is_a_projected_mean(ff_extractor):
    """Eq. 14: x = tanh(W_d mean_j h_j + b_d), in the logits W_c h_j + h_j^T x + b."""
    found, _ = ff_extractor.logits(ONE)
    assert found[0].tolist() == pytest.approx(ff_logits(ff_extractor))

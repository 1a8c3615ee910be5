"""All decoder steps of the abstractor under teacher forcing: no work behind a row's end, and one product over all
steps for the gradient of each weight and of the keys, where autograd would make and add up one a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from model.kernels.lstm_cell import cell_backward_, cell_forward_

if TYPE_CHECKING:
    from model.abstractor import Abstractor, DecoderState, SourceMemory
    from model.rnn import Packing


def abstractor_steps(
    network: Abstractor, embedded: Tensor, state: DecoderState, memory: SourceMemory, packing: Packing
) -> tuple[Tensor, ...]:
    """z_t = LSTM([w_t; o_{t-1}], z_{t-1});  a_t = softmax(K W_q^T z_t);  context_t = a_t K;
    o_t = W_2 tanh(W_1 [z_t; context_t] + b)  ->  [w_t; o_{t-1}], z_t, a_t, context_t, o_t."""
    words = packing.pack(embedded)  # (R, E)
    lower, *upper = (cast(nn.LSTMCell, cell) for cell in network.decoder)
    from_word, from_output = lower.weight_ih.split(words.size(1), 1)
    fed = [torch.cat([from_output, lower.weight_hh], 1), *(torch.cat([c.weight_ih, c.weight_hh], 1) for c in upper)]
    biases = [cell.bias_ih + cell.bias_hh for cell in (lower, *upper)]
    first, _, last = network.projection
    projection = cast(Tensor, first.weight), cast(Tensor, first.bias), cast(Tensor, last.weight)
    joined, attention, output = _Steps.apply(
        packing, memory.padding, words, from_word, memory.keys, network.attention.query_weight, *projection,
        state.output, *state.h, *state.c, *fed, *biases,
    )  # fmt: skip
    z, context = joined.chunk(2, 1)
    before = torch.cat([state.output, output]).index_select(0, _one_step_back(packing))
    return torch.cat([words, before], 1), z, attention, context, output


def _one_step_back(packing: Packing) -> Tensor:
    """(R,) where the step before lies in [B initial values, values of all steps]; rows longest first."""
    sizes = packing.sizes
    begins = sizes[0] + sizes.cumsum(0) - sizes
    return packing.row + torch.cat([begins.new_zeros(1), begins[:-1]])[packing.step]


class _Steps(torch.autograd.Function):
    """What a layer reads lies side by side: [o_{t-1}; h_{t-1}] below, [z of the layer below; h_{t-1}] above it."""

    @staticmethod
    def forward(ctx, packing, padding, words, from_word, keys, w_q, w_1, b_1, w_2, output, *layers):  # type: ignore[no-untyped-def]
        L, (R, E), H = len(layers) // 4, words.shape, w_q.size(0)
        hs, cs, weights, biases = ([*layers[i * L : (i + 1) * L]] for i in range(4))
        gates = [torch.addmm(biases[0], words, from_word.T), *(bias.repeat(R, 1) for bias in biases[1:])]
        fed = [words.new_empty(R, weight.size(1)) for weight in weights]
        joined, hidden, outputs = (words.new_empty(R, size) for size in (2 * H, H, E))
        queries, attention = words.new_empty(R, H), words.new_empty(R, keys.size(1))
        all_cs, tanh_cs = ([words.new_empty(R, H) for _ in range(L)] for _ in range(2))
        zs = [*(words.new_empty(R, H) for _ in range(L - 1)), joined[:, :H]]
        initial, now = (*cs,), slice(0)
        for size in packing.sizes.tolist():
            now = slice(now.stop, now.stop + size)
            below = output[:size]
            for i in range(L):
                torch.cat([below, hs[i][:size]], 1, out=fed[i][now])
                gate = gates[i][now].addmm_(fed[i][now], weights[i].T)
                cell_forward_(gate, cs[i][:size], all_cs[i][now], tanh_cs[i][now], zs[i][now])
                below = hs[i] = zs[i][now]
                cs[i] = all_cs[i][now]
            query = torch.mm(below, w_q, out=queries[now])
            scores = torch.baddbmm(padding[:size, None], query[:, None], keys[:size].mT)
            torch.softmax(scores.squeeze(1), 1, out=attention[now])
            joined[now, H:] = torch.bmm(attention[now, None], keys[:size]).squeeze(1)
            torch.addmm(b_1, joined[now], w_1.T, out=hidden[now]).tanh_()
            output = torch.mm(hidden[now], w_2.T, out=outputs[now])
        ctx.save_for_backward(
            words, from_word, keys, w_q, w_1, w_2, joined, hidden, queries, attention,
            *initial, *weights, *gates, *fed, *all_cs, *tanh_cs,
        )  # fmt: skip
        ctx.packing = packing
        return joined, attention, outputs

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_joined, grad_attention, grad_outputs):  # type: ignore[no-untyped-def]
        words, from_word, keys, w_q, w_1, w_2, joined, hidden, queries, attention, *rest = ctx.saved_tensors
        L, H, packing = len(rest) // 6, w_q.size(0), ctx.packing
        initial, weights, gates, fed, cs, tanh_cs = (rest[i * L : (i + 1) * L] for i in range(6))
        sizes = packing.sizes.tolist()
        grad_joined, grad_outputs = grad_joined.clone(), grad_outputs.clone()  # of these steps' own, and then all
        grad_hidden, grad_queries, grad_scores = map(torch.empty_like, (hidden, queries, attention))
        grad_gates = [torch.empty_like(gate) for gate in gates]
        grad_fed = words.new_zeros(sizes[0], words.size(1))  # of the output that the next step reads
        grad_hs, grad_cs = ([words.new_zeros(sizes[0], H) for _ in range(L)] for _ in range(2))
        now = slice(len(words), None)
        for t, size in reversed([*enumerate(sizes)]):
            now = slice(now.start - size, now.start)
            before = slice(now.start - sizes[t - 1], now.start) if t else None
            grad_output = grad_outputs[now].add_(grad_fed[:size])
            torch.mm(grad_output, w_2, out=grad_hidden[now])
            torch.ops.aten.tanh_backward(grad_hidden[now], hidden[now], grad_input=grad_hidden[now])
            grad_joined[now].addmm_(grad_hidden[now], w_1)
            grad_z, grad_context = grad_joined[now].split(H, 1)
            grad_weights = torch.baddbmm(grad_attention[now, None], grad_context[:, None], keys[:size].mT).squeeze(1)
            torch.ops.aten._softmax_backward_data(
                grad_weights, attention[now], 1, words.dtype, grad_input=grad_scores[now]
            )
            torch.bmm(grad_scores[now, None], keys[:size], out=grad_queries[now, None])
            grad_h = torch.addmm(grad_z, grad_queries[now], w_q.T)
            for i in reversed(range(L)):
                grad_h += grad_hs[i][:size]
                c = cs[i][before][:size] if before else initial[i]
                cell_backward_(grad_gates[i][now], grad_cs[i][:size], grad_h, gates[i][now], c, tanh_cs[i][now])
                grad_below = grad_gates[i][now] @ weights[i]
                grad_h, grad_hs[i][:size] = grad_below.split([grad_below.size(1) - H, H], 1)
                grad_h = grad_h.contiguous()
            grad_fed[:size] = grad_h
        return (
            None,
            None,
            grad_gates[0] @ from_word,
            grad_gates[0].T @ words,
            _products_over_steps(packing, (grad_scores, queries), (attention, grad_joined[:, H:])),
            joined[:, :H].T @ grad_queries,
            grad_hidden.T @ joined,
            grad_hidden.sum(0),
            grad_outputs.T @ hidden,
            grad_fed,
            *grad_hs,
            *grad_cs,
            *(grad.T @ inputs for grad, inputs in zip(grad_gates, fed, strict=True)),
            *(grad.sum(0) for grad in grad_gates),
        )


def _products_over_steps(packing: Packing, *pairs: tuple[Tensor, Tensor]) -> Tensor:
    """The sum over pairs (R, S), (R, H) and a row's steps of all outer products: (B, S, H)."""
    size = len(packing.rank), len(pairs), len(packing.sizes)
    left, right = (side.new_zeros(*size, side.size(1)) for side in pairs[0])
    for i, (a, b) in enumerate(pairs):
        left[packing.row, i, packing.step], right[packing.row, i, packing.step] = a, b
    return torch.bmm(left.flatten(1, 2).mT, right.flatten(1, 2))

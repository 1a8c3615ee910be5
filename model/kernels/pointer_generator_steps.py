"""All decoder steps of the pointer-generator under teacher forcing: no work behind a row's end, and one product over
all steps for the gradient of each weight; those of the memory are added up in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from model.kernels.attention_by_row import AttentionSums, attention_backward, attention_forward
from model.kernels.lstm_cell import cell_backward_, cell_forward_

if TYPE_CHECKING:
    from model.pointer_generator import DecoderState, DocumentMemory, PointerGenerator
    from model.rnn import Packing


def pointer_generator_steps(
    network: PointerGenerator, embedded: Tensor, state: DecoderState, memory: DocumentMemory, packing: Packing
) -> tuple[Tensor, ...]:
    """x_t = W_x [w_t; context_{t-1}] + b;  s_t = LSTM(x_t, s_{t-1});  a_t, context_t = attention(s_t, c_t);
    c_{t+1} = c_t + a_t  ->  x_t, s_t, a_t, context_t, c_t."""
    words = packing.pack(embedded)  # (R, E)
    from_word, from_context = network.merge.weight.split([words.size(1), memory.values.size(2)], 1)
    cell, attention = network.decoder, network.attention
    return _Steps.apply(
        packing,
        memory.padding,
        torch.addmm(network.merge.bias, words, from_word.T),
        from_context,
        torch.cat([cell.weight_ih, cell.weight_hh], 1),
        cell.bias_ih + cell.bias_hh,
        attention.query_weight,
        memory.keys,
        memory.values,
        attention.v,
        attention.coverage_weight,
        *state,
    )


class _Steps(torch.autograd.Function):
    """merged: (R, E), W_x w_t + b of all steps; w_x: (E, M) for the context, w: (4H, E + H) for [x; h]."""

    @staticmethod
    def forward(ctx, packing, padding, merged, w_x, w, bias, w_s, keys, values, v, w_c, h, c, context, coverage):  # type: ignore[no-untyped-def]
        (R, E), H = merged.shape, h.size(1)
        fed, gates, zs = merged.new_empty(R, E + H), merged.new_empty(R, 4 * H), merged.new_empty(R, H)
        cs, tanh_cs = torch.empty_like(zs), torch.empty_like(zs)
        queries, contexts = merged.new_empty(R, w_s.size(1)), merged.new_empty(R, values.size(2))
        attention, coverages = (merged.new_empty(R, keys.size(1)) for _ in range(2))
        initial, now = (c, context), slice(0)
        for size in packing.sizes.tolist():
            now = slice(now.stop, now.stop + size)
            torch.cat([torch.addmm(merged[now], context[:size], w_x.T), h[:size]], 1, out=fed[now])
            gate = torch.addmm(bias, fed[now], w.T, out=gates[now])
            cell_forward_(gate, c[:size], cs[now], tanh_cs[now], zs[now])
            h, c, coverages[now] = zs[now], cs[now], coverage[:size]
            query = torch.mm(h, w_s, out=queries[now])
            shared = keys[:size], values[:size], padding[:size]
            attention[now], contexts[now] = attention_forward(query, *shared, coverages[now], v, w_c)
            context, coverage = contexts[now], coverages[now] + attention[now]
        ctx.save_for_backward(
            w_x, w, w_s, keys, values, v, w_c, *initial,
            fed, gates, zs, cs, tanh_cs, queries, contexts, attention, coverages,
        )  # fmt: skip
        ctx.sizes = packing.sizes.tolist()
        return fed[:, :E].clone(), zs, attention, contexts, coverages

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_x, grad_z, grad_attention, grad_contexts, grad_coverages):  # type: ignore[no-untyped-def]
        w_x, w, w_s, keys, values, v, w_c, c_0, context_0, *rest = ctx.saved_tensors
        fed, gates, zs, cs, tanh_cs, queries, contexts, attention, coverages = rest
        sizes, E = ctx.sizes, grad_x.size(1)
        sums = AttentionSums.zeros(keys, values, v, w_c)
        grad_merged, grad_gates, grad_queries = grad_x.clone(), torch.empty_like(gates), torch.empty_like(queries)
        previous = torch.empty_like(contexts)
        grad_h, grad_c, grad_context = torch.zeros_like(c_0), torch.zeros_like(c_0), torch.zeros_like(context_0)
        grad_coverage = coverages.new_zeros(sizes[0], coverages.size(1))  # of what the next step knows
        now = slice(len(zs), None)
        for t, size in reversed([*enumerate(sizes)]):
            now = slice(now.start - size, now.start)
            before = slice(now.start - sizes[t - 1], now.start) if t else None
            own = AttentionSums(sums.keys[:size], sums.values[:size], sums.v, sums.w_c)
            grad_queries[now], grad_seen = attention_backward(
                queries[now], keys[:size], values[:size], coverages[now], v, w_c, attention[now],
                grad_attention[now] + grad_coverage[:size], grad_contexts[now] + grad_context[:size], own,
            )  # fmt: skip
            grad_coverage[:size] += grad_coverages[now]
            if grad_seen is not None:
                grad_coverage[:size] += grad_seen
            grad_out = torch.addmm(grad_z[now], grad_queries[now], w_s.T).add_(grad_h[:size])
            c = cs[before][:size] if before else c_0
            cell_backward_(grad_gates[now], grad_c[:size], grad_out, gates[now], c, tanh_cs[now])
            grad_fed = grad_gates[now] @ w
            grad_h[:size] = grad_fed[:, E:]
            grad_merged[now] += grad_fed[:, :E]
            torch.mm(grad_merged[now], w_x, out=grad_context[:size])
            previous[now] = contexts[before][:size] if before else context_0
        grad_w_x, grad_w, grad_w_s = grad_merged.T @ previous, grad_gates.T @ fed, zs.T @ grad_queries
        state = grad_h, grad_c, grad_context, grad_coverage
        return None, None, grad_merged, grad_w_x, grad_w, grad_gates.sum(0), grad_w_s, *sums, *state

"""The two attention functions of the paper: additive (pointer network, Eq. 1 and 3) and bilinear (abstractor, A.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from model.batches import mask_of
from model.kernels import on_cpu
from model.kernels.sigmoid_scores import sigmoid_scores
from model.rnn import small_uniform

_KEPT = 1 << 24  # numbers of a (B, T, N, H) tensor that a backward pass may find in memory


def xavier(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_normal_(torch.empty(rows, columns)))


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


@on_cpu(sigmoid_scores)
def additive_scores(
    keys: Tensor, queries: Tensor, v: Tensor, coverage: Tensor | None = None, w_c: Tensor | None = None
) -> Tensor:
    """v . tanh(k_j + q_t), with coverage v . tanh(k_j + q_t + w_c c_tj).
    keys: (B, N, H), queries: (B, T, H), v, w_c: (H,), coverage: (B, T, N) -> (B, T, N)"""
    hidden = keys[:, None] + queries[:, :, None]  # (B, T, N, H)
    if coverage is not None and w_c is not None:
        hidden = hidden + coverage[..., None] * w_c
    return torch.tanh(hidden) @ v


class AdditiveAttention(nn.Module):
    """v^T tanh(W_1 h_j + W_2 q_t) for every memory row j and query t (Eq. 1 and Eq. 3)."""

    def __init__(self, memory_size: int, hidden: int, query_size: int | None = None) -> None:
        super().__init__()
        self.key_weight = xavier(memory_size, hidden)  # W_p1, W_g1
        self.query_weight = xavier(query_size or hidden, hidden)  # W_p2, W_g2
        self.v = small_uniform(hidden)

    def keys(self, memory: Tensor) -> Tensor:
        """W_1 h_j for the whole memory, computed once an article.  (B, N, M) -> (B, N, H)"""
        return memory @ self.key_weight

    def forward(self, keys: Tensor, queries: Tensor) -> Tensor:
        """keys: (B, N, H), queries: (B, T, H) -> scores (B, T, N)"""
        queries = queries @ self.query_weight
        steps = max(1, _KEPT // max(1, keys.numel()))
        if queries.size(1) <= steps:
            return additive_scores(keys, queries, self.v)
        parts = queries.split(steps, 1)  # of episodes with hundreds of steps: computed again in the backward pass
        return torch.cat([checkpoint(additive_scores, keys, part, self.v, use_reentrant=False) for part in parts], 1)


class BilinearAttention(nn.Module):
    """softmax over i of h_i^T W_attn z_j (A.2); W_attn is factored into a projection of the memory and one of z.

    The projected memory serves as keys and as values.
    """

    def __init__(self, memory_size: int, hidden: int) -> None:
        super().__init__()
        self.key_weight = xavier(memory_size, hidden)
        self.query_weight = xavier(hidden, hidden)

    def keys(self, memory: Tensor) -> Tensor:
        """For the whole memory, computed once.  (B, S, M) -> (B, S, H)"""
        return memory @ self.key_weight

    def forward(self, queries: Tensor, keys: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """queries: (R, H), K for each of B memories, keys: (B, S, H), padding: (B, S) 0 or -inf
        -> weights (R, S), context (R, H)"""
        projected = (queries @ self.query_weight).unflatten(0, (len(keys), -1))  # (B, K, H)
        weights = torch.baddbmm(padding[:, None], projected, keys.mT).softmax(-1)  # (B, K, S)
        return weights.flatten(0, 1), torch.bmm(weights, keys).flatten(0, 1)


def padding_of(keys: Tensor, lengths: Tensor) -> Tensor:
    """keys: (B, S, H), lengths: (B,) -> what scores are added to before a softmax: 0 where real, -inf where padded."""
    real = mask_of(lengths, keys.size(1)).to(keys.device)
    return keys.new_zeros(real.shape).masked_fill_(~real, float("-inf"))

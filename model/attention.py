"""The two attention functions of the paper: additive (pointer network, Eq. 1 and 3) and bilinear (abstractor, A.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from model.rnn import small_uniform


def xavier(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_normal_(torch.empty(rows, columns)))


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


class AdditiveAttention(nn.Module):
    """v^T tanh(W_1 h_j + W_2 q_t) for every memory row j and query t (Eq. 1 and Eq. 3)."""

    def __init__(self, memory_size: int, hidden: int) -> None:
        super().__init__()
        self.key_weight = xavier(memory_size, hidden)  # W_p1, W_g1
        self.query_weight = xavier(hidden, hidden)  # W_p2, W_g2
        self.v = small_uniform(hidden)

    def keys(self, memory: Tensor) -> Tensor:
        """W_1 h_j for the whole memory, computed once an article.  (B, N, M) -> (B, N, H)"""
        return memory @ self.key_weight

    def scores(self, keys: Tensor, queries: Tensor) -> Tensor:
        """keys: (B, N, H), queries: (B, T, H) -> (B, T, N)

        tanh(x) = 2 sigmoid(2x) - 1; a CPU computes the sigmoid several times faster.
        """
        projected = queries @ self.query_weight
        doubled = torch.add(2 * projected[:, :, None], keys[:, None], alpha=2)  # (B, T, N, H)
        return torch.sigmoid(doubled) @ (2 * self.v) - self.v.sum()


class BilinearAttention(nn.Module):
    """h_i^T W_attn z_j (A.2); W_attn is factored into a projection of the memory and one of the query.

    The projected memory serves as keys and as values.
    """

    def __init__(self, memory_size: int, hidden: int) -> None:
        super().__init__()
        self.key_weight = xavier(memory_size, hidden)
        self.query_weight = xavier(hidden, hidden)

    def keys(self, memory: Tensor) -> Tensor:
        return memory @ self.key_weight


def attend(keys: Tensor, queries: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
    """keys: (B, S, H), queries: (B * K, H), padding: (B, S) 0 or -inf -> weights (B * K, S), context (B * K, H)."""
    queries = queries.view(len(keys), -1, keys.size(2))
    weights = torch.baddbmm(padding[:, None], queries, keys.mT).softmax(-1)  # (B, K, S)
    return weights.flatten(0, 1), torch.bmm(weights, keys).flatten(0, 1)

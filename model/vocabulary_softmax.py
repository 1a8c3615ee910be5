"""The softmax over a large vocabulary, as far as a loss needs it: log partition and the targets' logits.

The [B, T, V] distribution is never built; one product over all steps, normalised in place, serves both passes.
"""

from __future__ import annotations

import torch
from torch import Tensor


def log_partition_and_logit(outputs: Tensor, embedding: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """outputs: (R, E), embedding: (V, E), targets: (R,) ids below V
    -> log sum_v exp(o . E_v) and o . E_target, both (R,)."""
    return _LogPartitionAndLogit.apply(outputs, embedding, targets)


class _LogPartitionAndLogit(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, outputs, embedding, targets):  # type: ignore[no-untyped-def]
        weights = outputs @ embedding.T  # (R, V), logits first and exp(logit - max) afterwards
        logit = weights.gather(1, targets[:, None]).squeeze(1)
        top = weights.amax(1, keepdim=True)
        total = weights.sub_(top).exp_().sum(1)
        ctx.save_for_backward(outputs, embedding, targets, weights, total)
        return top.squeeze(1) + total.log(), logit

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad_partition, grad_logit):  # type: ignore[no-untyped-def]
        outputs, embedding, targets, weights, total = ctx.saved_tensors
        scale = (grad_partition / total)[:, None]
        grad_outputs = (weights @ embedding).mul_(scale).addcmul_(embedding[targets], grad_logit[:, None])
        grad_embedding = weights.T @ (outputs * scale)
        grad_embedding.index_add_(0, targets, outputs * grad_logit[:, None])
        return grad_outputs, grad_embedding, None

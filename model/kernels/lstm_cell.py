"""The pointwise part of an LSTM step and its gradient, in place, for the kernels that loop over steps.

gates: (..., 4H) in torch's order i f g o; c' = f c + i g, h' = o tanh(c').
"""

from __future__ import annotations

import torch
from torch import Tensor


def cell_forward_(gates: Tensor, c: Tensor, new_c: Tensor, tanh_c: Tensor, h: Tensor) -> None:
    """Activates the gates in place and fills the last three."""
    H = c.size(-1)
    gates[..., 2 * H : 3 * H] *= 2  # tanh(x) = 2 sigmoid(2x) - 1, which is much faster
    i, f, g, o = gates.sigmoid_().chunk(4, -1)
    g.mul_(2).sub_(1)
    torch.mul(f, c, out=new_c).addcmul_(i, g)
    torch.mul(new_c, 2, out=tanh_c).sigmoid_().mul_(2).sub_(1)
    torch.mul(o, tanh_c, out=h)


def cell_backward_(
    grad_gates: Tensor, grad_c: Tensor, grad_h: Tensor, gates: Tensor, c: Tensor, tanh_c: Tensor
) -> None:
    """Fills `grad_gates`, and turns `grad_c` from the gradient of c' into that of c."""
    H = c.size(-1)
    i, f, g, o = gates.chunk(4, -1)
    grad_i, grad_f, grad_g, grad_o = grad_gates.chunk(4, -1)
    torch.mul(grad_h, tanh_c, out=grad_o)
    grad_c += torch.ops.aten.tanh_backward(grad_h * o, tanh_c)
    torch.mul(grad_c, g, out=grad_i)
    torch.mul(grad_c, c, out=grad_f)
    torch.ops.aten.tanh_backward(grad_c * i, g, grad_input=grad_g)
    grad_c *= f
    for gate in (slice(2 * H), slice(3 * H, 4 * H)):  # i and f, o
        grad_gates[..., gate] = torch.ops.aten.sigmoid_backward(grad_gates[..., gate], gates[..., gate])

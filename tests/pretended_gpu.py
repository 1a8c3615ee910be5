"""A GPU that this machine does not have: tensors that are on `gpu:0` for torch and for the project, and lie in the
CPU's memory. What a GPU refuses is refused (tensors of two devices in one operation, numpy), what it does is counted
(launches: operations that are neither views nor allocations), and so is how often the host waits for it.

It rests on private parts of torch: `AVAILABLE` is False where these are others.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

try:
    from torch.utils import _foreach_utils, backend_registration
    from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

    class _Backend(backend_registration._DummyBackendModule):
        def get_amp_supported_dtype(self) -> list[torch.dtype]:
            return [torch.bfloat16]

    backend_registration._setup_privateuseone_for_python_backend("gpu", _Backend())
    AVAILABLE = True
except (ImportError, AttributeError, RuntimeError):
    AVAILABLE = False
    TorchDispatchMode = object  # type: ignore[assignment, misc]

GPU = torch.device("gpu:0") if AVAILABLE else torch.device("meta")

HOST_READS = {"_local_scalar_dense", "nonzero", "bincount", "_unique2", "unique_dim", "masked_select", "equal"}
ALLOCATIONS = {"empty", "empty_like", "new_empty", "empty_strided", "detach", "_unsafe_view", "alias", "_reshape_alias"}
BETWEEN_DEVICES = {"copy_", "_to_copy"}
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_"}  # an index may lie on the CPU


class OnGpu(Tensor):
    """Looks like a tensor on the GPU; `held` is where its numbers are."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, held: Tensor) -> OnGpu:
        made = Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype, device=GPU
        )
        made.held = held
        return made

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["held"], None

    @staticmethod
    def __tensor_unflatten__(parts: dict[str, Tensor], *_: object) -> OnGpu:
        return OnGpu(parts["held"])

    def tolist(self) -> Any:
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_: object) -> Any:
        raise RuntimeError(f"{func} outside of `pretended_gpu`")


class Counts(TorchDispatchMode):
    """While it is entered the GPU exists; it counts what happens there."""

    if AVAILABLE:
        _mode_key = torch._C._TorchDispatchModeKey.FAKE  # torch then looks for no driver

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()
        self.clear()

    def clear(self) -> None:
        self.launches = self.waits = self.pending = 0  # pending: launches since the host last waited
        self.names.clear()

    def launch(self, name: str) -> None:
        self.launches += 1
        self.pending += 1
        self.names[name] += 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        ours = [isinstance(x, OnGpu) for x in tensors]
        target = kwargs.get("device")
        upwards = target is not None and torch.device(target).type == GPU.type
        if not any(ours) and not upwards:
            return func(*args, **kwargs)
        self._refuse_two_devices(name, tensors, ours, args)
        downwards = any(ours) and (
            (target is not None and not upwards) or (name == "copy_" and not isinstance(args[0], OnGpu))
        )
        reads = name in HOST_READS or (name in INDEXING and _has_mask(args[1]))
        if not (downwards or name == "_local_scalar_dense" or name in ALLOCATIONS or _is_view(func)):
            self.launch(name)
        if downwards or reads:
            self.waits, self.pending = self.waits + 1, 0
        held_args, held_kwargs = tree_map_only(OnGpu, lambda x: x.held, (args, kwargs))
        if upwards:
            held_kwargs = {**held_kwargs, "device": torch.device("cpu")}
        found = FUSED.get(name, func)(*held_args, **held_kwargs)
        if downwards or name in ("_local_scalar_dense", "equal"):
            return found
        found = tree_map_only(Tensor, OnGpu, found)
        return return_and_correct_aliasing(func, args, kwargs, found) if any(ours) else found

    @staticmethod
    def _refuse_two_devices(name: str, tensors: list[Tensor], ours: list[bool], args: tuple) -> None:
        if not any(ours) or name in BETWEEN_DEVICES or (name in INDEXING and isinstance(args[0], OnGpu)):
            return
        if any(tensor.dim() > 0 and not own for tensor, own in zip(tensors, ours, strict=True)):
            raise RuntimeError(f"{name}: expected all tensors on one device, but found cpu and {GPU}")


def _is_view(func: Any) -> bool:
    aliases = [returned.alias_info for returned in func._schema.returns]
    return any(alias is not None and not alias.is_write for alias in aliases)


def _has_mask(indices: Any) -> bool:
    return any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices)


def _fused_cell(
    from_input: Tensor, from_h: Tensor, c: Tensor, *biases: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """torch's one launch for what an LSTM cell does to its gates; a CPU has no such kernel."""
    gates = sum((bias for bias in biases if bias is not None), from_input + from_h)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = f * c + i * g
    return o * new_c.tanh(), new_c, torch.cat([i, f, g, o], 1)


def _fused_cell_backward(
    grad_h: Tensor | None, grad_c: Tensor | None, c: Tensor, new_c: Tensor, activated: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor]:
    i, f, g, o = activated.chunk(4, 1)
    tanh_c = new_c.tanh()
    grad_h = torch.zeros_like(c) if grad_h is None else grad_h
    through_c = grad_h * o * (1 - tanh_c.square())
    if grad_c is not None:
        through_c = through_c + grad_c
    grad_i, grad_f = through_c * g * i * (1 - i), through_c * c * f * (1 - f)
    grad_g, grad_o = through_c * i * (1 - g.square()), grad_h * tanh_c * o * (1 - o)
    gates = torch.cat([grad_i, grad_f, grad_g, grad_o], 1)
    return gates, through_c * f, gates.sum(0) if has_bias else gates.new_zeros(0)


FUSED: dict[str, Callable[..., Any]] = {
    "_thnn_fused_lstm_cell": _fused_cell,
    "_thnn_fused_lstm_cell_backward_impl": _fused_cell_backward,
}


class _WholeLstm(torch.autograd.Function):
    """cuDNN's LSTM: one launch for all steps, and one for their gradient."""

    @staticmethod
    def forward(ctx: Any, compute: Callable[..., tuple[Tensor, ...]], counts: Counts, *tensors: OnGpu) -> Any:
        held = [tensor.held.detach().requires_grad_() for tensor in tensors]
        with torch.enable_grad():
            ctx.found = compute(held)
        ctx.held, ctx.counts = held, counts
        counts.launch("lstm")
        return tuple(OnGpu(x.detach()) for x in ctx.found)

    @staticmethod
    def backward(ctx: Any, *grads: OnGpu | None) -> Any:
        ctx.counts.launch("lstm_backward")
        known = [(x, grad.held) for x, grad in zip(ctx.found, grads, strict=True) if grad is not None]
        outputs, given = zip(*known, strict=True)
        found = torch.autograd.grad(outputs, ctx.held, given, allow_unused=True)
        return None, None, *(None if grad is None else OnGpu(grad) for grad in found)


def _lstm_of(counts: Counts, original: Callable[..., Any]) -> Callable[..., Any]:
    def lstm(inputs: Tensor, second: Any, third: Any, *rest: Any) -> Any:
        """Padded: inputs, states, weights, ...; packed: items, sizes, states, weights, ..."""
        if not isinstance(inputs, OnGpu):
            return original(inputs, second, third, *rest)
        padded = not isinstance(second, Tensor)
        states, weights, flags = (second, third, rest) if padded else (third, rest[0], rest[1:])

        def compute(held: list[Tensor]) -> tuple[Tensor, ...]:
            first, h, c, *own = held
            return original(first, *(() if padded else (second,)), (h, c), own, *flags)

        tensors = [inputs, *states, *weights]
        if torch.is_autocast_enabled(GPU.type):
            tensors = [tensor.to(torch.bfloat16) for tensor in tensors]
        return _WholeLstm.apply(compute, counts, *tensors)

    return lstm


@contextlib.contextmanager
def pretended_gpu() -> Iterator[Counts]:
    """The GPU, with what only CUDA has: an LSTM as one launch, and operations on lists of tensors."""
    counts = Counts()
    lists = mock.patch.object(_foreach_utils, "_foreach_supported_types", [Tensor, torch.nn.Parameter, OnGpu])
    with counts, lists, mock.patch.object(torch._VF, "lstm", _lstm_of(counts, torch._VF.lstm), create=True):
        yield counts


# What autocast does on CUDA, for the operations that the networks use (torch's lists for CUDA, in its documentation).
IN_BFLOAT16 = ("mm", "mv", "bmm", "addmm", "addmv", "baddbmm", "matmul", "linear", "conv1d.default", "lstm_cell")
IN_FLOAT32 = (
    *("exp", "log", "softmax.int", "log_softmax.int", "logsumexp", "sum", "sum.dim_IntList", "cumsum"),
    *("cross_entropy_loss", "binary_cross_entropy_with_logits", "square", "norm.Scalar"),
)
IN_THE_WIDEST = ("cat", "stack", "index_put", "scatter_add", "addcmul")


def _widest(floating: list[Tensor]) -> torch.dtype:
    return max((x.dtype for x in floating), key=lambda dtype: dtype.itemsize, default=torch.float32)


def _register_autocast() -> Any:
    others, library = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    others.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    key = torch._C._dispatch_key_parse("AutocastPrivateUse1")

    def register(name: str, dtype_of: Callable[[list[Tensor]], torch.dtype]) -> None:
        packet, _, overload = name.partition(".")
        operation = getattr(getattr(torch.ops.aten, packet), overload or "default")

        def cast_and_call(*args: Any, **kwargs: Any) -> Any:
            floating = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor) and x.is_floating_point()]
            with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
                dtype = dtype_of(floating)
                args, kwargs = tree_map_only(
                    Tensor, lambda x: x.to(dtype) if x.is_floating_point() else x, (args, kwargs)
                )
                return operation(*args, **kwargs)

        library.impl(name.removesuffix(".default"), cast_and_call, "AutocastPrivateUse1")

    for name in IN_BFLOAT16:
        register(name, lambda floating: torch.bfloat16)
    for name in IN_FLOAT32:
        register(name, lambda floating: torch.float32)
    for name in IN_THE_WIDEST:
        register(name, _widest)
    return others, library


_LIBRARY = _register_autocast() if AVAILABLE else None  # as long as it lives, so does the registration

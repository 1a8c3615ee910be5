"""Model directories in the released layout: meta.json, vocabulary, ckpt/ckpt-<metric>-<step>.

What is trained here loads in the released code and the other way round; `checkpoints.released_names` has the table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from checkpoints.networks import ABSTRACTOR, AGENT, FF_EXTRACTOR, POINTER_GENERATOR, RNN_EXTRACTOR
from checkpoints.released_names import from_released, to_released
from checkpoints.tensor_files import load_tensors, save_tensors
from data.vocabulary import Vocabulary
from model.abstractor import Abstractor
from model.actor_critic import ActorCritic
from model.extractor import FfExtractor, RnnExtractor
from model.pointer_generator import PointerGenerator
from support.errors import UserError, first_line
from support.files import read_json, write_json
from support.memory import machine_memory

Meta = dict[str, Any]

_IMPOSSIBLE = 1e9  # for a weight that was trained; beyond it products through the layers overflow
_BYTES = 4  # of a weight
_KINDS = {"bidirectional": bool, "coverage": bool, "sentence_encoder": str}  # of net_args; all others are sizes
_CHECKPOINT = re.compile(r"ckpt-(?P<metric>-?[0-9]+(?:\.[0-9]*)?(?:e-?[0-9]+)?)-(?P<step>[0-9]+)")


class Checkpoint(NamedTuple):
    path: Path
    metric: float
    step: int


class Loaded(NamedTuple):
    """A network with the vocabulary it was trained on."""

    network: nn.Module
    vocabulary: Vocabulary
    meta: Meta
    checkpoint: str = ""  # name of its file

    def digest(self) -> str:
        """Of weights and words."""
        digest = hashlib.blake2b(repr(self.vocabulary.words).encode("utf-8", "surrogatepass"), digest_size=8)
        for weight in self.network.state_dict().values():
            digest.update(weight.cpu().numpy().tobytes())
        return digest.hexdigest()

    def identity(self) -> dict[str, str]:
        return {"name": self.checkpoint, "hash": self.digest()}


def build_network(meta: Meta, named: str | Path) -> nn.Module:
    """A new network; `named` is where the sizes come from."""
    try:
        with torch.device("meta"), _Unfilled():
            n_weights = sum(weight.numel() for weight in _network(meta).parameters())
        if n_weights * _BYTES > machine_memory():
            needed, there = (f"{size / 2**30:,.0f} GB" for size in (n_weights * _BYTES, machine_memory()))
            raise UserError(f"{named}: {n_weights:,} weights need {needed} of memory, this machine has {there}")
        return _network(meta)
    except UserError:
        raise
    except Exception as error:  # sizes that describe no network can raise almost anything
        raise UserError(f"{named}: 'net_args' do not describe a {meta['net']} ({first_line(error)})") from None


class _Unfilled(TorchFunctionMode):
    """Weights without memory need no numbers; for normal ones torch would import its compiler, which takes seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.__name__ == "normal_":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def _network(meta: Meta) -> nn.Module:
    net, sizes = meta["net"], meta["net_args"]
    if net == ABSTRACTOR:
        return Abstractor(**_checked(sizes))
    if net == RNN_EXTRACTOR:
        return RnnExtractor(**_checked(sizes))
    if net == FF_EXTRACTOR:
        return FfExtractor(**_checked(sizes))
    if net == AGENT:
        if not isinstance(sizes, dict) or not {"abstractor", "extractor"} <= sizes.keys():
            raise ValueError("it names no 'abstractor' and 'extractor'")
        variant = meta.get("variant", "released")  # directories without the key come from the released code
        return ActorCritic(**_checked(sizes["extractor"]["net_args"]), recurrent_critic=variant == "paper")
    if net == POINTER_GENERATOR:
        return PointerGenerator(**_checked(sizes))
    raise ValueError("a network of an unknown name")


def _checked(sizes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Some networks could be built with sizes of another kind, but would not work."""
    for name, value in sizes.items():
        if type(value) is not _KINDS.get(name, int) or (type(value) is int and value < 1):
            raise ValueError(f"{name} is {str(value)[:20]}")
    return sizes


def read_meta(directory: str | Path) -> Meta:
    directory = Path(directory)
    if not directory.is_dir():
        raise UserError(f"model directory {directory} does not exist")
    meta = read_json(directory / "meta.json")
    if not isinstance(meta, dict) or "net" not in meta or "net_args" not in meta:
        raise UserError(f"{directory / 'meta.json'} has no 'net' and 'net_args'; is it a model directory?")
    return meta


def load(directory: str | Path, *, nets: tuple[str, ...], device: torch.device | str = "cpu") -> Loaded:
    """The best checkpoint of a model directory whose network is one of `nets`."""
    directory, meta = Path(directory), read_meta(directory)
    if meta["net"] not in nets:
        found = str(meta["net"])[:40]
        raise UserError(f"{directory} holds a {found} by its meta.json, but {' or '.join(nets)} is needed here")
    network = build_network(meta, directory / "meta.json")
    best = best_checkpoint(directory, highest=meta["net"] == AGENT)
    load_weights(network, meta["net"], read_checkpoint(best.path)["state_dict"], best.path)
    words = directory / ("agent_vocab.pkl" if meta["net"] == AGENT else "vocab.pkl")
    vocabulary, size = Vocabulary.load(words), _embedding_size(meta)
    if len(vocabulary) != size:
        raise UserError(f"{words} has {len(vocabulary)} words but the network {size}")
    return Loaded(network.to(device).eval(), vocabulary, meta, best.path.name)


def _embedding_size(meta: Meta) -> int:
    sizes = meta["net_args"]["extractor"]["net_args"] if meta["net"] == AGENT else meta["net_args"]
    return int(sizes["vocab_size"])


def load_weights(network: nn.Module, net: str, state: Mapping[str, Any], source: Path) -> None:
    try:
        network.load_state_dict(from_released(net, state))
    except Exception as error:  # what is not a tensor can raise almost anything
        raise UserError(f"{source} does not fit its meta.json ({str(error).splitlines()[-1].strip()})") from None
    for name, weight in network.state_dict().items():
        if not (weight.abs() < _IMPOSSIBLE).all():
            raise UserError(f"{source}: {name} holds numbers that are not finite or too large; is it damaged?")


def checkpoints(directory: str | Path) -> list[Checkpoint]:
    """All checkpoints of a model directory, oldest first."""
    found = []
    for path in Path(directory, "ckpt").glob("ckpt-*"):
        match = _CHECKPOINT.fullmatch(path.name)
        if match:
            found.append(Checkpoint(path, float(match["metric"]), int(match["step"])))
    return sorted(found, key=lambda checkpoint: checkpoint.step)


def best_checkpoint(directory: str | Path, *, highest: bool) -> Checkpoint:
    """Lowest loss, or highest reward; the older of two equal ones."""
    found = checkpoints(directory)
    if not found:
        raise UserError(f"{Path(directory, 'ckpt')} has no checkpoint; train the model first")
    sign = -1 if highest else 1
    return min(found, key=lambda checkpoint: sign * checkpoint.metric)


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    content = load_tensors(path)
    state = content.get("state_dict") if isinstance(content, dict) else None
    if not isinstance(state, Mapping) or not all(_is_weight(*item) for item in state.items()):
        raise UserError(f"{path} has no 'state_dict' with named weights; is it a checkpoint of this model?")
    return content


def _is_weight(name: Any, value: Any) -> bool:
    return isinstance(name, str) and isinstance(value, Tensor)


def write_checkpoint(
    directory: Path,
    net: str,
    network: nn.Module,
    metric: float,
    step: int,
    optimizer: torch.optim.Optimizer | None = None,
) -> Path:
    """ckpt-<metric>-<step>, atomically; without an optimizer just the weights (a frozen abstractor)."""
    state = to_released(net, network.state_dict())
    content: dict[str, Any] = {"state_dict": state}
    if optimizer is not None:
        content = {"val_metric": metric, **content, "optimizer": _released_order(net, network, optimizer)}
    name = "ckpt-0-0" if optimizer is None else f"ckpt-{metric:6f}-{step}"
    (directory / "ckpt").mkdir(parents=True, exist_ok=True)
    save_tensors(directory / "ckpt" / name, content, legacy=True)
    return directory / "ckpt" / name


def _released_order(net: str, network: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Optimizer state is keyed by parameter number, and the released code numbers them in its own order."""
    number = {name: index for index, (name, _) in enumerate(network.named_parameters())}
    ours = list(to_released(net, number).values())
    content = optimizer.state_dict()
    state = {theirs: content["state"][index] for theirs, index in enumerate(ours) if index in content["state"]}
    groups = [{**group, "params": list(range(len(ours)))} for group in content["param_groups"]]
    return {"state": state, "param_groups": groups}


def write_description(directory: Path, meta: Meta, vocabulary: Vocabulary, vocabulary_name: str = "vocab.pkl") -> None:
    directory.mkdir(parents=True, exist_ok=True)
    vocabulary.save(directory / vocabulary_name)
    write_json(directory / "meta.json", meta)

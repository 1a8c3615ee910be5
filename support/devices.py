"""Where tensors live, by command-line flag, and what that means for decoding: nobody else asks for a kind of device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from support.errors import UserError
from support.flags import flag

if TYPE_CHECKING:  # torch takes seconds to import: flags are checked and explained without it
    import torch

    from support.processes import Processes


@dataclass(frozen=True, kw_only=True)
class DeviceFlags:
    device: str = flag("auto", "auto, cpu, cuda or cuda:N")
    cuda: bool = flag(True, "stay on the CPU, like --device cpu", spelling="--no-cuda")

    def may_use_gpu(self) -> bool:
        import torch

        return self.cuda and self.device != "cpu" and torch.cuda.is_available()

    def pick_device(self, processes: Processes | None = None) -> torch.device:
        """Under torchrun each process takes the GPU of its own number."""
        import torch

        if not self.cuda or self.device == "cpu":
            return torch.device("cpu")
        if self.device == "auto" and not torch.cuda.is_available():
            return torch.device("cpu")
        device = _device(self.device)
        if device.index is not None and processes and processes.world > 1:
            raise UserError(f"--device {self.device} is one GPU for all processes; --device cuda is one for each")
        own = processes.local_rank if processes else 0
        index = own if device.index is None else device.index
        if index >= torch.cuda.device_count():
            raise UserError(f"--device {self.device}: this machine has no GPU {index}; --device cpu always works")
        return torch.device("cuda", index)


def _device(name: str) -> torch.device:
    import torch

    try:
        device = torch.device("cuda" if name == "auto" else name)
    except RuntimeError:
        device = None
    if device is None or device.type != "cuda":
        raise UserError(f"--device {name} is unknown; give auto, cpu, cuda or cuda:N")
    return device


class Decoding(NamedTuple):
    """How much is decoded at a time: what keeps a device busy and its memory bounded."""

    rows: int  # sentences, or hypotheses of sentences, decoded together
    source_words: int  # padded words of their sources: bounds memory whatever their lengths
    ask_every: int  # steps between two looks at which rows have ended; a GPU must be waited for
    workers: int | None  # processes that can share it; None: as many as there are cores


def decoding_on(device: torch.device) -> Decoding:
    return Decoding(512, 1 << 14, 1, None) if device.type == "cpu" else Decoding(4096, 1 << 17, 4, 1)


def wait_for(device: torch.device) -> None:
    """Until the device has done all it was given; a CPU always has."""
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)

"""Where tensors live, by command-line flag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.errors import UserError
from support.flags import flag

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class DeviceFlags:
    device: str = flag("auto", "auto, cpu, cuda or cuda:N")
    cuda: bool = flag(True, "stay on the CPU, like --device cpu", spelling="--no-cuda")

    def pick_device(self, local_rank: int = 0) -> torch.device:
        import torch  # which takes seconds: flags are checked and explained without it

        if not self.cuda or self.device == "cpu":
            return torch.device("cpu")
        if self.device == "auto":
            return torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
        try:
            device = torch.device(self.device)
        except RuntimeError:
            device = None
        if device is None or device.type not in ("cpu", "cuda"):
            raise UserError(f"--device {self.device} is unknown; give auto, cpu, cuda or cuda:N")
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
            raise UserError(f"--device {self.device} is not on this machine; --device cpu always works")
        return device

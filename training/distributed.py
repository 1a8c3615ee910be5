"""One process or many: the same scripts alone or under torchrun (gloo on CPUs, nccl on GPUs)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor


class Processes(NamedTuple):
    rank: int
    world: int
    local_rank: int

    @property
    def main(self) -> bool:
        return self.rank == 0


@contextlib.contextmanager
def process_group(cuda: bool) -> Iterator[Processes]:
    """Joins the group that torchrun describes; alone, there is nothing to join."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Processes(0, 1, 0)
        return
    processes = Processes(int(os.environ["RANK"]), world, int(os.environ.get("LOCAL_RANK", "0")))
    if cuda and torch.cuda.is_available():
        torch.cuda.set_device(processes.local_rank)
        dist.init_process_group("cpu:gloo,cuda:nccl")  # some sums are of numbers that only the CPU knows
    else:
        dist.init_process_group("gloo")
    try:
        yield processes
    finally:
        dist.destroy_process_group()


def total(value: Tensor) -> Tensor:
    """The sum over all processes."""
    if dist.is_initialized():
        value = value.clone()
        dist.all_reduce(value)
    return value


def wait_for_all() -> None:
    if dist.is_initialized():
        dist.barrier()

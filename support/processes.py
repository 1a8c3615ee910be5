"""One process or many: the same scripts alone or under torchrun (gloo on CPUs, nccl on GPUs)."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

Result = TypeVar("Result")


class Processes(NamedTuple):
    rank: int
    world: int
    local_rank: int

    @property
    def main(self) -> bool:
        return self.rank == 0


ALONE = Processes(0, 1, 0)


@contextlib.contextmanager
def process_group(gpu: bool) -> Iterator[Processes]:
    """Joins the group that torchrun describes; alone, there is nothing to join."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield ALONE
        return
    processes = Processes(int(os.environ["RANK"]), world, int(os.environ.get("LOCAL_RANK", "0")))
    if gpu and processes.local_rank < torch.cuda.device_count():
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


def in_all(processes: Processes, step: Callable[[], Result]) -> Result:
    """The result of a step, once all processes have done it; if one fails, all exit and only the first reports why."""
    error, failed = None, torch.zeros(processes.world, dtype=torch.int64)
    try:
        result = step()
    except Exception as caught:
        error, failed[processes.rank] = caught, 1
    failures = total(failed).nonzero().flatten().tolist()
    if error and failures[0] == processes.rank:
        raise error
    if failures:
        sys.exit(2)
    return result


def wait_for_all() -> None:
    if dist.is_initialized():
        dist.barrier()

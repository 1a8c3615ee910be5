"""From flags to a trained directory: what the training scripts have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

from checkpoints.directory import Meta, write_description
from data.batching import BatchData, training_batches, validation_batches
from data.vocabulary import Vocabulary
from support.errors import UserError
from support.files import read_json
from support.memory import keep_freed_memory
from support.processes import Processes, process_group, wait_for_all
from training.config import OptimisationFlags, TrainingFlags
from training.trainer import Objective, Trainer


class Session(NamedTuple):
    flags: TrainingFlags
    processes: Processes
    device: torch.device

    def claim_directory(self, meta: Meta, vocabulary: Vocabulary, vocabulary_name: str = "vocab.pkl") -> None:
        """Describes the model on disk; a directory with another model in it is refused."""
        path = Path(self.flags.path)
        if self.flags.resume and (path / "meta.json").exists():
            if read_json(path / "meta.json") != meta:
                raise UserError(
                    f"{path} was started with other flags (see its meta.json); repeat those, or use a new --path"
                )
            known = path / vocabulary_name
            if known.exists() and Vocabulary.load(known).words != vocabulary.words:
                raise UserError(f"{path} was started on data with other words; repeat that, or use a new --path")
        elif path.exists() and any(path.iterdir()) and not self.flags.resume:
            raise UserError(f"{path} is in use; --resume goes on with it, a new --path starts afresh")
        wait_for_all()  # nobody writes before everybody has looked
        if self.processes.main and not all((path / name).exists() for name in ("meta.json", vocabulary_name)):
            write_description(path, meta, vocabulary, vocabulary_name)
        wait_for_all()

    def fit(self, objective: Objective, training: BatchData[Any], validation: BatchData[Any]) -> None:
        flags, (rank, world, _) = self.flags, self.processes
        workers = 0 if flags.debug else flags.workers

        def training_stream(start: int) -> Iterator[Any]:
            return training_batches(training, flags.batch, flags.seed, start, workers, rank, world)

        def validation_stream() -> Iterator[Any]:
            return validation_batches(validation, flags.batch, workers, rank, world)

        Trainer(objective, flags, self.processes, self.device, training_stream, validation_stream).fit()


@contextlib.contextmanager
def training_session(flags: TrainingFlags) -> Iterator[Session]:
    keep_freed_memory()
    with process_group(flags.may_use_gpu()) as processes:
        device = flags.pick_device(processes)
        if flags.amp and device.type != "cuda":
            raise UserError("--amp needs a GPU; leave it away on the CPU, where bfloat16 is slower")
        if flags.amp:
            torch.set_float32_matmul_precision("high")
        torch.autograd.set_detect_anomaly(flags.debug)
        torch.manual_seed(flags.seed)
        yield Session(flags, processes, device)


def optimisation_record(flags: OptimisationFlags) -> dict[str, Any]:
    """The training parameters as meta.json holds them."""
    return {
        "optimizer": ["adam", {"lr": flags.lr}],
        "clip_grad_norm": flags.clip,
        "batch_size": flags.batch,
        "lr_decay": flags.decay,
    }

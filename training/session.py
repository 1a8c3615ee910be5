"""From flags to a trained directory: what the training scripts have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from checkpoints.directory import Loaded, Meta, write_description
from data.batching import BatchData, training_batches, validation_batches
from data.store import TokenStore, open_store
from data.vocabulary import Vocabulary
from support.errors import UserError
from support.files import read_json, remove_leftovers
from support.locks import files_in, only_writer
from support.memory import keep_freed_memory
from support.processes import Processes, Result, in_all, process_group
from training.config import OptimisationFlags, TrainingFlags
from training.record import SPLITS, TrainingRecord
from training.trainer import Objective, Trainer


class Session(NamedTuple):
    flags: TrainingFlags
    processes: Processes
    device: torch.device

    def in_all(self, step: Callable[[], Result]) -> Result:
        return in_all(self.processes, step)

    def open_stores(self) -> list[TokenStore]:
        """Of training and validation."""
        return self.in_all(lambda: [open_store(self.flags.data_dir, split) for split in SPLITS])

    @contextlib.contextmanager
    def directory(
        self,
        meta: Meta,
        vocabulary: Vocabulary,
        stores: Sequence[TokenStore],
        vocabulary_name: str = "vocab.pkl",
        models: Mapping[str, Loaded] | None = None,
    ) -> Iterator[None]:
        """The directory of --path, described on disk, is this run's alone inside the block.

        It is refused if another process writes there, or if it holds a model of other flags, words, texts, labels
        or `models`.
        """
        path = Path(self.flags.path)

        def claim() -> None:
            lock.enter_context(only_writer(path))
            inputs = {name: store.digest() for name, store in zip(SPLITS, stores, strict=True)}
            inputs |= {name: model.digest() for name, model in (models or {}).items()}
            self._check(path, meta, vocabulary, vocabulary_name, inputs)
            remove_leftovers(*(path / folder for folder in ("", "ckpt", "examples", "abstractor", "abstractor/ckpt")))
            if not all((path / name).exists() for name in ("meta.json", vocabulary_name)):
                write_description(path, meta, vocabulary, vocabulary_name)
            replace(TrainingRecord.read(path), inputs=inputs).write(path)

        with contextlib.ExitStack() as lock:
            self.in_all(lambda: claim() if self.processes.main else None)
            yield

    def _check(
        self, path: Path, meta: Meta, vocabulary: Vocabulary, vocabulary_name: str, inputs: dict[str, str]
    ) -> None:
        if not self.flags.resume:
            if files_in(path):
                raise UserError(f"{path} is in use; --resume continues it, a new --path starts afresh")
            return
        if (path / "meta.json").exists() and read_json(path / "meta.json") != meta:
            raise UserError(
                f"{path} was started with other flags (see its meta.json); use those again, or a new --path"
            )
        known = path / vocabulary_name
        if known.exists() and Vocabulary.load(known).words != vocabulary.words:
            raise UserError(f"{known} has other words than the data; use the data that it began with, or a new --path")
        TrainingRecord.read(path).must_have_read(inputs, path)

    def fit(self, objective: Objective, training: BatchData[Any], validation: BatchData[Any]) -> None:
        flags, (rank, world, _) = self.flags, self.processes
        workers = 0 if flags.debug else flags.workers

        def training_stream(start: int) -> Iterator[Any]:
            return training_batches(training, flags.batch, flags.seed, start, workers, rank, world)

        def validation_stream() -> Generator[Any, None, None]:
            return validation_batches(validation, flags.batch, workers, rank, world)

        Trainer(objective, flags, self.processes, self.device, training_stream, validation_stream).fit()


@contextlib.contextmanager
def training_session(flags: TrainingFlags) -> Iterator[Session]:
    keep_freed_memory()
    with process_group(flags.may_use_gpu()) as processes:
        device = in_all(processes, lambda: _pick_device(flags, processes))
        if flags.amp:
            torch.set_float32_matmul_precision("high")
        torch.autograd.set_detect_anomaly(flags.debug)
        torch.manual_seed(flags.seed)
        yield Session(flags, processes, device)


def _pick_device(flags: TrainingFlags, processes: Processes) -> torch.device:
    device = flags.pick_device(processes)
    if flags.amp and device.type != "cuda":
        raise UserError("--amp needs a GPU; leave it out on the CPU, where bfloat16 is slower")
    return device


def optimisation_record(flags: OptimisationFlags) -> dict[str, Any]:
    """The training parameters as meta.json holds them."""
    return {
        "optimizer": ["adam", {"lr": flags.lr}],
        "clip_grad_norm": flags.clip,
        "batch_size": flags.batch,
        "lr_decay": flags.decay,
    }

"""One trainer for all stages: Adam, clipping, halving learning rate, early stopping, exact resumption (B.2)."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from checkpoints.directory import best_checkpoint, checkpoints, write_checkpoint
from checkpoints.tensor_files import load_tensors, save_tensors
from support.errors import UserError, first_line
from support.flags import spelling
from support.memory import peak_memory
from support.processes import Processes, total
from support.progress import progress
from training.config import MAY_CHANGE, TrainingFlags
from training.interruption import Interruption
from training.metrics_log import MetricsLog
from training.record import TrainingRecord
from training.resumption import misfit

SAVE_EVERY_SECONDS = 300


class Step(NamedTuple):
    """Losses of a batch, one an item (word, label, action), and what else is worth a curve."""

    losses: Tensor  # (R,)
    metrics: Mapping[str, Tensor | float] = {}  # tensors stay on their device, so that nobody waits for them


class Validation(NamedTuple):
    """Sums over this process's share of the validation set."""

    total: float
    n: float
    metrics: Mapping[str, float] = {}


class Objective(Protocol):
    """What differs between the stages."""

    @property
    def net(self) -> str:
        """The network's name in meta.json."""

    @property
    def network(self) -> nn.Module: ...

    @property
    def highest_is_best(self) -> bool: ...

    @property
    def gradient_groups(self) -> Mapping[str, nn.Module]:
        """Parts whose gradient norms are logged."""

    def step(self, batch: Any) -> Step: ...

    def validate(self, batches: Iterable[Any], step: int) -> Validation: ...


class _Losses(nn.Module):
    """The objective as a module, so that DistributedDataParallel can wrap it."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.network = objective.network
        self._step = objective.step

    def forward(self, batch: Any) -> Step:
        return self._step(batch)


class Trainer:
    """`training_batches(start)` yields batches endlessly from the start-th on; `validation_batches()` one pass."""

    def __init__(
        self,
        objective: Objective,
        flags: TrainingFlags,
        processes: Processes,
        device: torch.device,
        training_batches: Callable[[int], Iterator[Any]],
        validation_batches: Callable[[], Generator[Any, None, None]],
    ) -> None:
        self.objective, self.flags, self.processes, self.device = objective, flags, processes, device
        self.training_batches, self.validation_batches = training_batches, validation_batches
        self.directory = Path(flags.path)
        network = objective.network.to(device)
        self.optimizer = torch.optim.Adam(network.parameters(), lr=flags.lr, fused=True)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimizer,
            "max" if objective.highest_is_best else "min",
            factor=flags.decay,
            patience=flags.lr_p,
        )
        losses: nn.Module = _Losses(objective)
        self.losses = DistributedDataParallel(losses) if processes.world > 1 else losses
        self.update_count = 0
        self.best: float | None = None
        self.stale = 0  # validations since the best
        self.validated_at = 0  # update
        self.checkpoint_at = 0  # update
        self.before = TrainingRecord.read(self.directory)  # of earlier legs
        self.began = time.monotonic()
        self._interruption = Interruption()
        self._stopping = False  # all processes agree on it
        self.log: MetricsLog | None = None

    def fit(self) -> None:
        """Trains until validation stops improving, --max_steps, or Ctrl-C; what is on disk can always be resumed."""
        if self.flags.resume:
            self._restore()
        if self.processes.main:
            self.log = MetricsLog(self.directory, self.objective.net)
            self.log.forget_after(self.update_count, self.validated_at)
        if not (self.directory / "resume.pt").exists():
            self._save()  # before any checkpoint, so that there is always something to resume
        with self._interruption, self.log or contextlib.nullcontext():
            if not self._finished():
                self._train()
            if self.checkpoint_at != self.update_count:
                self._validate(last=True)
        if self.processes.main:
            best = best_checkpoint(self.directory, highest=self.objective.highest_is_best)
            self._say(f"{self.update_count} updates, best validation {best.metric:.4f}, in {self.directory}")
            took = dataclasses.replace(TrainingRecord.read(self.directory), finished=True)
            took.write(self.directory)
            self._say(f"{took.seconds / 3600:.2f} hours in all, at most {took.peak_memory_mb:,} MB of memory")

    def _train(self) -> None:
        saved_at = time.monotonic()
        done = self.update_count
        with progress(None, self.objective.net, total=self.flags.max_steps, unit=" updates", initial=done) as bar:
            bar.disable = bar.disable or not self.processes.main
            try:
                for batch in self.training_batches(self.update_count):
                    if self.update_count > self.validated_at and self.update_count % self.flags.ckpt_freq == 0:
                        self._validate()
                    if self._finished():
                        break
                    metrics = self._update(batch)
                    if self._stopping:
                        raise KeyboardInterrupt
                    shown = [f"{name}={metrics[name]:.3g}" for name in ("loss", "reward") if name in metrics]
                    bar.set_postfix_str(", ".join(shown), refresh=False)
                    bar.update()
                    if time.monotonic() - saved_at > SAVE_EVERY_SECONDS:
                        self._save()
                        saved_at = time.monotonic()
            except KeyboardInterrupt:
                self._save()
                self._say(f"\nsaved at update {self.update_count}; --resume continues from here")
                raise
        self._save()

    def _update(self, batch: Any) -> dict[str, float]:
        started = time.perf_counter()
        torch.manual_seed(_update_seed(self.flags.seed, self.update_count, self.processes.rank))
        self.objective.network.train()
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.flags.amp):
            losses, metrics = self.losses(batch.to(self.device))
        count, stopping = total(torch.tensor([losses.numel(), self._interruption.came])).tolist()
        # Processes average their gradients, so each one's share is scaled to the mean over the global batch.
        loss = losses.float().sum() * (self.processes.world / max(1, count))
        self._backward(loss)
        group_norms = {f"grad_norm_{k}": _gradient_norm(part) for k, part in self.objective.gradient_groups.items()}
        norm = nn.utils.clip_grad_norm_(self.objective.network.parameters(), self.flags.clip)
        own = _figures({"loss": loss.detach(), "grad_norm": norm, **group_norms, **metrics})
        means = (total(torch.tensor(list(own.values()), dtype=torch.float64)) / self.processes.world).tolist()
        values = dict(zip(own, means, strict=True))
        self._must_be_finite("loss", values["loss"])
        self._must_be_finite("gradient norm", values["grad_norm"])
        self.optimizer.step()
        self.update_count += 1
        self._stopping = bool(stopping)
        if self.log:
            lr = self.optimizer.param_groups[0]["lr"]
            self.log.training(self.update_count, {**values, "lr": lr, "seconds": time.perf_counter() - started})
        return values

    def _backward(self, loss: Tensor) -> None:
        try:
            loss.backward()
        except RuntimeError as error:
            if not self.flags.debug:
                raise
            raise UserError(f"after {self.update_count} updates: {first_line(error)}") from None

    @torch.no_grad()
    def _validate(self, last: bool = False) -> None:
        """The checkpoint of a run that --max_steps ended between validations (`last`) steers nothing, so that the
        run can be lengthened later as if it had not ended."""
        self.objective.network.eval()
        with contextlib.closing(self.validation_batches()) as stream:  # an error must not leave its workers waiting
            alone = self.processes.world == 1  # otherwise the others would wait for this one's share
            batches = self._interruption.between(stream) if alone else stream
            result = self.objective.validate(batches, self.update_count)
        names = sorted(result.metrics)
        sums = torch.tensor([result.total, result.n, *(result.metrics[name] for name in names)], dtype=torch.float64)
        value, n, *rest = total(sums).tolist()
        if n == 0:
            raise UserError("the validation set has nothing to validate on: no words or labels within the limits")
        metric = value / n
        self._must_be_finite("validation", metric)
        sign = 1 if self.objective.highest_is_best else -1
        improved = self.best is None or sign * metric > sign * self.best
        if not last:
            self.best, self.stale = (metric, 0) if improved else (self.best, self.stale + 1)
            self.scheduler.step(metric)
            self.validated_at = self.update_count
        self.checkpoint_at = self.update_count
        if self.log:
            net, network = self.objective.net, self.objective.network
            write_checkpoint(self.directory, net, network, metric, self.update_count, self.optimizer)
            self._forget_old_checkpoints()
            extra = {name: x / n for name, x in zip(names, rest, strict=True)}
            self.log.validation(self.update_count, {"metric": metric, **extra})
        self._say(f"update {self.update_count}: validation {metric:.4f}{' (best)' if improved else ''}")
        self._save()

    def _must_be_finite(self, name: str, value: float) -> None:
        if not math.isfinite(value):
            raise UserError(
                f"{name} {value} after {self.update_count} updates: training stopped, checkpoints in {self.directory} "
                "are from before; a lower --lr or --clip may help, and --debug names the operation"
            )

    def _finished(self) -> bool:
        limit = self.flags.max_steps
        return self.stale >= self.flags.patience or (limit is not None and self.update_count >= limit)

    def _forget_old_checkpoints(self) -> None:
        best = best_checkpoint(self.directory, highest=self.objective.highest_is_best)
        found = checkpoints(self.directory)
        for checkpoint in found[: max(0, len(found) - self.flags.keep)]:
            if checkpoint != best:
                checkpoint.path.unlink()

    def _state(self) -> dict[str, Any]:
        """Everything that the next update depends on, beside the seed and the update count themselves."""
        return {
            "flags": self._lasting_flags(),
            "update_count": self.update_count,
            "network": self.objective.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "best": self.best,
            "stale": self.stale,
            "validated_at": self.validated_at,
            "checkpoint_at": self.checkpoint_at,
        }

    def _save(self) -> None:
        if self.processes.main:
            save_tensors(self.directory / "resume.pt", self._state())
            self._record().write(self.directory)

    def _record(self) -> TrainingRecord:
        seconds = self.before.seconds + time.monotonic() - self.began
        memory = max(self.before.peak_memory_mb, peak_memory() >> 20)
        return TrainingRecord(self.before.inputs, self.update_count, round(seconds, 3), memory)

    def _restore(self) -> None:
        path = self.directory / "resume.pt"
        if path.exists():
            content = load_tensors(path)
            unfit = misfit(content, self._state(), self.objective.network.parameters())
            if unfit:
                raise UserError(f"{path} does not fit this run ({unfit}); was it started with other flags?")
            now = self._lasting_flags()
            before = self._defaults() | content["flags"]  # flags that are newer than the run had their defaults
            fields = [field for field in dataclasses.fields(self.flags) if field.name in now]
            changed = ", ".join(f"{spelling(f)} {before[f.name]}" for f in fields if before[f.name] != now[f.name])
            if changed:
                raise UserError(f"{self.directory} was started with {changed}; use that again, or a new --path")
            self.objective.network.load_state_dict(content["network"])
            self.optimizer.load_state_dict(content["optimizer"])
            self.scheduler.load_state_dict(content["scheduler"])
            self.update_count, self.best, self.stale = (content[key] for key in ("update_count", "best", "stale"))
            self.validated_at, self.checkpoint_at = content["validated_at"], content["checkpoint_at"]
        elif checkpoints(self.directory):
            advice = f"a new --path with --init_from {self.directory} starts from its best weights"
            raise UserError(f"{path} is missing, without which the run beside it cannot continue; {advice}")

    def _lasting_flags(self) -> dict[str, Any]:
        return {name: value for name, value in dataclasses.asdict(self.flags).items() if name not in MAY_CHANGE}

    def _defaults(self) -> dict[str, Any]:
        return {field.name: field.default for field in dataclasses.fields(self.flags)}

    def _say(self, text: str) -> None:
        if self.processes.main:
            print(text, flush=True)


def _update_seed(seed: int, update: int, rank: int) -> int:
    """Random numbers of an update are a function of these three, so resuming needs no generator state."""
    return int(np.random.SeedSequence([seed, update, rank]).generate_state(1, np.uint64)[0] >> 1)


def _gradient_norm(part: nn.Module) -> Tensor:
    return nn.utils.get_total_norm([p.grad for p in part.parameters() if p.grad is not None])


def _figures(mixed: Mapping[str, Tensor | float]) -> dict[str, float]:
    """Numbers from wherever they are, in one transfer."""
    tensors = {name: value for name, value in mixed.items() if isinstance(value, Tensor)}
    moved = dict(zip(tensors, torch.stack(list(tensors.values())).tolist(), strict=True))
    return {name: float(moved.get(name, value)) for name, value in mixed.items()}

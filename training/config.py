"""Flags that the training scripts share.  Defaults are the paper's (B.2); spellings are the released code's."""

from __future__ import annotations

from dataclasses import dataclass

from support.devices import DeviceFlags
from support.flags import flag

MAY_CHANGE = {  # when a run is resumed
    *("path", "data_dir", "w2v", "ext_dir", "abs_dir", "init_from", "rewritings"),  # where things lie
    *("device", "cuda", "amp", "debug", "workers", "max_abs_batch", "max_rewritings"),  # how fast it goes
    *("resume", "max_steps", "ckpt_freq", "patience", "keep"),  # when it ends, and what it leaves
    "given",  # which flags were written out
}


@dataclass(frozen=True, kw_only=True)
class RunFlags(DeviceFlags):
    path: str = flag(help="directory of the trained model")
    data_dir: str = flag(help="data set root", env="DATA")
    seed: int = flag(0, "seed of initial weights, data order and sampling", at_least=0, below=2**63)
    resume: bool = flag(False, "continue the run in --path")
    workers: int = flag(1, "processes that prepare batches; 0 prepares them in this one", at_least=0)
    max_steps: int | None = flag(None, "stop after this many updates", at_least=1)
    keep: int = flag(3, "checkpoints to keep beside the best", at_least=0)
    amp: bool = flag(False, "multiply in bfloat16 on a GPU")
    debug: bool = flag(False, "prepare batches in this process and name the operation that makes a NaN")


@dataclass(frozen=True, kw_only=True)
class OptimisationFlags:
    lr: float = flag(1e-3, "learning rate", source="B.2", above=0)
    decay: float = flag(0.5, "learning rate factor when validation stops improving", source="B.2", above=0, below=1)
    lr_p: int = flag(0, "validations without improvement before the learning rate is cut", at_least=0)
    clip: float = flag(2.0, "gradient norm limit", source="B.2", above=0)
    batch: int = flag(32, "batch size, over all processes", source="B.2", at_least=1)
    ckpt_freq: int = flag(3000, "updates between validations", at_least=1)
    patience: int = flag(5, "validations without improvement before training ends", at_least=1)


@dataclass(frozen=True, kw_only=True)
class TrainingFlags(RunFlags, OptimisationFlags):
    """What the trainer needs."""

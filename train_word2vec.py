"""Trains word vectors on the training split; `--w2v` of the training scripts reads them."""

from __future__ import annotations

from dataclasses import dataclass

from data.store import open_store
from data.word2vec import train_word_vectors
from support.errors import run
from support.flags import flag, parse
from support.parallel import available_cores


@dataclass(frozen=True, kw_only=True)
class Flags:
    path: str = flag(help="directory of the vectors")
    data_dir: str = flag(help="data set root", env="DATA")
    dim: int = flag(128, "dimensions", source="B.2", at_least=1)
    workers: int = flag(min(available_cores(), 16), "threads; one makes runs repeatable", at_least=1)
    epochs: int = flag(5, "passes over the text", at_least=1)
    resume: bool = flag(False, "continue the interrupted run in --path")
    seed: int = flag(1, "seed of the random numbers", at_least=0, below=2**32)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    store = open_store(flags.data_dir, "train", flags.workers)
    path = train_word_vectors(store, flags.path, flags.dim, flags.workers, flags.epochs, flags.seed, flags.resume)
    print(f"{path} and {path.with_suffix('.w2v').name} written")


if __name__ == "__main__":
    run(main)

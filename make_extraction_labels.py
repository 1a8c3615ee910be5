"""Writes the proxy labels of Eq. 6 into the JSON files: the article sentence of each abstract sentence."""

from __future__ import annotations

from dataclasses import dataclass

from data.articles import named_splits
from data.labels import MEASURES, label_split
from support.errors import run
from support.flags import flag, parse
from support.parallel import available_cores


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA")
    split: str = flag("val,train", "splits to label, separated by commas", source="Sec. 3.1")
    measure: str = flag(
        "recall", "of ROUGE-L; labels that are there stay without --force", source="Eq. 6", choices=MEASURES
    )
    workers: int = flag(available_cores(), "processes", at_least=1)
    force: bool = flag(False, "label again even where labels exist")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    for split in named_splits(flags.split):
        done = label_split(flags.data_dir, split, flags.workers, flags.force, flags.measure)
        print(f"{split}: {done.labelled:,} articles labelled, {done.kept:,} had labels already", flush=True)


if __name__ == "__main__":
    run(main)

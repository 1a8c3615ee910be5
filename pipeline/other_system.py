"""Takes outputs of another system into a folder of runs, as a row that is evaluated and shown like the others.

    python -m pipeline.other_system --system "See et al." --outputs FOLDER --path runs/decode/see_et_al --split test
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metrics.summaries import read_summaries
from support.errors import UserError, run
from support.files import atomic_directory, write_json
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags:
    system: str = flag(help="what it is called in the tables")
    outputs: str = flag(help="its summaries: a folder of <number>.dec")
    path: str = flag(help="decode directory of the row")
    split: str = flag(help="split that was summarised", choices=("val", "test"))


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    summaries = read_summaries(flags.outputs)
    if Path(flags.path).exists():
        raise UserError(f"{flags.path} is in use: remove it, or give another --path")
    with atomic_directory(flags.path) as folder:
        (folder / "output").mkdir()
        for i, summary in summaries.items():
            (folder / "output" / f"{i}.dec").write_text(summary, encoding="utf-8", newline="\n")
        write_json(folder / "log.json", {"system": flags.system, "split": flags.split, "outputs": flags.outputs})
    print(f"{len(summaries):,} summaries of {flags.system}")


if __name__ == "__main__":
    run(main)

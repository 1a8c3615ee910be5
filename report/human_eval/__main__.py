"""Human evaluation of two systems (Sec. 6.3).

    python -m report.human_eval make --a runs/decode/rnn_ext_abs_rl_rerank --b runs/decode/pointer_generator_coverage \\
                                     --data_dir data --out judging
    python -m report.human_eval tally --key judging.key.json answers/*.json

`make --help` and `tally --help` list the flags. Give each page to three judges, collect the files that they download,
and keep the key to yourself.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from report.human_eval.kit import Systems, sample_items, write_kit
from report.human_eval.tally import JUDGES, Key, Votes, merge, read_answers, read_key, table_4
from report.layout import FORMATS
from support.errors import UserError, run
from support.flags import Command, flag, parse_command


@dataclass(frozen=True, kw_only=True)
class Make:
    a: str = flag(help="decode directory of the system to judge")
    b: str = flag(help="decode directory of the system to compare it with")
    out: str = flag(help="new folder for pages and CSV")
    key: str | None = flag(None, "file of the key; without it <out>.key.json")
    data_dir: str = flag(help="data set root", env="DATA")
    split: str | None = flag(None, "where no log.json names the split")
    count: int = flag(100, "articles to judge", source="Sec. 6.3", at_least=1)
    batch: int = flag(10, "articles on a page", at_least=1)
    seed: int = flag(0, "seed of the sample and the order")


@dataclass(frozen=True, kw_only=True)
class Tally:
    answers: tuple[Path, ...] = flag(help="files of the judges, or a crowd platform's .csv", positional=True)
    key: str = flag(help="file of the key")
    format: str = flag("terminal", "format of the table", choices=FORMATS)


def make(flags: Make) -> int:
    """Writes the pages, the CSV and the key."""
    systems, out = Systems(Path(flags.a), Path(flags.b)), Path(flags.out)
    items = sample_items(systems, flags.data_dir, flags.split or systems.split(), flags.count, flags.seed)
    key = Path(flags.key) if flags.key else out.with_name(out.name + ".key.json")
    pages = write_kit(out, key, items, systems, flags.seed, flags.batch)
    print(f"{len(items)} items on {pages} pages and in crowd.csv in {out}: {JUDGES} judges for each page")
    print(f"{key} tells which summary is whose: keep it from the judges")
    return 0


def tally(flags: Tally) -> int:
    """Turns the answers of the judges into Table 4."""
    key = read_key(Path(flags.key))
    files = {path: _read(path, key) for path in flags.answers}
    whole = {path: votes for path, votes in files.items() if votes is not None}
    if len(whole) < len(files):
        return 2
    print(FORMATS[flags.format](table_4(merge(whole), key)))
    return 0


def _read(path: Path, key: Key) -> Votes | None:
    """All bad files are reported, not just the first."""
    try:
        return read_answers(path, key)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return None


def main() -> int:
    commands = {"make": Command(Make, make.__doc__ or ""), "tally": Command(Tally, tally.__doc__ or "")}
    name, flags = parse_command(commands, "python -m report.human_eval", __doc__ or "")
    return tally(flags) if name == "tally" else make(flags)


if __name__ == "__main__":
    run(main)

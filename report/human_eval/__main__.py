"""Human evaluation of two systems (Sec. 6.3).

    python -m report.human_eval make --a runs/decode/rnn_ext_abs_rl_rerank --b runs/decode/pointer_generator_coverage \\
                                     --data_dir data --out judging
    python -m report.human_eval tally --key judging.key.json answers/*.json

Give each page to three judges, collect the files that they download, and keep the key to yourself.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from report.human_eval.kit import Systems, sample_items, write_kit
from report.human_eval.tally import JUDGES, Key, Votes, merge, read_answers, read_key, table_4
from report.layout import FORMATS
from support.errors import UserError, run


def make(args: argparse.Namespace) -> None:
    if not args.data_dir:
        raise UserError("where are the articles? give --data_dir or set $DATA")
    if args.count < 1 or args.batch < 1:
        raise UserError("--count and --batch must be at least 1")
    systems = Systems(args.a, args.b)
    items = sample_items(systems, args.data_dir, args.split or systems.split(), args.count, args.seed)
    key = args.key or args.out.with_name(args.out.name + ".key.json")
    pages = write_kit(args.out, key, items, systems, args.seed, args.batch)
    print(f"{len(items)} items on {pages} pages and in crowd.csv in {args.out}: {JUDGES} judges for each page")
    print(f"{key} tells which summary is whose: keep it from the judges")


def tally(args: argparse.Namespace) -> int:
    key = read_key(args.key)
    files = {path: _read(path, key) for path in args.answers}
    whole = {path: votes for path, votes in files.items() if votes is not None}
    if len(whole) < len(files):
        return 2
    print(FORMATS[args.format](table_4(merge(whole), key)))
    return 0


def _read(path: Path, key: Key) -> Votes | None:
    """All bad files are told, not just the first."""
    try:
        return read_answers(path, key)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return None


def main() -> int | None:
    parser = argparse.ArgumentParser(
        prog="python -m report.human_eval", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="make|tally")
    maker = commands.add_parser("make", help="write the pages, the CSV and the key")
    maker.add_argument("--a", type=Path, required=True, help="decode directory of the system to judge")
    maker.add_argument("--b", type=Path, required=True, help="decode directory of the system to compare it with")
    maker.add_argument("--out", type=Path, required=True, help="new folder for pages and CSV")
    maker.add_argument("--key", type=Path, help="file of the key (default: <out>.key.json)")
    maker.add_argument("--data_dir", "--data-dir", default=os.environ.get("DATA"), help="dataset root, or $DATA")
    maker.add_argument("--split", help="where no log.json names the split")
    maker.add_argument("--count", type=int, default=100, help="articles (default %(default)s)")
    maker.add_argument("--batch", type=int, default=10, help="articles on a page (default %(default)s)")
    maker.add_argument("--seed", type=int, default=0, help="of the sample and the order (default %(default)s)")
    maker.set_defaults(command=make)
    counter = commands.add_parser("tally", help="turn answers into Table 4")
    counter.add_argument("--key", type=Path, required=True, help="file of the key")
    counter.add_argument("--format", choices=FORMATS, default="terminal", help="(default %(default)s)")
    counter.add_argument("answers", type=Path, nargs="+", help="files of the judges, or a crowd platform's .csv")
    counter.set_defaults(command=tally)
    args = parser.parse_args()
    return args.command(args)


if __name__ == "__main__":
    run(main)

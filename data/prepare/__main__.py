"""Prepares real data: python -m data.prepare FORMAT --out D ... (FORMAT --help lists its flags)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from data.count_words import write_word_counts
from data.prepare import anonymized, duc, hub, jsonl, stories, txt
from data.prepare.documents import Flags, LeftOut, Preparation
from data.prepare.tables import LEFT_OUT, replace_rows
from data.prepare.writing import SplitReport, SplitTask, prepare_split
from data.vocabulary import COUNTS_FILE
from support.errors import run
from support.flags import Command, parse_command


class _Format(NamedTuple):
    flags: type[Flags]
    plan: Callable[[Any], Preparation]
    description: str


FORMATS = {
    module.__name__.rpartition(".")[2]: _Format(flags, module.plan, str(module.__doc__))
    for module, flags in (
        (stories, stories.StoryFlags),
        (hub, hub.HubFlags),
        (jsonl, jsonl.JsonlFlags),
        (anonymized, anonymized.AnonymizedFlags),
        (duc, duc.DucFlags),
        (txt, txt.TxtFlags),
    )
}

# What does not change the result, the input files, which are recorded split by split, and what the rules have.
_NOT_IN_THE_RECORD = {"out", "workers", "force", "source", "train", "val", "test", "abstract_units"}


def main() -> None:
    commands = {name: Command(form.flags, form.description) for name, form in FORMATS.items()}
    prepare(*parse_command(commands, "python -m data.prepare", _overview()))


def prepare(name: str, flags: Flags) -> None:
    preparation = FORMATS[name].plan(flags)
    out = Path(flags.out)
    out.mkdir(parents=True, exist_ok=True)
    _report_left_out(out, preparation.left_out)
    options = {key: value for key, value in vars(flags).items() if key not in _NOT_IN_THE_RECORD}
    for source in preparation.sources:
        task = SplitTask(name, options, preparation.rules, source)
        report = prepare_split(out, task, flags.workers, flags.force)
        _print_report(out, report)
        if report.split == "train" and not (report.already_there and (out / COUNTS_FILE).exists()):
            print(write_word_counts(out, flags.workers))


def _print_report(out: Path, report: SplitReport) -> None:
    state = "is already prepared" if report.already_there else "articles"
    print(f"{out / report.split}: {report.articles:,} {state}")
    for what, indices in (("text", report.empty_articles), ("summary", report.empty_abstracts)):
        if indices:
            names = [f"{index}.json" for index in indices]
            print(f"note: {len(indices):,} of them have no {what} ({_some(names)})")


def _report_left_out(out: Path, left_out: list[LeftOut]) -> None:
    by_split = sorted(left_out, key=attrgetter("split"))
    for split, group in groupby(by_split, attrgetter("split")):
        replace_rows(out / LEFT_OUT, split, [row[1:] for row in group])
    for reason, rows in groupby(sorted(left_out, key=attrgetter("reason")), attrgetter("reason")):
        names = [row.url or row.id for row in rows]
        print(f"note: {len(names):,} left out, {reason} ({_some(names)}); see {out / LEFT_OUT}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _overview() -> str:
    lines = [f"  {name:<11} {form.description.splitlines()[0]}" for name, form in FORMATS.items()]
    return "\n".join([str(__doc__), "formats:", *lines])


if __name__ == "__main__":
    run(main)

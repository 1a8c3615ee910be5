"""Reproduces the paper on the data at hand: every stage from the corpus to the tables, claims and the page.

    python -m pipeline                          the sample corpus, in runs/sample
    python -m pipeline --data_dir D             a real data set with the paper's sizes, in runs/<name of D>
    python -m pipeline --table 5 --dry-run      what one table needs, and how long that takes

Run it again after an interruption or a change: finished stages are not repeated unless their command or inputs
changed, and training and decoding go on where they were. What a repeated stage replaces is kept in
<runs>/replaced, logs are in <runs>/logs. Table 2 needs --anonymized_dir, Table 3 --duc_dir.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from pipeline.display import Display, clock
from pipeline.experiment import ROOT
from pipeline.plan import ROWS_OF_TABLE, Plan, Sources, check_folders, make_plan, table_stage
from pipeline.presets import PRESETS
from pipeline.runner import Runner
from pipeline.stage import Stage, needs, with_needs
from pipeline.stamps import Stamps, State
from support.errors import UserError, run
from support.parallel import available_cores

_WAIT = 20  # seconds for the processes of a killed run to end


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reproduce.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data_dir", "--data-dir", type=Path, default=os.environ.get("DATA"), help="data set root, or $DATA")
    add("--anonymized_dir", "--anonymized-dir", type=Path, help="the same with anonymized entities, for Table 2")
    add("--duc_dir", "--duc-dir", type=Path, help="DUC-2002, for Table 3")
    add("--runs", type=Path, help="folder of all results (default: runs/sample, or runs/<name of the data set>)")
    add("--preset", choices=PRESETS, help="sizes (default: sample without data, else paper; tiny is for tests)")
    add("--table", choices=ROWS_OF_TABLE, action="append", help="only what this table needs; repeatable")
    add("--until", metavar="STAGE", help="only what this stage needs")
    add("--only", metavar="STAGE,...", help="just these stages")
    add("--force", metavar="STAGE", nargs="?", const="", help="repeat this stage, or all that were asked for")
    add("--dry-run", "--dry_run", action="store_true", help="show the plan and estimated times")
    add("--jobs", type=int, default=min(2, available_cores()), help="stages at a time (default %(default)s)")
    return parser


def main() -> int:
    args = command_line().parse_args()
    data = Path(args.data_dir).resolve() if args.data_dir else None
    runs = (args.runs or ROOT / "runs" / (data.name if data else "sample")).resolve()
    preset = PRESETS[args.preset or ("paper" if data else "sample")]
    if data:
        check_folders(data, "train", "val")
    sources = Sources(
        data=data or runs / "data",
        anonymized=_folder(args.anonymized_dir, "train", "val"),
        duc=_folder(args.duc_dir, "test"),
    )
    plan = make_plan(sources, runs, preset)
    chosen = choose(plan, args.table, args.until, args.only)
    if args.dry_run:
        show_plan(chosen, Stamps(runs), args.jobs, preset.basis)
        return 0
    forced = chosen if args.force == "" else [_named(args.force, chosen)] if args.force else []
    return reproduce(chosen, forced, runs, args.jobs)


def _folder(given: Path | None, *splits: str) -> Path | None:
    if given is not None:
        check_folders(given.resolve(), *splits)
    return given and given.resolve()


def choose(plan: Plan, tables: list[str] | None, until: str | None, only: str | None) -> list[Stage]:
    if only:
        return [_named(name, plan.stages) for name in only.split(",")]
    targets = [_named(table_stage(table), plan.stages) for table in tables or ()]
    targets += [_named(until, plan.stages)] if until else []
    return with_needs(targets or plan.reports, plan.stages)


def _named(name: str, stages: Sequence[Stage]) -> Stage:
    for stage in stages:
        if stage.name == name:
            return stage
    missing_data = {table_stage("2"): "--anonymized_dir", table_stage("3"): "--duc_dir"}
    if name in missing_data:
        raise UserError(f"Table {name[-1]} is of another data set: give {missing_data[name]}")
    raise UserError(f"there is no stage {name}; --dry-run lists them")


def show_plan(stages: Sequence[Stage], stamps: Stamps, jobs: int, basis: str) -> None:
    open_stages: list[Stage] = []
    for stage in stages:
        state = State.NEW if needs(stage, open_stages) else stamps.state(stage)
        if state != State.DONE:
            open_stages.append(stage)
        minutes = "" if state == State.DONE else f"{stamps.minutes(stage):8.1f} min"
        print(f"{stage.name:<36} {state.value:<12} {minutes}".rstrip())
    print(
        f"\n{len(open_stages)} of {len(stages)} stages, about {duration(open_stages, stamps, jobs):.0f} min ({basis})"
    )


def duration(stages: Sequence[Stage], stamps: Stamps, jobs: int) -> float:
    """At least the longest chain of stages, and all work shared by the jobs."""
    ends: dict[str, float] = {}
    for stage in stages:
        ends[stage.name] = stamps.minutes(stage) + max((ends[other.name] for other in needs(stage, stages)), default=0)
    work = sum(stamps.minutes(stage) * (jobs if stage.alone else 1) for stage in stages)
    return max([work / jobs, *ends.values()])


def reproduce(stages: Sequence[Stage], forced: Sequence[Stage], runs: Path, jobs: int) -> int:
    display, started = Display(), time.monotonic()
    with in_use(runs) as lock:
        failed = Runner(runs, max(1, jobs), lock, display).run(stages, forced)
    if failed:
        names = ", ".join(stage.name for stage in failed)
        raise UserError(f"{names} failed, see above; once that is mended, the same command goes on from here")
    for stage in stages:
        if stage.prints and stage.name != "check":
            print(f"\n{Path(stage.prints).read_text(encoding='utf-8').rstrip()}")
    print(f"\n{len(stages)} stages are done, in {clock(time.monotonic() - started)}; results in {runs}")
    for stage in stages:
        if stage.name == "page":
            print(f"report: {stage.outputs[0]}")
    return 0


@contextlib.contextmanager
def in_use(runs: Path) -> Iterator[IO[str]]:
    """One run at a time; the processes of a killed one are given some seconds to end."""
    runs.mkdir(parents=True, exist_ok=True)
    with open(runs / ".lock", "w") as lock:
        until = time.monotonic() + _WAIT
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise UserError(
                        f"another run is at work in {runs}; wait for its end, or give other --runs"
                    ) from None
                time.sleep(0.2)
        yield lock


if __name__ == "__main__":
    run(main)

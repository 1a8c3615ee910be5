"""Reproduces the paper on the data at hand: every stage from the corpus to the tables, claims and the page.

    python -m pipeline                          the sample corpus, in runs/sample
    python -m pipeline --data_dir D             a real data set with the paper's sizes, in runs/<name of D>
    python -m pipeline --table 5 --dry-run      what one table needs, and how long that takes
    python -m pipeline --pretrained --data_dir D      the rows that the shipped models give, without training

Run it again after an interruption or a change: finished stages are not repeated unless their settings or the contents
of their inputs changed, and training and decoding continue where they were. What a repeated stage replaces is kept in
<runs>/replaced, logs are in <runs>/logs. A model that was trained elsewhere is used as it is if its directory is
<runs>/models/<name>. Table 2 needs --anonymized_dir, Table 3 --duc_dir.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pipeline.display import Display, clock, memory
from pipeline.experiment import ROOT, System
from pipeline.plan import TABLES, Sources, StagePlan, check_folders, make_plan, table_stage
from pipeline.presets import PRESETS
from pipeline.runner import Runner
from pipeline.stage import Stage, needs, with_needs
from pipeline.stamps import Stamps, State
from report.rows import MARKS, ROWS, SEE_ET_AL, THAN_SEE
from support.errors import UserError, run
from support.flags import flag, parse
from support.locks import LOCK_FILE, one_at_a_time
from support.parallel import available_cores

_WAIT = 20  # seconds for the processes of a killed run to end


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: Path | None = flag(None, "data set root", env="DATA")
    anonymized_dir: Path | None = flag(None, "the same with anonymized entities, for Table 2")
    duc_dir: Path | None = flag(None, "DUC-2002, for Table 3")
    runs: Path | None = flag(None, "folder of all results (default: runs/sample, or runs/<name of the data set>)")
    preset: str | None = flag(
        None, "sizes (default: sample without data, else paper; tiny is for tests)", choices=PRESETS
    )
    split: str | None = flag(None, "what is summarised (default: test, or val without one)", choices=("val", "test"))
    pretrained: Path | None = flag(
        None, "use the shipped models of BOX (pretrained/ if it is not named)", metavar="BOX", bare=ROOT / "pretrained"
    )
    without: tuple[str, ...] = flag((), "rows to leave out, as decode/ names them", metavar="ROW,...", repeated=True)
    system: tuple[str, ...] = flag((), "outputs of another system, as a row", metavar="NAME=FOLDER", repeated=True)
    duc_system: tuple[str, ...] = flag((), "the same for Table 3", metavar="NAME=FOLDER", repeated=True)
    table: tuple[str, ...] = flag((), "only what this table needs; repeatable", choices=TABLES, repeated=True)
    until: str | None = flag(None, "only what this stage needs", metavar="STAGE")
    only: str | None = flag(None, "just these stages", metavar="STAGE,...")
    force: str | None = flag(None, "repeat this stage, or all that were asked for", metavar="STAGE", bare="")
    dry_run: bool = flag(False, "show the plan and estimated times", spelling="--dry-run", also="--dry_run")
    jobs: int = flag(min(2, available_cores()), "stages at a time", at_least=1)


def main() -> int:
    flags = parse(Flags, __doc__ or "", prog="reproduce.sh")
    data = flags.data_dir.resolve() if flags.data_dir else None
    if flags.pretrained and not data:
        raise UserError("--pretrained summarises a data set: give --data_dir")
    if flags.pretrained and flags.anonymized_dir:
        raise UserError("--pretrained trains nothing, but Table 2 needs models of its own: leave out --anonymized_dir")
    if flags.duc_system and not flags.duc_dir:
        raise UserError("--duc_system summarises DUC-2002: give --duc_dir")
    name = (data.name if data else "sample") + "-pretrained" * bool(flags.pretrained)
    runs = (flags.runs or ROOT / "runs" / name).resolve()
    preset = PRESETS[flags.preset or ("paper" if data else "sample")]
    if data:
        check_folders(data, *([] if flags.pretrained else ["train", "val"]), *([flags.split] if flags.split else []))
    sources = Sources(
        data=data or runs / "data",
        anonymized=_folder(flags.anonymized_dir, "train", "val"),
        duc=_folder(flags.duc_dir, "test"),
        split=flags.split,
        systems=dict(map(_system, flags.system)),
        duc_systems=dict(map(_system, flags.duc_system)),
        pretrained=flags.pretrained.resolve() if flags.pretrained else None,
        without=_rows(flags.without),
    )
    plan, stamps = make_plan(sources, runs, preset), Stamps(runs)
    chosen = choose(plan, flags.table, flags.until, flags.only, stamps, flags.force)
    forced = chosen if flags.force == "" else [_named(flags.force, chosen)] if flags.force else []
    if flags.dry_run:
        show_plan(chosen, stamps, flags.jobs, preset.basis, forced)
        return 0
    return reproduce(chosen, forced, runs, flags.jobs)


def _rows(given: Sequence[str]) -> set[str]:
    names = {name for part in given for name in part.split(",")}
    made = [name for name, row in ROWS.items() if row.made_by]
    if unknown := sorted(names - set(made)):
        raise UserError(f"--without: there is no row {unknown[0]}; the rows are {', '.join(made)}")
    return names


def _system(given: str) -> tuple[str, System]:
    """"See et al.=out" -> the row see_et_al."""
    label, _, folder = given.partition("=")
    name = _row_name(label)
    if not (name and folder):
        raise UserError(f'--system {given}: give a name and a folder, such as "See et al."=outputs')
    if name in ROWS and (ROWS[name].made_by or ROWS[name].quoted):
        raise UserError(f"--system {label}: the row {name} is one of ours; give another name")
    if not Path(folder).exists():
        raise UserError(f"--system {label}: {folder} does not exist")
    return name, System(label, Path(folder).resolve())


def _row_name(label: str) -> str:
    """In letters, digits and underscores; whatever the tables call See et al.'s outputs is their row."""
    ours, labels = SEE_ET_AL[0], (MARKS[THAN_SEE], ROWS[SEE_ET_AL[0]].label)
    name, *known = (re.sub(r"\W+", "_", text.lower()).strip("_") for text in (label, *labels))
    return ours if name in known else name


def _folder(given: Path | None, *splits: str) -> Path | None:
    if given is not None:
        check_folders(given.resolve(), *splits)
    return given and given.resolve()


def choose(
    plan: StagePlan,
    tables: Sequence[str],
    until: str | None,
    only: str | None,
    stamps: Stamps,
    force: str | None = None,
) -> list[Stage]:
    """A forced stage (all of them, if `force` is empty) is made here, so it needs what it is made of."""
    if only:
        return [_named(name, plan.stages) for name in only.split(",")]
    targets = [_named(table_stage(table), plan.stages) for table in tables]
    targets += [_named(until, plan.stages)] if until else []

    def needs_nothing(stage: Stage) -> bool:
        return force not in ("", stage.name) and stamps.needs_nothing(stage)

    return with_needs(targets or plan.reports, plan.stages, needs_nothing)


def _named(name: str, stages: Sequence[Stage]) -> Stage:
    for stage in stages:
        if stage.name == name:
            return stage
    missing_data = {table_stage("2"): "--anonymized_dir", table_stage("3"): "--duc_dir"}
    if name in missing_data:
        raise UserError(f"Table {name[-1]} is of another data set: give {missing_data[name]}")
    raise UserError(f"there is no stage {name}; --dry-run lists them")


def show_plan(
    stages: Sequence[Stage], stamps: Stamps, jobs: int, basis: str, forced: Sequence[Stage]
) -> None:
    open_stages: list[Stage] = []
    for stage in stages:
        state = stamps.state(stage)
        if stage in forced or (needs(stage, open_stages) and not stamps.needs_nothing(stage)):
            state = State.NEW
        if state not in (State.DONE, State.FOUND):
            open_stages.append(stage)
        usage = stamps.usage(stage)
        took = f"{memory(usage.peak_bytes):>8}  took {clock(usage.seconds)}" if usage.seconds else ""
        minutes = f"{stamps.minutes(stage):8.1f} min" if stage in open_stages else " " * 12
        print(f"{stage.name:<36} {state.value:<12} {minutes}{took}".rstrip())
    print(
        f"\n{len(open_stages)} of {len(stages)} stages, about {duration(open_stages, stamps, jobs):.0f} min ({basis})"
    )


def duration(stages: Sequence[Stage], stamps: Stamps, jobs: int) -> float:
    """At least the longest chain of stages, and all work shared by the jobs."""
    ends: dict[str, float] = {}
    for stage in stages:
        ends[stage.name] = stamps.minutes(stage) + max((ends[other.name] for other in needs(stage, stages)), default=0)
    work = sum(stamps.minutes(stage) * (jobs if stage.alone or stage.all_cores else 1) for stage in stages)
    return max([work / jobs, *ends.values()])


def reproduce(stages: Sequence[Stage], forced: Sequence[Stage], runs: Path, jobs: int) -> int:
    display, started = Display(), time.monotonic()
    with in_use(runs) as lock:
        failed = Runner(runs, jobs, lock, display).run(stages, forced)
    if failed:
        names = ", ".join(stage.name for stage in failed)
        raise UserError(f"{names} failed, see above; once that is fixed, the same command continues from here")
    for stage in stages:
        if stage.prints and stage.name != "check":
            print(f"\n{Path(stage.prints).read_text(encoding='utf-8').rstrip()}")
    print(f"\n{len(stages)} stages are done, in {clock(time.monotonic() - started)}; results in {runs}")
    for stage in stages:
        if stage.name == "page":
            print(f"report: {stage.outputs[0]}")
    return 0


def in_use(runs: Path) -> AbstractContextManager[int]:
    """One run at a time; the processes of a killed one are given some seconds to end."""
    runs.mkdir(parents=True, exist_ok=True)
    busy = f"another run is at work in {runs}"
    waiting = f"{busy}: waiting {_WAIT} s in case it is just ending"
    return one_at_a_time(runs / LOCK_FILE, waiting, _WAIT, f"{busy}; wait for its end, or give other --runs")


if __name__ == "__main__":
    run(main)

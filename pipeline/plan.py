"""The stages for the data at hand, up to tables, claims and page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pipeline.experiment import CURVES, TRAININGS, Experiment, System
from pipeline.presets import Preset
from pipeline.stage import Stage, flags
from report.rows import ANONYMIZED, DUC, FLAT_ROW, MODELS, MODELS_OF, ROWS, Agent, Flat, Parts, made_for
from support.errors import UserError

TABLES = ("1", "2", "3", "4", "5", "6", "training")
OF_THE_ORIGINAL = ("1", "4", "5", "6")
SHIPPED = {"rl": ".", "abstractor": "abstractor", "ext_rnn": "extractor"}  # model -> its place in a box


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Data sets, of which Tables 2 and 3 have their own, and what else is given."""

    data: Path
    anonymized: Path | None = None
    duc: Path | None = None
    split: str | None = None  # to summarise
    systems: Mapping[str, System] = field(default_factory=dict)
    duc_systems: Mapping[str, System] = field(default_factory=dict)
    pretrained: Path | None = None  # a box of models, so that nothing is trained
    without: Collection[str] = ()  # rows


class StagePlan(NamedTuple):
    stages: list[Stage]
    reports: list[Stage]  # what all others are for


def check_folders(folder: Path, *splits: str) -> None:
    missing = [split for split in splits if not (folder / split).is_dir()]
    if missing:
        raise UserError(f"{folder} has no folder {' and '.join(missing)}; python -m data.prepare makes them")


def make_plan(sources: Sources, runs: Path, preset: Preset) -> StagePlan:
    given = shipped_models(sources.pretrained) if sources.pretrained else {}
    original = Experiment(
        data=sources.data,
        runs=runs,
        preset=preset,
        rows=_rows(OF_THE_ORIGINAL, sources, given),
        systems=sources.systems,
        timed=frozenset(made_for("5")),
        given=given,
        tuned=_shipped_tuning(sources),
        asked_split=sources.split,
    )
    stages = [*original.stages()]
    reports = [_table("1", original)]
    if sources.anonymized:
        anonymized = Experiment(
            data=sources.anonymized,
            runs=runs,
            preset=preset,
            rows=_rows("2", sources, given),
            prefix="anonymized-",
            decode_folder=ANONYMIZED,
            models_folder=MODELS_OF[ANONYMIZED],
        )
        stages += anonymized.stages()
        reports.append(_table("2", anonymized))
    if sources.duc:
        duc = Experiment(
            data=sources.duc,
            runs=runs,
            preset=preset,
            rows=_rows("3", sources, given),
            systems=sources.duc_systems,
            given=given or {model: runs / MODELS / model for model in TRAININGS},
            tuned=original.tuned or runs / "tuning",
            prefix="duc-",
            decode_folder=DUC,
        )
        stages += duc.stages()
        reports.append(_table("3", duc))
    speed = [*_speed(original)]
    timings = [f"{original.decoded(row)}/log.json" for row in original.rows if row in original.timed]
    measured = (*timings, *(name for stage in speed for name in stage.outputs))
    reports += [*_judging(original), *speed, _table("5", original, measured), _table("6", original)]
    reports += _training(original)
    reports += _conclusions(original, reports, timings)
    return StagePlan([*stages, *reports], reports)


def shipped_models(box: Path) -> dict[str, Path]:
    """Model -> directory, of those that a box has."""
    found = {model: box / place for model, place in SHIPPED.items() if (box / place / "meta.json").is_file()}
    if not found:
        raise UserError(f"{box} holds no shipped models: train your own, without --pretrained, or name their folder")
    return found


def _shipped_tuning(sources: Sources) -> Path | None:
    """The numbers of sentences that belong to the models of a box; without them, they are tuned on val."""
    box = sources.pretrained
    if box is None:
        return None
    if (box / "tuning").is_dir():
        return box / "tuning"
    check_folders(sources.data, "val")
    return None


def _rows(
    tables: Collection[str], sources: Sources, given: Mapping[str, Path]
) -> dict[str, Parts | Agent | Flat]:
    """The rows of these tables that are wanted, and that the models of a box can make."""
    wanted = {row for table in tables for row in made_for(table)} - set(sources.without)
    rows = {name: row.made_by for name, row in ROWS.items() if name in wanted and row.made_by}
    if not sources.pretrained:
        return rows
    return {name: made_by for name, made_by in rows.items() if set(made_by.models.values()) <= given.keys()}


def table_stage(table: str) -> str:
    return f"table-{table}"


def _table(table: str, experiment: Experiment, more_inputs: Sequence[str] = ()) -> Stage:
    printed = str(experiment.runs / "tables" / f"table_{table}.txt")
    data_dir = [] if experiment.prefix else ["--data_dir", str(experiment.data)]
    shown = [row for row in experiment.rows if table in ROWS[row].tables]
    return Stage(
        name=table_stage(table),
        command=("-m", "report.tables", str(experiment.runs), "--table", table, *data_dir),
        inputs=(*(experiment.scores(row) for row in (*shown, *experiment.systems)), *more_inputs),
        outputs=(printed,),
        minutes=experiment.minutes("tables"),
        prints=printed,
    )


def _judging(experiment: Experiment) -> Iterator[Stage]:
    """Table 4 is made by judges; these are the pages for them."""
    printed, out = str(experiment.runs / "tables" / "table_4.txt"), experiment.runs / "judging"
    judged = sorted(made_for("4"), reverse=True)  # ours first
    if not set(judged) <= experiment.rows.keys():
        return
    ours, theirs = (experiment.decoded(row) for row in judged)
    command = ("-m", "report.human_eval", "make", "--a", ours, "--b", theirs, "--data_dir", str(experiment.data))
    yield Stage(
        name=table_stage("4"),
        command=(*command, "--out", str(out)),
        inputs=tuple(experiment.scores(row) for row in judged),
        outputs=(printed, f"{out}.key.json"),
        prints=printed,
        replaces=(str(out), f"{out}.key.json"),
    )


def _speed(experiment: Experiment) -> Iterator[Stage]:
    """Where the flat baseline of Table 5 is left out, it is timed with untrained weights."""
    if FLAT_ROW in experiment.rows or "rl" not in experiment.models():
        return
    printed, data = str(experiment.runs / "tables" / "speed.txt"), str(experiment.data)
    command = ("-m", "scripts.bench_table5", "--data_dir", data, "--split", experiment.split)
    yield Stage(
        name="speed",
        command=(*command, "--model_dir", experiment.model("rl"), *flags(experiment.preset.flags.get("speed", {}))),
        inputs=(f"{experiment.model('rl')}/ckpt", str(experiment.data / experiment.split)),
        outputs=(printed,),
        minutes=experiment.minutes("speed"),
        alone=True,
        prints=printed,
    )


def _training(experiment: Experiment) -> Iterator[Stage]:
    """Learning curves and times of what is trained."""
    logs = {model: f"{experiment.model(model)}/metrics.jsonl" for model in experiment.models()}
    for model in CURVES:
        if model in logs:
            yield Stage(
                name=f"curve-{model}",
                command=("-m", "report.curve", experiment.model(model)),
                inputs=(logs[model],),
                outputs=(f"{experiment.model(model)}/learning_curve.png",),
            )
    if logs:
        printed = str(experiment.runs / "tables" / "table_training.txt")
        yield Stage(
            name=table_stage("training"),
            command=("-m", "report.tables", str(experiment.runs), "--table", "training"),
            inputs=tuple(logs.values()),
            outputs=(printed,),
            prints=printed,
        )


def _conclusions(experiment: Experiment, reports: list[Stage], timings: Sequence[str]) -> list[Stage]:
    arguments = (str(experiment.runs), "--data_dir", str(experiment.data))
    claims, page = str(experiment.runs / "claims.txt"), str(experiment.runs / "report.html")
    inputs = (*(name for stage in reports for name in stage.outputs), *timings)
    return [
        Stage(
            name="claims",
            command=("-m", "report.claims", *arguments),
            inputs=inputs,
            outputs=(claims,),
            minutes=experiment.minutes("claims"),
            prints=claims,
        ),
        Stage(name="page", command=("-m", "report.page", *arguments), inputs=(*inputs, claims), outputs=(page,)),
    ]

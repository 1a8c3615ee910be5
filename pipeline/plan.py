"""The stages for the data at hand, up to tables, claims and page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pipeline.experiment import AGENTS, BASELINES, FLAT, TIMED, Experiment
from pipeline.presets import Preset
from pipeline.stage import Stage
from report.rows import ANONYMIZED, DUC, MODELS
from support.errors import UserError

JUDGED = ("rnn_ext_abs_rl_rerank", "pointer_generator_coverage")  # Tables 4 and 6
ROWS_OF_TABLE = {
    "1": (*BASELINES, *AGENTS, *FLAT),
    "2": tuple(row for row in (*BASELINES, *AGENTS) if row != "lead3_abs"),
    "3": ("pointer_generator_coverage", "rnn_ext_abs_rl"),
    "4": JUDGED,
    "5": TIMED,
    "6": JUDGED,
}


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Data sets; Tables 2 and 3 have their own."""

    data: Path
    anonymized: Path | None = None
    duc: Path | None = None


class Plan(NamedTuple):
    stages: list[Stage]
    reports: list[Stage]  # what all others are for


def check_folders(folder: Path, *splits: str) -> None:
    missing = [split for split in splits if not (folder / split).is_dir()]
    if missing:
        raise UserError(f"{folder} has no folder {' and '.join(missing)}; python -m data.prepare makes them")


def make_plan(sources: Sources, runs: Path, preset: Preset) -> Plan:
    original = Experiment(data=sources.data, runs=runs, preset=preset)
    stages = [*original.stages()]
    reports = [_table("1", original)]
    if sources.anonymized:
        anonymized = Experiment(
            data=sources.anonymized,
            runs=runs,
            preset=preset,
            prefix="anonymized-",
            decode_folder=ANONYMIZED,
            models_folder=f"{MODELS}_anonymized",
        )
        stages += anonymized.stages()
        reports.append(_table("2", anonymized))
    if sources.duc:
        duc = Experiment(data=sources.duc, runs=runs, preset=preset, prefix="duc-", decode_folder=DUC)
        stages += duc.transfer()
        reports.append(_table("3", duc))
    reports += [_judging(original), _table("5", original), _table("6", original), *_curves(original)]
    reports += _conclusions(original, reports)
    return Plan([*stages, *reports], reports)


def table_stage(table: str) -> str:
    return f"table-{table}"


def _table(table: str, experiment: Experiment) -> Stage:
    printed = str(experiment.runs / "tables" / f"table_{table}.txt")
    data_dir = [] if experiment.prefix else ["--data_dir", str(experiment.data)]
    return Stage(
        name=table_stage(table),
        command=("-m", "report.tables", str(experiment.runs), "--table", table, *data_dir),
        inputs=tuple(experiment.scores(row) for row in ROWS_OF_TABLE[table]),
        outputs=(printed,),
        prints=printed,
    )


def _judging(experiment: Experiment) -> Stage:
    """Table 4 is made by judges; these are the pages for them."""
    printed, out = str(experiment.runs / "tables" / "table_4.txt"), experiment.runs / "judging"
    ours, theirs = (experiment.decoded(row) for row in JUDGED)
    command = ("-m", "report.human_eval", "make", "--a", ours, "--b", theirs, "--data_dir", str(experiment.data))
    return Stage(
        name=table_stage("4"),
        command=(*command, "--out", str(out)),
        inputs=tuple(experiment.scores(row) for row in JUDGED),
        outputs=(printed, f"{out}.key.json"),
        prints=printed,
    )


def _curves(experiment: Experiment) -> Iterator[Stage]:
    for model in ("rl", "rl_ext"):
        yield Stage(
            name=f"curve-{model}",
            command=("-m", "report.curve", experiment.model(model)),
            inputs=(f"{experiment.model(model)}/metrics.jsonl",),
            outputs=(f"{experiment.model(model)}/learning_curve.png",),
        )


def _conclusions(experiment: Experiment, reports: list[Stage]) -> list[Stage]:
    arguments = (str(experiment.runs), "--data_dir", str(experiment.data))
    claims, page = str(experiment.runs / "claims.txt"), str(experiment.runs / "report.html")
    inputs = tuple(name for stage in reports for name in stage.outputs)
    return [
        Stage(
            name="claims", command=("-m", "report.claims", *arguments), inputs=inputs, outputs=(claims,), prints=claims
        ),
        Stage(name="page", command=("-m", "report.page", *arguments), inputs=(claims,), outputs=(page,)),
    ]

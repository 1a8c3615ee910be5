"""Rows of what reads a folder of runs: tables, claims, page, curves, judges' answers, the reproduction itself."""

from __future__ import annotations

import csv
import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from synthetic_runs import make_runs
from tiny_data import write_split

from fuzz.formats import anything, is_json, is_text, is_utf8
from fuzz.rows_data import ARTICLE, COUNTS, PAIRS, build_data
from fuzz.rows_evaluation import call
from fuzz.table import File, Row
from metrics.significance import compare
from pipeline import __main__ as pipeline
from pipeline.plan import Sources, make_plan
from pipeline.presets import PRESETS
from pipeline.stage import Chosen
from pipeline.stamps import Stamps, State, Usage
from report import claims, corpus, curve, page, tables
from report.human_eval import __main__ as human_eval
from report.human_eval.kit import QUESTIONS
from training.record import TrainingRecord

Main = Callable[[], int | None]
RUNS = "{}/runs --data_dir {}/data"
SYSTEMS = ("rnn_ext_abs_rl", "rnn_ext", "pointer_generator_coverage")
ROW = "runs/decode/rnn_ext_abs_rl"
LOG = File("log", f"{ROW}/log.json", "json", is_json, optional=True)
SCORES = File("scores", f"{ROW}/scores.json", "json", is_json, optional=True)
SUMMARY = File("summary", f"{ROW}/output/1.dec", "text", is_text)
ALIGNMENT = File("alignment", f"{ROW}/alignment.jsonl", "jsonl", is_utf8, optional=True)
CURVES = File("curves", "runs/models/rl/metrics.jsonl", "jsonl", anything, optional=True)
RECORD = File("record of training", "runs/models/rl/training.json", "json", is_json, optional=True)
STAGE = File("record of a stage", "runs/stages/rl.json", "json", is_json, optional=True)
MEASURED = File("what was measured", "runs/.measured.json", "json", is_json, optional=True)
TEST_ARTICLE = File("article", "data/test/1.json", "json", is_json)
MADE = "--a {}/runs/decode/rnn_ext_abs_rl --b {}/runs/decode/pointer_generator_coverage --data_dir {}/data"


def quickly(main: Main) -> Main:
    """With a bootstrap of few samples."""

    def few_samples() -> int | None:
        with patch("report.runs.compare", functools.partial(compare, samples=200)):
            return main()

    return few_samples


def build_runs(folder: Path) -> None:
    make_runs(folder / "runs", folder / "data", SYSTEMS, count=3)
    TrainingRecord(updates=60, seconds=7200.0, peak_memory_mb=900, finished=True).write(folder / "runs/models/rl")
    (folder / "runs" / "stages").mkdir()
    (folder / "runs" / "stages" / "rl.json").write_text(json.dumps({"seconds": 9.5, "peak_bytes": 10**9}))
    call(quickly(claims.main), RUNS, folder)


def build_untimed(folder: Path) -> None:
    """Without the flat baseline, whose speed is then that of untrained weights."""
    make_runs(folder / "runs", folder / "data", SYSTEMS[:2], count=3)
    (folder / "runs" / "tables").mkdir()
    (folder / "runs" / "tables" / "speed.txt").write_text("7 articles a second\n")


def build_answers(folder: Path) -> None:
    build_runs(folder)
    call(human_eval.main, f"make {MADE} --out {{}}/kit", folder)
    key = json.loads((folder / "kit.key.json").read_text())
    chosen = dict.fromkeys(QUESTIONS, "A")
    given = {"kit": key["kit"], "batch": 1, "judge": "one", "answers": dict.fromkeys(key["items"], chosen)}
    (folder / "answers.json").write_text(json.dumps(given))
    with open(folder / "answers.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["kit", "item", "judge", *QUESTIONS])
        writer.writeheader()
        writer.writerows({"kit": key["kit"], "item": item, "judge": "two", **chosen} for item in key["items"])


def build_reproduction(folder: Path) -> None:
    """Labels are made, word vectors begun, and one model is half trained and has no record of its stage."""
    build_data(folder)
    write_split(folder / "data", "test", PAIRS[:1])
    runs = folder / "runs"
    stages = {stage.name: stage for stage in make_plan(Sources(data=folder / "data"), runs, PRESETS["tiny"]).stages}
    stamps = Stamps(runs)
    for name in ("labels", "word2vec"):
        stamps.begin(stages[name], State.NEW)
    stamps.end(stages["labels"], Usage(30.0, 20.0, 10**8))
    model = runs / "models" / "ext_rnn"
    for place in stages["ext_rnn"].outputs:
        (path := Path(place.replace("*", "0"))).parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if not path.suffix else path.write_text("{}")
    (model / "resume.pt").write_bytes(b"")
    TrainingRecord(updates=3, seconds=7.5).write(model)


def build_tuned(folder: Path) -> None:
    (folder / "tuned.json").write_text(json.dumps({"n_ext": 3, "mean_rouge": {"1": 20.5}}))


def print_tuned() -> None:
    """As a stage reads what an earlier one has chosen."""
    print(Chosen(sys.argv[1], "n_ext").value())


ROWS = (
    Row(
        "report.tables",
        quickly(tables.main),
        RUNS,
        build_runs,
        (LOG, SCORES, SUMMARY, CURVES, RECORD, STAGE, MEASURED, TEST_ARTICLE),
        every=8,
    ),
    Row(
        "report.claims",
        quickly(claims.main),
        RUNS,
        build_runs,
        (LOG, SCORES, SUMMARY, ALIGNMENT, RECORD, STAGE, MEASURED, TEST_ARTICLE),
        ("runs/claims.json",),
        every=8,
    ),
    Row(
        "report.page",
        quickly(page.main),
        RUNS,
        build_runs,
        (LOG, SCORES, SUMMARY, ALIGNMENT, CURVES, MEASURED, TEST_ARTICLE),
        ("runs/report.html",),
        every=45,
    ),
    Row(
        "report.page, with speed",
        quickly(page.main),
        RUNS,
        build_untimed,
        (File("speed", "runs/tables/speed.txt", "text", is_utf8, optional=True),),
        ("runs/report.html",),
        every=45,
    ),
    Row("report.curve", curve.main, "{}/runs/models/rl", build_runs, (CURVES,), ("runs/models/rl/*.png",), every=12),
    Row("report.corpus", corpus.main, "{}/data --split train", build_data, (ARTICLE, COUNTS), every=8),
    Row(
        "report.human_eval make",
        human_eval.main,
        f"make {MADE} --out {{}}/kit",
        build_runs,
        (LOG, SUMMARY, TEST_ARTICLE),
        ("kit/*", "kit.key.json"),
        every=8,
    ),
    Row(
        "report.human_eval tally",
        human_eval.main,
        "tally --key {}/kit.key.json {}/answers.json {}/answers.csv",
        build_answers,
        (
            File("key", "kit.key.json", "json", is_json),
            File("answers", "answers.json", "json", is_json),
            File("answers of a crowd", "answers.csv", "text", is_utf8),
        ),
        lines=2,
    ),
    Row(
        "pipeline --dry-run",
        pipeline.main,
        "--dry-run --preset tiny --data_dir {}/data --runs {}/runs",
        build_reproduction,
        (
            File("article", ARTICLE.path, "json", anything, optional=True),
            File("record of a finished stage", "runs/stages/labels.json", "json", is_json, optional=True),
            File("record of a stage that was begun", "runs/stages/word2vec.json", "json", is_json, optional=True),
            File("digests", "runs/stages/.digests.json", "json", is_json, optional=True),
            File("record of training", "runs/models/ext_rnn/training.json", "json", is_json, optional=True),
        ),
        every=4,
    ),
    Row(
        "pipeline, a tuned number",
        print_tuned,
        "{}/tuned.json",
        build_tuned,
        (File("tuned number", "tuned.json", "json", is_json),),
    ),
)

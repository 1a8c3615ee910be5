"""Rows of evaluation: summaries, references, scores, and outputs of other systems."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import decode_baselines
import eval_acl
import eval_baselines
import eval_full_model
import eval_outputs
import make_eval_references
import tune_n_ext
from fuzz.formats import anything, is_json, is_jsonl, is_text
from fuzz.rows_data import ARTICLE, PAIRS, build_data
from fuzz.rows_decoding import BASELINE, build_parts
from fuzz.table import File, Row
from metrics import novelty, repetition, significance
from pipeline import other_system

DECODED = "--decode_dir {}/out --data_dir {}/data"
SUMMARY = File("summary", "out/output/1.dec", "text", is_text)
REFERENCE = File("reference", "data/refs/train/1.A.ref", "text", is_text, optional=True)
LOG = File("log", "out/log.json", "json", is_json)
ALIGNMENT = File("alignment", "out/alignment.jsonl", "jsonl", anything)
SCORES = ("out/*rouge.txt", "out/*scores.json")


def call(main: Callable[[], int | None], arguments: str, folder: Path) -> None:
    with patch("sys.argv", ["command", *arguments.replace("{}", str(folder)).split()]):
        main()


def build_decoded(folder: Path) -> None:
    """A full model's output, with references, and the scores of an earlier evaluation."""
    build_data(folder)
    call(make_eval_references.main, "--data_dir {}/data --split train", folder)
    for system in ("out", "other"):
        dice = random.Random(system)
        (folder / system / "output").mkdir(parents=True)
        for number, (article, _) in enumerate(PAIRS):
            (folder / system / "output" / f"{number}.dec").write_text("\n".join(dice.sample(article, 1)))
        (folder / system / "log.json").write_text(json.dumps({"split": "train", "rl": True, "beam": 1}))
        call(eval_full_model.main, f"--decode_dir {{}}/{system} --data_dir {{}}/data --rouge", folder)


def build_baseline(folder: Path) -> None:
    """That of an ff-ext, of whose sentences the best are taken by the scores of its alignment."""
    build_parts(folder)
    call(make_eval_references.main, "--data_dir {}/data --split train", folder)
    call(decode_baselines.main, BASELINE, folder)


def build_outputs(folder: Path) -> None:
    texts = [" <q> ".join(abstract) for _, abstract in PAIRS]
    (folder / "system.txt").write_text("\n".join(texts) + "\n")
    rows = [{"id": str(i), "decoded": text, "article": PAIRS[i][0]} for i, text in enumerate(texts)]
    (folder / "system.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / "system.json").write_text(json.dumps({row["id"]: row["decoded"] for row in rows}))
    for name in ("articles", "refs", "system.folder"):
        (folder / name).mkdir()
    for number, (article, abstract) in enumerate(PAIRS):
        for name, lines in (("articles", article), ("refs", abstract)):
            (folder / name / f"{number}.txt").write_text("\n".join(lines))
        (folder / "system.folder" / f"{number}.json").write_text(json.dumps(rows[number]))


def build_other(folder: Path) -> None:
    build_outputs(folder)
    build_data(folder)
    call(make_eval_references.main, "--data_dir {}/data --split val", folder)
    (folder / "system.txt").write_text("one summary .\n")


ROWS = (
    Row(
        "eval_full_model",
        eval_full_model.main,
        f"{DECODED} --rouge",
        build_decoded,
        (LOG, SUMMARY, REFERENCE, File("earlier scores", "out/scores.json", "json", is_json, optional=True)),
        SCORES,
    ),
    Row(
        "eval_acl",
        eval_acl.main,
        "--decode_dir {}/out/output --ref_dir {}/data/refs/train --rouge",
        build_decoded,
        (SUMMARY, REFERENCE),
        ("out/output/rouge.txt", "out/output/scores.json"),
        every=4,
    ),
    Row(
        "eval_baselines",
        eval_baselines.main,
        f"{DECODED} --rouge --n_ext 1",
        build_baseline,
        (LOG, ALIGNMENT, File("sentence", "out/output_0/1.dec", "text", is_text, optional=True), REFERENCE),
        (*SCORES, "out/output_top1/*"),
        every=4,
    ),
    Row(
        "tune_n_ext",
        tune_n_ext.main,
        f"{DECODED} --path {{}}/tuned.json",
        build_baseline,
        (LOG, ALIGNMENT, File("sentence", "out/output_1/1.dec", "text", is_text, optional=True), ARTICLE),
        ("tuned.json",),
        every=4,
    ),
    *(
        Row(
            f"eval_outputs {suffix}",
            eval_outputs.main,
            f"{{}}/system.{suffix} --refs {{}}/refs --articles {{}}/articles --no_meteor --out {{}}/table",
            build_outputs,
            (
                File(f"outputs: {suffix}", path, format, valid),
                *([File("reference", "refs/1.txt", "text", is_text)] if suffix == "txt" else []),
                *([File("article as text", "articles/1.txt", "text", is_text)] if suffix == "txt" else []),
            ),
            ("table/*",),
        )
        for suffix, path, format, valid in (
            ("txt", "system.txt", "text", is_text),
            ("jsonl", "system.jsonl", "jsonl", is_jsonl),
            ("json", "system.json", "json", is_json),
            ("folder", "system.folder/1.json", "json", is_json),
        )
    ),
    Row(
        "pipeline.other_system",
        other_system.main,
        "--system Ours --outputs {}/system.txt --path {}/row --data_dir {}/data --split val",
        build_other,
        (
            File("outputs: txt", "system.txt", "text", is_text),
            File("reference", "data/refs/val/0.ref", "text", is_text),
        ),
        ("row/output/*",),
    ),
    Row(
        "metrics.significance",
        significance.main,
        "{}/out {}/other --samples 200",
        build_decoded,
        (File("scores", "out/scores.json", "json", is_json),),
    ),
    *(
        Row(
            f"metrics.{name}",
            main,
            "{}/out {}/other --data_dir {}/data",
            build_decoded,
            (LOG, SUMMARY, ARTICLE),
            (f"*/{name}.json",),
            every=4,
        )
        for name, main in (("novelty", novelty.main), ("repetition", repetition.main))
    ),
)

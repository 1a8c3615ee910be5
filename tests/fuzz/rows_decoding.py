"""Rows of what loads models: decoding, with and without an earlier run, summaries of texts, the box."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import decode_baselines
import decode_full_model
import decode_pointer_generator
import summarize
from checkpoints import pretrained
from fuzz.formats import anything, is_json, is_utf8, never
from fuzz.rows_data import ARTICLE, build_data, build_store
from fuzz.table import File, Row
from fuzz.tiny_models import AGENT_FILES, model_files, write_models

DATA = "--data_dir {}/data --split train --workers 1"
FULL = f"--path {{}}/out --model_dir {{}}/rl --max_dec_word 5 --batch 2 {DATA}"
BASELINE = f"--path {{}}/out --ext_dir {{}}/ff --abs_dir {{}}/abs --n_ext 2 --max_dec_word 5 {DATA}"
FLAT = f"--path {{}}/out --model_dir {{}}/flat --beam 2 --min_dec_word 2 --max_dec_word 5 {DATA}"
BOX = "--model_dir {}/rl --ext_dir {}/ext --tuning {}/tuning --out {}/box"
SUMMARIZE = "{}/texts --model_dir {}/rl --max_dec_word 5 --tokenizer python"
WRITTEN = ("out/output*/*.dec", "out/alignment.jsonl")
OWN = ("out/*",)
TEXTS = {"a": "The dam above the town broke. Nobody was hurt.", "b": "It rained all day. Then the sun came out."}
TIMES = 6  # so that no text is remarked to be short


def build_agent(folder: Path) -> None:
    build_store(folder)
    write_models(folder / "data", rl="rl")


def build_parts(folder: Path) -> None:
    build_store(folder)
    write_models(folder / "data", abs="abs", ff="ff")


def build_flat(folder: Path) -> None:
    build_store(folder)
    write_models(folder / "data", flat="flat")


def build_cut_decoding(folder: Path) -> None:
    build_agent(folder)
    _decode_two(decode_full_model.main, FULL, folder)


def build_cut_baseline(folder: Path) -> None:
    build_parts(folder)
    _decode_two(decode_baselines.main, BASELINE, folder)


def _decode_two(main: Callable[[], None], arguments: str, folder: Path) -> None:
    """Of the three articles, the last is not decoded yet; of a killed run, the alignment is a process's own."""
    with patch("sys.argv", ["decode", *arguments.replace("{}", str(folder)).split()]):
        main()
    out = folder / "out"
    lines = (out / "alignment.jsonl").read_text().splitlines()
    (out / "alignment.0.jsonl").write_text("\n".join(lines[:2]))
    log = json.loads((out / "log.json").read_text())
    (out / "log.json").write_text(json.dumps({name: value for name, value in log.items() if name != "timing"}))
    for path in (out / "alignment.jsonl", *out.glob("output*/2.dec")):
        path.unlink()


def build_models(folder: Path) -> None:
    build_data(folder)
    write_models(folder / "data", rl="rl", ext="ext")
    (folder / "tuning").mkdir()
    for name in pretrained.TUNED:
        (folder / "tuning" / name).write_text(json.dumps({"n_ext": 3, "mean_rouge": {"1": 20.5, "2": 21}}))


def build_box(folder: Path) -> None:
    build_models(folder)
    with patch("sys.argv", ["box", *BOX.replace("{}", str(folder)).split()]):
        pretrained.main()


def build_texts(folder: Path) -> None:
    build_data(folder)
    write_models(folder / "data", rl="rl")
    (folder / "texts").mkdir()
    for name, text in TEXTS.items():
        (folder / "texts" / f"{name}.txt").write_text(" ".join([text] * TIMES))


def build_summarised(folder: Path) -> None:
    build_texts(folder)
    with patch("sys.argv", ["summarize", *f"{SUMMARIZE} --output {{}}/out/".replace("{}", str(folder)).split()]):
        summarize.main()


def build_half_summarised(folder: Path) -> None:
    """One file for all, whose journal a killed run has left."""
    build_texts(folder)
    argv = f"{SUMMARIZE} --output {{}}/out.txt".replace("{}", str(folder)).split()
    stop = patch("inference.summary_files._write_whole", side_effect=KeyboardInterrupt)
    with patch("sys.argv", ["summarize", *argv]), stop:
        try:
            summarize.main()
        except KeyboardInterrupt:
            return


def in_pieces() -> None:
    """As if there were many texts, so that a second run goes on where a first one ended."""
    with patch.object(summarize, "_FEW", 0):
        summarize.main()


ROWS = (
    Row("decode_full_model", decode_full_model.main, FULL, build_agent, (ARTICLE, *AGENT_FILES), WRITTEN, OWN, every=8),
    Row(
        "decode_full_model --beam 2",
        decode_full_model.main,
        f"{FULL} --beam 2",
        build_agent,
        AGENT_FILES[2:],
        WRITTEN,
        OWN,
        every=8,
    ),
    *(
        Row(
            f"{command} --resume",
            main,
            f"{arguments} --resume",
            build,
            (
                File("log", "out/log.json", "json", is_json),
                File("alignment of a process", "out/alignment.0.jsonl", "jsonl", anything, optional=True),
                File("summary", f"out/{output}/0.dec", "text", anything),
            ),
            WRITTEN,
            OWN,
            every=8,
        )
        for command, main, arguments, build, output in (
            ("decode_full_model", decode_full_model.main, FULL, build_cut_decoding, "output"),
            ("decode_baselines", decode_baselines.main, BASELINE, build_cut_baseline, "output_1"),
        )
    ),
    Row(
        "decode_baselines",
        decode_baselines.main,
        BASELINE,
        build_parts,
        (ARTICLE, *model_files("ff"), *model_files("abs")),
        WRITTEN,
        OWN,
        every=8,
    ),
    Row(
        "decode_pointer_generator",
        decode_pointer_generator.main,
        FLAT,
        build_flat,
        (ARTICLE, *model_files("flat")),
        WRITTEN,
        OWN,
        every=8,
    ),
    Row(
        "summarize",
        summarize.main,
        f"{SUMMARIZE} --beam 2 --output {{}}/out.txt",
        build_texts,
        (File("text in a folder", "texts/a.txt", "text", anything, optional=True), *AGENT_FILES),
        ("out.txt",),
        every=8,
    ),
    Row(
        "summarize FILE",
        summarize.main,
        f"{SUMMARIZE.replace('texts', 'texts/a.txt')} --output {{}}/out.txt",
        build_texts,
        (File("text", "texts/a.txt", "text", is_utf8, without=("fifo",)),),  # a pipe can be summarised
        ("out.txt",),
    ),
    Row(
        "summarize again, to a folder",
        in_pieces,
        f"{SUMMARIZE} --output {{}}/out/ --workers 1",
        build_summarised,
        (File("journal", "out/.finished", "text", never),),
        ("out/*.txt",),
        every=4,
    ),
    Row(
        "summarize again, to a file",
        in_pieces,
        f"{SUMMARIZE} --output {{}}/out.txt --workers 1",
        build_half_summarised,
        (File("journal", ".out.txt.parts", "text", anything, optional=True),),
        ("out.txt",),
        every=4,
    ),
    Row(
        "checkpoints.pretrained",
        pretrained.main,
        BOX,
        build_models,
        (*AGENT_FILES, *model_files("ext"), File("tuned number", "tuning/rnn_ext.json", "json", is_json)),
        ("box/meta.json", "box/tuning/*"),
        every=16,
    ),
    Row(
        "checkpoints.pretrained, an agent alone",
        pretrained.main,
        BOX.replace("--ext_dir {}/ext ", ""),
        build_box,
        (
            *model_files("box/extractor"),
            *(replace(file, valid=never, optional=True) for file in model_files("box", "agent_vocab.pkl")),
        ),
        ("box/*",),
        every=16,
    ),
)

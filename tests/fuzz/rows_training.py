"""Rows of training: with word vectors, from trained models, and going on with an earlier run."""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import torch
from gensim.models import Word2Vec

import train_abstractor
import train_extractor_ml
import train_full_rl
import train_pointer_generator
import train_word2vec
from data import word2vec, word2vec_state
from data.store import open_store
from fuzz.formats import anything, is_checkpoint, is_json, is_npy, is_npz, is_pickle
from fuzz.rows_data import ARTICLE, COUNTS, PAIRS, build_data
from fuzz.table import File, Row
from fuzz.tiny_models import model_files, write_models

Main = Callable[[], None]
RUN = "--path {}/model --data_dir {}/data --batch 2 --ckpt_freq 1 --workers 0 --max_steps"
EXTRACTOR = f"--vsize 20 --emb_dim 4 --conv_hidden 2 --lstm_hidden 3 {RUN}"
ABSTRACTOR = f"--vsize 20 --emb_dim 4 --n_hidden 3 {RUN}"
FLAT = f"--vsize 20 --emb_dim 4 --n_hidden 3 --max_art 20 --max_sum 10 {RUN}"
RL = f"--ext_dir {{}}/ext --abs_dir {{}}/abs --max_dec_word 4 --rewritings {{}}/kept.npz {RUN}"
WORD2VEC = "--path {}/vectors --data_dir {}/data --dim 4 --epochs 2 --workers 1"


def trained(main: Main) -> Main:
    """Trains, and prints the weights instead of what it took."""

    def train() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            main()
        path = sys.argv[sys.argv.index("--path") + 1]
        weights = torch.load(f"{path}/resume.pt", weights_only=True)["network"]
        content = b"".join(weight.numpy().tobytes() for weight in weights.values())
        print(hashlib.sha256(content).hexdigest(), content[:8])

    return train


def build_stores(folder: Path) -> None:
    build_data(folder)
    for split in ("train", "val"):
        open_store(folder / "data", split, workers=1)


def build_start(folder: Path) -> None:
    """Data, and models to start from."""
    build_stores(folder)
    write_models(folder / "data", rl="rl", abs="abs", ext="ext", flat="flat")


def build_vectors(folder: Path) -> None:
    build_stores(folder)
    sentences = [sentence.split() for article, abstract in PAIRS for sentence in article + abstract]
    model = Word2Vec(sentences, vector_size=4, min_count=1, workers=1, seed=1, epochs=1)
    model.save(str(folder / "vectors.bin"), sep_limit=sys.maxsize)
    model.wv.save_word2vec_format(str(folder / "vectors.w2v"), binary=False)
    (folder / "apart").mkdir()
    model.save(str(folder / "apart" / "vectors.bin"), sep_limit=0)


def interrupted(main: Main, arguments: str) -> Callable[[Path], None]:
    """A run that ended after one update."""

    def build(folder: Path) -> None:
        build_stores(folder)
        if main is train_full_rl.main:
            write_models(folder / "data", abs="abs", ext="ext")
        with patch("sys.argv", ["train", *f"{arguments} 1".replace("{}", str(folder)).split()]):
            trained(main)()

    return build


def build_word2vec(folder: Path) -> None:
    """A training of two epochs that was killed after the first."""
    build_stores(folder)
    save = word2vec_state.ResumeFile.save

    def save_once(state: word2vec_state.ResumeFile, model: Word2Vec, done: int) -> None:
        save(state, model, done)
        raise KeyboardInterrupt

    killed = patch.object(word2vec.ResumeFile, "save_now_and_then", save_once)
    argv = patch("sys.argv", ["train", *WORD2VEC.replace("{}", str(folder)).split()])
    with killed, argv, contextlib.suppress(KeyboardInterrupt):
        train_word2vec.main()


RESUMED = (
    File("resume.pt", "model/resume.pt", "checkpoint", is_checkpoint),
    File("own meta", "model/meta.json", "json", is_json, optional=True),
    File("own vocabulary", "model/*vocab.pkl", "pickle", is_pickle, optional=True),
    File("record", "model/training.json", "json", is_json, optional=True),
    File("curves", "model/metrics.jsonl", "jsonl", anything, optional=True),
    File("earlier checkpoint", "model/ckpt/ckpt-*", "checkpoint", anything, optional=True),
)


def row(command: str, main: Main, arguments: str, files: tuple[File, ...]) -> Row:
    build = build_vectors if "--w2v" in arguments else build_start
    return training(command, main, f"{arguments} 1", build, files)


def resumed(command: str, main: Main, arguments: str, files: tuple[File, ...]) -> Row:
    build = interrupted(main, arguments)
    return training(f"{command} --resume", main, f"{arguments} 2 --resume", build, files)


def training(command: str, main: Main, arguments: str, build: Callable[[Path], None], files: tuple[File, ...]) -> Row:
    own = ("model/*", "kept.npz")
    return Row(command, trained(main), arguments, build, files, own=own, every=19, resumable=True)


ROWS = (
    row(
        "train_extractor_ml --w2v",
        train_extractor_ml.main,
        f"--w2v {{}}/vectors.w2v {EXTRACTOR}",
        (ARTICLE, COUNTS, File("text vectors", "vectors.w2v", "word vectors", anything)),
    ),
    row(
        "train_abstractor --w2v",
        train_abstractor.main,
        f"--w2v {{}}/vectors.bin {ABSTRACTOR}",
        (ARTICLE, COUNTS, File("gensim model", "vectors.bin", "gensim model", anything)),
    ),
    row(
        "train_abstractor --w2v, large",
        train_abstractor.main,
        f"--w2v {{}}/apart/vectors.bin {ABSTRACTOR}",
        (File("vectors beside it", "apart/vectors.bin.wv.vectors.npy", "npy", is_npy),),
    ),
    row(
        "train_extractor_ml --init_from",
        train_extractor_ml.main,
        f"--init_from {{}}/ext {EXTRACTOR}",
        model_files("ext"),
    ),
    row(
        "train_abstractor --init_from",
        train_abstractor.main,
        f"--init_from {{}}/abs {ABSTRACTOR}",
        model_files("abs"),
    ),
    row(
        "train_pointer_generator --init_from",
        train_pointer_generator.main,
        f"--init_from {{}}/flat --coverage {FLAT}",
        (ARTICLE, *model_files("flat")),
    ),
    row("train_full_rl", train_full_rl.main, RL, (ARTICLE, *model_files("ext"), *model_files("abs"))),
    row(
        "train_full_rl --init_from",
        train_full_rl.main,
        RL.replace("--ext_dir {}/ext", "--init_from {}/rl"),
        model_files("rl", "agent_vocab.pkl"),
    ),
    resumed("train_extractor_ml", train_extractor_ml.main, EXTRACTOR, RESUMED),
    resumed("train_abstractor", train_abstractor.main, ABSTRACTOR, RESUMED[:1]),
    resumed("train_pointer_generator", train_pointer_generator.main, FLAT, RESUMED[:1]),
    resumed(
        "train_full_rl",
        train_full_rl.main,
        RL,
        (
            *RESUMED,
            *model_files("model/abstractor"),
            File("rewritings", "kept.npz", "npz", is_npz, optional=True),
        ),
    ),
    Row(
        "train_word2vec --resume",
        train_word2vec.main,
        f"{WORD2VEC} --resume",
        build_word2vec,
        (ARTICLE, File("resume.npz", "vectors/resume.npz", "npz", is_npz, optional=True)),
        ("vectors/*.w2v",),
        own=("vectors/*",),
        every=12,
    ),
)

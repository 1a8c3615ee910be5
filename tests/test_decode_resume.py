"""Decoding that goes on, or must not: kills, changed models and texts, failed starts."""

from __future__ import annotations

import json
import shutil
import signal
from functools import partial
from pathlib import Path

import pytest
from decode_runs import alignment, assert_same_files, call, rewrite_weights, summaries
from kills import struck

from inference.output import DecodeDirectory


def test_resume_writes_only_what_is_missing_and_the_same(golden, tmp_path, decode):
    path = tmp_path / "out"
    flags = ["--path", path, "--model_dir", golden / "rl", "--data_dir", golden / "data", "--test", "--batch", "4"]
    decode("decode_full_model", *flags)
    log = json.loads((path / "log.json").read_text())
    assert "nothing" in decode("decode_full_model", *flags, "--resume")
    assert json.loads((path / "log.json").read_text()) == log
    (path / "output" / "5.dec").unlink()
    (path / "output" / "20.dec").unlink()
    untouched = (path / "output" / "10.dec").stat().st_mtime_ns
    decode("decode_full_model", *flags, "--resume")
    assert_same_files(path / "output", golden / "decode_dir" / "rl_greedy_batch4" / "output")
    assert (path / "output" / "10.dec").stat().st_mtime_ns == untouched
    assert json.loads((path / "log.json").read_text())["timing"]["articles"] == 8
    assert len(alignment(path)) == 30


def _other_weights(model: Path) -> None:
    rewrite_weights(model, lambda state: next(iter(state.values())).add_(0.1))


def _better_checkpoint(model: Path) -> None:
    (path,) = (model / "ckpt").iterdir()
    shutil.copy(path, model / "ckpt" / "ckpt-99.0-200")


def _other_vocabulary(model: Path) -> None:
    words = (model / "agent_vocab.pkl").read_bytes()
    (model / "agent_vocab.pkl").write_bytes(words.replace(b"ba1", b"xx1"))


def _other_word(data: Path) -> None:
    path = data / "test" / "7.json"
    article = json.loads(path.read_text())
    article["article"][0] += " more"
    path.write_text(json.dumps(article))


@pytest.mark.parametrize(
    ("change", "place", "name"),
    [
        (_other_weights, "agent", "extractor_checkpoint"),
        (_other_weights, "agent/abstractor", "abstractor_checkpoint"),
        (_better_checkpoint, "agent", "extractor_checkpoint"),
        (_other_vocabulary, "agent", "extractor_checkpoint"),
        (_other_word, "data", "data"),
    ],
)
def test_resume_refuses_other_models_and_texts(golden, tmp_path, decode, complaint, agent, change, place, name):
    shutil.copytree(golden / "data", tmp_path / "data")
    flags = ["--path", tmp_path / "out", "--model_dir", agent, "--data_dir", tmp_path / "data", "--test"]
    decode("decode_full_model", *flags)
    (tmp_path / "out" / "output" / "5.dec").unlink()
    before = summaries(tmp_path / "out")
    change(tmp_path / place)
    assert f"another {name};" in complaint("decode_full_model", *flags, "--resume")
    assert summaries(tmp_path / "out") == before


def test_resume_refuses_other_parts_of_a_baseline(golden, tmp_path, decode, complaint):
    shutil.copytree(golden / "ext_rnn", tmp_path / "ext")
    flags = ["--path", tmp_path / "out", "--ext_dir", tmp_path / "ext", "--data_dir", golden / "data", "--test"]
    decode("decode_baselines", *flags)
    log = json.loads((tmp_path / "out" / "log.json").read_text())
    assert log["abstractor_checkpoint"] is None and log["data"]["articles"] == 30
    (tmp_path / "ext" / "ckpt" / log["extractor_checkpoint"]["name"]).unlink()
    (tmp_path / "ext" / "ckpt" / "ckpt-0.5-999").write_bytes(next((golden / "ext_rnn" / "ckpt").iterdir()).read_bytes())
    assert "another extractor_checkpoint;" in complaint("decode_baselines", *flags, "--resume")
    flags[3:6] = [golden / "ext_rnn", "--data_dir", _shorter(golden, tmp_path)]
    assert "another data;" in complaint("decode_baselines", *flags, "--resume")


def _shorter(golden: Path, folder: Path) -> Path:
    (folder / "short" / "test").mkdir(parents=True)
    for i in range(3):
        shutil.copy(golden / "data" / "test" / f"{i}.json", folder / "short" / "test")
    return folder / "short"


def test_resume_goes_on_with_copies_of_the_same_model_and_texts(golden, tmp_path, decode, agent):
    """Without word counts the store numbers the words otherwise, but they are the same."""
    path = tmp_path / "out"
    decode("decode_full_model", "--path", path, "--model_dir", agent, "--data_dir", golden / "data", "--test")
    (path / "output" / "5.dec").unlink()
    shutil.copytree(golden / "data" / "test", tmp_path / "data" / "test", copy_function=shutil.copyfile)
    copies = ["--model_dir", golden / "rl", "--data_dir", tmp_path / "data"]
    decode("decode_full_model", "--path", path, *copies, "--test", "--resume")
    assert_same_files(path / "output", golden / "decode_dir" / "rl_greedy" / "output")


@pytest.mark.parametrize(
    "broken", ["ckpt", "agent_vocab.pkl", "abstractor", "abstractor/ckpt", "abstractor/vocab.pkl", "damaged"]
)
def test_a_failed_start_leaves_nothing_behind(golden, tmp_path, decode, complaint, agent, broken):
    flags = ["--path", tmp_path / "out", "--model_dir", agent, "--data_dir", golden / "data", "--test"]
    if broken == "damaged":
        next((agent / "ckpt").iterdir()).write_bytes(b"x")
    else:
        (agent / broken).rename(tmp_path / "away")
    complaint("decode_full_model", *flags)
    assert not (tmp_path / "out").exists()
    shutil.copytree(golden / "rl", agent, dirs_exist_ok=True)
    decode("decode_full_model", *flags)
    assert_same_files(tmp_path / "out" / "output", golden / "decode_dir" / "rl_greedy" / "output")


@pytest.mark.parametrize("n", [9, 30])
def test_a_killed_run_resumes_to_the_same_files(golden, tmp_path, decode, capsys, n):
    """Killed before it writes its n-th summary; the alignments of the last batch are then missing."""
    path, whole = tmp_path / "out", tmp_path / "whole"
    flags = ["--model_dir", golden / "rl", "--data_dir", golden / "data", "--test", "--batch", 4, "--beam", 2]
    run = partial(call, capsys, "decode_full_model", *flags, "--path", path, "--workers", 1)
    assert struck(run, DecodeDirectory, "write", n) == -signal.SIGKILL
    assert len(list(path.glob("output/*.dec"))) == n - 1
    with open(path / "alignment.0.jsonl", "a") as file:
        file.write('{"article": 29, "sent')
    decode("decode_full_model", *flags, "--path", path, "--resume")
    decode("decode_full_model", *flags, "--path", whole)
    assert_same_files(path / "output", whole / "output")
    for ours, theirs in zip(alignment(path), alignment(whole), strict=True):
        assert ours["article"] == theirs["article"]
        assert [s["source"] for s in ours["sentences"]] == [s["source"] for s in theirs["sentences"]]
    assert not list(path.glob("alignment.*.jsonl")) and not list(path.glob("output/.*"))

from __future__ import annotations

import filecmp
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_data import write_split

from metrics.rouge import score_documents
from support.errors import run

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
ENVIRONMENT.pop("DATA", None)


def call(capsys, name: str, *arguments: object) -> tuple[int, str, str]:
    """Runs a script in this process: exit code, stdout, stderr."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as exit:
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.delenv("DATA", raising=False)
        run(importlib.import_module(name).main)
    return exit.value.code, *capsys.readouterr()


@pytest.fixture
def decode(capsys):
    def decode(name: str, *arguments: object, workers: int = 1) -> str:
        code, out, error = call(capsys, name, *arguments, "--workers", workers)
        assert code == 0, error
        return out

    return decode


@pytest.fixture
def complaint(capsys):
    def complaint(name: str, *arguments: object) -> str:
        """The one line that a mistake gets."""
        code, _, error = call(capsys, name, *arguments)
        assert code == 2
        assert error.startswith("error: ") and error.count("\n") == 1
        return error

    return complaint


def assert_same_files(ours: Path, theirs: Path) -> None:
    names = sorted(path.name for path in theirs.iterdir())
    assert sorted(path.name for path in ours.iterdir()) == names
    assert filecmp.cmpfiles(ours, theirs, names, shallow=False) == (names, [], [])


def alignment(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "alignment.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "model", "flags"),
    [
        ("rl_greedy", "rl", ["--test"]),
        ("rl_beam5", "rl", ["--split", "test", "--beam", "5"]),
        ("rl_greedy_batch4", "rl", ["--test", "--batch", "4"]),
        ("rl_ext_only", "rl_ext_only", ["--test", "--no-cuda"]),
    ],
)
def test_full_model_writes_the_released_files(golden, tmp_path, decode, name, model, flags):
    path = tmp_path / "out"
    decode("decode_full_model", "--path", path, "--model_dir", golden / model, "--data_dir", golden / "data", *flags)
    released = golden / "decode_dir" / name
    assert_same_files(path / "output", released / "output")
    log = json.loads((path / "log.json").read_text())
    theirs = json.loads((released / "log.json").read_text())
    assert {key: log[key] for key in theirs} == theirs
    timing = log["timing"]
    assert timing["articles"] == 30 and timing["seconds"] > 0
    assert timing["words_per_second"] == pytest.approx(timing["words"] / timing["seconds"], rel=0.02)
    lines = alignment(path)
    assert [line["article"] for line in lines] == list(range(30))
    for line in lines:
        texts = (path / "output" / f"{line['article']}.dec").read_text().split("\n")
        assert len(texts) == len(line["sentences"])
        for text, sentence in zip(texts, line["sentences"], strict=True):
            assert sentence["copied"] is None or len(sentence["copied"]) == len(text.split())


@pytest.mark.parametrize(("name", "flags"), [("baseline_lead_abs", []), ("baseline_rnn_abs", ["ext_rnn"])])
def test_baselines_write_the_released_files(golden, tmp_path, decode, name, flags):
    path = tmp_path / "out"
    extractor = ["--ext_dir", golden / flags[0]] if flags else []
    common = ["--path", path, "--abs_dir", golden / "abs", "--data_dir", golden / "data", "--test"]
    decode("decode_baselines", *common, *extractor)
    released = golden / "decode_dir" / name
    for k in range(6):
        assert_same_files(path / f"output_{k}", released / f"output_{k}")
    theirs = json.loads((released / "log.json").read_text())
    log = json.loads((path / "log.json").read_text())
    assert {key: log[key] for key in theirs} == theirs


def test_n_ext_acts(golden, tmp_path, decode):
    common = ["--data_dir", golden / "data", "--val", "--n_ext", 2]
    decode("decode_baselines", "--path", tmp_path / "b", "--ext_dir", golden / "ext_ff", *common)
    assert sorted(path.name for path in (tmp_path / "b").glob("output*")) == ["output_0", "output_1"]
    decode("decode_full_model", "--path", tmp_path / "f", "--model_dir", golden / "rl", *common)
    assert all(len(line["sentences"]) <= 2 for line in alignment(tmp_path / "f"))
    assert sum(len(line["sentences"]) == 2 for line in alignment(tmp_path / "f")) > 30


def test_empty_articles_get_empty_files_under_their_own_numbers(golden, tmp_path, decode):
    texts = [["ba1 ba2 ba3 .", "mo1 mo2 ."], [], ["zu1 <q1> ."], [], []]
    write_split(tmp_path / "data", "test", [(text, ["ba1 ."]) for text in texts])
    common = ["--data_dir", tmp_path / "data", "--test"]
    decode("decode_full_model", "--path", tmp_path / "f", "--model_dir", golden / "rl", *common)
    decode("decode_baselines", "--path", tmp_path / "b", "--abs_dir", golden / "abs", *common)
    for folder in (tmp_path / "f" / "output", tmp_path / "b" / "output_0"):
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
        assert set(sizes) == {f"{i}.dec" for i in range(5)}
        assert [sizes[f"{i}.dec"] > 0 for i in range(5)] == [bool(text) for text in texts]
    assert (tmp_path / "b" / "output_1").exists() and not (tmp_path / "b" / "output_1" / "2.dec").exists()


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


def test_a_killed_run_resumes_to_the_same_files(golden, tmp_path, decode):
    path = tmp_path / "out"
    data = tmp_path / "data"
    shutil.copytree(golden / "data", data)
    flags = ["--path", path, "--model_dir", golden / "rl", "--data_dir", data, "--split", "train", "--batch", "4"]
    command = [sys.executable, ROOT / "decode_full_model.py", *flags, "--beam", "5", "--workers", "1"]
    process = subprocess.Popen(list(map(str, command)), env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(path.glob("output/*.dec"))) < 40:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = len(list(path.glob("output/*.dec")))
    assert 40 <= found < 400
    with open(path / "alignment.0.jsonl", "a") as file:
        file.write('{"article": 399, "sent')
    decode("decode_full_model", *flags, "--beam", "5", "--resume")
    whole = tmp_path / "whole"
    decode("decode_full_model", *flags[2:], "--path", whole, "--beam", "5")
    assert_same_files(path / "output", whole / "output")
    for ours, theirs in zip(alignment(path), alignment(whole), strict=True):
        assert ours["article"] == theirs["article"]
        assert [s["source"] for s in ours["sentences"]] == [s["source"] for s in theirs["sentences"]]
    assert not list(path.glob("alignment.*.jsonl")) and not list(path.glob("output/.*"))


def test_worker_processes_write_the_same(golden, tmp_path):
    path = tmp_path / "out"
    flags = ["--path", path, "--model_dir", golden / "rl", "--data_dir", golden / "data", "--test", "--batch", "4"]
    command = [sys.executable, ROOT / "decode_full_model.py", *flags, "--workers", "2"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert result.returncode == 0, result.stderr
    assert_same_files(path / "output", golden / "decode_dir" / "rl_greedy_batch4" / "output")


def test_two_processes_of_torchrun_share_a_split(golden, tmp_path):
    path = tmp_path / "out"
    flags = ["--path", path, "--model_dir", golden / "rl", "--data_dir", golden / "data", "--test", "--batch", "4"]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command += [str(ROOT / "decode_full_model.py"), *map(str, flags), "--device", "cpu"]
    result = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert_same_files(path / "output", golden / "decode_dir" / "rl_greedy_batch4" / "output")
    log = json.loads((path / "log.json").read_text())
    assert log["timing"]["articles"] == 30 and log["timing"]["processes"] == 2
    assert len(alignment(path)) == 30


def test_mistakes_are_told_in_one_line(golden, tmp_path, decode, complaint):
    full = ["--model_dir", golden / "rl", "--data_dir", golden / "data"]
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "notes.txt").write_text("mine")
    out = tmp_path / "out"
    assert "one of --val" in complaint("decode_full_model", "--path", out, *full)
    assert "one of --val" in complaint("decode_full_model", "--path", out, *full, "--val", "--test")
    assert "not empty" in complaint("decode_full_model", "--path", tmp_path / "old", *full, "--test")
    assert "not empty" in complaint("decode_full_model", "--path", tmp_path / "old", *full, "--test", "--resume")
    assert "--data_dir" in complaint("decode_full_model", "--path", out, "--model_dir", golden / "rl", "--test")
    wrong = ["--path", out, "--model_dir", golden / "abs", *full[2:], "--test"]
    assert "is needed" in complaint("decode_full_model", *wrong)
    assert "does not exist" in complaint("decode_full_model", "--path", out, "--model_dir", "no", *full[2:], "--test")
    assert "at least 1" in complaint("decode_full_model", "--path", out, *full, "--test", "--beam", 0)
    assert "is needed" in complaint("decode_baselines", "--path", out, "--abs_dir", golden / "rl", *full[2:], "--test")
    decode("decode_full_model", "--path", out, *full, "--test")
    assert "another beam" in complaint("decode_full_model", "--path", out, *full, "--test", "--beam", 2, "--resume")


@pytest.mark.parametrize("extractor", ["ext_rnn", "ext_ff"])
def test_tuning_finds_the_number_of_sentences_with_the_best_rouge(golden, tmp_path, decode, capsys, extractor):
    """Of the numbers decoded one by one, which for ff-ext are other sentences than the first ones of the six."""
    common = ["--ext_dir", golden / extractor, "--data_dir", golden / "data", "--val"]
    decode("decode_baselines", "--path", tmp_path / "six", *common, "--batch_invariant")
    code, out, _ = call(capsys, "tune_n_ext", "--decode_dir", tmp_path / "six", "--data_dir", golden / "data")
    assert code == 0
    rows = [line.split() for line in out.splitlines()[1:-1]]
    means = [float(row[-1]) for row in rows]
    assert out.splitlines()[-1] == f"best: --n_ext {means.index(max(means)) + 1}"
    decode("decode_baselines", "--path", tmp_path / "two", *common, "--n_ext", 2)
    outputs = [tmp_path / "two" / f"output_{k}" for k in range(2)]
    texts = ["\n".join((output / f"{i}.dec").read_text() for output in outputs) for i in range(40)]
    references = [(golden / "data" / "refs" / "val" / f"{i}.ref").read_text() for i in range(40)]
    scores = score_documents((text, [reference]) for text, reference in zip(texts, references, strict=True))
    assert [float(x) for x in rows[1][1:4]] == pytest.approx(100 * scores[:, :, 2].mean(0), abs=0.011)

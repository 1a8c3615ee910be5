"""What a training finds and leaves on disk: other inputs, lost or damaged files, full disks, kills, and its record."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import decode_runs
import pytest
import torch
from commands import ROOT, call
from decode_runs import rewrite_weights
from training_runs import EXTRACTOR, REWRITER, assert_same_weights, weights

from checkpoints.directory import best_checkpoint, checkpoints, load
from checkpoints.networks import ABSTRACTOR
from checkpoints.tensor_files import load_tensors, save_tensors
from inference.rewriter import Rewriter
from support.errors import UserError, run
from support.files import atomic_file, naming
from training import trainer
from training.metrics_log import MetricsLog, read_metrics
from training.record import TrainingRecord


@pytest.fixture
def own_data(golden, tmp_path) -> Path:
    """A data set to be changed."""
    return Path(shutil.copytree(golden / "data", tmp_path / "own_data"))


def change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def other_article(data: Path) -> None:
    article = json.loads((data / "val/3.json").read_text())["article"]
    change(data / "val/3.json", article=["quite another sentence .", *article[1:]])


def other_labels(data: Path) -> None:
    labels = json.loads((data / "train/2.json").read_text())["extracted"]
    change(data / "train/2.json", extracted=[1 if label == 0 else 0 for label in labels[:1]] + labels[1:])


@pytest.mark.parametrize(("other", "split"), [(other_article, "val"), (other_labels, "train")])
def test_resume_refuses_other_articles_and_labels(monkeypatch, own_data, tmp_path, other, split):
    flags = [*EXTRACTOR, "--data_dir", own_data, "--path", tmp_path / "run"]
    call(monkeypatch, "train_extractor_ml.py", *flags, "--max_steps", 1)
    before = (tmp_path / "run/resume.pt").read_bytes()
    other(own_data)
    with pytest.raises(UserError, match=rf"was started with another {split} split \(articles or labels\)"):
        call(monkeypatch, "train_extractor_ml.py", *flags, "--max_steps", 2, "--resume")
    assert (tmp_path / "run/resume.pt").read_bytes() == before


def test_resume_goes_on_with_a_copy_of_the_data(monkeypatch, train, data, tmp_path):
    run = train("run", "--max_steps", 1)
    copy = shutil.copytree(data, tmp_path / "copy", copy_function=shutil.copyfile)
    flags = [*EXTRACTOR, "--data_dir", copy, "--path", run, "--max_steps", 2, "--resume"]
    call(monkeypatch, "train_extractor_ml.py", *flags)
    assert TrainingRecord.read(run).updates == 2


def test_resume_refuses_another_abstractor_of_the_same_sizes(monkeypatch, golden, data, tmp_path):
    shutil.copytree(golden / "abs", tmp_path / "abs")
    flags = ["--data_dir", data, "--path", tmp_path / "run", "--ext_dir", golden / "ext_rnn", "--workers", 0]
    flags += ["--abs_dir", tmp_path / "abs"]
    call(monkeypatch, "train_full_rl.py", *flags, "--max_steps", 1)
    for old in list((tmp_path / "abs/ckpt").iterdir())[1:]:
        old.unlink()
    rewrite_weights(tmp_path / "abs", lambda state: next(iter(state.values())).add_(0.1))
    record, kept = tmp_path / "run/training.json", tmp_path / "run/abstractor/ckpt/ckpt-0-0"
    contents = {path: path.read_bytes() for path in (record, kept)}
    for lost, left in ((record, kept), (kept, record)):
        lost.unlink()
        with pytest.raises(UserError, match="was started with another abstractor"):
            call(monkeypatch, "train_full_rl.py", *flags, "--max_steps", 2, "--resume")
        assert left.read_bytes() == contents[left]
        lost.write_bytes(contents[lost])


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_reinforcement_resumed_forgets_rewritings_and_stays_the_same(monkeypatch, golden, data, tmp_path, variant):
    """The released variant numbers unknown words over a batch, so a rewriting depends on the others of its call, here
    far more than it really does."""

    def dependent(self, sentences):
        kept = 1 + len(sentences) % 7 if self.shared else 3
        return [self.store.articles.sentence(int(number))[:kept] for number in sentences]

    monkeypatch.setattr(Rewriter, "__call__", dependent)
    flags = ["--data_dir", data, "--ext_dir", golden / "ext_rnn", "--abs_dir", golden / "abs", "--variant", variant]
    flags += ["--workers", 0, "--batch", 200, "--lr", 0.01]
    call(monkeypatch, "train_full_rl.py", *flags, "--path", tmp_path / "whole", "--max_steps", 5)
    for steps in (3, 5):
        call(monkeypatch, "train_full_rl.py", *flags, "--path", tmp_path / "parts", "--max_steps", steps, "--resume")
    assert_same_weights(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3e38, -3e38])
def test_a_checkpoint_that_is_not_finite_is_refused(golden, tmp_path, value):
    shutil.copytree(golden / "abs", tmp_path / "abs")
    path = best_checkpoint(tmp_path / "abs", highest=False).path
    content = torch.load(path, weights_only=True)
    content["state_dict"]["_projection.0.bias"][3] = value
    torch.save(content, path)
    with pytest.raises(UserError, match=rf"{path.name}: projection\.0\.bias holds numbers that are not finite"):
        load(tmp_path / "abs", nets=(ABSTRACTOR,))


def test_a_run_without_its_resume_file_is_not_begun_again_beside_its_checkpoints(train):
    run = train("run", "--max_steps", 2)
    (run / "resume.pt").unlink()
    before = sorted(path.name for path in run.rglob("*"))
    with pytest.raises(UserError, match=r"resume\.pt is missing.*--init_from"):
        train("run", "--max_steps", 4, "--resume")
    assert [c.step for c in checkpoints(run)] == [2] and sorted(path.name for path in run.rglob("*")) == before


def test_there_is_something_to_resume_before_the_first_checkpoint(train, monkeypatch, tmp_path):
    """A kill between the first checkpoint and the save after it must not look like a lost resume.pt."""
    write = trainer.write_checkpoint

    def killed(*arguments):
        write(*arguments)
        raise RuntimeError("killed")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="killed"):
        patch.setattr(trainer, "write_checkpoint", killed)
        train("parts", "--max_steps", 3, "--ckpt_freq", 2)
    assert checkpoints(tmp_path / "parts")
    flags = ["--max_steps", 3, "--ckpt_freq", 2]
    assert_same_weights(train("parts", *flags, "--resume"), train("whole", *flags))


CHANGES = {
    "a count that is none": {"update_count": "many"},
    "a negative count": {"stale": -1},
    "no number": {"best": "high"},
    "no flags": {"flags": [1]},
    "no network": {"network": 5},
    "other weights": {"network": {"stop": torch.zeros(2)}},
    "no optimizer": {"optimizer": {"state": []}},
    "another optimizer": {"optimizer": {"state": {10**6: {}}, "param_groups": []}},
    "averages of another shape": {"optimizer": {"state": {0: {"step": torch.zeros(())}}, "param_groups": []}},
    "no scheduler": {"scheduler": {"best": "x"}},
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES.keys())
def test_a_resume_file_of_other_types_is_told_in_one_line(train, tmp_path, changed):
    run = train("run", "--max_steps", 1)
    content = torch.load(run / "resume.pt", weights_only=True)
    torch.save({**content, **changed}, run / "resume.pt")
    with pytest.raises(UserError, match=r"resume\.pt does not fit this run \("):
        train("run", "--max_steps", 2, "--resume")


def test_the_advice_to_load_unsafely_is_not_repeated(train):
    run = train("run", "--max_steps", 1)
    torch.save({"x": Path("y")}, run / "resume.pt")
    with pytest.raises(UserError, match=r"resume\.pt") as told:
        train("run", "--max_steps", 2, "--resume")
    assert "weights_only" not in str(told.value) and "trust" not in str(told.value)


@pytest.fixture
def full_disk():
    """No file can grow beyond the given size."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("legacy", [False, True])
def test_tensors_that_cannot_be_written_name_their_file(tmp_path, full_disk, legacy):
    (tmp_path / "resume.pt").write_bytes(b"old")
    full_disk(20_000)
    with pytest.raises(UserError, match=r"resume\.pt cannot be written \(.*File too large"):
        save_tensors(tmp_path / "resume.pt", {"a": torch.zeros(100_000)}, legacy=legacy)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_full_disk_while_training_is_told_in_one_line(train, full_disk, capsys):
    run_path = train("run", "--max_steps", 1)
    full_disk(50_000)
    with pytest.raises(SystemExit) as stop:
        run(lambda: train("run", "--max_steps", 3, "--resume") and None)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and str(run_path) in error


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_a_failed_write_names_its_file(tmp_path, full_disk, capsys, mode):
    def write() -> None:
        with atomic_file(tmp_path / "result", mode) as file:
            file.write("x" * 9000 if mode == "w" else b"x" * 9000)

    full_disk(1000)
    with pytest.raises(SystemExit):
        run(write)
    assert capsys.readouterr().err == f"error: {tmp_path / 'result'}: File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named_by_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as error, atomic_file(tmp_path / "no/such.json"):
        pass
    assert error.value.filename == str(tmp_path / "no/such.json")
    with pytest.raises(OSError) as other, naming("a"):
        raise OSError(errno.EACCES, "no", "b")
    assert other.value.filename == "b"


def test_curves_on_a_full_disk_end_instead_of_waiting_for_ever(tmp_path, full_disk):
    with pytest.raises(OSError, match="File too large") as error, MetricsLog(tmp_path, "net") as log:
        full_disk(3000)
        for step in range(1000):
            log.training(step, {"loss": 1.0})
    assert str(error.value.filename).startswith(str(tmp_path))


def test_what_a_kill_during_a_save_left_is_removed_and_nothing_else(train):
    run = train("run", "--max_steps", 1)
    leftovers = [run / ".resume.pt.abcd1234.tmp", run / "ckpt/.ckpt-3.1-5.a_b9x012.tmp"]
    users = [run / ".resume.pt.swp", run / ".notes.tmp", run / "ckpt/.keep"]
    for path in leftovers + users:
        path.write_text("x")
    train("run", "--max_steps", 2, "--resume")
    assert not any(path.exists() for path in leftovers) and all(path.exists() for path in users)


def test_a_save_that_is_killed_leaves_what_the_next_run_knows_as_a_leftover(tmp_path):
    """The names of temporary files are those that are looked for."""
    code = "import os, sys\nfrom support.files import atomic_file\nwith atomic_file(sys.argv[1]): os._exit(1)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "x.pt")], cwd=ROOT, check=False)
    (left,) = tmp_path.iterdir()
    assert re.fullmatch(r"\.x\.pt\.[a-z0-9_]{8}\.tmp", left.name)


def test_a_lost_terminal_saves(data, tmp_path):
    run = tmp_path / "run"
    flags = [*EXTRACTOR, "--data_dir", data, "--path", run, "--max_steps", 100000]
    arguments = [sys.executable, ROOT / "train_extractor_ml.py", *flags]
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
        os.execve(sys.executable, list(map(str, arguments)), {**os.environ, "PYTHONPATH": str(ROOT)})
    deadline = time.monotonic() + 120
    while not (run / "metrics.jsonl").exists() or len(read_metrics(run / "metrics.jsonl")) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    saved = torch.load(run / "resume.pt", weights_only=True)["update_count"]
    assert saved == len([line for line in read_metrics(run / "metrics.jsonl") if "loss" in line]) >= 3


def test_nohup_is_respected(train, monkeypatch):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        update = trainer.Trainer._update

        def hung_up(self, batch):
            os.kill(os.getpid(), signal.SIGHUP)
            return update(self, batch)

        monkeypatch.setattr(trainer.Trainer, "_update", hung_up)
        assert TrainingRecord.read(train("run", "--max_steps", 2)).updates == 2
    finally:
        signal.signal(signal.SIGHUP, before)


def rl(golden: Path, data: Path, tmp_path: Path) -> list[object]:
    models = ["--ext_dir", golden / "ext_rnn", "--abs_dir", golden / "abs"]
    return ["--data_dir", data, "--path", tmp_path / "run", *models, "--workers", 0, "--max_steps", 1]


def test_a_file_of_rewritings_that_cannot_be_written_is_told_before_training(monkeypatch, golden, data, tmp_path):
    for place in (tmp_path / "no/such/file", tmp_path):
        with pytest.raises(UserError, match="cannot be written; give a file in a folder that exists"):
            call(monkeypatch, "train_full_rl.py", *rl(golden, data, tmp_path), "--rewritings", place)
    for more in (["--variant", "released"], []):
        flags = rl(golden, data, tmp_path)
        flags = flags if more else [*flags[:6], *flags[8:]]
        with pytest.raises(UserError, match="--rewritings is for"):
            call(monkeypatch, "train_full_rl.py", *flags, *more, "--rewritings", tmp_path / "kept.npz")
    assert not (tmp_path / "run").exists()


def test_rewritings_that_are_none_are_told_and_kept(monkeypatch, golden, data, tmp_path):
    (tmp_path / "kept.npz").write_bytes(b"garbage")
    with pytest.raises(UserError, match=r"kept\.npz holds no rewritings"):
        call(monkeypatch, "train_full_rl.py", *rl(golden, data, tmp_path), "--rewritings", tmp_path / "kept.npz")
    assert (tmp_path / "kept.npz").read_bytes() == b"garbage"


def test_time_and_memory_are_those_of_all_legs(train, capsys):
    run = train("run", "--max_steps", 1)
    first = TrainingRecord.read(run)
    assert first.updates == 1 and first.seconds > 0 and first.peak_memory_mb > 50
    TrainingRecord(first.inputs, 1, 7200.0, 9999, True).write(run)
    capsys.readouterr()
    train("run", "--max_steps", 2, "--resume")
    both = TrainingRecord.read(run)
    assert both.updates == 2 and both.seconds > 7200 and both.peak_memory_mb == 9999
    assert both.inputs == first.inputs and set(both.inputs) == {"train", "val"}
    assert "2.00 hours in all, at most 9,999 MB of memory" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"inputs": 5}',
        '{"inputs":{}, "updates":"x", "seconds":1, "peak_memory_mb":1, "finished":true}',
        '{"inputs":{}, "updates":1, "seconds":1, "peak_memory_mb":1, "finished":"x"}',
        '{"inputs":{}, "updates":1, "seconds":1, "peak_memory_mb":1e9, "finished":true}',
        '{"inputs":{}, "updates":1, "seconds":NaN, "peak_memory_mb":1, "finished":true}',
    ],
)
def test_a_damaged_record_is_told_in_one_line(train, text):
    run = train("run", "--max_steps", 1)
    (run / "training.json").write_text(text)
    with pytest.raises(UserError, match=r"training\.json"):
        train("run", "--max_steps", 2, "--resume")


@pytest.mark.parametrize(
    ("script", "flags", "model"),
    [("train_abstractor.py", REWRITER, "abs"), ("train_extractor_ml.py", EXTRACTOR, "ext_rnn")],
)
def test_a_trained_model_can_be_trained_on(monkeypatch, golden, data, tmp_path, script, flags, model):
    """Its vocabulary and sizes are kept, whatever the data counts and the defaults say."""
    (tmp_path / "data").mkdir()
    for split in ("train", "val"):
        (tmp_path / "data" / split).symlink_to(data / split)
    flags = ["--data_dir", tmp_path / "data", "--path", tmp_path / "run", "--workers", 0, "--max_steps", 1]
    call(monkeypatch, script, *flags, "--lr", 1e-12, "--init_from", golden / model)
    assert (tmp_path / "run/vocab.pkl").exists()
    ours, theirs = (json.loads((d / "meta.json").read_text())["net_args"] for d in (tmp_path / "run", golden / model))
    assert ours == theirs
    trained = load(golden / model, nets=("base_abstractor", "ml_rnn_extractor"))
    for name, weight in trained.network.state_dict().items():
        assert torch.allclose(weights(tmp_path / "run")[name], weight, atol=1e-8)
    assert load(tmp_path / "run", nets=(trained.meta["net"],)).vocabulary.words == trained.vocabulary.words


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--emb_dim", 17], "has emb_dim 16, which is kept; leave out --emb_dim$"),
        (["--emb_dim", 128], "has emb_dim 16, which is kept"),  # the default
        (["--vsize", 30000], "has vsize 300, which is kept"),
        (["--no-bi"], "has bidirectional True, which is kept; leave out --no-bi"),
        (["--vsize", 50], "has vsize 300, which is kept"),
        (["--w2v", "x.bin"], "leave out --w2v"),
        (["--net-type", "ff"], "holds a ml_rnn_extractor"),
    ],
)
def test_flags_that_a_trained_model_decides_are_refused(monkeypatch, golden, data, tmp_path, flags, told):
    flags = ["--data_dir", data, "--path", tmp_path / "run", "--init_from", golden / "ext_rnn", *flags]
    with pytest.raises(UserError, match=told):
        call(monkeypatch, "train_extractor_ml.py", *flags)


def test_an_agent_needs_one_place_to_start_from(monkeypatch, golden, data, tmp_path):
    flags = ["--data_dir", data, "--path", tmp_path / "run"]
    for start in ([], ["--ext_dir", golden / "ext_rnn", "--init_from", golden / "rl"]):
        with pytest.raises(UserError, match="give either --ext_dir"):
            call(monkeypatch, "train_full_rl.py", *flags, *start)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--emb_dim", 10**9], r"the given sizes: .* weights need"),
        (["--lstm_hidden", 10**12], "the given sizes"),
        (["--conv_hidden", 10**30], r"--conv_hidden must be below"),
        (["--max_sent", 10**30], r"--max_sent must be below"),
    ],
)
def test_sizes_beyond_the_machine_are_told_in_one_line(data, tmp_path, capsys, flags, told):
    code, _, error = decode_runs.call(
        capsys, "train_extractor_ml", "--data_dir", data, "--path", tmp_path / "run", *flags
    )
    assert code == 2 and error.count("\n") == 1 and re.search(told, error) and not (tmp_path / "run").exists()


def test_a_larger_vocabulary_than_there_are_words_takes_them_all(monkeypatch, data, tmp_path):
    flags = [*EXTRACTOR[2:], "--data_dir", data, "--path", tmp_path / "run", "--max_steps", 1]
    call(monkeypatch, "train_extractor_ml.py", *flags, "--vsize", 10**18)
    assert len(load(tmp_path / "run", nets=("ml_rnn_extractor",)).vocabulary) > 304


@pytest.mark.parametrize("error", [MemoryError("no"), RuntimeError("DefaultCPUAllocator: can't allocate memory: x")])
def test_a_lack_of_memory_is_told_in_one_line(capsys, error):
    def main() -> None:
        raise error

    with pytest.raises(SystemExit) as stop:
        run(main)
    assert stop.value.code == 2 and capsys.readouterr().err.startswith("error: not enough memory")


def test_a_flag_that_is_newer_than_a_run_had_its_default(monkeypatch, data, tmp_path):
    flags = [*EXTRACTOR, "--data_dir", data, "--path", tmp_path / "run"]
    call(monkeypatch, "train_extractor_ml.py", *flags, "--max_steps", 1)
    path = tmp_path / "run/resume.pt"
    content = torch.load(path, weights_only=True)
    del content["flags"]["sentence_encoder"]
    torch.save(content, path)
    call(monkeypatch, "train_extractor_ml.py", *flags, "--max_steps", 2, "--resume")
    assert TrainingRecord.read(tmp_path / "run").updates == 2


def test_rewritings_of_another_abstractor_are_not_overwritten(monkeypatch, golden, data, tmp_path):
    flags, kept = rl(golden, data, tmp_path), tmp_path / "kept.npz"
    call(monkeypatch, "train_full_rl.py", *flags, "--rewritings", kept)
    before = kept.read_bytes()
    other = [tmp_path / "other" if flag == tmp_path / "run" else flag for flag in flags]
    with pytest.raises(UserError, match="of another abstractor"):
        call(monkeypatch, "train_full_rl.py", *other, "--rewritings", kept, "--max_dec_word", 7)
    assert kept.read_bytes() == before


def test_torch_says_nothing_of_its_own_about_a_checkpoint(tmp_path, recwarn):
    torch.save({"a": torch.ones(2)}, tmp_path / "of_another_protocol", pickle_protocol=3)
    assert load_tensors(tmp_path / "of_another_protocol")["a"].tolist() == [1, 1] and not recwarn.list

"""The trainer's promises: each is broken by one change in training/, and then the test fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from commands import complaint, launch
from torch import nn
from training_runs import EXTRACTOR, assert_same_weights, weights

from checkpoints.directory import best_checkpoint, checkpoints, load, write_checkpoint
from checkpoints.networks import ABSTRACTOR, POINTER_GENERATOR
from data.batching import _training_order, training_batches
from data.vocabulary import Vocabulary
from support import processes
from support.errors import UserError
from training import trainer
from training.metrics_log import read_metrics
from training.record import TrainingRecord


def lines_of(run: Path, key: str) -> list[dict[str, float]]:
    return [line for line in read_metrics(run / "metrics.jsonl") if key in line]


def test_gradients_are_clipped(train):
    """Adam forgets the scale of gradients, unless they are small beside its epsilon."""
    still, clipped, free = (
        weights(train(name, "--max_steps", 1, *flags))
        for name, flags in (("still", ["--lr", 1e-30]), ("clipped", ["--clip", 1e-13]), ("free", []))
    )
    moved = [max(float((w[name] - still[name]).abs().max()) for name in still) for w in (clipped, free)]
    assert moved[0] < 1e-6 < 1e-4 < moved[1]


def test_a_gradient_that_is_not_finite_stops_training(train, monkeypatch):
    monkeypatch.setattr(nn.utils, "clip_grad_norm_", lambda *_: torch.tensor(float("inf")))
    with pytest.raises(UserError, match="gradient norm inf after 0 updates"):
        train("run", "--max_steps", 1)


def test_curves_are_written_for_tensorboard(train):
    run = train("run", "--max_steps", 2)
    events = b"".join(path.read_bytes() for path in (run / "log").iterdir())
    for tag in (b"loss_ml_rnn_extractor", b"grad_norm_ml_rnn_extractor", b"val_metric_ml_rnn_extractor"):
        assert tag in events


@pytest.mark.filterwarnings("ignore:Error detected in")
def test_debug_names_the_operation_that_makes_a_nan(train):
    run = train("run", "--max_steps", 2)
    state = torch.load(run / "resume.pt", weights_only=True)
    state["network"]["pointer.pointing.v"][:] = float("inf")
    torch.save(state, run / "resume.pt")
    with pytest.raises(UserError, match=r"after 2 updates: Function '\w+' returned nan"):
        train("run", "--max_steps", 4, "--resume", "--debug")
    torch.autograd.set_detect_anomaly(False)


class Harmful:
    """Unpickling it would make a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_checkpoint_cannot_run_code(golden, tmp_path):
    shutil.copytree(golden / "abs", tmp_path / "abs")
    best = best_checkpoint(tmp_path / "abs", highest=False).path
    torch.save({"state_dict": {}, "x": Harmful(tmp_path / "made")}, best)
    with pytest.raises(UserError, match="not a readable checkpoint"):
        load(tmp_path / "abs", nets=(ABSTRACTOR,))
    assert not (tmp_path / "made").exists()


def test_a_failing_write_leaves_the_old_files(train, monkeypatch):
    run = train("run", "--max_steps", 2, "--ckpt_freq", 2)
    before = {path: path.read_bytes() for path in (run / "resume.pt", *(run / "ckpt").iterdir())}

    def cut_off(_content, file, **_):
        file.write(b"half of it")
        raise OSError("disk full")

    monkeypatch.setattr(torch, "save", cut_off)
    with pytest.raises(OSError, match="disk full"):
        train("run", "--max_steps", 3, "--ckpt_freq", 2, "--resume")
    with pytest.raises(OSError, match="disk full"):
        write_checkpoint(run, POINTER_GENERATOR, nn.Linear(1, 1), 0.5, 9)
    assert {path: path.read_bytes() for path in (run / "resume.pt", *(run / "ckpt").iterdir())} == before


def test_the_seed_decides_the_first_weights(train):
    same, again, other = (
        weights(train(name, "--max_steps", 1, "--lr", 1e-30, "--seed", seed))
        for name, seed in (("same", 3), ("again", 3), ("other", 4))
    )
    name = "article_encoder.lstm.weight_ih_l0"
    assert torch.equal(same[name], again[name]) and not torch.equal(same[name], other[name])


@pytest.mark.parametrize("flags", [["--seed", 9], ["--max_word", 7], ["--max_sent", 20], ["--lr_p", 4]])
def test_flags_that_shape_training_cannot_change_on_the_way(train, flags):
    train("run", "--max_steps", 1)
    with pytest.raises(UserError, match=f"started with {flags[0]}"):
        train("run", "--max_steps", 2, "--resume", *flags)


def test_other_words_are_refused_and_a_lost_vocabulary_is_written_again(train):
    run = train("run", "--max_steps", 1)
    (run / "vocab.pkl").unlink()
    train("run", "--max_steps", 2, "--resume")
    assert (run / "vocab.pkl").exists()
    Vocabulary.from_counter(Counter({f"w{i}": 300 - i for i in range(300)}), 300).save(run / "vocab.pkl")
    with pytest.raises(UserError, match="other words"):
        train("run", "--max_steps", 3, "--resume")


def test_a_run_that_was_killed_before_its_first_save_logs_no_step_twice(train, monkeypatch):
    save = trainer.Trainer._save

    def killed(self):
        if self.update_count:
            raise RuntimeError("killed")
        save(self)

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(trainer.Trainer, "_save", killed)
        train("run", "--max_steps", 4)
    run = train("run", "--max_steps", 4, "--resume")
    assert [line["step"] for line in lines_of(run, "loss")] == [1, 2, 3, 4]


def test_the_last_update_is_validated_once_even_if_its_checkpoint_is_not_kept(train):
    run = train("run", "--max_steps", 8, "--ckpt_freq", 2, "--keep", 0, "--lr", 0.3, "--patience", 100)
    assert [line["step"] for line in lines_of(run, "val_metric")] == [2, 4, 6, 8]
    assert len(checkpoints(run)) == 1


def test_a_batch_whose_labels_lie_beyond_the_limits_changes_nothing(train):
    run = train("run", "--max_steps", 6, "--max_sent", 1, "--batch", 1)
    assert 0.0 in [line["loss"] for line in lines_of(run, "loss")]


def test_an_interrupt_between_two_validation_batches_leaves_the_validation_for_later(train, monkeypatch, tmp_path):
    flags = ["--max_steps", 6, "--ckpt_freq", 3, "--batch", 2]
    validate = trainer.Trainer._validate

    def interrupted(self, last=False):
        os.kill(os.getpid(), signal.SIGINT)
        validate(self, last)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(trainer.Trainer, "_validate", interrupted)
        train("parts", *flags)
    assert torch.load(tmp_path / "parts/resume.pt", weights_only=True)["update_count"] == 3
    assert not checkpoints(tmp_path / "parts")
    assert not TrainingRecord.read(tmp_path / "parts").finished
    assert_same_weights(train("parts", *flags, "--resume"), train("whole", *flags))
    assert TrainingRecord.read(tmp_path / "parts").finished


@pytest.mark.parametrize(("sizes", "batch", "world"), [([5], 2, 2), ([4], 3, 3), ([64, 1], 32, 2), ([0, 7], 4, 1)])
def test_every_batch_has_an_item_for_every_process(sizes, batch, world):
    items: Any = SimpleNamespace(hyper_batches=lambda _: np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]))
    order = _training_order(items, batch, 0, 0, world)
    first = [next(order) for _ in range(20)]
    assert min(map(len, first)) >= world


def test_a_batch_smaller_than_the_processes_is_refused():
    ten: Any = range(10)
    with pytest.raises(UserError, match="larger --batch"):
        training_batches(ten, 1, 0, world=2)


def group(*command: object, **options) -> subprocess.Popen:
    """A process group of its own, as a shell makes for a job."""
    return launch(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **options)


def wait_for_lines(run: Path, n: int) -> None:
    deadline = time.monotonic() + 90
    while not (run / "metrics.jsonl").exists() or len(read_metrics(run / "metrics.jsonl")) < n:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_whole_job_saves(train, data, tmp_path, number):
    """Workers that prepare batches are part of the job."""
    flags = [*EXTRACTOR[:-2], "--workers", 1, "--data_dir", data, "--path", tmp_path / "run", "--max_steps", 100000]
    process = group("train_extractor_ml.py", *flags)
    wait_for_lines(tmp_path / "run", 3)
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert workers
    for worker in workers:  # as a scheduler does
        os.kill(int(worker), number)
    time.sleep(0.5)
    os.killpg(process.pid, number)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 130 and "--resume continues" in output and "Traceback" not in output, output
    saved = torch.load(tmp_path / "run/resume.pt", weights_only=True)["update_count"]
    assert saved == len(lines_of(tmp_path / "run", "loss"))


FAILING = """
from training.supervised import MaximumLikelihood

def validate(objective, batches, step):
    next(iter(batches))
    raise RuntimeError("of torch")

MaximumLikelihood.validate = validate
from train_extractor_ml import main
main()
"""


def test_an_error_in_a_validation_ends_the_workers(data, tmp_path):
    """They ignore the signal by which Python would end them before it waits for them."""
    flags = [*EXTRACTOR[:-2], "--workers", 1, "--data_dir", data, "--path", tmp_path / "run", "--max_steps", 1]
    process = launch("-c", FAILING, *flags, stderr=subprocess.PIPE)
    assert "RuntimeError: of torch" in process.communicate(timeout=180)[1]


HASTY = "import training.trainer; training.trainer.SAVE_EVERY_SECONDS = {}; import train_extractor_ml as t; t.main()"


@pytest.mark.slow
@pytest.mark.parametrize("interrupted", [False, True])
def test_two_processes_save_often_and_stop_together(data, tmp_path, interrupted):
    script = tmp_path / "hasty.py"
    script.write_text(HASTY.format(1e9 if interrupted else 0.01))
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
    steps = 100000 if interrupted else 40
    flags = [*EXTRACTOR, "--data_dir", data, "--path", tmp_path / "run", "--max_steps", steps, "--device", "cpu"]
    process = group(*torchrun, script, *flags)
    if interrupted:
        wait_for_lines(tmp_path / "run", 5)
        os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=150)
    saved = torch.load(tmp_path / "run/resume.pt", weights_only=True)["update_count"]
    assert saved == len(lines_of(tmp_path / "run", "loss")), output
    assert saved >= (5 if interrupted else 40), output


@pytest.mark.parametrize(
    "flags", [["--seed", -1], ["--seed", 10**20], ["--decay", 1], ["--device", "meta"], ["--device", "mps"]]
)
def test_impossible_values_are_told_in_one_line(data, tmp_path, flags):
    line = complaint("train_extractor_ml.py", *EXTRACTOR, "--data_dir", data, "--path", tmp_path / "x", *flags)
    assert flags[0] in line and not (tmp_path / "x").exists()


def test_damaged_files_are_told_in_one_line(train, golden, tmp_path):
    run = train("run", "--max_steps", 1)
    for content in (b"", b"x" * 100):
        (run / "resume.pt").write_bytes(content)
        with pytest.raises(UserError, match=r"resume\.pt is not a readable checkpoint"):
            train("run", "--max_steps", 2, "--resume")
    shutil.copytree(golden / "abs", tmp_path / "abs")
    best = best_checkpoint(tmp_path / "abs", highest=False).path
    for name in ("ckpt-1.2.3-5", "ckpt-..-3"):
        (tmp_path / "abs/ckpt" / name).write_bytes(b"")
    load(tmp_path / "abs", nets=(ABSTRACTOR,))
    best.write_bytes(b"")
    with pytest.raises(UserError, match="not a readable checkpoint"):
        load(tmp_path / "abs", nets=(ABSTRACTOR,))
    for state in ([1, 2], {3: torch.zeros(1)}):
        torch.save({"state_dict": state}, best)
        with pytest.raises(UserError, match="named weights"):
            load(tmp_path / "abs", nets=(ABSTRACTOR,))


HUGE = '{"vocab_size": 304, "n_hidden": %s}'


@pytest.mark.parametrize(
    "sizes",
    [
        *('{"vocab": 3}', "null", "[]", '{"vocab_size": -4}', '{"vocab_size": 0}', '{"vocab_size": "x"}'),
        *(HUGE % 10**n for n in (7, 12, 30)),
    ],
)
def test_sizes_that_describe_no_network_are_told_in_one_line(golden, tmp_path, sizes):
    shutil.copytree(golden / "abs", tmp_path / "abs")
    (tmp_path / "abs/meta.json").write_text(f'{{"net": "base_abstractor", "net_args": {sizes}}}')
    with pytest.raises(UserError, match=r"meta\.json: ('net_args' do not describe|.* weights need .* of memory)"):
        load(tmp_path / "abs", nets=(ABSTRACTOR,))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"net": ' + "9" * 5000 + "}", '{"net": "base_abstractor"', "\xff"])
def test_a_meta_json_that_is_no_json_is_told_in_one_line(tmp_path, text):
    (tmp_path / "meta.json").write_bytes(text.encode("latin1"))
    with pytest.raises(UserError, match=r"meta\.json is not readable JSON"):
        load(tmp_path, nets=(ABSTRACTOR,))


@pytest.mark.parametrize(("failed", "outcome"), [([1, 1], SystemExit), ([1, 0], SystemExit), ([0, 1], UserError)])
def test_the_first_process_that_fails_tells_why(monkeypatch, failed, outcome):
    """As the second of two processes sees it."""
    monkeypatch.setattr(processes, "total", lambda _: torch.tensor(failed))

    def step() -> None:
        if failed[1]:
            raise UserError("no")

    with pytest.raises(outcome):
        processes.in_all(processes.Processes(1, 2, 1), step)

"""The trainer, through the scripts: resumption, checkpoints, several processes, released formats, bad input."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from functools import partial

import pytest
import torch
from commands import ROOT, call, complaint, launch
from kills import struck_script
from training_runs import EXTRACTOR, REWRITER, assert_same_weights

from checkpoints.directory import (
    ABSTRACTOR,
    AGENT,
    RNN_EXTRACTOR,
    best_checkpoint,
    build_network,
    checkpoints,
    load,
    read_checkpoint,
    read_meta,
    write_checkpoint,
)
from checkpoints.released_names import NAMES, from_released, to_released
from training.metrics_log import read_metrics
from training.supervised import MaximumLikelihood
from training.trainer import Validation


@pytest.mark.parametrize(("script", "flags"), [("train_extractor_ml.py", EXTRACTOR), ("train_abstractor.py", REWRITER)])
def test_a_lengthened_run_equals_an_uninterrupted_one_bit_for_bit(monkeypatch, data, tmp_path, script, flags):
    flags = [*flags, "--data_dir", data, "--ckpt_freq", 8, "--seed", 5]
    call(monkeypatch, script, *flags, "--path", tmp_path / "whole", "--max_steps", 20)
    for steps in (3, 8, 13, 20):
        call(monkeypatch, script, *flags, "--path", tmp_path / "parts", "--max_steps", steps, "--resume")
    assert_same_weights(tmp_path / "whole", tmp_path / "parts")
    curves = [
        [
            {k: v for k, v in line.items() if k != "seconds"}
            for line in read_metrics(tmp_path / run / "metrics.jsonl")
            if "loss" in line
        ]
        for run in ("whole", "parts")
    ]
    assert curves[0] == curves[1] and len(curves[0]) == 20


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(monkeypatch, data, tmp_path, by):
    """At its 13th update, in the middle between two checkpoints."""
    flags = [*EXTRACTOR, "--data_dir", data, "--ckpt_freq", 5, "--max_steps", 24]
    train = partial(call, monkeypatch, "train_extractor_ml.py", *flags)
    command = ["train_extractor_ml.py", *flags, "--path", tmp_path / "killed"]
    code = struck_script("training.trainer:Trainer", "_update", 13, by, *command)
    assert code == (130 if by == signal.SIGINT else -signal.SIGKILL)
    saved = torch.load(tmp_path / "killed" / "resume.pt", weights_only=True)["update_count"]
    assert saved == (13 if by == signal.SIGINT else 10)
    train("--path", tmp_path / "killed", "--resume")
    train("--path", tmp_path / "whole")
    assert_same_weights(tmp_path / "killed", tmp_path / "whole")
    losses = [line["step"] for line in read_metrics(tmp_path / "killed" / "metrics.jsonl") if "loss" in line]
    assert losses == list(range(1, 25))


def test_a_validation_that_was_interrupted_is_made_up_for(monkeypatch, data, tmp_path):
    flags = [*EXTRACTOR, "--data_dir", data, "--ckpt_freq", 4, "--max_steps", 10, "--patience", 1]

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises((KeyboardInterrupt, SystemExit)):
        patch.setattr(MaximumLikelihood, "validate", interrupted)
        call(monkeypatch, "train_extractor_ml.py", *flags, "--path", tmp_path / "parts")
    assert not checkpoints(tmp_path / "parts")
    call(monkeypatch, "train_extractor_ml.py", *flags, "--path", tmp_path / "parts", "--resume")
    call(monkeypatch, "train_extractor_ml.py", *flags, "--path", tmp_path / "whole")
    assert_same_weights(tmp_path / "parts", tmp_path / "whole")
    names = [[checkpoint.path.name for checkpoint in checkpoints(tmp_path / run)] for run in ("parts", "whole")]
    assert names[0] == names[1] and names[0]


@pytest.mark.slow
@pytest.mark.parametrize(("script", "flags"), [("train_extractor_ml.py", EXTRACTOR), ("train_abstractor.py", REWRITER)])
def test_two_processes_train_as_one_with_the_same_global_batch(monkeypatch, data, tmp_path, script, flags):
    flags = [*flags, "--data_dir", data, "--ckpt_freq", 6, "--max_steps", 6, "--device", "cpu"]
    call(monkeypatch, script, *flags, "--path", tmp_path / "one")
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
    process = launch(
        *torchrun, script, *flags, "--path", tmp_path / "two", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert_same_weights(tmp_path / "one", tmp_path / "two", exactly=False)
    metrics = [best_checkpoint(tmp_path / run, highest=False).metric for run in ("one", "two")]
    assert metrics[0] == pytest.approx(metrics[1], abs=1e-4)


def test_one_of_two_processes_tells_that_a_model_is_missing(data, tmp_path):
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
    flags = ["--data_dir", data, "--path", tmp_path / "run", "--init_from", tmp_path / "none", "--device", "cpu"]
    process = launch(
        *torchrun, "train_abstractor.py", *flags, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output, _ = process.communicate(timeout=180)
    assert process.returncode != 0 and str(output).count("error: model directory") == 1, output


def test_the_best_and_the_last_checkpoints_stay(monkeypatch, data, tmp_path):
    call(
        monkeypatch,
        "train_extractor_ml.py",
        *EXTRACTOR,
        "--data_dir",
        data,
        "--path",
        tmp_path / "run",
        "--ckpt_freq",
        2,
        "--max_steps",
        16,
        "--keep",
        2,
        "--lr",
        0.3,
        "--patience",
        100,
    )
    kept = checkpoints(tmp_path / "run")
    validations = {
        line["step"]: line["val_metric"]
        for line in read_metrics(tmp_path / "run" / "metrics.jsonl")
        if "val_metric" in line
    }
    best = min(validations, key=lambda step: validations[step])
    assert {checkpoint.step for checkpoint in kept} == {14, 16, best}


def test_training_ends_when_validation_stops_improving(monkeypatch, data, tmp_path):
    monkeypatch.setattr(MaximumLikelihood, "validate", lambda *_: Validation(total=2.0, n=1.0))
    flags = ["--data_dir", data, "--path", tmp_path / "run", "--ckpt_freq", 1, "--max_steps", 50, "--patience", 2]
    call(monkeypatch, "train_extractor_ml.py", *EXTRACTOR, *flags)
    lines = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert max(line["step"] for line in lines) == 3
    assert [line["lr"] for line in lines if "lr" in line] == pytest.approx([1e-3, 1e-3, 5e-4])


def test_a_directory_in_use_is_refused_without_resume(monkeypatch, data, tmp_path):
    flags = [*EXTRACTOR, "--data_dir", data, "--max_steps", 1]
    call(monkeypatch, "train_extractor_ml.py", *flags, "--path", tmp_path / "run")
    assert "--resume" in complaint("train_extractor_ml.py", *flags, "--path", tmp_path / "run")
    others = [*flags, "--lr", 0.5, "--path", tmp_path / "run", "--resume"]
    assert "other flags" in complaint("train_extractor_ml.py", *others)


def test_a_loss_that_is_not_finite_stops_training_and_spares_the_checkpoint(monkeypatch, data, tmp_path):
    flags = [*EXTRACTOR, "--data_dir", data, "--path", tmp_path / "run", "--ckpt_freq", 1]
    call(monkeypatch, "train_extractor_ml.py", *flags, "--max_steps", 2)
    state = torch.load(tmp_path / "run/resume.pt", weights_only=True)
    state["network"]["sentence_encoder.embedding.weight"][4:] = float("inf")
    torch.save(state, tmp_path / "run/resume.pt")
    line = complaint("train_extractor_ml.py", *flags, "--max_steps", 4, "--resume")
    assert "nan after 2 updates" in line
    assert [checkpoint.step for checkpoint in checkpoints(tmp_path / "run")] == [1, 2]
    for checkpoint in checkpoints(tmp_path / "run"):
        assert all(torch.isfinite(w).all() for w in read_checkpoint(checkpoint.path)["state_dict"].values())


def test_a_validation_that_is_not_finite_writes_no_checkpoint(data, tmp_path):
    flags = [*EXTRACTOR, "--data_dir", data, "--path", tmp_path / "run", "--ckpt_freq", 1, "--max_steps", 3]
    assert "after 1 updates" in complaint("train_extractor_ml.py", *flags, "--lr", 1e38)
    assert checkpoints(tmp_path / "run") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train_abstractor.py", "--path", "x"], ["--data_dir", "DATA"]),
        (["train_abstractor.py", "--path", "x", "--data_dir", "no/such"], ["no/such"]),
        (["train_abstractor.py", "--path", "x", "--data_dir", "DATA", "--batch", "0"], ["--batch", "at least 1"]),
        (["train_abstractor.py", "--path", "x", "--data_dir", "DATA", "--lr", "fast"], ["--lr"]),
        (["train_abstractor.py", "--path", "x", "--data_dir", "DATA", "--device", "cuda:99"], ["cuda:99"]),
        (["train_abstractor.py", "--path", "x", "--data_dir", "DATA", "--amp"], ["--amp", "GPU"]),
        (["train_abstractor.py", "--path", "x", "--data_dir", "DATA", "--w2v", "none.bin"], ["none.bin"]),
        (["train_full_rl.py", "--path", "x", "--data_dir", "DATA", "--ext_dir", "nowhere"], ["nowhere"]),
    ],
)
def test_bad_flags_are_told_in_one_line(monkeypatch, data, tmp_path, arguments, words):
    monkeypatch.delenv("DATA", raising=False)
    line = complaint(*[data if a == "DATA" else tmp_path / "x" if a == "x" else a for a in arguments])
    assert all(word in line for word in words)


@pytest.mark.parametrize(
    ("folder", "net"),
    [
        ("abs", ABSTRACTOR),
        ("ext_rnn", RNN_EXTRACTOR),
        ("ext_ff", "ml_ff_extractor"),
        ("rl", AGENT),
        ("rl_ext_only", AGENT),
    ],
)
def test_released_checkpoints_load_and_are_written_back_unchanged(golden, tmp_path, folder, net):
    loaded = load(golden / folder, nets=(net,))
    best = best_checkpoint(golden / folder, highest=net == AGENT)
    theirs = read_checkpoint(best.path)["state_dict"]
    path = write_checkpoint(tmp_path, net, loaded.network, 0, 0)
    ours = read_checkpoint(path)["state_dict"]
    assert list(ours) == list(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_the_best_released_checkpoint_is_chosen_by_loss_or_reward(golden):
    assert best_checkpoint(golden / "abs", highest=False).path.name == "ckpt-1.009118-500"
    assert best_checkpoint(golden / "rl_ext_only", highest=True).path.name == "ckpt-74.008939-125"


def test_optimizer_state_is_numbered_as_in_released_files(golden, tmp_path):
    """Adam's averages have their parameter's shape, in the released order of parameters."""
    loaded = load(golden / "abs", nets=(ABSTRACTOR,))
    optimizer = torch.optim.Adam(loaded.network.parameters())
    for number, parameter in enumerate(loaded.network.parameters()):
        parameter.grad = torch.full_like(parameter, float(number))
    optimizer.step()
    content = read_checkpoint(write_checkpoint(tmp_path, ABSTRACTOR, loaded.network, 1.5, 7, optimizer))
    assert content["val_metric"] == 1.5
    theirs = read_checkpoint(best_checkpoint(golden / "abs", highest=False).path)["optimizer"]["state"]
    for number, state in theirs.items():
        assert content["optimizer"]["state"][number]["exp_avg"].shape == state["exp_avg"].shape


def test_a_checkpoint_that_carries_an_unused_cell_still_loads(golden, tmp_path):
    """The released rnn-ext gains a copy of its LSTM's weights once it has extracted."""
    shutil.copytree(golden / "ext_rnn", tmp_path / "ext")
    path = best_checkpoint(tmp_path / "ext", highest=False).path
    content = read_checkpoint(path)
    content["state_dict"]["_extractor._lstm_cell._cells.0.weight_ih"] = torch.zeros(1)
    torch.save(content, path)
    ours, theirs = (load(folder, nets=(RNN_EXTRACTOR,)).network for folder in (tmp_path / "ext", golden / "ext_rnn"))
    assert all(torch.equal(*pair) for pair in zip(ours.parameters(), theirs.parameters(), strict=True))


def test_every_parameter_has_one_released_name():
    metas = {
        "ml_rnn_extractor": {"vocab_size": 9, "emb_dim": 2, "conv_hidden": 2, "lstm_hidden": 3, "lstm_layer": 2},
        "ml_ff_extractor": {"vocab_size": 9, "emb_dim": 2, "conv_hidden": 2, "lstm_hidden": 3},
        "base_abstractor": {"vocab_size": 9, "emb_dim": 2, "n_hidden": 3, "n_layer": 2},
    }
    for net, sizes in metas.items():
        state = build_network({"net": net, "net_args": sizes}, "test").state_dict()
        theirs = to_released(net, state)
        assert len(theirs) == len(state)
        assert list(from_released(net, theirs)) and from_released(net, theirs).keys() == state.keys()
    assert set(metas) | {AGENT} <= set(NAMES)


def test_damaged_model_directories_are_told_in_one_line(golden, tmp_path):
    from support.errors import UserError

    shutil.copytree(golden / "abs", tmp_path / "abs")
    best = best_checkpoint(tmp_path / "abs", highest=False).path
    best.write_bytes(best.read_bytes()[:100])
    with pytest.raises(UserError, match="readable checkpoint"):
        load(tmp_path / "abs", nets=(ABSTRACTOR,))
    with pytest.raises(UserError, match="holds a base_abstractor"):
        load(tmp_path / "abs", nets=(RNN_EXTRACTOR,))
    (tmp_path / "abs/meta.json").write_text("{}")
    with pytest.raises(UserError, match="net"):
        read_meta(tmp_path / "abs")
    with pytest.raises(UserError, match="does not exist"):
        read_meta(tmp_path / "nothing")


def test_what_is_trained_here_has_the_released_layout(monkeypatch, data, golden, tmp_path):
    call(
        monkeypatch,
        "train_abstractor.py",
        *REWRITER,
        "--data_dir",
        data,
        "--path",
        tmp_path / "abs",
        "--ckpt_freq",
        2,
        "--max_steps",
        2,
    )
    ours, theirs = (json.loads((d / "abs/meta.json").read_text()) for d in (tmp_path, golden))
    assert ours.keys() == theirs.keys() and ours["net_args"] == theirs["net_args"]
    assert ours["traing_params"].keys() == theirs["traing_params"].keys()
    checkpoint = read_checkpoint(best_checkpoint(tmp_path / "abs", highest=False).path)
    released = read_checkpoint(best_checkpoint(golden / "abs", highest=False).path)
    assert list(checkpoint) == list(released)
    shapes = [{k: v.shape for k, v in c["state_dict"].items()} for c in (checkpoint, released)]
    assert shapes[0] == shapes[1]
    assert (tmp_path / "abs/vocab.pkl").exists() and (ROOT / "train_abstractor.py").exists()

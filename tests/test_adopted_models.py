"""Finished and half trained models from elsewhere: the reproduction uses them as they are, or goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.stage import with_needs
from pipeline.stamps import Stamps, State
from support.files import write_json
from training.record import TrainingRecord


@pytest.fixture
def model(kitchen):
    """A stage that makes a model of what another stage makes."""
    outputs = tuple(str(kitchen.folder / "model" / name) for name in ("ckpt", "meta.json"))
    code = "(f / 'model').mkdir(exist_ok=True); [(f / 'model' / n).write_text('own') for n in ('ckpt', 'meta.json')]"
    folder = str(kitchen.folder / "model")
    return kitchen.stage("cook", "onion", code=code, outputs=outputs, replaces=(folder,), adopted=outputs)


def put_model(kitchen) -> None:
    (kitchen.folder / "model").mkdir()
    for name in ("ckpt", "meta.json"):
        (kitchen.folder / "model" / name).write_text("theirs")


def test_a_finished_model_is_adopted_and_needs_nothing(kitchen, model):
    onion = kitchen.stage("onion")
    put_model(kitchen)
    stamps = Stamps(kitchen.runs)
    assert stamps.state(model) == State.FOUND
    stages = with_needs([model], [onion, model], stamps.needs_nothing)
    assert stages == [model]
    assert "found" in kitchen.run(*stages)[1]
    assert kitchen.run(*stages) == ([], "") and not kitchen.calls("cook")
    assert with_needs([model], [onion, model], Stamps(kitchen.runs).needs_nothing) == [model]
    kitchen.run(onion, model)
    assert (kitchen.folder / "model" / "ckpt").read_text() == "theirs"
    kitchen.run(onion, model, force=(model,))
    assert (kitchen.folder / "model" / "ckpt").read_text() == "own"
    assert (kitchen.runs / "replaced" / "cook" / "1" / "model" / "ckpt").read_text() == "theirs"


def test_records_of_an_earlier_version_are_taken_over(kitchen, model):
    """Ended: the model is adopted with its times. Begun: it goes on."""
    put_model(kitchen)
    write_json_to(kitchen.runs / "stages" / "cook.json", {"key": "a", "outputs": ["b"], "seconds": 7.0})
    assert Stamps(kitchen.runs).state(model) == State.FOUND
    kitchen.run(model)
    assert Stamps(kitchen.runs).usage(model).seconds == 7.0
    assert Stamps(kitchen.runs).state(model) == State.DONE
    write_json_to(kitchen.runs / "stages" / "cook.json", {"key": "a"})
    assert Stamps(kitchen.runs).state(model) == State.BEGUN


def write_json_to(path: Path, value) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, value)


@pytest.mark.parametrize("weights", [True, False])
def test_a_half_trained_model_goes_on(kitchen, model, weights):
    """Whether it has checkpoints or not; with word of its end, or without a state to go on from, it is adopted."""
    put_model(kitchen)
    if not weights:
        (kitchen.folder / "model" / "ckpt").unlink()
    resume = kitchen.folder / "model" / "resume.pt"
    resume.touch()
    model = replace(model, resumes=str(resume))
    stamps = Stamps(kitchen.runs)
    assert stamps.state(model) == State.BEGUN and not stamps.needs_nothing(model)
    TrainingRecord(updates=7).write(resume.parent)
    assert stamps.state(model) == State.BEGUN
    TrainingRecord(finished=True).write(resume.parent)
    assert stamps.state(model) == (State.FOUND if weights else State.NEW)
    (resume.parent / "training.json").unlink()
    write_json_to(kitchen.runs / "stages" / "cook.json", {"key": "a", "outputs": ["b"]})
    assert stamps.state(model) == (State.FOUND if weights else State.NEW)  # version 1.0 says that it ended
    (kitchen.runs / "stages" / "cook.json").unlink()
    kitchen.run(kitchen.stage("onion"), model)
    assert kitchen.calls("cook") == ["call --resume"]
    assert not (kitchen.runs / "replaced").exists()


@pytest.mark.parametrize(("finished", "inputs_too"), [(True, False), (True, True), (False, False)])
def test_a_model_that_was_trained_on_by_hand_is_not_replaced(kitchen, model, finished, inputs_too):
    """As `--resume --max_steps` with a larger number does: finished, it is adopted; stopped on the way, it goes on."""
    onion, resume = kitchen.stage("onion"), kitchen.folder / "model" / "resume.pt"
    model = replace(model, resumes=str(resume))
    kitchen.run(onion, model)
    assert Stamps(kitchen.runs).state(model) == State.DONE
    if inputs_too:  # such as the abstractor of an agent
        (kitchen.folder / "onion").write_text("another")
        assert Stamps(kitchen.runs).state(model) == State.OLD
    (kitchen.folder / "model" / "ckpt").write_text("own, after more updates")
    resume.touch()
    TrainingRecord(updates=9, finished=finished).write(resume.parent)
    assert Stamps(kitchen.runs).state(model) == (State.FOUND if finished else State.BEGUN)
    kitchen.run(model)
    assert kitchen.calls("cook") == ["call", *([] if finished else ["call --resume"])]
    assert not (kitchen.runs / "replaced").exists()
    assert Stamps(kitchen.runs).state(model) == State.DONE


def test_an_adopted_model_that_is_gone_needs_what_it_is_made_of(kitchen, model):
    onion = kitchen.stage("onion")
    put_model(kitchen)
    kitchen.run(model)
    (kitchen.folder / "model" / "ckpt").unlink()
    assert with_needs([model], [onion, model], Stamps(kitchen.runs).needs_nothing) == [onion, model]


def test_half_a_model_is_not_adopted(kitchen, model):
    put_model(kitchen)
    (kitchen.folder / "model" / "meta.json").unlink()
    assert Stamps(kitchen.runs).state(model) == State.NEW

"""The command line: positional arguments, several values, spellings, and the paper's defaults (B.2)."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, fields
from typing import Any

import pytest

from support.flags import flag, given, parse


@dataclass(frozen=True, kw_only=True)
class Example:
    folder: str = flag(help="where", positional=True, env="EXAMPLE_FOLDER")
    files: tuple[str, ...] = flag((), "which", positional=True)
    sizes: tuple[int, ...] = flag((3, 4), "how large")
    max_word: int = flag(9, "limit", also="--most")
    rows: tuple[str, ...] = flag((), "which rows", choices=("a", "b"), repeated=True)
    box: str | None = flag(None, "shipped models", metavar="BOX", bare="here")


@dataclass(frozen=True, kw_only=True)
class Remembering(Example):
    given: frozenset[str] = given()
    quiet: bool = flag(False, "say less")


@dataclass(frozen=True, kw_only=True)
class Required:
    files: tuple[str, ...] = flag(help="which", positional=True)


def test_positional_arguments_and_several_values():
    assert parse(Example, "", ["d"]) == Example(folder="d")
    assert parse(Example, "", ["d", "a", "b", "--sizes", "1", "2", "--sizes", "5"]) == Example(
        folder="d", files=("a", "b"), sizes=(1, 2, 5)
    )
    assert parse(Required, "", ["a"]).files == ("a",)


def test_a_repeated_flag_takes_one_value_each_time():
    assert parse(Example, "", ["--rows", "a", "d", "--rows", "b"]) == Example(folder="d", rows=("a", "b"))


def test_a_flag_may_stand_without_its_value():
    assert [parse(Example, "", ["d", *given]).box for given in ([], ["--box"], ["--box", "x"])] == [None, "here", "x"]


def test_what_was_given_is_known_even_where_it_is_the_default():
    assert parse(Remembering, "", ["d", "--max-word", "9", "--quiet"]).given == {"folder", "max_word", "quiet"}
    assert parse(Remembering, "", ["d"]).given == {"folder"}


def test_an_empty_variable_is_none(monkeypatch, capsys):
    monkeypatch.setenv("EXAMPLE_FOLDER", "")
    with pytest.raises(SystemExit):
        parse(Example, "", [])
    assert "FOLDER is missing" in capsys.readouterr().err


def test_help_shows_defaults_in_words(capsys):
    with pytest.raises(SystemExit):
        parse(Example, "", ["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "how large (default 3 4)" in shown and "--box [BOX]" in shown and "which rows" in shown
    assert "which rows (default" not in shown


def test_a_positional_argument_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("EXAMPLE_FOLDER", "e")
    assert parse(Example, "", []).folder == "e"


@pytest.mark.parametrize("spelling", ["--max_word", "--max-word", "--most"])
def test_a_flag_has_all_its_spellings(spelling):
    assert parse(Example, "", ["d", spelling, "7"]).max_word == 7


@pytest.mark.parametrize(
    ("config", "argv", "message"),
    [
        (Example, [], "FOLDER is missing; give it, or set $EXAMPLE_FOLDER"),
        (Required, [], "FILES is missing"),
        (Example, ["d", "--sizes", "x"], "--sizes"),
    ],
)
def test_what_is_missing_is_told_in_one_line(capsys, monkeypatch, config, argv, message):
    monkeypatch.delenv("EXAMPLE_FOLDER", raising=False)
    with pytest.raises(SystemExit) as stop:
        parse(config, "", argv)
    error = capsys.readouterr().err
    assert stop.value.code == 2 and error.startswith("error: ") and error.count("\n") == 1 and message in error


ALL_LEARNING = {"batch": 32, "clip": 2.0, "decay": 0.5}
ML = {**ALL_LEARNING, "lr": 0.001, "vsize": 30000, "emb_dim": 128}
# The paper's supplement, "Hyperparameter Details"; the flat baseline's sizes are those of "Training Speed".
B2: dict[tuple[str, str], dict[str, Any]] = {
    ("train_abstractor", "AbstractorFlags"): {**ML, "n_hidden": 256, "n_layer": 1, "max_art": 100, "max_abs": 30},
    ("train_extractor_ml", "ExtractorFlags"): {**ML, "lstm_hidden": 256, "lstm_layer": 1, "max_word": 100},
    ("train_full_rl", "ReinforcementFlags"): {**ALL_LEARNING, "lr": 0.0001, "gamma": 0.95, "max_dec_word": 30},
    ("train_pointer_generator", "PointerGeneratorFlags"): {**ML, "n_hidden": 256, "max_art": 400, "max_sum": 100},
    ("train_word2vec", "Flags"): {"dim": 128},
    ("decode_full_model", "Flags"): {"max_dec_word": 30, "div": 1.0},
    ("decode_baselines", "Flags"): {"max_dec_word": 30},
    ("summarize", "Flags"): {"max_dec_word": 30, "div": 1.0},
}
REQUIRED = {"path": "x", "data_dir": "x", "ext_dir": "x", "model_dir": "x"}


@pytest.mark.parametrize(("script", "name"), B2)
def test_the_defaults_on_the_command_line_are_the_papers(script, name):
    config = getattr(importlib.import_module(script), name)
    known = {field.name: field for field in fields(config)}
    given = [part for flag, value in REQUIRED.items() if flag in known for part in (f"--{flag}", value)]
    parsed = parse(config, "", given)
    assert {flag: getattr(parsed, flag) for flag in B2[script, name]} == B2[script, name]
    cited = {flag for flag, field in known.items() if field.metadata.get("source") == "B.2"}
    assert cited - {"w2v", "beam"} <= set(B2[script, name]), "a flag that cites B.2 is held to it here"


def test_rewards_are_the_papers_by_default():
    """Eq. 7 and Sec. 3.2: ROUGE-L of each sentence, ROUGE-1 of the whole when the agent stops."""
    config = importlib.import_module("train_full_rl").ReinforcementFlags
    flags = parse(config, "", ["--path", "x", "--data_dir", "x", "--ext_dir", "x"])
    assert (flags.reward, flags.stop_reward, flags.stop) == ("rouge-l", "rouge-1", 1.0)

"""The plan of the reproduction, its command line, and the tuning of the number of sentences."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path

import pytest
from tiny_data import random_pairs, run_python, write_split

from metrics.rouge import score_document
from pipeline.__main__ import choose
from pipeline.plan import ROWS_OF_TABLE, Sources, make_plan
from pipeline.presets import PRESETS, SAMPLE
from pipeline.stage import Chosen, Found, Stage, needs
from pipeline.stamps import Stamps, State
from pipeline.tuning import mean_rouge
from report import paper_numbers
from report.rows import ROWS
from support.errors import UserError
from support.files import read_json, write_json
from support.flags import parse


@pytest.fixture
def prepared(tmp_path) -> Path:
    """A data set with all splits and without counted words."""
    return write_splits(tmp_path / "mine")


def write_splits(folder: Path) -> Path:
    for split in ("train", "val", "test"):
        write_split(folder, split, random_pairs(3))
    return folder


def plan_of(data: Path, runs: Path, preset: str = "sample", **more: Path):
    return make_plan(Sources(data=data, **more), runs, PRESETS[preset])


@pytest.mark.parametrize(
    ("table", "paper"),
    [
        ("1", paper_numbers.TABLE_1),
        ("2", paper_numbers.TABLE_2),
        ("3", paper_numbers.TABLE_3),
        ("5", paper_numbers.TABLE_5),
    ],
)
def test_the_plan_has_the_rows_of_the_papers_tables(table, paper):
    assert set(ROWS_OF_TABLE[table]) == {row for row in paper if not ROWS[row].quoted}


def test_every_need_is_written_by_an_earlier_stage_or_given(tmp_path, prepared):
    more = {name: write_splits(tmp_path / "given" / name) for name in ("anonymized", "duc")}
    plan = plan_of(prepared, tmp_path / "runs", "paper", **more)
    assert len({stage.name for stage in plan.stages}) == len(plan.stages)
    for place, stage in enumerate(plan.stages):
        assert all(other in plan.stages[:place] for other in needs(stage, plan.stages)), stage.name
        earlier = {name for other in plan.stages[:place] for name in other.outputs}
        given = {name for name in stage.inputs if Path(name).exists()}
        assert set(stage.inputs) <= earlier | given, stage.name


def test_all_is_reported_and_a_table_needs_less(tmp_path):
    plan = plan_of(tmp_path / "runs" / "data", tmp_path / "runs")
    names = lambda **how: [s.name for s in choose(plan, how.get("tables"), how.get("until"), how.get("only"))]  # noqa: E731
    assert names() == [stage.name for stage in plan.stages]
    assert "ext_ff" not in names(tables=["6"]) and {"rl", "pointer_generator_coverage", "corpus"} <= set(
        names(tables=["6"])
    )
    assert names(until="labels") == ["corpus", "labels"]
    assert names(only="page,claims") == ["page", "claims"]
    for table, flag in (("2", "--anonymized_dir"), ("3", "--duc_dir")):
        with pytest.raises(UserError, match=flag):
            names(tables=[table])
    with pytest.raises(UserError, match="no stage dessert"):
        names(until="dessert")


def test_another_data_set_adds_its_table_and_shares_no_folder(tmp_path, prepared):
    duc = write_splits(tmp_path / "duc")
    plan = plan_of(tmp_path / "runs" / "data", tmp_path / "runs", anonymized=prepared, duc=duc)
    outputs = [name for stage in plan.stages for name in stage.outputs if name.startswith(str(tmp_path / "runs"))]
    assert len(set(outputs)) == len(outputs)
    wanted = {stage.name for stage in choose(plan, ["3"], None, None)}
    assert {"rl", "duc-decode-rnn_ext_abs_rl", "duc-references-test"} <= wanted
    assert not any(name.startswith("anonymized") for name in wanted)
    wanted = {stage.name for stage in choose(plan, ["2"], None, None)}
    assert "anonymized-ext_ff" in wanted and "anonymized-pointer_generator" not in wanted and "rl" not in wanted


def test_counted_words_of_the_data_set_are_kept(tmp_path, prepared):
    runs = tmp_path / "runs"
    has_words = lambda: "words" in [stage.name for stage in plan_of(prepared, runs).stages]  # noqa: E731
    assert has_words()
    (prepared / "vocab_cnt.pkl").touch()
    assert not has_words()
    Stamps(runs).begin(Stage(name="words", command=(), outputs=()), State.NEW)
    assert has_words()


def test_without_a_test_split_the_validation_split_is_summarised(tmp_path, prepared):
    (prepared / "test").rename(tmp_path / "elsewhere")
    stages = {stage.name: stage for stage in plan_of(prepared, tmp_path / "runs").stages}
    assert "references-test" not in stages
    assert stages["decode-rnn_ext_abs_rl"].command[-2:] == ("--split", "val")


class Parsed(Exception):
    pass


def script_flags(command: list[str], monkeypatch):
    """The configuration that a command line gives a script."""
    script, *arguments = command[1:] if command[0] == "-m" else command
    module = importlib.import_module(script.removesuffix(".py"))
    if not hasattr(module, "parse"):
        return None

    def stop(config, description):
        raise Parsed(parse(config, description, arguments))

    monkeypatch.setattr(module, "parse", stop)
    with pytest.raises(Parsed) as parsed:
        module.main()
    return parsed.value.args[0]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_scripts_accept_every_command_line(tmp_path, monkeypatch, preset):
    plan = plan_of(tmp_path / "runs" / "data", tmp_path / "runs", preset)
    late = {Found: "vectors.bin", Chosen: "3"}
    n_checked = 0
    for stage in plan.stages:
        for more in ([], ["--resume"] if stage.resumes else [], list(stage.anew)):
            command = [part if isinstance(part, str) else late[type(part)] for part in stage.command]
            n_checked += script_flags([*command, *more], monkeypatch) is not None
    assert n_checked > 100


def test_every_preset_flag_is_used(tmp_path):
    for preset in PRESETS.values():
        plan = make_plan(Sources(data=tmp_path / "runs" / "data"), tmp_path / "runs", preset)
        lines = [shlex.join(map(str, stage.command)) for stage in plan.stages]
        for values in preset.flags.values():
            for name, value in values.items():
                assert any(f"--{name} {value}" in line for line in lines), name


def test_the_sample_preset_names_stages_that_exist(tmp_path):
    plan = plan_of(tmp_path / "runs" / "data", tmp_path / "runs")
    kinds = {stage.name for stage in plan.stages} | {
        "decode_baselines",
        "decode_full_model",
        "decode_pointer_generator",
    }
    assert set(SAMPLE.flags) <= kinds
    assert set(SAMPLE.minutes) <= kinds | {"evaluate"}


def test_tuning_scores_the_first_sentences_and_takes_the_best_number(tmp_path):
    references = {0: ["a b c\nd e f"], 1: ["g h i"]}
    by_rank = [{0: "a b c", 1: "g h i"}, {0: "d e f", 1: "x y z"}, {0: "u v w"}]
    expected = []
    for n in (1, 2, 3):
        texts = {i: "\n".join(rank[i] for rank in by_rank[:n] if i in rank) for i in references}
        scores = [score.f for i in references for score in score_document(texts[i], references[i])]
        expected.append(sum(scores) / len(scores))
    assert mean_rouge(by_rank, references) == pytest.approx(expected)
    write_json(tmp_path / "log.json", {"split": "val"})
    for k, sentences in enumerate(by_rank):
        (tmp_path / f"output_{k}").mkdir()
        for i, text in sentences.items():
            (tmp_path / f"output_{k}" / f"{i}.dec").write_text(text)
    (tmp_path / "refs" / "val").mkdir(parents=True)
    for i, texts in references.items():
        (tmp_path / "refs" / "val" / f"{i}.ref").write_text(texts[0])
    arguments = ["--decode_dir", tmp_path, "--data_dir", tmp_path, "--path", tmp_path / "made" / "n.json"]
    done = run_python("-m", "pipeline.tuning", *map(str, arguments))
    best = max((1, 2, 3), key=lambda n: expected[n - 1])
    assert done.returncode == 0 and done.stdout.startswith(f"{best} sentences")
    assert read_json(tmp_path / "made" / "n.json")["n_ext"] == best


def test_mistakes_get_one_line(tmp_path):
    for arguments, message in (
        (["--data_dir", tmp_path / "nowhere"], "has no folder train and val"),
        (["--duc_dir", tmp_path], "has no folder test"),
        (["--table", "3"], "give --duc_dir"),
        (["--until", "dessert"], "no stage dessert"),
    ):
        done = run_python("-m", "pipeline", "--runs", str(tmp_path / "runs"), *map(str, arguments))
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and message in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_shows_the_plan_and_touches_nothing(tmp_path):
    done = run_python("-m", "pipeline", "--dry-run", "--table", "6", "--runs", str(tmp_path / "runs"))
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0].split()[:3] == ["corpus", "to", "do"]
    assert "CPU time of runs on 2 cores" in lines[-1]
    assert not (tmp_path / "runs").exists()

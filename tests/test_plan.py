"""The plan of the reproduction and its command line."""

from __future__ import annotations

import importlib
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from decode_runs import call
from synthetic_runs import make_runs
from tiny_data import random_pairs, write_split

from pipeline import __main__ as pipeline
from pipeline.experiment import ON_ALL_CORES, System
from pipeline.plan import SHIPPED, Sources, make_plan
from pipeline.presets import PRESETS
from pipeline.stage import Chosen, Found, Stage, needs
from pipeline.stamps import Stamps, State
from report.rows import ROWS, made_for
from support.errors import UserError, run
from support.flags import parse


@pytest.fixture
def prepared(tmp_path) -> Path:
    """A data set with all splits and without counted words."""
    return write_splits(tmp_path / "mine")


def write_splits(folder: Path) -> Path:
    for split in ("train", "val", "test"):
        write_split(folder, split, random_pairs(3))
    return folder


def plan_of(data: Path, runs: Path, preset: str = "sample", **more):
    return make_plan(Sources(data=data, **more), runs, PRESETS[preset])


def chosen(plan, runs: Path, tables=(), until=None, only=None) -> list[Stage]:
    return pipeline.choose(plan, tables, until, only, Stamps(runs))


def command(capsys, *arguments: object) -> tuple[object, str, str]:
    """Runs the pipeline's main in this process."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stopped:
        patch.setattr(sys, "argv", ["reproduce.sh", *map(str, arguments)])
        patch.delenv("DATA", raising=False)
        run(pipeline.main)
    return stopped.value.code, *capsys.readouterr()


def test_every_row_that_is_made_here_is_decoded_evaluated_and_in_its_tables(tmp_path, prepared):
    more: dict[str, Any] = {name: write_splits(tmp_path / "given" / name) for name in ("anonymized", "duc")}
    stages = {stage.name: stage for stage in plan_of(prepared, tmp_path / "runs", **more).stages}
    prefixes = {"1": "", "2": "anonymized-", "3": "duc-", "5": "", "6": ""}
    for table, prefix in prefixes.items():
        for row in (name for name, row in ROWS.items() if row.made_by and table in row.tables):
            assert f"{prefix}decode-{row}" in stages
            assert set(stages[f"{prefix}evaluate-{row}"].outputs) <= set(stages[f"table-{table}"].inputs)


def test_every_need_is_written_by_an_earlier_stage_or_given(tmp_path, prepared):
    more: dict[str, Any] = {name: write_splits(tmp_path / "given" / name) for name in ("anonymized", "duc")}
    plan = plan_of(prepared, tmp_path / "runs", "paper", **more)
    assert len({stage.name for stage in plan.stages}) == len(plan.stages)
    for place, stage in enumerate(plan.stages):
        assert all(other in plan.stages[:place] for other in needs(stage, plan.stages)), stage.name
        earlier = {name for other in plan.stages[:place] for name in other.outputs}
        given = {name for name in stage.inputs if Path(name).exists()}
        assert set(stage.inputs) <= earlier | given, stage.name


def test_all_is_reported_and_a_table_needs_less(tmp_path):
    plan = plan_of(tmp_path / "runs" / "data", tmp_path / "runs")
    names = lambda **how: [stage.name for stage in chosen(plan, tmp_path / "runs", **how)]  # noqa: E731
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
    wanted = {stage.name for stage in chosen(plan, tmp_path / "runs", ["3"])}
    assert {"rl", "duc-decode-rnn_ext_abs_rl", "duc-references-test"} <= wanted
    assert not any(name.startswith("anonymized") for name in wanted)
    wanted = {stage.name for stage in chosen(plan, tmp_path / "runs", ["2"])}
    assert "anonymized-ext_ff" in wanted and "anonymized-pointer_generator" not in wanted and "rl" not in wanted


def test_a_stage_reads_all_that_its_result_depends_on(tmp_path, prepared):
    runs = tmp_path / "runs"
    stages = {stage.name: stage for stage in plan_of(prepared, runs).stages}
    reads = lambda name, *paths: {str(runs / path) for path in paths} <= set(stages[name].inputs)  # noqa: E731
    timings = [f"decode/{row}/log.json" for row in made_for("5")]
    assert len(timings) == 3 and reads("table-5", *timings) and reads("claims", *timings) and reads("page", *timings)
    assert reads("page", "claims.txt", "tables/table_1.txt")
    agent = [f"models/rl/{name}" for name in ("ckpt", "meta.json", "*vocab.pkl", "abstractor")]
    assert reads("decode-rnn_ext_abs_rl", *agent) and reads("decode-rnn_ext", *(f"models/ext_rnn/{n}" for n in PART))
    assert reads("rl", *(f"models/{part}/{name}" for part in ("ext_rnn", "abstractor") for name in PART))
    counts = str(prepared / "vocab_cnt.pkl")
    from_vectors = [name for name, stage in stages.items() if "--w2v" in stage.command]
    assert len(from_vectors) == 4 and all(counts in stages[name].inputs for name in from_vectors)


def test_no_file_is_written_by_two_stages(tmp_path):
    """Else each would find the other's to be changed, for ever."""
    for split in ("val", "test"):
        stages = plan_of(tmp_path / "runs" / "data", tmp_path / "runs", split=split).stages
        outputs = [name for stage in stages for name in stage.outputs]
        assert len(set(outputs)) == len(outputs)


def put_models(runs: Path, *models: str) -> None:
    for model in models:
        for name in (*PART, "metrics.jsonl", "abstractor"):
            (runs / "models" / model / name.replace("*", "")).mkdir(parents=True)


def test_a_forced_model_needs_what_an_adopted_one_does_not(tmp_path, prepared):
    runs = tmp_path / "runs"
    put_models(runs, "rl")
    plan, stamps = plan_of(prepared, runs), Stamps(runs)
    names = lambda force: [s.name for s in pipeline.choose(plan, (), "rl", None, stamps, force)]  # noqa: E731
    assert names(None) == ["rl"]
    assert names("rl") == names("") == ["labels", "words", "check", "word2vec", "ext_rnn", "abstractor", "rl"]


def test_parts_of_a_box_are_adopted_although_nothing_tells_how_they_were_trained(tmp_path, prepared):
    runs = tmp_path / "runs"
    put_models(runs, "abstractor", "rl")
    for model in ("abstractor", "rl"):
        (runs / "models" / model / "metrics.jsonl").rmdir()
    stages, stamps = {stage.name: stage for stage in plan_of(prepared, runs).stages}, Stamps(runs)
    assert stamps.state(stages["abstractor"]) == State.FOUND
    assert stamps.state(stages["rl"]) == State.NEW, "there is nothing to draw its curve from"


def test_the_plan_shows_an_adopted_model_as_done_whatever_is_open(tmp_path, prepared, capsys):
    put_models(tmp_path / "runs", "rl")
    plan, stamps = plan_of(prepared, tmp_path / "runs"), Stamps(tmp_path / "runs")
    stamps.adopt(next(stage for stage in plan.stages if stage.name == "rl"))
    pipeline.show_plan(plan.stages, stamps, 1, "measured", forced=[])
    states = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines() if line}
    assert states["labels"] == "to" and states["rl"] == "done"


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

    def stop(config, description, **_):
        raise Parsed(parse(config, description, arguments))

    monkeypatch.setattr(module, "parse", stop)
    with pytest.raises(Parsed) as parsed:
        module.main()
    return parsed.value.args[0]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_scripts_accept_every_command_line(tmp_path, monkeypatch, preset):
    late = {Found: "vectors.bin", Chosen: "3"}
    n_checked = 0
    for stage in all_stages(tmp_path, preset):
        for more in ([], ["--resume"] if stage.resumes else [], list(stage.anew)):
            command = [part if isinstance(part, str) else late[type(part)] for part in stage.command]
            n_checked += script_flags([*command, *more], monkeypatch) is not None
    assert n_checked > 100


FLAT = ("pointer_generator", "pointer_generator_coverage")
PART = ("ckpt", "meta.json", "*vocab.pkl")


def all_stages(tmp_path: Path, preset: str) -> list[Stage]:
    """Of a plan with all rows, and of one without the flat baseline."""
    plans = [plan_of(tmp_path / "runs" / "data", tmp_path / "runs", preset, without=rows) for rows in ((), FLAT)]
    return [stage for plan in plans for stage in plan.stages]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_flag_is_used(tmp_path, preset):
    lines = [shlex.join(map(str, stage.command)) for stage in all_stages(tmp_path, preset)]
    for values in PRESETS[preset].flags.values():
        for name, value in values.items():
            assert any(f"--{name} {value}" in line for line in lines), name


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_names_stages_that_exist(tmp_path, preset):
    kinds = {name for stage in all_stages(tmp_path, preset) for name in (stage.name, stage.kind)}
    assert set(PRESETS[preset].flags) <= kinds
    assert set(PRESETS[preset].minutes) <= kinds | {"tables"}


def test_the_papers_preset_estimates_all_that_takes_long(tmp_path):
    plan = plan_of(tmp_path / "runs" / "data", tmp_path / "runs", "paper")
    quick = {"corpus", "words", "page", "curve-rl", "curve-rl_ext", "table-4", "table-training"}
    estimated = PRESETS["paper"].minutes.keys()
    guessed = {stage.name for stage in plan.stages if stage.minutes < 1 and not estimated & {stage.name, stage.kind}}
    assert guessed <= quick | {"references-test"}


def test_stages_that_use_all_cores_are_those_whose_workers_no_preset_limits(tmp_path):
    wide = [stage for stage in all_stages(tmp_path, "paper") if stage.all_cores]
    assert {stage.kind for stage in wide} == set(ON_ALL_CORES)
    limited = all_stages(tmp_path, "tiny")
    assert {stage.kind for stage in limited if "--workers" in stage.command} >= set(ON_ALL_CORES)
    assert not [stage.name for stage in limited if stage.all_cores]


# --- rows left out, systems given, models shipped


def test_rows_are_left_out_with_all_that_only_they_need(tmp_path, prepared):
    plan = plan_of(prepared, tmp_path / "runs", without=FLAT)
    assert not [stage.name for stage in plan.stages if "pointer" in stage.name]
    assert [stage.name for stage in plan.reports][-2:] == ["claims", "page"]
    reports = {stage.name for stage in plan.reports}
    assert {"table-1", "table-5", "table-6", "speed"} <= reports  # the baseline's speed needs no training
    assert "speed" in {stage.name for stage in chosen(plan, tmp_path / "runs", ["5"])}
    assert "table-4" not in reports  # judges compare with the row that is left out
    plan = plan_of(prepared, tmp_path / "runs", without=["pointer_generator"])
    names = {stage.name for stage in plan.stages}
    assert "pointer_generator" in names and "decode-pointer_generator" not in names  # the other row starts from it


def test_pages_for_judges_are_made_again_and_the_old_ones_kept(tmp_path, capsys):
    runs = make_runs(tmp_path / "runs", tmp_path / "data", ("rnn_ext_abs_rl_rerank", "pointer_generator_coverage"), 4)
    stage = next(stage for stage in plan_of(tmp_path / "data", runs).stages if stage.name == "table-4")
    for state in (State.NEW, State.OLD):
        Stamps(runs).begin(stage, state)
        code, _, error = call(capsys, "report.human_eval.__main__", *stage.arguments()[2:], "--count", 4)
        assert code == 0, error
    assert {path.name for path in (runs / "replaced/table-4/1").iterdir()} == {"judging", "judging.key.json"}


def test_another_system_is_taken_in_and_evaluated(tmp_path, prepared, capsys):
    (tmp_path / "theirs").mkdir()
    code, out, _ = command(
        capsys, "--dry-run", "--data_dir", prepared, "--runs", tmp_path / "runs", "--table", "1",
        "--system", f"See et al.={tmp_path / 'theirs'}",
    )  # fmt: skip
    assert code == 0 and "decode-see_et_al" in out and "evaluate-see_et_al" in out
    system = System("Mine", tmp_path / "theirs")
    stages = {stage.name: stage for stage in plan_of(prepared, tmp_path / "runs", systems={"mine": system}).stages}
    assert set(stages["evaluate-mine"].outputs) <= set(stages["table-1"].inputs)
    assert set(stages["evaluate-mine"].outputs) <= set(stages["table-6"].inputs)


@pytest.mark.parametrize("label", ["See et al.", "See et al. (2017)", "See et al. (2017), their outputs"])
def test_outputs_of_see_et_al_for_duc_are_taken_in_under_any_of_their_names(tmp_path, prepared, capsys, label):
    (tmp_path / "theirs").mkdir()
    code, out, _ = command(
        capsys, "--dry-run", "--data_dir", prepared, "--duc_dir", prepared, "--runs", tmp_path / "runs", "--table", "3",
        "--duc_system", f"{label}={tmp_path / 'theirs'}",
    )  # fmt: skip
    assert code == 0 and "duc-evaluate-see_et_al " in out and "\nevaluate-see_et_al" not in out


def box_of(folder: Path, *models: str) -> Path:
    for model in models:
        place = folder / SHIPPED[model]
        (place / "ckpt").mkdir(parents=True)
        (place / "meta.json").write_text("{}")
    return folder


def test_shipped_models_give_their_rows_without_training(tmp_path, prepared):
    box, duc = box_of(tmp_path / "box", "rl", "abstractor", "ext_rnn"), write_splits(tmp_path / "duc")
    plan = plan_of(prepared, tmp_path / "runs", pretrained=box, duc=duc)
    decoded = [stage.name for stage in plan.stages if stage.name.startswith(("decode-", "duc-decode-"))]
    assert sorted(decoded) == sorted(
        ["decode-lead3", "decode-lead3_abs", "decode-rnn_ext", "decode-rnn_ext-val", "decode-rnn_ext_abs",
         "decode-rnn_ext_abs-val", "decode-rnn_ext_abs_rl", "decode-rnn_ext_abs_rl_rerank", "duc-decode-rnn_ext_abs_rl"]
    )  # fmt: skip
    assert not [stage.name for stage in plan.stages if "train_" in str(stage.command[0])]
    assert not {"labels", "check", "word2vec"} & {stage.name for stage in plan.stages}
    (box / "tuning").mkdir()
    plan = plan_of(prepared, tmp_path / "runs", pretrained=box)
    assert not [stage.name for stage in plan.stages if stage.name.endswith("-val") or "tune" in stage.name]
    only_agent = plan_of(prepared, tmp_path / "runs", pretrained=box_of(tmp_path / "agent", "rl"))
    decoded = [stage.name for stage in only_agent.stages if stage.name.startswith("decode-")]
    assert decoded == ["decode-lead3", "decode-rnn_ext_abs_rl", "decode-rnn_ext_abs_rl_rerank"]


def test_the_validation_split_is_decoded_once_where_it_is_what_is_summarised(tmp_path, prepared):
    names = [stage.name for stage in plan_of(prepared, tmp_path / "runs", split="val").stages]
    assert "decode-rnn_ext" in names and "tune-rnn_ext" in names and "decode-rnn_ext-val" not in names


# --- the command line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data_dir", "nowhere"], "has no folder train and val"),
        (["--duc_dir", "."], "has no folder test"),
        (["--table", "3"], "give --duc_dir"),
        (["--until", "dessert"], "no stage dessert"),
        (["--without", "dessert"], "no row dessert; the rows are lead3,"),
        (["--system", "dessert"], "give a name and a folder"),
        (["--system", "x=nowhere"], "nowhere does not exist"),
        (["--system", "rnn_ext=."], "the row rnn_ext is one of ours"),
        (["--pretrained"], "give --data_dir"),
        (["--pretrained", "--data_dir", ".", "--anonymized_dir", "."], "leave out --anonymized_dir"),
        (["--duc_system", "x=."], "give --duc_dir"),
    ],
)
def test_mistakes_get_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, _, error = command(capsys, "--runs", tmp_path / "runs", *arguments)
    assert code == 2 and error.count("\n") == 1 and message in error
    assert not (tmp_path / "runs").exists()


def test_a_box_without_models_is_told(tmp_path, prepared, capsys):
    code, _, error = command(capsys, "--data_dir", prepared, "--pretrained", tmp_path / "box", "--dry-run")
    assert code == 2 and error.count("\n") == 1 and "holds no shipped models" in error


@pytest.mark.parametrize(("jobs", "message"), [("0", "at least 1"), ("-1", "at least 1"), ("two", "invalid int")])
def test_jobs_are_at_least_one(capsys, jobs, message):
    code, _, error = command(capsys, "--dry-run", "--jobs", jobs)
    assert code == 2 and error.count("\n") == 1 and message in error


def test_a_dry_run_shows_the_plan_and_touches_nothing(tmp_path):
    done = run_here("-m", "pipeline", "--dry-run", "--table", "6", "--runs", str(tmp_path / "runs"))
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0].split()[:3] == ["corpus", "to", "do"]
    assert "CPU time of runs on 2 cores" in lines[-1]
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("text", ["[]", "[1]", "[", '{"seconds": "long"}', '{"seconds": NaN}', '{"inputs": []}'])
def test_a_damaged_record_is_told(tmp_path, capsys, text):
    (tmp_path / "runs/stages").mkdir(parents=True)
    (tmp_path / "runs/stages/corpus.json").write_text(text)
    code, _, error = command(capsys, "--dry-run", "--runs", tmp_path / "runs")
    assert code == 2 and "stages/corpus.json" in error and error.count("\n") == 1

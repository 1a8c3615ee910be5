"""The rows that shipped models give, beside outputs of another system: every stage that needs no training is run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from decode_runs import call

from pipeline.experiment import System
from pipeline.plan import SHIPPED, Sources, make_plan
from pipeline.presets import PRESETS
from pipeline.stage import Stage, with_needs
from support.files import write_json

ROWS = ("lead-3", "lead-3 + abs", "rnn-ext", "rnn-ext + abs", "rnn-ext + abs + RL", "rnn-ext + abs + RL + rerank")
LEFT_OUT = "ff-ext, rnn-ext + RL, pointer-generator, pointer-generator + coverage, ff-ext + abs"


@pytest.fixture
def box(golden, tmp_path, capsys) -> Path:
    """As the project ships its models."""
    (tmp_path / "tuning").mkdir()
    for row, n_ext in (("rnn_ext", 2), ("rnn_ext_abs", 3)):
        write_json(tmp_path / "tuning" / f"{row}.json", {"n_ext": n_ext})
    models = ["--model_dir", golden / "rl", "--ext_dir", golden / "ext_rnn", "--tuning", tmp_path / "tuning"]
    code, _, error = call(capsys, "checkpoints.pretrained", *models, "--out", tmp_path / "box")
    assert code == 0, error
    assert all((tmp_path / "box" / place / "meta.json").is_file() for place in SHIPPED.values())
    return tmp_path / "box"


def perform(stage: Stage, capsys) -> None:
    """In this process, which is far quicker than a new one."""
    script, *rest = stage.arguments()[1:] if stage.command[0] == "-m" else stage.arguments()
    code, out, error = call(capsys, script.removesuffix(".py"), *rest)
    assert code == 0, f"{stage.name}: {error}"
    if stage.prints:
        Path(stage.prints).parent.mkdir(exist_ok=True)
        Path(stage.prints).write_text(out)


def test_shipped_models_fill_their_rows_and_the_rest_is_named(golden, box, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("METEOR", "/nowhere/meteor.jar")
    data, duc, runs = tmp_path / "data", tmp_path / "duc", tmp_path / "runs"
    shutil.copytree(golden / "data", data, ignore=shutil.ignore_patterns("train", "val", "refs"))
    (duc / "test").mkdir(parents=True)
    for i in range(6):
        shutil.copy(data / f"test/{i}.json", duc / "test")
    theirs = tmp_path / "theirs [1].txt"  # a summary a line
    decoded = [(golden / "decode_dir" / "rl_greedy" / "output" / f"{i}.dec").read_text() for i in range(30)]
    theirs.write_text("".join(text.replace("\n", "<q>") + "\n" for text in decoded))
    sources = Sources(data=data, duc=duc, pretrained=box, systems={"see_et_al": System("See et al.", theirs)})
    plan = make_plan(sources, runs, PRESETS["tiny"])
    wanted = with_needs([stage for stage in plan.reports if stage.name == "claims"], plan.stages)
    assert wanted == [stage for stage in plan.stages if stage.name != "page"]
    for stage in wanted:
        perform(stage, capsys)
        assert all(list(Path(name).parent.glob(Path(name).name)) for name in stage.outputs), stage.name
    table = (runs / "tables" / "table_1.txt").read_text()
    for row in (*ROWS, "See et al. (2017), their outputs"):
        assert re.search(rf"^  {re.escape(row)} +\d+\.\d\d\W", table, flags=re.MULTILINE), row
    assert f"Not evaluated here: {LEFT_OUT}." in table
    assert (runs / "decode" / "rnn_ext" / "output_top2").is_dir()
    taken = [(runs / "decode" / "see_et_al" / "output" / f"{i}.dec").read_text() for i in range(30)]
    assert taken == decoded
    claims = (runs / "claims.txt").read_text()
    assert "rnn-ext + abs + RL against See et al. (2017), their outputs: R-1" in claims
    assert "ff-ext not evaluated" in claims
    assert re.search(r"^rnn-ext \+ abs \+ RL +\d+\.\d\d\W", (runs / "tables" / "table_3.txt").read_text(), re.MULTILINE)

"""The examples of CONTRIBUTING.md are run as they stand there."""

from __future__ import annotations

import shutil
import sys

import pytest
from contributing import EXAMPLES
from synthetic_runs import lines_of, texts
from training_runs import EXTRACTOR

from checkpoints.directory import load, read_meta
from checkpoints.networks import RNN_EXTRACTOR
from model.sentence_encoder import SENTENCE_ENCODERS
from pipeline.plan import Sources, make_plan
from pipeline.presets import TINY
from report import rows
from report.runs import Reproduction
from report.tables import table_1
from training.metrics_log import read_metrics
from training.rewards import REWARDS


@pytest.fixture
def example(monkeypatch, tmp_path, golden, data):
    """Runs one in a folder that has what it takes as given; its first line tells its flags."""
    (tmp_path / "runs").mkdir()
    for name, model in (("ext", "ext_rnn"), ("rl", "rl")):
        (tmp_path / "runs" / name).symlink_to(golden / model)
    monkeypatch.chdir(tmp_path)

    def run(name: str, *more: object) -> object:
        code = EXAMPLES[name]
        flags = code.splitlines()[0].split()[2:]
        monkeypatch.setattr(sys, "argv", [name, *(f.replace("$DATA", str(data)) for f in flags), *map(str, more)])
        with pytest.raises(SystemExit) as exit:
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
            sys.exit(0)
        return exit.value.code

    return run


def test_examples_are_short():
    assert len(EXAMPLES) == 4
    assert all(len(code.splitlines()) < 40 for code in EXAMPLES.values())


def test_another_sentence_encoder(example, monkeypatch, tmp_path):
    monkeypatch.setitem(SENTENCE_ENCODERS, "mean", None)
    assert example("mean_encoder.py", *EXTRACTOR, "--max_steps", 2) == 0
    assert read_meta(tmp_path / "runs/mean")["net_args"]["sentence_encoder"] == "mean"
    network = load(tmp_path / "runs/mean", nets=(RNN_EXTRACTOR,)).network
    assert type(network.sentence_encoder).__name__ == "MeanOfWords"


def test_another_reward(example, monkeypatch, tmp_path):
    monkeypatch.setitem(REWARDS, "bigrams", None)
    assert example("bigram_reward.py", "--max_steps", 2, "--workers", 0) == 0
    steps = [line["step_reward"] for line in read_metrics(tmp_path / "runs/rl_bigrams/metrics.jsonl") if "loss" in line]
    assert len(steps) == 2 and all(0 < reward < 1 for reward in steps)
    assert REWARDS["bigrams"].score(["a b c", "x"], ["a b d e", "y"]).tolist() == pytest.approx([1 / 3, 0])


def test_another_rewriter(example, capsys):
    assert example("shorten.py") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines and set(lines) <= {"the storm hit the coast", "nobody was hurt", "schools stay closed ."}


def test_another_row(monkeypatch, tmp_path, data, copied):
    """It is decoded, evaluated, and shown in the tables that it names."""
    monkeypatch.setitem(rows.ROWS, "lead4_abs", None)
    exec(EXAMPLES["report/rows.py"], vars(rows))
    stages = {stage.name: stage for stage in make_plan(Sources(data=data), tmp_path / "new", TINY).stages}
    assert str(tmp_path / "new/models/abstractor") in stages["decode-lead4_abs"].command
    assert stages["evaluate-lead4_abs"].command[-2:] == ("--n_ext", "4")
    assert set(stages["evaluate-lead4_abs"].outputs) <= set(stages["table-1"].inputs)
    assert "lead4_abs" in rows.made_for("1") and "lead4_abs" not in rows.made_for("2")

    runs, _ = copied
    assert "lead-4 + abs" in table_1(Reproduction(runs)).notes[-2]  # not evaluated yet
    shutil.copytree(runs / "decode/lead3_abs", runs / "decode/lead4_abs")
    line = lines_of(table_1(Reproduction(runs)))["lead-4 + abs"]
    assert line.ours[0].text != "--" and texts(line.paper) == ["--"] * 4

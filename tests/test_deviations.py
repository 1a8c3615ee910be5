"""Settings that docs/DEVIATIONS.md speaks of and no other test holds."""

from __future__ import annotations

from dataclasses import fields

from checkpoints.directory import best_checkpoint, read_meta
from checkpoints.shipped import PRETRAINED
from pipeline.plan import Sources, make_plan
from pipeline.presets import PRESETS
from report.paper_numbers import STOP_WEIGHT
from train_abstractor import AbstractorFlags
from train_extractor_ml import ExtractorFlags
from train_full_rl import ReinforcementFlags
from train_pointer_generator import PointerGeneratorFlags
from train_word2vec import Flags as WordVectorFlags


def default(flags: type, name: str):
    return next(field.default for field in fields(flags) if field.name == name)


def test_the_learning_rates_are_those_of_the_text():
    assert default(ReinforcementFlags, "lr") == 0.0001
    assert default(AbstractorFlags, "lr") == default(ExtractorFlags, "lr") == 0.001


def test_the_shipped_abstractor_was_finished_at_a_lower_rate():
    folder = PRETRAINED / "abstractor"
    assert read_meta(folder)["traing_params"]["optimizer"] == ["adam", {"lr": 0.0003}]
    assert best_checkpoint(folder, highest=False).step == 2247


def test_the_flat_baseline_has_our_vocabulary_and_word_vectors(tmp_path):
    sizes = ("vsize", "emb_dim", "n_hidden")
    assert [default(PointerGeneratorFlags, name) for name in sizes] == [30000, 128, 256]
    assert [default(AbstractorFlags, name) for name in sizes] == [30000, 128, 256]
    stages = make_plan(Sources(data=tmp_path / "data"), tmp_path / "runs", PRESETS["paper"]).stages
    flat = [stage.command for stage in stages if "train_pointer_generator.py" in stage.command]
    assert [("--w2v" in command, "--init_from" in command) for command in flat] == [(True, False), (False, True)]


def test_real_text_is_passed_over_once_for_word_vectors(tmp_path):
    stages = make_plan(Sources(data=tmp_path / "data"), tmp_path / "runs", PRESETS["paper"]).stages
    (command,) = (stage.command for stage in stages if "train_word2vec.py" in stage.command)
    assert command[command.index("--epochs") + 1] == "1"
    assert default(WordVectorFlags, "epochs") == 5


def test_on_real_text_stopping_counts_more_for_the_extractive_agent_alone(tmp_path):
    stages = make_plan(Sources(data=tmp_path / "data"), tmp_path / "runs", PRESETS["paper"]).stages
    agents = {stage.name: stage.command for stage in stages if "train_full_rl.py" in stage.command}
    assert agents.keys() == {"rl", "rl_ext"} and "--stop" not in agents["rl"]
    assert agents["rl_ext"][agents["rl_ext"].index("--stop") + 1] == "4"
    assert default(ReinforcementFlags, "stop") == STOP_WEIGHT == 1

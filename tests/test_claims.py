"""The paper's claims, checked on a folder of runs."""

from __future__ import annotations

import json
import shutil

import pytest
from commands import run_here
from synthetic_runs import FULL, lines_of, make_runs, texts

from report.claims import COMPARISONS, Verdict, check_claims
from report.page import page
from report.paper_numbers import (
    RougeMeteor,
)
from report.rows import quoted
from report.runs import Reproduction
from report.tables import TABLES, table_1, table_5, table_6
from training.record import TrainingRecord

FASTER = "Decoding is at least 10 times as fast as a flat encoder-decoder"
RERANKING = "Reranking is significantly better"



def verdicts(runs: Reproduction) -> dict[str, Verdict]:
    return {claim.text: claim.verdict for claim in check_claims(runs)}


def test_the_claims_are_those_that_the_papers_numbers_bear_out():
    """No weaker and no stronger: the paper's own rows fulfil every comparison, METEOR included where it is claimed."""
    tables = {"decode": "1", "decode_anonymized": "2", "decode_duc": "3"}
    for claim in COMPARISONS:
        numbers = quoted(tables[claim.folder], RougeMeteor)
        ours, theirs = numbers[claim.row], numbers[claim.others[-1]]
        better = [a > b for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
        assert all(better[: len(claim.metrics)]), claim.text
    significant = {(claim.row, claim.others[-1], len(claim.metrics)) for claim in COMPARISONS if claim.significantly}
    assert significant == {
        ("rnn_ext_rl", "rnn_ext", 3),
        ("rnn_ext_rl", "pointer_generator_coverage", 4),
        ("rnn_ext_abs_rl", "rnn_ext_abs", 4),
        ("rnn_ext_abs_rl", "rnn_ext_abs", 3),  # anonymized
        ("rnn_ext_abs_rl", "pointer_generator_coverage", 4),
        ("rnn_ext_abs_rl_rerank", "rnn_ext_abs_rl", 3),
    }


def test_claims_hold_where_they_were_built_in(made):
    """Whole sentences share no bigram with a highlight, and METEOR is there for one row only."""
    found = verdicts(Reproduction(made[0], data_dir=str(made[1])))
    assert {text for text, verdict in found.items() if verdict == Verdict.HOLDS} == {
        "Learned selection is better than lead-3 + abs",
        RERANKING,
        "The reranked model is better than lead-3",
        "Reranking reduces repetition",
        "The number of sentences is learned",
        "The reranked model writes 3 times as many novel n-grams as See et al. (2017)",
        FASTER,
        "With reranking it is at least 6 times as fast",
    }
    assert found["RL is significantly better than ML, extractive"] == Verdict.FAILS
    assert found["RL is significantly better than ML in all metrics, abstractive"] == Verdict.UNKNOWN


def test_claims_fail_where_the_rows_are_exchanged(copied):
    runs, data = copied
    decode = runs / "decode"
    for good, bad in (("rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank"), ("rnn_ext_rl", "pointer_generator_coverage")):
        (decode / good).rename(decode / "x")
        (decode / bad).rename(decode / good)
        (decode / "x").rename(decode / bad)
    found = verdicts(Reproduction(runs, data_dir=str(data)))
    assert found["Reranking reduces repetition"] == Verdict.FAILS
    assert found[RERANKING] == Verdict.FAILS
    assert found[FASTER] == Verdict.FAILS


@pytest.mark.parametrize(("factor", "verdict"), [(3.0, Verdict.HOLDS), (2.9, Verdict.FAILS)])
def test_novelty_must_be_three_times_as_high(made, factor, verdict):
    runs = Reproduction(made[0], data_dir=str(made[1]))
    theirs = [8.0, 2.0, 4.0, 8.0]
    ours = [0.0, *(factor * value for value in theirs[1:])]  # single words do not count
    runs.novelty = {"rnn_ext_abs_rl_rerank": ours, "pointer_generator_coverage": theirs}
    novel = "The reranked model writes 3 times as many novel n-grams as See et al. (2017)"
    assert verdicts(runs)[novel] == verdict


def test_the_judgement_of_people_is_a_claim_that_no_run_can_decide(made):
    judged = [claim for claim in check_claims(Reproduction(made[0])) if claim.section == "Sec. 6.3"]
    assert [claim.text.split()[-1] for claim in judged] == ["relevance", "readability"]
    assert all(claim.verdict == Verdict.UNKNOWN and "report.human_eval" in claim.figures for claim in judged)


def test_the_extractors_improve_on_each_other_and_on_lead_3_in_both_tables():
    compared = {(claim.row, claim.others[-1], claim.folder) for claim in COMPARISONS}
    for row in ("ff_ext", "rnn_ext_rl"):
        assert {(row, "lead3", "decode"), (row, "lead3", "decode_anonymized")} <= compared
    assert ("rnn_ext_rl", "ff_ext", "decode") in compared


def test_reranking_that_changes_nothing_is_not_better(copied):
    shutil.rmtree(copied[0] / "decode/rnn_ext_abs_rl_rerank")
    shutil.copytree(copied[0] / "decode/rnn_ext_abs_rl", copied[0] / "decode/rnn_ext_abs_rl_rerank")
    assert verdicts(Reproduction(copied[0]))[RERANKING] == Verdict.FAILS


def test_outputs_of_see_et_al_take_the_place_of_our_pointer_generator(copied):
    """As a row of its own, with the paper's numbers, and in the claims."""
    runs, data = copied
    for row in ("pointer_generator", "pointer_generator_coverage"):
        (runs / "decode" / row).rename(runs / row)
    missing = {claim.text: claim for claim in check_claims(Reproduction(runs, data_dir=str(data)))}
    novel = "The reranked model writes 3 times as many novel n-grams as See et al. (2017)"
    assert missing[novel].verdict == Verdict.UNKNOWN
    assert missing[novel].figures == "pointer-generator + coverage not evaluated"
    (runs / "pointer_generator_coverage").rename(runs / "decode" / "see_et_al")
    given = Reproduction(runs, data_dir=str(data))
    assert {claim.text: claim for claim in check_claims(given)}[novel].verdict == Verdict.HOLDS
    line = lines_of(table_1(given))["See et al. (2017), their outputs"]
    assert line.ours[0].text != "--" and line.paper[0].text == "39.53"
    assert "See et al. (2017), their outputs" in lines_of(table_6(given))


def test_training_is_compared_by_the_records_of_its_stages(copied):
    runs, _ = copied
    (runs / "stages").mkdir()
    hours = {"abstractor": 2, "rl": 3, "pointer_generator": 19, "pointer_generator_coverage": 2}
    for model, value in hours.items():
        record = {"seconds": 3600.0 * value, "peak_bytes": 3 * 2**29}
        (runs / "stages" / f"{model}.json").write_text(json.dumps(record))
    claim = {claim.text: claim for claim in check_claims(Reproduction(runs))}[
        "Training is at least 4 times as fast as that of a flat encoder-decoder"
    ]
    assert claim.verdict == Verdict.HOLDS and "5.00 h" in claim.figures and "21.00 h" in claim.figures
    lines = lines_of(TABLES["training"](Reproduction(runs)))
    assert texts(lines["abstractor"].ours) == ["2.00", "--", "60", "1.5"]
    assert texts(lines["abstractor"].paper)[:2] == ["4.15", "0.54"]
    assert lines["abstractor and RL in all"].ours[0].text == "5.00"
    assert lines["abstractor and RL in all"].paper[0].text == "19.71"
    assert texts(lines["pointer-generator"].paper)[:2] == ["78.00", "3.42"]


def test_an_adopted_model_brings_its_training_time(copied):
    """Its stage took nothing here, which is no time of a training."""
    runs, _ = copied
    (runs / "stages").mkdir()
    for model in ("abstractor", "rl", "pointer_generator", "pointer_generator_coverage"):
        adopted = {"adopted": True, "seconds": 0.0, "cpu_seconds": 0.0, "peak_bytes": 0}
        (runs / "stages" / f"{model}.json").write_text(json.dumps(adopted))
    text = "Training is at least 4 times as fast as that of a flat encoder-decoder"
    claim = next(claim for claim in check_claims(Reproduction(runs)) if claim.text == text)
    assert claim.verdict == Verdict.UNKNOWN and "no training time of" in claim.figures
    assert texts(lines_of(TABLES["training"](Reproduction(runs)))["abstractor"].ours) == ["--", "--", "60", "--"]
    TrainingRecord({}, 60, 7200.0, 1536, True).write(runs / "models" / "abstractor")
    assert texts(lines_of(TABLES["training"](Reproduction(runs)))["abstractor"].ours) == ["2.00", "--", "60", "1.5"]


def test_a_system_under_any_name_is_in_tables_1_and_6_and_in_the_chart(copied):
    runs, data = copied
    shutil.copytree(runs / "decode/rnn_ext_abs_rl", runs / "decode/mine")
    log = runs / "decode/mine/log.json"
    log.write_text(json.dumps({**json.loads(log.read_text()), "system": "My <system>"}))
    given = Reproduction(runs, data_dir=str(data))
    assert "My <system>" in lines_of(table_1(given)) and lines_of(table_6(given))["My <system>"].ours[0].text != "--"
    assert page(given, 0).split('id="novelty"')[1].count("My &lt;system&gt;") >= 1


def test_the_speed_of_an_untrained_baseline_is_shown_where_there_is_no_other(copied):
    runs, _ = copied
    (runs / "tables").mkdir()
    (runs / "tables/speed.txt").write_text("full model < flat\n")
    assert not any("speed.txt" in note for note in table_5(Reproduction(runs)).notes)
    shutil.rmtree(runs / "decode/pointer_generator_coverage")
    assert any("speed.txt" in note for note in table_5(Reproduction(runs)).notes)
    assert "<pre>full model &lt; flat\n</pre>" in page(Reproduction(runs), 0)


def test_a_constant_number_of_sentences_is_not_learned(copied):
    alignment = copied[0] / "decode/rnn_ext_abs_rl/alignment.jsonl"
    lines = [json.loads(line) for line in alignment.read_text().splitlines()]
    alignment.write_text("".join(json.dumps({**line, "sentences": [{"source": 0}] * 3}) + "\n" for line in lines))
    found = verdicts(Reproduction(copied[0], data_dir=str(copied[1])))
    assert found["The number of sentences is learned"] == Verdict.FAILS


def test_claims_are_not_measured_without_their_rows_or_articles(tmp_path):
    make_runs(tmp_path / "runs", tmp_path / "data", rows=("rnn_ext", *FULL), count=12)
    without = {claim.text: claim for claim in check_claims(Reproduction(tmp_path / "runs"))}
    abstractive = without["RL is significantly better than ML in all metrics, abstractive"]
    assert abstractive.verdict == Verdict.UNKNOWN and abstractive.figures == "rnn-ext + abs not evaluated"
    assert "on DUC-2002" in without["On DUC-2002 it is better than See et al. (2017)"].figures
    assert "--data_dir" in without["Reranking reduces repetition"].figures
    assert without[FASTER].verdict == Verdict.UNKNOWN
    assert without[RERANKING].verdict == Verdict.HOLDS


def test_speeds_of_different_numbers_of_processes_are_not_compared(copied):
    log = copied[0] / "decode/rnn_ext_abs_rl/log.json"
    log.write_text(log.read_text().replace('"processes": 2', '"processes": 8'))
    found = verdicts(Reproduction(copied[0]))
    assert found[FASTER] == Verdict.UNKNOWN


def test_claims_and_table_of_speed_tell_how_articles_were_batched(made):
    runs = Reproduction(made[0])
    claims = [claim for claim in check_claims(runs) if claim.section == "Sec. 6.4"]
    assert len(claims) == 2
    for claim in claims:
        assert "in 2 processes; all systems decode articles in batches" in claim.figures
    assert "all systems decode articles in batches" in table_5(runs).notes[-1]


def test_the_claims_command_ends_well_and_writes_json(made):
    result = run_here("-m", "report.claims", str(made[0]), "--data_dir", str(made[1]))
    assert result.returncode == 0, result.stderr
    assert "HOLDS" in result.stdout and "DOES NOT HOLD" in result.stdout
    claims = json.loads((made[0] / "claims.json").read_text())
    assert {claim["verdict"] for claim in claims} == {"holds", "does not hold", "not evaluated"}
    assert all(claim["figures"] in result.stdout for claim in claims)

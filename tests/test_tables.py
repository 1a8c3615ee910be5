"""The paper's tables and claims, from a folder of runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from synthetic_runs import FULL, make_runs, summarise, write_articles, write_run
from tiny_data import ROOT, run_python

from report import layout
from report.claims import COMPARISONS, Verdict, check_claims
from report.page import page
from report.paper_numbers import (
    EQUALLY_GOOD,
    HOURS_IN_ALL,
    REFERENCE_NOVELTY,
    TRAINING,
    Novelty,
    Preferences,
    RougeMeteor,
    Speed,
)
from report.rows import ABSTRACTIVE, ROWS, Parts, Row, made_for, quoted
from report.runs import Reproduction
from report.tables import TABLES, table_1, table_5, table_6
from support.errors import UserError
from training.record import TrainingRecord

PAPER = ROOT.parent / "shared" / "paper.tex"
FASTER = "Decoding is at least 10 times as fast as a flat encoder-decoder"
RERANKING = "Reranking is significantly better"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("reproduction")
    return make_runs(root / "runs", root / "data"), root / "data"


@pytest.fixture
def copied(made, tmp_path) -> tuple[Path, Path]:
    shutil.copytree(made[0], tmp_path / "runs")
    return tmp_path / "runs", made[1]


def lines_of(table: layout.Table) -> dict[str, layout.Line]:
    return {line.label: line for section in table.sections for line in section.lines}


def texts(cells) -> list[str]:
    return [cell.text for cell in cells]


# --- quoted numbers


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper's source is not beside the project")
def test_the_quoted_numbers_stand_in_the_paper():
    """Row by row: the numbers in a row of ours are the numbers in a row of the paper."""
    source = re.sub(r"\\textbf|[{}\\]|hline", " ", PAPER.read_text(encoding="utf-8"))
    rows = {tuple(re.findall(r"\d+\.\d+", line)) for line in source.splitlines()}
    rows |= {tuple(re.findall(r"\d+\.\d+", found)) for found in re.findall(r"\([\d., ]+\)", source)}
    as_floats = {tuple(map(float, row)) for row in rows}
    tables = [quoted("1", RougeMeteor), quoted("2", RougeMeteor), quoted("3", RougeMeteor), quoted("6", Novelty)]
    assert [len(table) for table in tables] == [15, 13, 3, 3]
    for table in (*tables, {"reference": REFERENCE_NOVELTY}):
        for row, numbers in table.items():
            assert tuple(number for number in numbers if number is not None) in as_floats, row
    for row, speed in quoted("5", Speed).items():
        assert any({value for value in speed if value} <= set(found) for found in as_floats), row
    training = source[source.index("Training Speed") :]
    for numbers in (*TRAINING.values(), (HOURS_IN_ALL,)):
        assert all(re.search(rf"\b{number:g}\b", training) for number in numbers if number is not None)
    counts = {tuple(map(int, re.findall(r"\b\d+\b", line.split("&", 1)[-1]))) for line in source.splitlines()}
    for row, preferred in {**quoted("4", Preferences), "equal": EQUALLY_GOOD}.items():
        assert (preferred.relevance, preferred.readability, preferred.total) in counts, row


def test_the_judgements_of_the_paper_add_up():
    judgements = [*quoted("4", Preferences).values(), EQUALLY_GOOD]
    assert sum(row.relevance for row in judgements) == 300
    assert sum(row.total for row in judgements) == 600


# --- tables


def test_table_1_has_our_scores_beside_those_of_the_paper(made):
    runs = Reproduction(made[0])
    line = lines_of(table_1(runs))["rnn-ext + abs + RL"]
    averages = json.loads((made[0] / "decode/rnn_ext_abs_rl/scores.json").read_text())["rouge"]["averages"]
    expected = [f"{100 * averages[metric]['f']['mean']:.2f}" for metric in ("rouge-1", "rouge-2", "rouge-l")]
    assert texts(line.ours) == [*expected, "--"]
    assert texts(line.paper) == ["40.04", "17.61", "37.59", "21.00"]


def test_baselines_are_read_from_the_number_of_sentences_that_was_evaluated(made):
    line = lines_of(table_1(Reproduction(made[0])))["rnn-ext"]
    assert line.ours[0].text != "--"
    assert line.ours[3].text == "21.35"


def test_marks_tell_what_is_significantly_better(made):
    lines = lines_of(table_1(Reproduction(made[0])))
    assert lines["rnn-ext + RL"].ours[0].marks == "*†"
    assert lines["rnn-ext + abs + RL"].ours[0].marks == "*†"
    assert lines["rnn-ext + abs + RL + rerank"].ours[0].marks == "‡"
    assert lines["rnn-ext + abs"].ours[0].marks == ""


def test_no_mark_without_a_difference(copied):
    runs, _ = copied
    shutil.rmtree(runs / "decode/rnn_ext_abs_rl_rerank")
    shutil.copytree(runs / "decode/rnn_ext_abs_rl", runs / "decode/rnn_ext_abs_rl_rerank")
    line = lines_of(table_1(Reproduction(runs)))["rnn-ext + abs + RL + rerank"]
    assert [cell.marks for cell in line.ours] == ["", "", "", ""]


def test_rows_that_were_not_run_are_missing_and_quoted_rows_are_blank(copied):
    runs, _ = copied
    shutil.rmtree(runs / "decode/ff_ext")
    (runs / "decode/rnn_ext/top3_scores.json").unlink()  # decoded, not evaluated
    lines = lines_of(table_1(Reproduction(runs)))
    assert texts(lines["ff-ext"].ours) == texts(lines["rnn-ext"].ours) == ["--"] * 4
    assert texts(lines["Narayan et al. (2018)"].ours) == [""] * 4
    assert texts(lines["Narayan et al. (2018)"].paper) == ["40.0", "18.2", "36.6", "--"]


def test_a_row_that_no_table_knows_is_shown_under_its_name(copied):
    runs, _ = copied
    shutil.copytree(runs / "decode/rnn_ext_abs_rl", runs / "decode/mine")
    shutil.copytree(runs / "decode/rnn_ext_abs_rl", runs / "decode/theirs")
    log = runs / "decode/theirs/log.json"
    log.write_text(json.dumps({**json.loads(log.read_text()), "system": "Theirs et al."}))
    table = table_1(Reproduction(runs))
    assert [line.label for line in table.sections[-1].lines] == ["mine", "Theirs et al."]
    assert table.sections[-1].lines[0].ours[0].text != "--"


def test_a_new_row_is_one_line_and_shown_in_the_tables_that_it_names(copied, monkeypatch):
    runs, _ = copied
    monkeypatch.setitem(ROWS, "lead4_abs", Row("lead-4 + abs", ABSTRACTIVE, Parts(None, "abstractor", 4), {"1": None}))
    assert "lead4_abs" in made_for("1") and "lead4_abs" not in made_for("2")
    assert "lead-4 + abs" in table_1(Reproduction(runs)).notes[-2]
    shutil.copytree(runs / "decode/lead3_abs", runs / "decode/lead4_abs")
    line = lines_of(table_1(Reproduction(runs)))["lead-4 + abs"]
    assert line.ours[0].text != "--" and texts(line.paper) == ["--"] * 4


def test_tables_name_what_was_left_out(copied):
    shutil.rmtree(copied[0] / "decode/pointer_generator_coverage")
    for table in (table_1, table_5, table_6):
        made = table(Reproduction(copied[0], data_dir=str(copied[1])))
        assert "Not evaluated here: pointer-generator + coverage." in made.notes
        assert texts(lines_of(made)["pointer-generator + coverage"].ours) == ["--"] * 4


def test_table_1_tells_how_long_the_summaries_of_agents_are(made):
    note = table_1(Reproduction(made[0])).notes[-1]
    summaries = [path.read_text() for path in (made[0] / "decode/rnn_ext_rl/output").glob("*.dec")]
    words = sum(len(text.split()) for text in summaries) / len(summaries)
    sentences = sum(text.count("\n") + 1 for text in summaries) / len(summaries)
    assert f"rnn-ext + RL {sentences:.2f} and {words:.1f}; rnn-ext + abs + RL " in note and "lead-3" not in note


def test_reranking_is_timed_apart(copied):
    log = copied[0] / "decode/rnn_ext_abs_rl_rerank/log.json"
    value = json.loads(log.read_text())
    value["timing"].update(seconds=100.0, reranking_seconds=30.0)
    log.write_text(json.dumps(value))
    line = lines_of(table_5(Reproduction(copied[0])))["rnn-ext + abs + RL + rerank"]
    assert line.ours[0].text == "1.7 min (1.2 min + 30.0 s)"
    assert line.paper[0].text == "2.00 h (1.46 + 0.54)"


def test_table_5_compares_with_the_flat_model(made):
    lines = lines_of(table_5(Reproduction(made[0])))
    assert texts(lines["rnn-ext + abs + RL"].ours) == ["2.0 s", "1500.0", "25.0×", "25.0×"]
    assert texts(lines["rnn-ext + abs + RL"].paper) == ["0.68 h", "361.3", "19.0×", "24.4×"]
    assert texts(lines["pointer-generator + coverage"].paper) == ["12.9 h", "14.8", "1.0×", "1.0×"]


def test_the_time_of_a_resumed_run_is_extrapolated_and_says_so(copied):
    log = copied[0] / "decode/rnn_ext_abs_rl/log.json"
    value = json.loads(log.read_text())
    value["timing"].update(articles=10, seconds=1.0)
    log.write_text(json.dumps(value))
    table = table_5(Reproduction(copied[0]))
    assert lines_of(table)["rnn-ext + abs + RL"].ours[0].text == "≈ 4.0 s"
    assert any("extrapolated" in note for note in table.notes)


def test_table_6_measures_novelty_of_systems_and_references(made):
    lines = lines_of(table_6(Reproduction(*made[:1], data_dir=str(made[1]))))
    assert texts(lines["reference summaries"].ours)[0] == "0.0"  # every word of a highlight is the article's
    assert float(lines["rnn-ext + abs + RL + rerank"].ours[3].text) > 90
    assert texts(lines["reference summaries"].paper) == ["10.8", "47.5", "68.2", "78.2"]


def test_table_6_without_articles_is_missing_and_tells_why(made):
    table = table_6(Reproduction(made[0]))
    assert texts(lines_of(table)["reference summaries"].ours) == ["--"] * 4
    assert "--data_dir" in table.notes[0]


def test_tables_2_and_3_have_their_own_folders(tmp_path):
    articles = write_articles(tmp_path / "data", 12)
    for folder in ("decode_anonymized", "decode_duc"):
        summaries = [summarise("rnn_ext_abs_rl", article, i) for i, article in enumerate(articles)]
        write_run(tmp_path / "runs" / folder / "rnn_ext_abs_rl", summaries, articles)
    runs = Reproduction(tmp_path / "runs")
    for name, paper in (("2", "38.80"), ("3", "39.46")):
        line = lines_of(TABLES[name](runs))["rnn-ext + abs + RL"]
        assert line.ours[0].text != "--"
        assert line.paper[0].text == paper
    assert texts(lines_of(table_1(runs))["rnn-ext + abs + RL"].ours) == ["--"] * 4


def test_released_models_stand_beside_the_numbers_of_the_split_they_decoded(tmp_path):
    articles = write_articles(tmp_path / "data", 12)
    summaries = [summarise("rnn_ext_abs_rl", article, i) for i, article in enumerate(articles)]
    for split, expected in (("val", "41.01"), ("test", "40.03")):
        write_run(tmp_path / split / "decode/released_acl", summaries, articles, split=split)
        line = lines_of(TABLES["released"](Reproduction(tmp_path / split)))["released acl"]
        assert line.paper[0].text == expected
        assert line.ours[0].text != "--"


def test_significance_is_measured_once_and_again_when_the_texts_change(copied, monkeypatch):
    runs, _ = copied
    table_1(Reproduction(runs))

    def never(*_):
        raise AssertionError("measured again")

    monkeypatch.setattr("report.runs.compare", never)
    table_1(Reproduction(runs))
    scores = runs / "decode/rnn_ext_rl/scores.json"
    scores.write_text(scores.read_text().replace('"outputs": "', '"outputs": "other'))
    with pytest.raises(AssertionError, match="measured again"):
        table_1(Reproduction(runs))


# --- formats


def test_terminal_columns_are_aligned(made):
    lines = layout.terminal(table_1(Reproduction(made[0]))).splitlines()
    ends = {re.search(r"R-1", lines[2]).end()}
    ends |= {re.match(r"\s+[a-z].*?\d+\.\d\d", line).end() for line in lines if re.match(r"  (lead|ff|rnn)", line)}
    assert len(ends) == 1


def test_markdown_rows_have_the_same_number_of_cells(made):
    rows = [line for line in layout.markdown(table_1(Reproduction(made[0]))).splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {10}
    assert r"\*†" in "".join(rows)


def test_latex_is_balanced_and_escaped(made):
    runs = Reproduction(made[0], data_dir=str(made[1]))
    for name, build in TABLES.items():
        text = layout.latex(build(runs))
        assert text.count(r"\begin{") == text.count(r"\end{") == 2, name
        assert text.count("{") == text.count("}")
        assert not re.search(r"(?<!\\)[%_#†‡×≈]", text.replace("\\\n", ""))
        rows = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1


def test_html_escapes_what_it_shows():
    line = layout.Line("a <b>", [layout.Cell("1", "*")], [layout.Cell()])
    text = layout.html(layout.Table("x & y", ["<"], [layout.Section("", [line])], ["p < 1"]))
    assert "a &lt;b&gt;" in text and "x &amp; y" in text and "p &lt; 1" in text and "<sup>*</sup>" in text


def test_the_command_prints_the_tables_asked_for(made):
    runs, data = map(str, made)
    both = run_python("-m", "report.tables", runs, "--table", "5", "--table", "6", "--format", "markdown", DATA=data)
    assert both.returncode == 0, both.stderr
    assert both.stdout.startswith("**Table 5") and "**Table 6" in both.stdout and "Table 1" not in both.stdout
    every = run_python("-m", "report.tables", runs)
    assert [name for name in "123456" if f"Table {name}" in every.stdout] == ["1", "2", "3", "5", "6"]
    assert "Training (paper: B.3" in every.stdout


# --- claims


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
    result = run_python("-m", "report.claims", str(made[0]), "--data_dir", str(made[1]))
    assert result.returncode == 0, result.stderr
    assert "HOLDS" in result.stdout and "DOES NOT HOLD" in result.stdout
    claims = json.loads((made[0] / "claims.json").read_text())
    assert {claim["verdict"] for claim in claims} == {"holds", "does not hold", "not evaluated"}
    assert all(claim["figures"] in result.stdout for claim in claims)


# --- bad input


def one_line(result) -> str:
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    return result.stderr


def test_a_folder_without_runs_is_told(tmp_path):
    assert "no folder of runs" in one_line(run_python("-m", "report.tables", str(tmp_path)))


def test_two_evaluated_numbers_of_sentences_are_told(copied):
    (copied[0] / "decode/rnn_ext/output_top4").mkdir()
    with pytest.raises(UserError, match=r"rnn_ext was evaluated with several .*output_top3, output_top4"):
        table_1(Reproduction(copied[0]))


def test_rows_of_different_splits_are_told(copied):
    log = copied[0] / "decode/rnn_ext/log.json"
    log.write_text(log.read_text().replace('"test"', '"val"'))
    with pytest.raises(UserError, match="is of the split val, not test"):
        check_claims(Reproduction(copied[0], data_dir="anywhere"))
    with pytest.raises(UserError, match="is of the split"):
        check_claims(Reproduction(copied[0], data_dir="anywhere", split="train"))


def test_rows_of_different_articles_are_told(copied):
    runs, data = copied
    path = runs / "decode/rnn_ext"
    articles = write_articles(runs / "other", 7)
    shutil.rmtree(path)
    write_run(path, [summarise("rnn_ext", article, i) for i, article in enumerate(articles)], articles)
    with pytest.raises(UserError, match=r"rnn_ext_rl against .*rnn_ext: missing"):
        table_1(Reproduction(runs))
    with pytest.raises(UserError, match=r"missing .*7\.dec"):
        table_6(Reproduction(runs, data_dir=str(data)))


@pytest.mark.parametrize("name", ["decode/rnn_ext/top3_scores.json", "decode/rnn_ext_abs_rl/alignment.jsonl"])
def test_damaged_files_are_named(copied, name):
    (copied[0] / name).write_text("{")
    with pytest.raises(UserError, match=re.escape(Path(name).name)):
        check_claims(Reproduction(copied[0], data_dir=str(copied[1])))


@pytest.mark.parametrize("text", ["[]", "[1]", "[", "\0"])
def test_a_damaged_cache_is_measured_again(copied, text):
    expected = table_1(Reproduction(copied[0]))
    (copied[0] / ".measured.json").write_text(text)
    assert table_1(Reproduction(copied[0])) == expected


def test_damaged_values_are_told(copied):
    runs, data = copied
    table_1(Reproduction(runs))
    kept = json.loads((runs / ".measured.json").read_text())
    (runs / ".measured.json").write_text(json.dumps(dict.fromkeys(kept, 5)))
    with pytest.raises(UserError, match=r"\.measured\.json is damaged"):
        table_1(Reproduction(runs))
    (runs / ".measured.json").unlink()
    for line in ('{"article":[1],"sentences":5}', '{"article":1,"sentences":[{"source":"x"}]}', "\ud800"):
        with open(runs / "decode/rnn_ext_abs_rl/alignment.jsonl", "ab") as file:
            file.write(line.encode("utf-8", "surrogatepass"))
        with pytest.raises(UserError, match=r"alignment\.jsonl is damaged"):
            check_claims(Reproduction(runs, data_dir=str(data)))
    (runs / "stages").mkdir()
    (runs / "stages/rl.json").write_text("[]")
    with pytest.raises(UserError, match=r"stages/rl\.json is not"):
        TABLES["training"](Reproduction(runs))

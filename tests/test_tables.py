"""The paper's tables and claims, from a folder of runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from synthetic_runs import FULL, make_runs, summarise, write_articles, write_run
from tiny_data import ROOT, run_python

from report import layout, paper_numbers
from report.claims import Verdict, check_claims
from report.rows import ROWS
from report.runs import Reproduction
from report.tables import TABLES, table_1, table_5, table_6
from support.errors import UserError

PAPER = ROOT.parent / "shared" / "paper.tex"
FASTER = "rnn-ext + abs + RL decodes faster than a flat encoder-decoder, articles together in both"


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


def test_every_quoted_row_has_a_name_in_the_table_of_rows():
    for table in (paper_numbers.TABLE_1, paper_numbers.TABLE_2, paper_numbers.TABLE_3, paper_numbers.RELEASED_TEST):
        assert table.keys() <= ROWS.keys()
    assert paper_numbers.RELEASED_TEST.keys() == paper_numbers.RELEASED_VAL.keys()


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper's source is not beside the project")
def test_the_quoted_numbers_stand_in_the_paper():
    """Row by row: the numbers in a row of ours are the numbers in a row of the paper."""
    source = re.sub(r"\\textbf|[{}\\]|hline", " ", PAPER.read_text(encoding="utf-8"))
    rows = {tuple(re.findall(r"\d+\.\d+", line)) for line in source.splitlines()}
    rows |= {tuple(re.findall(r"\d+\.\d+", found)) for found in re.findall(r"\([\d., ]+\)", source)}
    as_floats = {tuple(map(float, row)) for row in rows}
    for table in (paper_numbers.TABLE_1, paper_numbers.TABLE_2, paper_numbers.TABLE_3, paper_numbers.TABLE_6):
        for row, numbers in table.items():
            assert tuple(number for number in numbers if number is not None) in as_floats, row
    for row, speed in paper_numbers.TABLE_5.items():
        assert any(speed.hours in found and speed.words_per_second in found for found in as_floats), row
    counts = {tuple(map(int, re.findall(r"\b\d+\b", line.split("&", 1)[-1]))) for line in source.splitlines()}
    for row, preferred in paper_numbers.TABLE_4.items():
        assert (preferred.relevance, preferred.readability, preferred.total) in counts, row


def test_the_judgements_of_the_paper_add_up():
    assert sum(row.relevance for row in paper_numbers.TABLE_4.values()) == 300
    assert sum(row.total for row in paper_numbers.TABLE_4.values()) == 600


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


# --- claims


def verdicts(runs: Reproduction) -> dict[str, Verdict]:
    return {claim.text: claim.verdict for claim in check_claims(runs)}


def test_claims_hold_where_they_were_built_in(made):
    found = verdicts(Reproduction(made[0], data_dir=str(made[1])))
    assert found.pop("RL above ML, extractive") == Verdict.FAILS  # whole sentences share no bigram with a highlight
    assert set(found.values()) == {Verdict.HOLDS}, found


def test_claims_fail_where_the_rows_are_exchanged(copied):
    runs, data = copied
    decode = runs / "decode"
    for good, bad in (("rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank"), ("rnn_ext_rl", "pointer_generator_coverage")):
        (decode / good).rename(decode / "x")
        (decode / bad).rename(decode / good)
        (decode / "x").rename(decode / bad)
    found = verdicts(Reproduction(runs, data_dir=str(data)))
    assert found["Reranking reduces repetition"] == Verdict.FAILS
    assert found["Reranking does not lower ROUGE"] == Verdict.FAILS
    assert found[FASTER] == Verdict.FAILS


def test_a_constant_number_of_sentences_is_not_learned(copied):
    alignment = copied[0] / "decode/rnn_ext_abs_rl/alignment.jsonl"
    lines = [json.loads(line) for line in alignment.read_text().splitlines()]
    alignment.write_text("".join(json.dumps({**line, "sentences": [{"source": 0}] * 3}) + "\n" for line in lines))
    found = verdicts(Reproduction(copied[0], data_dir=str(copied[1])))
    assert found["The number of sentences is learned"] == Verdict.FAILS


def test_claims_are_not_measured_without_their_rows_or_articles(tmp_path):
    make_runs(tmp_path / "runs", tmp_path / "data", rows=("rnn_ext", *FULL), count=12)
    without = {claim.text: claim for claim in check_claims(Reproduction(tmp_path / "runs"))}
    assert without["RL above ML, abstractive"].verdict == Verdict.UNKNOWN
    assert "rnn-ext + abs not evaluated" in without["RL above ML, abstractive"].figures
    assert "--data_dir" in without["Reranking reduces repetition"].figures
    assert without[FASTER].verdict == Verdict.UNKNOWN
    assert without["Reranking does not lower ROUGE"].verdict == Verdict.HOLDS


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
        assert claim.text.endswith("articles together in both")
        assert "in 2 processes; all systems decode articles in batches" in claim.figures
    assert "all systems decode articles in batches" in table_5(runs).notes[-1]


def test_the_claims_command_ends_well_and_writes_json(made):
    result = run_python("-m", "report.claims", str(made[0]), "--data_dir", str(made[1]))
    assert result.returncode == 0, result.stderr
    assert "HOLDS" in result.stdout and "DOES NOT HOLD" in result.stdout
    claims = json.loads((made[0] / "claims.json").read_text())
    assert {claim["verdict"] for claim in claims} == {"holds", "does not hold"}
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

"""The paper's tables, from a folder of runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from synthetic_runs import lines_of, summarise, texts, write_articles, write_run
from tiny_data import ROOT

from report import layout
from report.claims import check_claims
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
from report.rows import quoted
from report.runs import Reproduction
from report.tables import TABLES, table_1, table_5, table_6
from support.errors import UserError
from support.files import write_json

PAPER = ROOT.parent / "shared" / "paper.tex"
FASTER = "Decoding is at least 10 times as fast as a flat encoder-decoder"
RERANKING = "Reranking is significantly better"


# --- quoted numbers


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper's source is not beside the project")
def test_the_quoted_numbers_stand_in_the_paper():
    """Row by row: the numbers in a row of ours are the numbers in a row of the paper."""
    source = re.sub(r"\\textbf|[{}\\]|hline", " ", PAPER.read_text(encoding="utf-8"))
    rows = {tuple(re.findall(r"\d+\.\d+", line)) for line in source.splitlines()}
    rows |= {tuple(re.findall(r"\d+\.\d+", found)) for found in re.findall(r"\([\d., ]+\)", source)}
    as_floats = {tuple(map(float, row)) for row in rows}
    tables: list[dict[str, Any]] = [
        quoted("1", RougeMeteor), quoted("2", RougeMeteor), quoted("3", RougeMeteor), quoted("6", Novelty),
        {"reference": REFERENCE_NOVELTY},
    ]
    assert [len(table) for table in tables] == [15, 13, 3, 3, 1]
    for table in tables:
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


def test_table_1_tells_which_agent_did_not_learn_with_the_papers_stop_reward(copied):
    def notes():
        return [note for note in table_1(Reproduction(copied[0])).notes if "stopping" in note]

    for model, weight in (("rl", 1.0), ("rl_ext", 4.0)):
        assert notes() == []
        (copied[0] / "models" / model).mkdir(exist_ok=True)
        write_json(copied[0] / "models" / model / "meta.json", {"train_params": {"stop_coeff": weight}})
    assert notes() == ["rnn-ext + RL: the reward of stopping counts 4 times (the paper: 1)."]


def test_the_stop_reward_of_table_2_is_that_of_its_own_models(copied):
    runs, told = copied[0], "rnn-ext + RL: the reward of stopping counts 4 times (the paper: 1)."
    shutil.copytree(runs / "decode/rnn_ext_rl", runs / "decode_anonymized/rnn_ext_rl")
    (runs / "models_anonymized/rl_ext").mkdir(parents=True)
    write_json(runs / "models_anonymized/rl_ext/meta.json", {"train_params": {"stop_coeff": 4.0}})
    assert told in TABLES["2"](Reproduction(runs)).notes and told not in table_1(Reproduction(runs)).notes


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


@pytest.mark.parametrize("name", ["articles", "seconds", "words_per_second", "processes", "reranking_seconds"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, None, "2"])
def test_a_time_that_is_none_is_told(copied, name, value):
    log = copied[0] / "decode/rnn_ext_abs_rl/log.json"
    content = json.loads(log.read_text())
    content["timing"][name] = value
    log.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"log\.json has a damaged 'timing'"):
        table_5(Reproduction(copied[0]))


def test_damaged_shares_of_ngrams_are_told(copied):
    runs, data = copied
    assert Reproduction(runs, str(data)).novelty
    kept = json.loads((runs / ".measured.json").read_text())
    key = next(key for key in kept if key.startswith("novelty"))
    for line in (["rnn_ext", [10**400]], ["rnn_ext", 5], ["rnn_ext"], ["other", [1.0]]):
        (runs / ".measured.json").write_text(json.dumps({**kept, key: [line, *kept[key][1:]]}))
        with pytest.raises(UserError, match=r"\.measured\.json is damaged"):
            _ = Reproduction(runs, str(data)).novelty


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
    lines = lines_of(table_6(Reproduction(made[0], data_dir=str(made[1]))))
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
    rows = [line for line in lines if re.match(r"  (lead|ff|rnn)", line)]
    found = [re.search(r"R-1", lines[2]), *(re.match(r"\s+[a-z].*?\d+\.\d\d", row) for row in rows)]
    assert len(rows) > 3 and len({match and match.end() for match in found}) == 1


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
    both = run_here("-m", "report.tables", runs, "--table", "5", "--table", "6", "--format", "markdown", DATA=data)
    assert both.returncode == 0, both.stderr
    assert both.stdout.startswith("**Table 5") and "**Table 6" in both.stdout and "Table 1" not in both.stdout
    every = run_here("-m", "report.tables", runs)
    assert [name for name in "123456" if f"Table {name}" in every.stdout] == ["1", "2", "3", "5", "6"]
    assert "Training (paper: B.3" in every.stdout


# --- bad input


def one_line(result) -> str:
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    return result.stderr


def test_a_folder_without_runs_is_told(tmp_path):
    assert "not a folder of runs" in one_line(run_here("-m", "report.tables", str(tmp_path)))


def test_two_evaluated_numbers_of_sentences_are_told(copied):
    (copied[0] / "decode/rnn_ext/output_top4").mkdir()
    with pytest.raises(UserError, match="rnn_ext holds output_top3 and output_top4: name one"):
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
    with pytest.raises(UserError, match=r"missing \S+/rnn_ext/output\S*/7\.dec"):
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
    damaged: tuple[object, ...] = (
        5, {}, [["R-1", 1, 2, None, 0.5]], [["R-1", [1], 2, 0.5, 0.5]], [["R-1", 1]], [[5, 1, 2, 0.5, 0.5]]
    )  # fmt: skip
    for value in damaged:
        (runs / ".measured.json").write_text(json.dumps(dict.fromkeys(kept, value)))
        with pytest.raises(UserError, match=r"\.measured\.json is damaged"):
            table_1(Reproduction(runs))
    (runs / ".measured.json").unlink()
    alignment = runs / "decode/rnn_ext_abs_rl/alignment.jsonl"
    whole = alignment.read_bytes()
    for line in (
        '{"article":[1],"sentences":5}',
        '{"article":1,"sentences":[{"source":"x"}]}',
        '{"article":Infinity,"sentences":[]}',
        '{"article":1,"sentences":[{"source":-1}]}',
        '{"article":1,"sentences":[{"source":' + "9" * 40 + "}]}",
        "[" * 100_000,
        "\ud800",
    ):
        alignment.write_bytes(whole + line.encode("utf-8", "surrogatepass"))
        with pytest.raises(UserError, match=r"alignment\.jsonl is damaged"):
            check_claims(Reproduction(runs, data_dir=str(data)))
    (runs / "stages").mkdir()
    (runs / "stages/rl.json").write_text("[]")
    with pytest.raises(UserError, match=r"stages/rl\.json is not"):
        TABLES["training"](Reproduction(runs))

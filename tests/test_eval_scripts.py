"""The evaluation scripts: released flags and files, re-runs, and one line for every bad input."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from score_files import rouge_of

import eval_acl
import eval_baselines
import eval_full_model
import make_eval_references
import tune_n_ext
from inference.best_sentences import BaselineOutput, rouge_by_count
from metrics import meteor, official
from metrics.scores import load_scores
from metrics.summaries import read_documents, read_summaries
from support.errors import run

ROOT = Path(__file__).parents[1]


@pytest.fixture
def data_dir(golden, tmp_path) -> Path:
    return shutil.copytree(golden / "data", tmp_path / "data", ignore=shutil.ignore_patterns("train"))


@pytest.fixture
def decoded(golden, tmp_path) -> Path:
    for name in ("rl_greedy", "rl_beam5", "baseline_lead_abs"):
        shutil.copytree(golden / "decode_dir" / name, tmp_path / "decoded" / name)
    return tmp_path / "decoded"


@pytest.fixture
def command(monkeypatch):
    """Runs a script's main as its last line does -> exit code."""

    def call(script, *arguments):
        monkeypatch.setattr(sys, "argv", [f"{script.__name__}.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            run(script.main)
        return stopped.value.code

    return call


def test_references_equal_the_released_ones(golden, data_dir, command):
    shutil.rmtree(data_dir / "refs")
    assert command(make_eval_references, "--data_dir", data_dir) == 0
    for split in ("val", "test"):
        expected = {path.name: path.read_bytes() for path in (golden / "data" / "refs" / split).iterdir()}
        assert {path.name: path.read_bytes() for path in (data_dir / "refs" / split).iterdir()} == expected


def test_references_of_an_empty_abstract_and_of_several(tmp_path, command):
    (tmp_path / "test").mkdir()
    abstracts: list[dict] = [{"abstract": []}, {"abstract": ["a < b", "c"], "references": [["d"], []]}]
    for i, fields in enumerate(abstracts):
        (tmp_path / "test" / f"{i}.json").write_text(json.dumps({"id": "x", "article": ["a"], **fields}))
    for _ in range(2):  # it may run again
        assert command(make_eval_references, "--data_dir", tmp_path, "--split", "test") == 0
    found = {path.name: path.read_text() for path in (tmp_path / "refs" / "test").iterdir()}
    assert found == {"0.ref": "", "1.A.ref": "a &lt; b\nc", "1.B.ref": "d", "1.C.ref": ""}


def test_rouge_of_a_full_model(data_dir, decoded, command, capsys):
    decode_dir = decoded / "rl_greedy"
    assert command(eval_full_model, "--rouge", "--decode_dir", decode_dir, "--data_dir", data_dir) == 0
    text = (decode_dir / "rouge.txt").read_text()
    scores = rouge_of(decode_dir / "scores.json")
    printed = capsys.readouterr().out
    assert printed.startswith(text) and printed.endswith(scores.signature + "\n")
    plain = scores.documents[:, :, 2].mean(axis=0)
    assert "Plain mean of F: ROUGE-1 {:.5f}, ROUGE-2 {:.5f}, ROUGE-L {:.5f}".format(*plain) in printed
    assert "drawn in the order of the file names" in printed
    assert load_scores(decode_dir / "scores.json").ids == tuple(range(30)) and scores.documents.shape == (30, 3, 3)
    assert f"1 ROUGE-L Average_F: {scores.averages.mean[2, 2]:.5f}" in text
    assert abs(scores.documents.mean(axis=0) - scores.averages.mean).max() < 0.01
    assert "args:-c 95 -r 1000 -n 2 -m" in scores.signature and "docs:30|refs:1" in scores.signature


@pytest.mark.skipif(official.why_unavailable() is not None, reason=str(official.why_unavailable()))
def test_official_script_writes_the_same_files(data_dir, decoded, command):
    decode_dir = decoded / "rl_beam5"
    flags = ["--rouge", "--decode_dir", decode_dir, "--data_dir", data_dir]
    assert command(eval_full_model, *flags) == 0
    text, ours = (decode_dir / "rouge.txt").read_text(), rouge_of(decode_dir / "scores.json")
    assert command(eval_full_model, *flags, "--official") == 0
    theirs = rouge_of(decode_dir / "scores.json")
    assert (decode_dir / "rouge.txt").read_text() == text
    assert np.array_equal(ours.documents, theirs.documents)
    assert "tool:in-process" in ours.signature and "tool:ROUGE-1.5.5.pl" in theirs.signature


def test_environment_variable_replaces_data_dir(data_dir, decoded, command, monkeypatch):
    monkeypatch.setenv("DATA", str(data_dir))
    assert command(eval_full_model, "--rouge", "--decode-dir", decoded / "rl_greedy") == 0


def test_baseline_merges_the_first_sentences(data_dir, decoded, command):
    decode_dir = decoded / "baseline_lead_abs"
    for n in (3, 3, 2):
        flags = ["--n_ext", n, "--decode_dir", decode_dir, "--data_dir", data_dir]
        assert command(eval_baselines, "--rouge", *flags) == 0
    merged = read_summaries(decode_dir / "output_top3")
    parts = [(decode_dir / f"output_{k}" / "0.dec").read_text() for k in range(3)]
    assert len(merged) == 30 and merged[0] == "\n".join(parts)
    assert (decode_dir / "top2_rouge.txt").read_text() != (decode_dir / "top3_rouge.txt").read_text()
    assert load_scores(decode_dir / "top3_scores.json").ids == tuple(range(30))


def test_baseline_of_a_short_article_keeps_what_there_is(data_dir, decoded):
    decode_dir = decoded / "baseline_lead_abs"
    for k in (1, 2):
        (decode_dir / f"output_{k}" / "4.dec").unlink()
    merged = eval_baselines.merge_sentences(decode_dir, 3)
    assert merged[4] == (decode_dir / "output_0" / "4.dec").read_text()


def test_the_best_sentences_of_ff_ext_are_scored_not_the_first(tmp_path):
    """They are written in document order."""
    log = {"extractor": {"net": "ml_ff_extractor"}, "n_ext": 3, "split": "test"}
    sentences = [{"source": i, "extraction_score": score} for i, score in enumerate((0.1, 0.9, 0.5))]
    (tmp_path / "log.json").write_text(json.dumps(log))
    (tmp_path / "alignment.jsonl").write_text(json.dumps({"article": 0, "sentences": sentences}))
    for k, word in enumerate("abc"):
        (tmp_path / f"output_{k}").mkdir()
        (tmp_path / f"output_{k}" / "0.dec").write_text(word)
    for n, text in ((1, "b"), (2, "b\nc"), (3, "a\nb\nc")):
        assert eval_baselines.merge_sentences(tmp_path, n) == {0: text}


@pytest.fixture
def ff_ext(tmp_path) -> Path:
    """A data set of two validation articles and an ff-ext's output, whose first sentences are its worst."""
    articles = {0: ("w x . a b . c d .", "a b .\nc d ."), 1: ("y z . e f . g h .", "e f .\ng h .")}
    scores = [0.1, 0.9, 0.5]
    for folder in ("val", "out", *(f"out/output_{k}" for k in range(3))):
        (tmp_path / folder).mkdir()
    lines = []
    for i, (article, abstract) in articles.items():
        sentences = [f"{text} ." for text in article.removesuffix(" .").split(" . ")]
        value = {"id": str(i), "article": sentences, "abstract": abstract.split("\n")}
        (tmp_path / "val" / f"{i}.json").write_text(json.dumps(value))
        chosen = [{"source": k, "extraction_score": score} for k, score in enumerate(scores)]
        lines.append(json.dumps({"article": i, "sentences": chosen}))
        for k, sentence in enumerate(sentences):
            (tmp_path / "out" / f"output_{k}" / f"{i}.dec").write_text(sentence)
    (tmp_path / "out" / "alignment.jsonl").write_text("\n".join(lines))
    log = {"extractor": {"net": "ml_ff_extractor"}, "n_ext": 3, "split": "val", "timing": {}}
    (tmp_path / "out" / "log.json").write_text(json.dumps(log))
    return tmp_path


def test_the_number_that_is_tuned_is_best_by_the_scores_that_are_reported(ff_ext, command, capsys):
    """Of every number, tuning gives what eval_baselines.py gives; the first sentences would prefer another one."""
    chosen = ff_ext / "tuning" / "n.json"
    arguments = ["--decode_dir", ff_ext / "out", "--data_dir", ff_ext]
    assert command(tune_n_ext, *arguments, "--path", chosen) == 0
    tuned = [[float(x) for x in line.split()[1:4]] for line in capsys.readouterr().out.splitlines()[1:4]]
    assert command(make_eval_references, "--data_dir", ff_ext, "--split", "val") == 0
    evaluated = []
    for n in (1, 2, 3):
        assert command(eval_baselines, "--rouge", "--n_ext", n, *arguments) == 0
        documents = rouge_of(ff_ext / "out" / f"top{n}_scores.json").documents
        evaluated.append((100 * documents[:, :, 2].mean(0)).round(2).tolist())
    assert tuned == evaluated
    assert json.loads(chosen.read_text())["n_ext"] == 2
    first = BaselineOutput(ff_ext / "out")
    first.log["extractor"] = None  # as if they began with the best
    assert rouge_by_count(first, {0: "a b .\nc d .", 1: "e f .\ng h ."}).mean(1).argmax() + 1 == 3


@pytest.mark.parametrize(
    "damaged", [b"\x89\xff\0", b'{"article":[1],"sentences":5}', b'{"article": 1, "sentences": [{"source": 2}]}']
)
def test_without_its_scores_ff_ext_is_not_cut(ff_ext, command, capsys, damaged):
    alignment = ff_ext / "out" / "alignment.jsonl"
    alignment.write_bytes(alignment.read_bytes().split(b"\n")[0] + b"\n" + damaged)
    assert command(eval_baselines, "--rouge", "--n_ext", 2, "--decode_dir", ff_ext / "out", "--data_dir", ff_ext) == 2
    assert "alignment.jsonl has no scores of article 1" in capsys.readouterr().err


def test_reranking_is_timed_apart_from_decoding(golden, tmp_path, decode):
    common = ["--model_dir", golden / "rl", "--data_dir", golden / "data", "--test"]
    for beam, timed in ((5, True), (1, False)):
        decode("decode_full_model", "--path", tmp_path / str(beam), *common, "--beam", beam)
        timing = json.loads((tmp_path / str(beam) / "log.json").read_text())["timing"]
        assert ("reranking_seconds" in timing) == timed
        assert 0 < timing.get("reranking_seconds", 0.001) < timing["seconds"]


def test_a_character_that_is_none_does_not_stop_the_references(tmp_path, command):
    (tmp_path / "test").mkdir()
    (tmp_path / "test/0.json").write_text(json.dumps({"id": "0", "article": ["a"], "abstract": ["\ud800 lone"]}))
    assert command(make_eval_references, "--data_dir", tmp_path, "--split", "test") == 0
    assert (tmp_path / "refs/test/0.ref").read_text() == "? lone"


def test_any_folder_with_several_references(tmp_path, command):
    texts = {"out/0.dec": "a b", "out/12.dec": "c", "refs/0.ref": "a", "refs/12.A.ref": "c d", "refs/12.B.ref": "e"}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for _ in range(2):  # the result files among the outputs do no harm
        flags = ["--rouge", "--decode_dir", tmp_path / "out", "--ref_dir", tmp_path / "refs"]
        assert command(eval_acl, *flags) == 0
    path = tmp_path / "out" / "scores.json"
    assert load_scores(path).ids == (0, 12) and "refs:1-2" in rouge_of(path).signature
    assert rouge_of(path).documents[:, 0].tolist() == [[1, 0.5, 0.66667], [0.33333, 0.5, 0.4]]


def test_scores_of_other_texts_are_not_kept(data_dir, decoded, command):
    """An earlier METEOR result survives a ROUGE run on the same texts, and no change of them."""
    decode_dir = decoded / "rl_greedy"
    flags = ["--rouge", "--decode_dir", decode_dir, "--data_dir", data_dir]
    assert command(eval_full_model, *flags) == 0
    path = decode_dir / "scores.json"
    value = json.loads(path.read_text())
    value["meteor"] = {"signature": "s", "score": 0.5, "statistics": [[0] * meteor.STATISTICS] * 30}
    path.write_text(json.dumps(value))
    assert command(eval_full_model, *flags) == 0
    kept = load_scores(path).meteor
    assert kept is not None and kept.score == 0.5
    (decode_dir / "output" / "0.dec").write_text("something else")
    assert command(eval_full_model, *flags) == 0
    assert load_scores(path).meteor is None


def remove(name):
    return lambda decode_dir: (decode_dir / name).unlink()


def write(name, content):
    return lambda decode_dir: (decode_dir / name).write_bytes(content)


def replace(name, make):
    return lambda decode_dir: ((decode_dir / name).unlink(), make(decode_dir / name))


def empty_output(decode_dir):
    shutil.rmtree(decode_dir / "output")
    (decode_dir / "output").mkdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove("output/7.dec"), "missing {decode}/output/7.dec, although {refs}/7.ref exists"),
        (write("output/30.dec", b"x"), "missing {refs}/30.ref, although {decode}/output/30.dec exists"),
        (write("output/3.dec.bak", b"x"), "{decode}/output/3.dec.bak is not named <number>.dec"),
        (write("output/007.dec", b"x"), "{decode}/output/007.dec is not named <number>.dec"),
        (write("output/5.dec", b"\x89PNG\r\n\x1a\n\0\xff"), "{decode}/output/5.dec is not a text file in UTF-8"),
        (write("output/5.dec", b"a\0b"), "{decode}/output/5.dec is not a text file in UTF-8"),
        (replace("output/5.dec", Path.mkdir), "{decode}/output/5.dec is not a file"),
        (replace("output/5.dec", os.mkfifo), "{decode}/output/5.dec is not a file"),
        (write("log.json", b"[" * 100_000), "{decode}/log.json is not readable JSON"),
        (write("log.json", b'{"split": ' + b"1" * 5000 + b"}"), "{decode}/log.json is not readable JSON"),
        (empty_output, "{decode}/output holds no <number>.dec file"),
        (lambda decode_dir: shutil.rmtree(decode_dir / "output"), "{decode}/output is not a folder"),
        (remove("log.json"), "{decode}/log.json does not exist"),
        (write("log.json", b"{}"), "{decode}/log.json names no split"),
        (write("log.json", b'{"split": "train"}'), "refs/train is not a folder; make_eval_references.py"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_result(data_dir, decoded, command, capsys, damage, message):
    decode_dir = decoded / "rl_greedy"
    damage(decode_dir)
    assert command(eval_full_model, "--rouge", "--decode_dir", decode_dir, "--data_dir", data_dir) == 2
    complaint = capsys.readouterr().err
    assert message.format(decode=decode_dir, refs=data_dir / "refs" / "test") in complaint
    assert complaint.startswith("error: ") and complaint.count("\n") == 1
    assert not (decode_dir / "rouge.txt").exists() and not (decode_dir / "scores.json").exists()


def test_a_path_with_braces_is_named_as_it_is(golden, data_dir, tmp_path, command, capsys):
    decode_dir = Path(shutil.copytree(golden / "decode_dir" / "rl_greedy", tmp_path / "a{0}b{}{x!r}"))
    (decode_dir / "output" / "7.dec").unlink()
    assert command(eval_full_model, "--rouge", "--decode_dir", decode_dir, "--data_dir", data_dir) == 2
    assert f"missing {decode_dir}/output/7.dec, although" in capsys.readouterr().err


def test_the_plain_mean_does_not_depend_on_the_numbering(tmp_path, command):
    """The average of ROUGE-1.5.5 does."""
    dice = random.Random(0)
    texts = [[" ".join(dice.choices("abcdefgh", k=8)) for _ in range(2)] for _ in range(40)]
    found = []
    for first in (0, 1):
        folder = tmp_path / str(first)
        folder.mkdir()
        for i, (summary, reference) in enumerate(texts, first):
            (folder / f"{i}.dec").write_text(summary)
            (folder / f"{i}.ref").write_text(reference)
        assert command(eval_acl, "--rouge", "--decode_dir", folder, "--ref_dir", folder) == 0
        found.append(rouge_of(folder / "scores.json"))
    assert np.allclose(found[0].plain_mean, found[1].plain_mean, atol=1e-12)
    assert not np.array_equal(found[0].averages.mean, found[1].averages.mean)


def test_one_reference_or_several_is_asked(data_dir, decoded, command, capsys):
    (data_dir / "refs" / "test" / "3.B.ref").write_text("x")
    flags = ["--rouge", "--decode_dir", decoded / "rl_greedy", "--data_dir", data_dir]
    assert command(eval_full_model, *flags) == 2
    assert "holds both 3.ref and 3.B.ref" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("n_ext", "damage", "message"),
    [
        (7, None, "output_6 does not exist: --n_ext 7 needs the folders output_0 to output_6"),
        (0, None, "--n_ext must be at least 1"),
        (3, remove("output_1/4.dec"), "output_1/4.dec, although output_2 has 4.dec"),
        (1, remove("output_0/4.dec"), "missing"),
    ],
)
def test_bad_baselines_are_one_line(data_dir, decoded, command, capsys, n_ext, damage, message):
    decode_dir = decoded / "baseline_lead_abs"
    if damage:
        damage(decode_dir)
    flags = ["--rouge", "--n_ext", n_ext, "--decode_dir", decode_dir, "--data_dir", data_dir]
    assert command(eval_baselines, *flags) == 2
    complaint = capsys.readouterr().err
    assert message in complaint and complaint.count("\n") == 1


def test_no_metric_is_one_line(data_dir, decoded, command, capsys):
    flags = ["--decode_dir", decoded / "rl_greedy", "--data_dir", data_dir]
    assert command(eval_full_model, *flags) == 2
    assert "give --rouge, --meteor or both" in capsys.readouterr().err
    assert command(eval_full_model, *flags, "--meteor", "--official") == 2
    assert "give --rouge too" in capsys.readouterr().err


def test_missing_java_is_told_before_anything_is_computed(data_dir, decoded, command, capsys, monkeypatch):
    monkeypatch.setattr("metrics.meteor_jar.find_java", lambda: None)
    decode_dir = decoded / "rl_greedy"
    assert command(eval_full_model, "--rouge", "--meteor", "--decode_dir", decode_dir, "--data_dir", data_dir) == 2
    assert "METEOR needs Java" in capsys.readouterr().err
    assert not (decode_dir / "rouge.txt").exists()


def test_missing_perl_is_told(data_dir, decoded, command, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    flags = ["--rouge", "--official", "--decode_dir", decoded / "rl_greedy", "--data_dir", data_dir]
    assert command(eval_full_model, *flags) == 2
    assert "the official ROUGE script needs Perl" in capsys.readouterr().err


@pytest.mark.parametrize("references", ["text", [["a"], "b"], [[1]], [["a"]] * 26])
def test_bad_references_field_is_one_line(tmp_path, command, capsys, references):
    (tmp_path / "test").mkdir()
    value = {"id": "x", "article": ["a"], "abstract": ["b"], "references": references}
    (tmp_path / "test" / "0.json").write_text(json.dumps(value))
    assert command(make_eval_references, "--data_dir", tmp_path, "--split", "test") == 2
    assert "references" in capsys.readouterr().err
    assert not (tmp_path / "refs" / "test").exists()


def test_documents_come_in_the_order_of_numbers(data_dir, decoded):
    documents = read_documents(decoded / "rl_greedy" / "output", data_dir / "refs" / "test")
    assert [document.id for document in documents] == list(range(30))


def test_scripts_run_as_programs(data_dir, decoded):
    decode_dir = decoded / "rl_greedy"
    command = [sys.executable, "eval_full_model.py", "--rouge", "--decode_dir", decode_dir, "--data_dir", data_dir]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "ROUGE-L Average_F" in done.stdout and not done.stderr

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from decode_runs import ENVIRONMENT, ROOT, alignment, assert_same_files, call, rewrite_weights, summaries, torchrun
from tiny_data import write_split
from torch import Tensor

from metrics.rouge import score_documents


@pytest.mark.parametrize(
    ("name", "model", "flags"),
    [
        ("rl_greedy", "rl", ["--test"]),
        ("rl_beam5", "rl", ["--split", "test", "--beam", "5"]),
        ("rl_greedy_batch4", "rl", ["--test", "--batch", "4"]),
        ("rl_ext_only", "rl_ext_only", ["--test", "--no-cuda"]),
    ],
)
def test_full_model_writes_the_released_files(golden, tmp_path, decode, name, model, flags):
    path = tmp_path / "out"
    decode("decode_full_model", "--path", path, "--model_dir", golden / model, "--data_dir", golden / "data", *flags)
    released = golden / "decode_dir" / name
    assert_same_files(path / "output", released / "output")
    log = json.loads((path / "log.json").read_text())
    theirs = json.loads((released / "log.json").read_text())
    assert {key: log[key] for key in theirs} == theirs
    timing = log["timing"]
    assert timing["articles"] == 30 and timing["seconds"] > 0
    rounding = 0.0006 + timing["seconds"] ** 2 * 0.006 / timing["words"]
    assert timing["words"] / timing["words_per_second"] == pytest.approx(timing["seconds"], abs=rounding)
    lines = alignment(path)
    assert [line["article"] for line in lines] == list(range(30))
    for line in lines:
        texts = (path / "output" / f"{line['article']}.dec").read_text().split("\n")
        assert len(texts) == len(line["sentences"])
        for text, sentence in zip(texts, line["sentences"], strict=True):
            assert sentence["copied"] is None or len(sentence["copied"]) == len(text.split())


@pytest.mark.parametrize(("name", "flags"), [("baseline_lead_abs", []), ("baseline_rnn_abs", ["ext_rnn"])])
def test_baselines_write_the_released_files(golden, tmp_path, decode, name, flags):
    path = tmp_path / "out"
    extractor = ["--ext_dir", golden / flags[0]] if flags else []
    common = ["--path", path, "--abs_dir", golden / "abs", "--data_dir", golden / "data", "--test"]
    decode("decode_baselines", *common, *extractor)
    released = golden / "decode_dir" / name
    for k in range(6):
        assert_same_files(path / f"output_{k}", released / f"output_{k}")
    theirs = json.loads((released / "log.json").read_text())
    log = json.loads((path / "log.json").read_text())
    assert {key: log[key] for key in theirs} == theirs


def test_n_ext_acts(golden, tmp_path, decode):
    common = ["--data_dir", golden / "data", "--val", "--n_ext", 2]
    decode("decode_baselines", "--path", tmp_path / "b", "--ext_dir", golden / "ext_ff", *common)
    assert sorted(path.name for path in (tmp_path / "b").glob("output*")) == ["output_0", "output_1"]
    decode("decode_full_model", "--path", tmp_path / "f", "--model_dir", golden / "rl", *common)
    assert all(len(line["sentences"]) <= 2 for line in alignment(tmp_path / "f"))
    assert sum(len(line["sentences"]) == 2 for line in alignment(tmp_path / "f")) > 30


def test_div_acts(golden, tmp_path, decode):
    common = ["--model_dir", golden / "rl", "--data_dir", golden / "data", "--test", "--beam", 5]
    for div in (0, 1):
        decode("decode_full_model", "--path", tmp_path / str(div), *common, "--div", div)
    assert summaries(tmp_path / "0") != summaries(tmp_path / "1")
    assert_same_files(tmp_path / "1" / "output", golden / "decode_dir" / "rl_beam5" / "output")
    assert json.loads((tmp_path / "0" / "log.json").read_text())["diverse"] == 0


@pytest.mark.parametrize(
    ("script", "flag", "model"), [("decode_full_model", "--model_dir", "rl"), ("decode_baselines", "--abs_dir", "abs")]
)
def test_max_dec_word_acts(golden, tmp_path, decode, script, flag, model):
    for limit in (4, 30):
        flags = ["--path", tmp_path / str(limit), flag, golden / model, "--data_dir", golden / "data", "--test"]
        decode(script, *flags, "--max_dec_word", limit)
    short, long = (
        [line.split() for text in summaries(tmp_path / limit).values() for line in text.split("\n")]
        for limit in ("4", "30")
    )
    assert max(map(len, short)) == 4 < max(map(len, long))


def test_batch_invariant_acts(golden, tmp_path, decode):
    common = ["--model_dir", golden / "rl", "--data_dir", golden / "data", "--test"]
    for batch in (4, 32):
        decode("decode_full_model", "--path", tmp_path / f"{batch}", *common, "--batch", batch)
        decode("decode_full_model", "--path", tmp_path / f"{batch}i", *common, "--batch", batch, "--batch_invariant")
    assert summaries(tmp_path / "4") != summaries(tmp_path / "32")
    assert summaries(tmp_path / "4i") == summaries(tmp_path / "32i")


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(("bias", "share"), [(-100.0, 0.0), (100.0, 1.0)])
def test_the_alignment_tells_copied_words_from_generated_ones(golden, tmp_path, decode, agent, beam, bias, share):
    """By agents that can only generate or only copy."""
    rewrite_weights(agent / "abstractor", lambda state: state["_copy._b"].fill_(bias))
    common = ["--model_dir", agent, "--data_dir", golden / "data", "--test", "--beam", beam]
    decode("decode_full_model", "--path", tmp_path / "out", *common, "--max_dec_word", 4)  # likely words only
    sentences = [sentence for line in alignment(tmp_path / "out") for sentence in line["sentences"]]
    assert {p for sentence in sentences for p in sentence["copied"]} == {share}
    assert share == 0 or not any(sentence["replaced"] for sentence in sentences)


def test_the_alignment_tells_which_words_stand_for_an_unk(golden, tmp_path, decode, agent):
    """By an agent that writes nothing else, so that every word is one of the source sentence."""

    def only_unk(state: dict[str, Tensor]) -> None:
        state["_copy._b"].fill_(-100.0)
        state["_projection.0.weight"].zero_()
        state["_projection.0.bias"].fill_(1.0)
        output = state["_projection.2.weight"] @ torch.ones(20).tanh()
        state["_embedding.weight"][1] = 100 * output / output.square().sum()

    rewrite_weights(agent / "abstractor", only_unk)
    common = ["--model_dir", agent, "--data_dir", golden / "data", "--test", "--max_dec_word", 7]
    decode("decode_full_model", "--path", tmp_path / "out", *common)
    texts = summaries(tmp_path / "out")
    for line in alignment(tmp_path / "out"):
        article = json.loads((golden / "data" / "test" / f"{line['article']}.json").read_text())["article"]
        rewritten = texts[f"{line['article']}.dec"].replace("&lt;", "<").replace("&gt;", ">").split("\n")
        for text, sentence in zip(rewritten, line["sentences"], strict=True):
            assert sentence["replaced"] == list(range(7))
            assert set(text.split()) <= set(article[sentence["source"]].lower().split())


def test_empty_articles_get_empty_files_under_their_own_numbers(golden, tmp_path, decode):
    texts = [["ba1 ba2 ba3 .", "mo1 mo2 ."], [], ["zu1 <q1> ."], [], []]
    write_split(tmp_path / "data", "test", [(text, ["ba1 ."]) for text in texts])
    common = ["--data_dir", tmp_path / "data", "--test"]
    decode("decode_full_model", "--path", tmp_path / "f", "--model_dir", golden / "rl", *common)
    decode("decode_baselines", "--path", tmp_path / "b", "--abs_dir", golden / "abs", *common)
    for folder in (tmp_path / "f" / "output", tmp_path / "b" / "output_0"):
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
        assert set(sizes) == {f"{i}.dec" for i in range(5)}
        assert [sizes[f"{i}.dec"] > 0 for i in range(5)] == [bool(text) for text in texts]
    assert (tmp_path / "b" / "output_1").exists() and not (tmp_path / "b" / "output_1" / "2.dec").exists()


def test_any_word_can_be_written(golden, tmp_path, decode):
    write_split(tmp_path / "data", "test", [(["\ud800 lone ."], ["ba1 ."]), (["ba1 ba2 ."], ["ba1 ."])])
    common = ["--data_dir", tmp_path / "data", "--test"]
    decode("decode_baselines", "--path", tmp_path / "b", *common)
    assert summaries(tmp_path / "b") == {"0.dec": "? lone .", "1.dec": "ba1 ba2 ."}
    assert "nothing is left" in decode("decode_baselines", "--path", tmp_path / "b", *common, "--resume")
    decode("decode_full_model", "--path", tmp_path / "f", "--model_dir", golden / "rl", *common)
    assert len(summaries(tmp_path / "f")) == 2


def test_worker_processes_write_the_same(golden, tmp_path):
    path = tmp_path / "out"
    flags = ["--path", path, "--model_dir", golden / "rl", "--data_dir", golden / "data", "--test", "--batch", "4"]
    command = [sys.executable, ROOT / "decode_full_model.py", *flags, "--workers", "2"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert result.returncode == 0, result.stderr
    assert_same_files(path / "output", golden / "decode_dir" / "rl_greedy_batch4" / "output")


def test_two_processes_of_torchrun_share_a_split(golden, tmp_path):
    path = tmp_path / "out"
    flags = ["--path", path, "--model_dir", golden / "rl", "--data_dir", golden / "data", "--test", "--batch", "4"]
    result = torchrun(*flags)
    assert result.returncode == 0, result.stderr
    assert_same_files(path / "output", golden / "decode_dir" / "rl_greedy_batch4" / "output")
    log = json.loads((path / "log.json").read_text())
    assert log["timing"]["articles"] == 30 and log["timing"]["processes"] == 2
    assert len(alignment(path)) == 30


def test_the_log_counts_the_processes_that_decoded(golden, tmp_path, decode):
    write_split(tmp_path / "data", "test", [(["ba1 ba2 ba3 ."], ["ba1 ."])] * 4)
    flags = ["--data_dir", tmp_path / "data", "--test", "--device", "cpu", "--batch", 2]
    decode("decode_baselines", "--path", tmp_path / "b", *flags, workers=3)
    assert json.loads((tmp_path / "b" / "log.json").read_text())["timing"]["processes"] == 2
    flags[-1] = 4
    result = torchrun("--path", tmp_path / "f", "--model_dir", golden / "rl", *flags)
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "f" / "log.json").read_text())["timing"]["processes"] == 1


def test_one_process_of_torchrun_tells_that_the_path_is_in_use(golden, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    result = torchrun("--path", tmp_path, "--model_dir", golden / "rl", "--data_dir", golden / "data", "--test")
    assert result.returncode != 0
    assert result.stderr.startswith("error: ") and result.stderr.count("is not empty") == 1
    assert "gloo" not in result.stderr.lower() and "split_decoding.py" not in result.stderr


def test_damaged_descriptions_are_told_in_one_line(golden, tmp_path, decode, complaint, agent):
    flags = ["--path", tmp_path / "out", "--model_dir", agent, "--data_dir", golden / "data", "--test"]
    decode("decode_full_model", *flags)
    (tmp_path / "out" / "log.json").write_text("[]")
    assert "is not the log" in complaint("decode_full_model", *flags, "--resume")
    meta = json.loads((agent / "meta.json").read_text())
    wrong: list[object] = [None, {}, [], {"extractor": meta["net_args"]["extractor"]}, {"abstractor": None}]
    for sizes in wrong:
        (agent / "meta.json").write_text(json.dumps({**meta, "net_args": sizes}))
        assert "names no 'abstractor' and 'extractor'" in complaint("decode_full_model", *flags)


def test_a_huge_number_of_sentences_is_refused_before_it_makes_folders(golden, tmp_path, complaint):
    flags = ["--path", tmp_path / "out", "--data_dir", golden / "data", "--test", "--n_ext", 1_000_000]
    assert "--n_ext must be below 1001" in complaint("decode_baselines", *flags)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("beam", [1, 2])
def test_weights_that_are_not_finite_are_refused(golden, tmp_path, complaint, agent, beam):
    rewrite_weights(agent / "abstractor", lambda state: next(iter(state.values())).fill_(float("nan")))
    flags = ["--path", tmp_path / "out", "--model_dir", agent, "--data_dir", golden / "data", "--test"]
    assert "not finite" in complaint("decode_full_model", *flags, "--beam", beam)
    assert not (tmp_path / "out").exists()


def test_mistakes_are_told_in_one_line(golden, tmp_path, decode, complaint):
    full = ["--model_dir", golden / "rl", "--data_dir", golden / "data"]
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "notes.txt").write_text("mine")
    out = tmp_path / "out"
    assert "one of --val" in complaint("decode_full_model", "--path", out, *full)
    assert "one of --val" in complaint("decode_full_model", "--path", out, *full, "--val", "--test")
    assert "not empty" in complaint("decode_full_model", "--path", tmp_path / "old", *full, "--test")
    assert "not empty" in complaint("decode_full_model", "--path", tmp_path / "old", *full, "--test", "--resume")
    assert "--data_dir" in complaint("decode_full_model", "--path", out, "--model_dir", golden / "rl", "--test")
    wrong = ["--path", out, "--model_dir", golden / "abs", *full[2:], "--test"]
    assert "is needed" in complaint("decode_full_model", *wrong)
    assert "does not exist" in complaint("decode_full_model", "--path", out, "--model_dir", "no", *full[2:], "--test")
    assert "at least 1" in complaint("decode_full_model", "--path", out, *full, "--test", "--beam", 0)
    assert "is needed" in complaint("decode_baselines", "--path", out, "--abs_dir", golden / "rl", *full[2:], "--test")
    decode("decode_full_model", "--path", out, *full, "--test")
    assert "another beam" in complaint("decode_full_model", "--path", out, *full, "--test", "--beam", 2, "--resume")


@pytest.mark.parametrize("extractor", ["ext_rnn", "ext_ff"])
def test_tuning_finds_the_number_of_sentences_with_the_best_rouge(golden, tmp_path, decode, capsys, extractor):
    """Of the numbers decoded one by one, which for ff-ext are other sentences than the first ones of the six."""
    common = ["--ext_dir", golden / extractor, "--data_dir", golden / "data", "--val"]
    decode("decode_baselines", "--path", tmp_path / "six", *common, "--batch_invariant")
    code, out, _ = call(capsys, "tune_n_ext", "--decode_dir", tmp_path / "six", "--data_dir", golden / "data")
    assert code == 0
    rows = [line.split() for line in out.splitlines()[1:-1]]
    means = [float(row[-1]) for row in rows]
    assert out.splitlines()[-1] == f"best: --n_ext {means.index(max(means)) + 1}"
    decode("decode_baselines", "--path", tmp_path / "two", *common, "--n_ext", 2)
    outputs = [tmp_path / "two" / f"output_{k}" for k in range(2)]
    texts = ["\n".join((output / f"{i}.dec").read_text() for output in outputs) for i in range(40)]
    references = [(golden / "data" / "refs" / "val" / f"{i}.ref").read_text() for i in range(40)]
    scores = score_documents((text, [reference]) for text, reference in zip(texts, references, strict=True))
    assert [float(x) for x in rows[1][1:4]] == pytest.approx(100 * scores[:, :, 2].mean(0), abs=0.011)

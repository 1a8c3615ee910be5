"""The models in the box: how they are written, loaded and used, and that they still summarise as they did."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import torch
from own_summaries import SUMMARIES, read_texts, summarise_own_texts

from checkpoints import pretrained, shipped
from checkpoints.directory import (
    Meta,
    best_checkpoint,
    build_network,
    load,
    read_checkpoint,
    write_checkpoint,
    write_description,
)
from checkpoints.networks import ABSTRACTOR, AGENT, RNN_EXTRACTOR
from data.vocabulary import Vocabulary
from decoding import Options, Summarizer
from support.errors import UserError
from support.locks import one_at_a_time

ROOT = Path(__file__).parents[1]
SHIPPED = (shipped.PRETRAINED / "meta.json").is_file()
in_the_box = pytest.mark.skipif(not SHIPPED, reason="pretrained/ holds no model yet")


def write_box(out: Path, **models: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        flags = ["--out", out, *(part for name, path in models.items() for part in (f"--{name}", path))]
        patch.setattr(sys, "argv", ["pretrained", *map(str, flags)])
        pretrained.main()


@pytest.fixture(scope="module")
def box(golden, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("box") / "pretrained"
    write_box(out, model_dir=golden / "rl", ext_dir=golden / "ext_rnn")
    return out


def test_the_box_has_the_released_layout_and_file_format(golden, box):
    files = {str(path.relative_to(box)) for path in box.rglob("*") if path.is_file()}
    agent, extractor = (
        best_checkpoint(golden / name, highest=name == "rl").path.name for name in ("rl", "ext_rnn")
    )
    assert files == {
        "meta.json", "agent_vocab.pkl", f"ckpt/{agent}",
        "abstractor/meta.json", "abstractor/vocab.pkl", "abstractor/ckpt/ckpt-0-0",
        "extractor/meta.json", "extractor/vocab.pkl", f"extractor/ckpt/{extractor}",
    }  # fmt: skip
    for folder, source in (("", "rl"), ("abstractor", "rl/abstractor"), ("extractor", "ext_rnn")):
        (path,) = (box / folder / "ckpt").iterdir()
        assert path.read_bytes()[:2] != b"PK", "a zip file, which the released code's torch cannot read"
        ours, theirs = read_checkpoint(path), read_checkpoint(golden / source / "ckpt" / path.name)
        assert "optimizer" not in ours and ours.get("val_metric") == theirs.get("val_metric")
        state = theirs["state_dict"]
        assert list(ours["state_dict"]) == list(state)
        for name, weight in ours["state_dict"].items():
            assert weight.dtype == torch.float16 and torch.equal(weight, state[name].half())
        assert json.loads((box / folder / "meta.json").read_text()) == json.loads(
            (golden / source / "meta.json").read_text()
        )


@pytest.mark.parametrize(("folder", "net"), pretrained.NETS.items())
def test_a_float32_network_takes_the_rounded_weights(box, folder, net):
    """`load_state_dict` copies into a network's own parameters, here and in the released code."""
    network = load(box / folder, nets=(net,)).network
    (path,) = (box / folder / "ckpt").iterdir()
    rounded = read_checkpoint(path)["state_dict"]
    assert all(weight.dtype == torch.float32 for weight in network.state_dict().values())
    assert sum(weight.sum().item() for weight in network.state_dict().values()) == pytest.approx(
        sum(weight.float().sum().item() for weight in rounded.values())
    )
    plain = torch.nn.Linear(3, 2)
    half = {name: weight.half() for name, weight in plain.state_dict().items()}
    plain.load_state_dict(half)
    assert plain.weight.dtype == torch.float32 and torch.equal(plain.weight, half["weight"].float())


def test_models_of_the_papers_size_fit_into_45_megabytes(tmp_path, capsys):
    vocabulary = Vocabulary([f"{n:08d}" for n in range(30004)])  # longer words than real ones
    words = {"vocab_size": len(vocabulary), "emb_dim": 128, "bidirectional": True}
    abstractor: Meta = {"net": ABSTRACTOR, "net_args": {**words, "n_hidden": 256, "n_layer": 1}}
    sizes = {**words, "conv_hidden": 100, "lstm_hidden": 256, "lstm_layer": 1}
    extractor: Meta = {"net": RNN_EXTRACTOR, "net_args": sizes}
    agent: Meta = {"net": AGENT, "net_args": {"abstractor": abstractor, "extractor": extractor}}
    for folder, meta in (("rl", agent), ("rl/abstractor", abstractor), ("ext", extractor)):
        network = build_network(meta, "test")
        write_checkpoint(tmp_path / folder, meta["net"], network, 0.0, 0)
        name = "agent_vocab.pkl" if folder == "rl" else "vocab.pkl"
        write_description(tmp_path / folder, meta, vocabulary, name)
    write_box(tmp_path / "box", model_dir=tmp_path / "rl", ext_dir=tmp_path / "ext")
    size = sum(path.stat().st_size for path in (tmp_path / "box").rglob("*") if path.is_file())
    assert 38e6 < size < 45e6 and f"{size / 1e6:.1f} MB" in capsys.readouterr().out


def test_weights_beyond_half_precision_are_refused(golden, agent, tmp_path, complaint):
    path = best_checkpoint(agent, highest=True).path
    content = torch.load(path, weights_only=True)
    next(iter(content["state_dict"].values())).view(-1)[0] = 1e6
    torch.save(content, path, _use_new_zipfile_serialization=False)
    out = tmp_path / "box"
    flags = ["--model_dir", agent, "--ext_dir", golden / "ext_rnn", "--out", out]
    assert "half precision" in complaint("checkpoints.pretrained", *flags)
    assert not out.exists()


@pytest.mark.parametrize("damage", ["cut", "no tensor", "another type"])
def test_a_damaged_file_of_the_box_is_replaced(golden, tmp_path, damage):
    write_box(tmp_path / "box", ext_dir=golden / "ext_rnn")
    path = next((tmp_path / "box/extractor/ckpt").iterdir())
    content = torch.load(path, weights_only=True)
    name, weight = next(iter(content["state_dict"].items()))
    state = content["state_dict"] | {name: None if damage == "no tensor" else weight.float()}
    torch.save(content | {"state_dict": state}, path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-3])
    write_box(tmp_path / "box", ext_dir=golden / "ext_rnn")
    assert repr(torch.load(path, weights_only=True)) == repr(content)


def test_a_box_has_one_writer_at_a_time(golden, tmp_path, capsys):
    """Each begins with what is there, so that of two at once one would lose what the other wrote."""
    writer = threading.Thread(target=write_box, args=[tmp_path / "box"], kwargs={"ext_dir": golden / "ext_rnn"})
    with one_at_a_time(tmp_path, "not told"):
        writer.start()
        while writer.is_alive() and "this one waits for it" not in capsys.readouterr().err:
            writer.join(0.05)
        assert not (tmp_path / "box").exists()
    writer.join()
    assert (tmp_path / "box/extractor/meta.json").exists()


def test_models_are_added_as_they_are_finished(golden, box, tmp_path, monkeypatch, complaint):
    out = tmp_path / "box"

    def files():
        return {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    write_box(out, ext_dir=golden / "ext_rnn")
    write_box(out, abs_dir=golden / "rl/abstractor")
    checkpoints = out / "abstractor/ckpt"
    (checkpoints / "ckpt-0-0").rename(checkpoints / "ckpt-2.743717-2247")  # as its own training calls it
    parts = files()
    monkeypatch.setattr(shipped, "PRETRAINED", out)
    with pytest.raises(UserError, match="there is no model in"):
        shipped.pretrained_directory()
    write_box(out, model_dir=golden / "rl")
    assert parts.items() < files().items()  # written once, byte for byte
    renamed = {Path("abstractor/ckpt/ckpt-0-0"): Path("abstractor/ckpt/ckpt-2.743717-2247")}
    whole = (path.relative_to(box) for path in box.rglob("*") if path.is_file())
    assert files().keys() == {renamed.get(path, path) for path in whole}
    other = shutil.copytree(golden / "ext_rnn", tmp_path / "other")
    words = Vocabulary.load(other / "vocab.pkl").words
    shuffled = Vocabulary([*words[:4], *reversed(words[4:])])
    write_description(other, json.loads((other / "meta.json").read_text()), shuffled, "vocab.pkl")
    told = complaint("checkpoints.pretrained", "--ext_dir", other, "--out", out)
    assert "did not begin as the extractor" in told and "--ext_dir" in told
    told = complaint("checkpoints.pretrained", "--abs_dir", golden / "rl/abstractor", "--out", out)
    assert "goes with its own abstractor" in told
    assert "nothing to write" in complaint("checkpoints.pretrained", "--out", out)


def test_tuned_numbers_are_checked_and_never_lost(golden, tmp_path, complaint):
    flags = ["--model_dir", golden / "rl", "--ext_dir", golden / "ext_rnn", "--out", tmp_path / "box"]
    (tmp_path / "box/tuning").mkdir(parents=True)
    assert "may not fit: name it by --tuning" in complaint("checkpoints.pretrained", *flags)
    (tmp_path / "box/tuning/rnn_ext.json").write_text('{"n_ext": "two"}')
    (tmp_path / "box/tuning/rnn_ext_abs.json").write_text('{"n_ext": 3}')
    told = complaint("checkpoints.pretrained", *flags, "--tuning", tmp_path / "box/tuning")
    assert "rnn_ext.json has no number n_ext" in told
    assert not (tmp_path / "box/meta.json").exists() and (tmp_path / "box/tuning/rnn_ext.json").exists()


def test_pretrained_summarises_raw_text_in_three_lines(box, monkeypatch):
    monkeypatch.setattr(shipped, "PRETRAINED", box)
    text = "Ba1 ba2 went to the mo3. Zu14 said so."
    summary = Summarizer.pretrained().summarize_raw(text, "python")
    assert summary and all(line[0].isupper() for line in summary.splitlines())
    assert Summarizer.from_agent(box).summarize_raw(text, "python") == summary


def test_without_the_box_python_is_told_how_to_name_a_model(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "PRETRAINED", tmp_path)
    with pytest.raises(UserError, match=r"there is no model in .*Summarizer\.from_agent\(DIRECTORY\)"):
        Summarizer.pretrained()


def test_torch_hub_loads_the_summarizer_from_another_folder(box, tmp_path):
    """With a clone of what is here, since hub looks for the weights beside its hubconf."""
    clone = tmp_path / "clone"
    skipped = shutil.ignore_patterns(".*", "runs", "tests", "pretrained", "__pycache__")
    shutil.copytree(ROOT, clone, ignore=skipped)
    shutil.copytree(box, clone / "pretrained")
    text = "Ba1 ba2 went to the mo3. Zu14 said so."
    code = (
        f"import torch; summarizer = torch.hub.load({str(clone)!r}, 'fast_abs_rl', source='local', n_sentences=1)\n"
        f"print(summarizer.summarize_raw({text!r}, 'python'))"
    )
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    expected = Summarizer.from_agent(box, Options(batch_invariant=True, n_sentences=1)).summarize_raw(text, "python")
    assert done.returncode == 0 and done.stdout == f"{expected}\n", done.stderr


# --- the model that is shipped


def test_the_five_texts_are_long_enough():
    assert len(read_texts()) == 5 and all(150 <= len(text.split()) <= 300 for text in read_texts())


@in_the_box
def test_the_shipped_files_are_at_most_45_megabytes():
    assert sum(path.stat().st_size for path in shipped.PRETRAINED.rglob("*") if path.is_file()) <= 45e6


@in_the_box
@pytest.mark.parametrize(("part", "like"), [("", "rl"), ("abstractor", "rl/abstractor"), ("extractor", "ext_rnn")])
def test_the_shipped_files_have_the_released_names_and_format(golden, part, like):
    (path,) = (shipped.PRETRAINED / part / "ckpt").iterdir()
    assert path.read_bytes()[:2] != b"PK", "a zip file, which the released code's torch cannot read"
    content = read_checkpoint(path)
    assert content.keys() <= {"val_metric", "state_dict"}
    (released,) = (golden / like / "ckpt").iterdir()
    assert list(content["state_dict"]) == list(read_checkpoint(released)["state_dict"])
    for weight in content["state_dict"].values():
        assert weight.dtype == torch.float16 and bool(weight.isfinite().all())


@in_the_box
def test_the_shipped_model_summarises_as_it_did():
    for ours, expected in zip(summarise_own_texts(), json.loads(SUMMARIES.read_text(encoding="utf-8")), strict=True):
        assert ours["extracted"] == expected["extracted"]
        assert share_of_words(ours["summary"], expected["summary"]) >= 0.9


@in_the_box
def test_the_readme_shows_what_the_shipped_model_writes():
    shown = re.search(r"```text\n(.+?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    article = (ROOT / "docs/article.txt").read_text(encoding="utf-8")
    assert shown and share_of_words(Summarizer.pretrained().summarize_raw(article), shown[1]) >= 0.9


def share_of_words(found: str, expected: str) -> float:
    common = Counter(found.split()) & Counter(expected.split())
    return common.total() / max(len(found.split()), len(expected.split()))


def test_the_share_of_words_counts_both_ways():
    assert share_of_words("a b c d", "a b c d") == 1
    assert share_of_words("a b", "a b c d") == share_of_words("a b c d", "a b") == 0.5
    assert share_of_words("a a", "a b") == 0.5

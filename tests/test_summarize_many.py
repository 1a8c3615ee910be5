"""What summarize.py reads and writes: any inputs, any output, many texts, closed streams."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import torch
from commands import launch
from kills import struck

import summarize
from inference.summary_files import _Journal

TEXT = "Ba{n} ba2 went to the mo{n} on ba3. Zu{n} said that they have mo3. It was mo{n}."
TEXTS = {f"{n}.txt": TEXT.format(n=n) for n in range(40)}


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "texts").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "texts" / name).write_text(text)
    return tmp_path / "texts"


@pytest.fixture
def model(golden) -> list[object]:
    return ["--model_dir", golden / "rl", "--max_dec_word", 5]


@pytest.fixture
def summarised(monkeypatch) -> list[str]:
    """Names of the texts that this process has summarised."""
    names: list[str] = []
    plain = summarize._summarise

    def counted(builder, tokenizer, piece):
        names.extend(item.name for item in piece)
        return plain(builder, tokenizer, piece)

    monkeypatch.setattr(summarize, "_summarise", counted)
    return names


def names_in(out: str) -> list[str]:
    return [record["name"] for record in json.loads(out)]


def test_several_inputs_of_any_suffix_in_their_order(model, tmp_path, summarise):
    other = tmp_path / "other"
    other.mkdir()
    for path in (tmp_path / "z.md", tmp_path / "plain", other / "b.html", other / "a"):
        path.write_text(TEXTS["1.txt"])
    (other / ".hidden").write_text("x")
    (other / "picture.png").write_bytes(b"\x89PNG\xff")
    flags = [*model, "--format", "json", tmp_path / "z.md", "--beam", 1, other, "-", tmp_path / "plain"]
    code, out, error = summarise(*flags, stdin=TEXTS["2.txt"])
    assert code == 0
    assert names_in(out) == ["z.md", "a", "b.html", "standard input", "plain"]
    assert "picture.png is not a text in UTF-8, so it is left out" in error


def test_inputs_without_a_text_and_outputs_that_are_inputs_are_refused(model, tmp_path, summarise):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff")
    code, _, error = summarise(*model, tmp_path)
    assert code == 2 and error.splitlines()[-1] == f"error: there is no text in {tmp_path}"
    for name in ("", "picture.png"):
        code, _, error = summarise(*model, tmp_path / name, "--output", tmp_path / name)
        assert code == 2 and "is an input, too" in error and error.count("\n") == 1


def test_equal_names_are_told_apart_by_their_folders(model, tmp_path, summarise):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(TEXTS["1.txt"])
    _, out, _ = summarise(*model, "--format", "json", tmp_path / "x", tmp_path / "y")
    assert names_in(out) == [f"{tmp_path}/x/a.txt", f"{tmp_path}/y/a.txt"]


def test_models_trained_by_maximum_likelihood_and_extraction_alone(golden, tmp_path, summarise):
    (tmp_path / "a.txt").write_text(TEXTS["1.txt"])
    written = ["Ba1 ba2 went to the mo1 on ba3.", "Zu1 said that they have mo3.", "It was mo1."]

    def sentences(*flags: object) -> list[dict]:
        code, out, error = summarise(*flags, tmp_path / "a.txt", "--format", "json")
        assert code == 0, error
        return json.loads(out)[0]["sentences"]

    both = sentences("--ext_dir", golden / "ext_rnn", "--abs_dir", golden / "abs", "--n_ext", 2)
    assert len(both) == 2 and all(found["rewriting_score"] is not None for found in both)
    lead = sentences("--abs_dir", golden / "abs", "--n_ext", 2)
    assert [found["source"] for found in lead] == [0, 1] and lead[0]["copied"]
    for flags in (["--ext_dir", golden / "ext_rnn"], ["--model_dir", golden / "rl", "--extractive"]):
        found = sentences(*flags)
        assert {s["text"] for s in found} <= set(written) and all(s["copied"] is None for s in found)


def test_without_flags_the_shipped_model_is_taken(golden, tmp_path, monkeypatch, summarise):
    monkeypatch.setattr("checkpoints.shipped.PRETRAINED", golden / "rl")
    (tmp_path / "a.txt").write_text(TEXTS["1.txt"])
    shipped, named = (summarise(*flags, tmp_path / "a.txt") for flags in ([], ["--model_dir", golden / "rl"]))
    assert shipped == named and shipped[0] == 0 and shipped[1]


def test_one_thread_is_enough(model, folder, summarise):
    torch.set_num_threads(2)
    try:
        summarise(*model, folder / "1.txt")
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


def test_two_processes_summarise_as_one_does(model, folder, summarise):
    one, two = (summarise(*model, "--format", "json", folder, "--workers", n) for n in (1, 2))
    assert one == two and len(names_in(one[1])) == len(TEXTS)


def test_a_terminal_shows_how_far_it_is(model, folder, tmp_path):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
    flags = [*model, folder, "--workers", 1, "--output", tmp_path / "out.txt", "--tokenizer", "python"]
    process = launch("summarize.py", *flags, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # by which Linux tells the end
        while part := os.read(ours, 4096):
            shown += part
    assert process.wait(timeout=180) == 0 and b"summarising" in shown and b"/40" in shown


def test_many_texts_are_summarised_as_each_alone_and_in_order(model, folder, summarise, summarised):
    code, out, _ = summarise(*model, "--format", "json", folder, "--workers", 1)
    assert code == 0 and names_in(out) == sorted(TEXTS) == summarised
    alone = summarise(*model, "--format", "json", folder / "7.txt")[1]
    record = next(record for record in json.loads(out) if record["name"] == "7.txt")
    for ours, theirs in zip(record["sentences"], json.loads(alone)[0]["sentences"], strict=True):
        assert (ours["source"], ours["text"]) == (theirs["source"], theirs["text"])


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_parts_that_come_one_by_one_are_the_whole(model, folder, summarise, form):
    flags = [*model, folder, "--format", form, "--workers", 2]
    streamed = summarise(*flags)[1]
    assert summarise(*flags, "--output", folder.parent / "out")[:2] == (0, "")
    assert (folder.parent / "out").read_text() == streamed
    assert not (folder.parent / ".out.parts").exists()
    if form == "json":
        assert streamed == json.dumps(json.loads(streamed), indent=4) + "\n"


def test_a_folder_gets_a_file_for_each_text_and_is_resumed(model, folder, summarise, summarised):
    out = folder.parent / "out"
    flags = [*model, folder, "--output", f"{out}/", "--workers", 1]
    assert summarise(*flags)[:2] == (0, "")
    assert sorted(path.name for path in out.glob("[!.]*")) == sorted(f"{n}.summary.txt" for n in range(40))
    assert (out / "7.summary.txt").read_text() == summarise(*model, folder / "7.txt")[1]
    assert sorted(summarised) == sorted(TEXTS)

    summarised.clear()
    (out / "3.summary.txt").unlink()
    (folder / "5.txt").write_text("Another text.")
    summarise(*flags)
    assert sorted(summarised) == ["3.txt", "5.txt"]

    summarised.clear()
    summarise(*flags, "--beam", 2)
    assert len(summarised) == 40, "other settings, other summaries"
    summarised.clear()
    summarise(*flags)
    assert len(summarised) == 40, "the files are the beam's"


def test_one_file_is_resumed_after_a_kill(model, folder, tmp_path, summarise, summarised):
    out, parts = tmp_path / "out.txt", tmp_path / ".out.txt.parts"
    flags = [*model, folder, "--output", out, "--workers", 1]
    assert struck(lambda: summarise(*flags), _Journal, "add", 18) == -signal.SIGKILL
    left = parts.read_bytes()
    assert not out.exists() and left.count(b"\n") == 17
    parts.write_bytes(left[:-3])  # the last line cut short
    assert summarise(*flags)[0] == 0
    assert len(summarised) == 40 - 16 and not parts.exists()
    resumed = out.read_bytes()
    out.unlink()
    summarised.clear()
    summarise(*flags)
    assert len(summarised) == 40 and out.read_bytes() == resumed


def test_empty_short_and_strange_texts_are_warned_of_in_a_line(model, tmp_path, summarise):
    for text, told in (("", "is empty"), ("Too short.", "far too short"), ("Ja wohl. " * 30, "hardly English")):
        (tmp_path / "a.txt").write_text(text)
        code, _, error = summarise(*model, tmp_path / "a.txt")
        assert code == 0 and error.startswith("warning: a.txt is ") and told in error and error.count("\n") == 1


def test_a_missing_model_is_explained(tmp_path, summarise, monkeypatch):
    monkeypatch.setattr("checkpoints.shipped.PRETRAINED", tmp_path / "pretrained")
    (tmp_path / "a.txt").write_text(TEXTS["1.txt"])
    monkeypatch.setattr("summarize._builder", None)  # which imports torch
    code, _, error = summarise(tmp_path / "a.txt")
    assert code == 2 and error.count("\n") == 1
    for word in (str(tmp_path / "pretrained"), "reproduce.sh", "https://", "--model_dir"):
        assert word in error


@pytest.mark.parametrize(
    ("closed", "code", "told"),
    [
        ("<&-", 2, "standard input is closed"),
        ("0>/dev/null", 2, "standard input cannot be read"),
        (">&-", 2, "standard output is closed"),
        ("<&- 2>&-", 2, None),
    ],
)
def test_closed_standard_streams(closed, code, told):
    line = f"{sys.executable} {summarize.__file__} {closed}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == code and not done.stdout
    if told:
        assert told in done.stderr and done.stderr.count("\n") == 1


def test_all_streams_closed_but_files_named(model, tmp_path, summarise):
    (tmp_path / "text").write_text("Too short.")
    flags = [*model, tmp_path / "text", "--output"]
    assert summarise(*flags, tmp_path / "open")[0] == 0
    command = [sys.executable, summarize.__file__, *flags, tmp_path / "closed", "--tokenizer", "python"]
    done = subprocess.run(" ".join(map(str, command)) + " <&- >&- 2>&-", shell=True, check=False)
    assert done.returncode == 0
    assert (tmp_path / "closed").read_bytes() == (tmp_path / "open").read_bytes() != b""


def test_a_model_is_loaded_without_the_parts_of_torch_that_take_seconds(golden):
    model = str(golden / "rl")
    load = f"import decoding as d; d.Summarizer.from_agent({model!r}, d.Options())"
    command = f"{load}; import sys; sys.exit(repr([*sys.modules]))"
    _, modules = launch("-c", command, stderr=subprocess.PIPE).communicate(timeout=180)
    assert "'torch.nn'" in modules and "'torch._dynamo'" not in modules

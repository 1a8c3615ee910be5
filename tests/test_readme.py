"""The commands of README.md and docs/REPRODUCING.md: blocks are run in toy size, in their order; the rest is checked
against --help."""

from __future__ import annotations

import hashlib
import os
import re
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from raw_inputs import parquet, write
from synthetic_runs import make_runs

from checkpoints.shipped import RELEASED_MODELS
from data.articles import Article, article_path, read_article
from metrics import meteor
from pipeline.plan import Sources, make_plan
from pipeline.presets import PRESETS, TINY
from pipeline.stage import flags

ROOT = Path(__file__).parents[1]
PAGES = [(ROOT / name).read_text(encoding="utf-8") for name in ("docs/REPRODUCING.md", "README.md")]
TEXT = "\n".join(PAGES)
BLOCKS = re.findall(r"^```bash\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
INLINE = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", TEXT, flags=re.DOTALL | re.MULTILINE))
LOOKS_LIKE_A_COMMAND = re.compile(r"(python|torchrun) |\./\w|scripts/\w+\.sh")
SIZES = {"train": 24, "val": 12, "test": 6}


def tiny(stage: str) -> list[str]:
    return flags(TINY.flags[stage])


# What is added to a command to make it a toy; a command that is not here is not known.
TOY = {
    "reproduce.sh": ["--dry-run"],
    "data.prepare": ["--tokenizer", "python", "--workers", "1"],
    "data.check": ["--workers", "1"],
    "data.count_words": ["--workers", "1"],
    "make_extraction_labels.py": tiny("labels"),
    "make_eval_references.py": [],
    "train_word2vec.py": tiny("word2vec"),
    "train_abstractor.py": tiny("abstractor"),
    "train_extractor_ml.py": tiny("ext_rnn"),
    "train_full_rl.py": tiny("rl"),
    "decode_full_model.py": tiny("decode_full_model"),
    "decode_baselines.py": ["--workers", "1", "--max_dec_word", "8"],
    "tune_n_ext.py": [],
    "eval_full_model.py": [],
    "eval_baselines.py": [],
    "eval_acl.py": [],
    "checkpoints.pretrained": [],
    "eval_outputs.py": ["--samples", "1000", *([] if not meteor.why_unavailable() else ["--no_meteor"])],
    "summarize.py": ["--tokenizer", "python"],
    "metrics.significance": ["--samples", "1000"],
    "metrics.novelty": [],
    "report.tables": [],
    "report.claims": [],
    "report.curve": [],
}
NOT_RUN = {"test.sh"}  # it would run this test


class Command(NamedTuple):
    launcher: str  # python, torchrun, sh or unknown
    options: list[str]  # of torchrun
    target: str  # train_abstractor.py, data.check or reproduce.sh
    arguments: list[str]

    @property
    def file(self) -> Path:
        """The program that gets the arguments."""
        if self.launcher == "sh":
            text = (ROOT / self.target).read_text(encoding="utf-8")
            return ROOT / ("scripts/bench_table5.py" if "bench_table5" in text else "pipeline/__main__.py")
        if self.target.endswith(".py"):
            return ROOT / self.target
        module = ROOT / self.target.replace(".", "/")
        return module / "__main__.py" if module.is_dir() else module.with_suffix(".py")


def parse(line: str) -> Command | None:
    """None if it is a comment."""
    words = shlex.split(line, comments=True)
    if not words:
        return None
    if words[0] == "scripts/python.sh":
        words[0] = "python"
    if words[0] == "torchrun":
        place = next(i for i, word in enumerate(words) if word.endswith(".py"))
        return Command("torchrun", words[1:place], words[place], words[place + 1 :])
    if words[0] == "python":
        start = 2 if words[1] == "-m" else 1
        return Command("python", [], words[start], words[start + 1 :])
    if words[0].endswith(".sh"):
        return Command("sh", [], words[0].removeprefix("./"), words[1:])
    return Command("unknown", [], line, [])


def commands(block: str) -> list[tuple[str, Command]]:
    lines = block.replace("\\\n", " ").splitlines()
    return [(line, command) for line in lines if (command := parse(line.strip()))]


IN_BLOCKS = [pair for block in BLOCKS for pair in commands(block)]
ELSEWHERE = [command for text in INLINE if LOOKS_LIKE_A_COMMAND.match(text) for _, command in commands(text)]


def call(file: Path, *arguments: str) -> object:
    """Runs a program in this process and returns its exit code."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as exit:
        patch.setattr(sys, "argv", [str(file), *arguments])
        patch.setattr(sys, "path", [*sys.path])
        runpy.run_path(str(file), run_name="__main__")
    return exit.value.code


# --- commands in blocks


@pytest.fixture
def home(tmp_path, monkeypatch, golden) -> Path:
    """A folder with all that the pages take as given, for the shell to be in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATA", raising=False)
    assert call(ROOT / "sample/__main__.py", "--out", "sample", *flags({**SIZES, "workers": 1})) == 0
    columns: dict[str, list[str]] = {"article": [], "highlights": [], "id": []}
    for split, count in SIZES.items():
        articles = [read_article(article_path("sample", split, i)) for i in range(count)]
        urls = [write_story(tmp_path / "raw" / "cnn", article) for article in articles]
        write(tmp_path / "url_lists" / f"all_{split}.txt", "\n".join(urls))
        for article in articles[:2]:
            write(tmp_path / "texts" / split / f"{article.id}.txt", "\n".join(article.article))
            write(tmp_path / "texts" / split / f"{article.id}.summary.txt", "\n".join(article.abstract))
        columns["article"].append(" ".join(articles[0].article))
        columns["highlights"].append("\n".join(articles[0].abstract))
        columns["id"].append(articles[0].id)
    (tmp_path / "parquet_files").mkdir()
    for name in ("train", "validation", "test"):
        parquet(tmp_path / "parquet_files" / f"{name}-0.parquet", **columns)
    shutil.copytree(golden / "rl", tmp_path / "released" / "new")
    shutil.copytree(golden / "rl", tmp_path / "pretrained")
    shutil.copytree(golden / "ext_rnn", tmp_path / "pretrained" / "extractor")
    write(tmp_path / "article.txt", " ".join(articles[0].article))
    make_runs(tmp_path / "runs" / "sample", tmp_path / "runs" / "sample" / "data", count=12)
    shutil.copytree(golden / "rl", tmp_path / "runs/sample/models/rl", dirs_exist_ok=True)
    for name in ("docs/article.txt", "other.txt", "folder/third.txt"):
        write(tmp_path / name, " ".join(articles[1].article))
    return tmp_path


def write_story(folder: Path, article: Article) -> str:
    """Returns its url, whose digest names the file."""
    url = f"http://post.example/{article.id}"
    highlights = [part for line in article.abstract for part in ("@highlight", line)]
    write(folder / f"{hashlib.sha1(url.encode()).hexdigest()}.story", "\n\n".join([*article.article, *highlights]))
    return url


def in_toy_size(command: Command, home: Path) -> list[str]:
    """The arguments as the shell would pass them, and the toy's."""
    data = home / "data"
    if command.target == "data.prepare" and command.arguments[0] != "stories":  # which has made $DATA
        data = home / f"data_{command.arguments[0]}"
    found = [argument.replace("$DATA", str(data)) for argument in command.arguments]
    for place, argument in enumerate(found):
        if argument.endswith(".bin"):  # its name tells the number of words
            found[place] = str(next(Path(argument).parent.glob("*.bin")))
    if meteor.why_unavailable() and "--meteor" in found:
        found.remove("--meteor")
    return [*found, *(tiny("rl") if "--init_from" in found else TOY[command.target])]  # a trained model has its sizes


def torchrun(command: Command, arguments: list[str]) -> None:
    """Two processes in all, on one machine or as two."""
    options = dict(zip(command.options[::2], command.options[1::2], strict=True))
    machines = int(options.get("--nnodes", 1))
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    options["--nproc-per-node"] = str(2 // machines)
    options["--rdzv-endpoint"] = f"localhost:{port}"
    options.setdefault("--rdzv-backend", "c10d")
    start = [word for pair in options.items() for word in pair]
    line = [sys.executable, "-m", "torch.distributed.run", *start, str(ROOT / command.target), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    launched = [subprocess.Popen([*line, "--device", "cpu"], env=environment, **pipes) for _ in range(machines)]
    try:
        outputs = [process.communicate(timeout=300)[0] for process in launched]
    finally:
        for process in launched:
            process.kill()
    assert all(process.returncode == 0 for process in launched), "\n".join(outputs)


def test_every_command_of_a_block_can_be_tried():
    unknown = [line for line, command in IN_BLOCKS if command.target not in TOY.keys() | NOT_RUN]
    assert not unknown, f"tests/test_readme.py does not know how to try: {unknown}"
    unused = TOY.keys() - {command.target for _, command in IN_BLOCKS}
    assert not unused, f"the pages no longer have: {unused}"


@pytest.mark.slow
def test_the_commands_run_in_their_order(home, capsys):
    for line, command in IN_BLOCKS:
        if command.launcher == "sh":
            assert os.access(ROOT / command.target, os.X_OK), command.target
        if command.target in NOT_RUN:
            continue
        arguments = in_toy_size(command, home)
        if command.launcher == "torchrun":
            torchrun(command, arguments)
        else:
            code = call(command.file, *(["--runs", "planned"] if command.launcher == "sh" else []), *arguments)
            shown = capsys.readouterr()
            assert code == 0, f"{line}\n{shown.out}{shown.err}"
    assert (home / "decoded/rl/rouge.txt").exists() and (home / "decoded/new/output/rouge.txt").exists()
    assert (home / "summary.html").stat().st_size and (home / "curves.svg").stat().st_size
    for model in ("abs", "ext", "rl", "abs_tuned", "rl_tuned", "rl4", "ext8"):
        assert list((home / "runs" / model / "ckpt").glob("ckpt-*-4")), model


# --- what the text names


def help_of(command: Command, capsys) -> str:
    """Of the subcommand, if there is one."""
    words = [word for word in command.arguments if not word.startswith("-")] if command.launcher == "python" else []
    capsys.readouterr()
    assert call(command.file, *words[:1], "--help") == 0
    return capsys.readouterr().out


def flags_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))


def test_commands_in_the_text_exist_with_their_flags(capsys):
    assert len(ELSEWHERE) > 12
    for command in ELSEWHERE:
        if command.launcher == "sh":
            assert os.access(ROOT / command.target, os.X_OK), command.target
        if command.target not in NOT_RUN:
            assert flags_in(" ".join(command.arguments)) <= flags_in(help_of(command, capsys)), command


def test_flags_in_the_text_are_flags_of_some_command(capsys):
    known = {"--help"}
    for command in {command.file: command for _, command in IN_BLOCKS if command.target not in NOT_RUN}.values():
        known |= flags_in(help_of(command, capsys))
    named = {flag for text in INLINE if text.startswith("--") for flag in flags_in(text)}
    assert named and named <= known


def test_the_data_set_is_named_before_it_is_used():
    assert 0 <= TEXT.find("export DATA=") < TEXT.index("--out $DATA")
    for name in set(re.findall(r"\$([A-Z]+)", "".join(BLOCKS) + "".join(INLINE))) - {"PWD"}:
        first = TEXT.index(f"${name}")
        assert f"`${name}`" in TEXT[: first + len(name) + 2], f"${name} is used before the text says what it is"


def test_the_models_of_the_readme_are_where_the_reproduction_puts_them(tmp_path):
    stages = make_plan(Sources(data=tmp_path / "data"), Path("runs/sample"), PRESETS["sample"]).stages
    written = {str(Path(path).parent) for stage in stages for path in stage.outputs}
    named = set(re.findall(r"--model_dir (runs/\S+)", PAGES[1]))
    assert named and named <= written


def test_the_released_models_have_an_address():
    assert all(RELEASED_MODELS in page for page in PAGES)


def test_files_in_the_text_exist():
    names = {path.name for path in ROOT.rglob("*.py") if ".venv" not in path.parts}
    for text in INLINE:
        if re.fullmatch(r"[\w/]+\.(py|sh)|[\w/]+/", text):
            assert (ROOT / text).exists() or text in names, text

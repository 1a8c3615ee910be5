"""The whole reproduction in toy size: every stage runs, nothing is learned."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kills import struck_script

from report.claims import COMPARISONS, PREFERENCES
from report.rows import made_for
from support.files import read_json

ROOT = Path(__file__).parents[1]
WITHOUT_JAVA = {"METEOR": "/nowhere/meteor.jar"}  # its eleven starts would take longer than all else
FORKED = str(Path(__file__).parent / "forked_stages.py")


def reproduce(runs: Path, *arguments: str, program: tuple[str, ...] = (FORKED,)) -> subprocess.Popen:
    environment = {name: value for name, value in os.environ.items() if name != "DATA"}
    return subprocess.Popen(
        [sys.executable, *program, "--preset", "tiny", "--runs", str(runs), *arguments],
        cwd=runs.parent,
        env={**environment, "PYTHONPATH": str(ROOT), **WITHOUT_JAVA},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="session")
def whole(tmp_path_factory) -> tuple[Path, str]:
    """Folder of runs and what was shown, made once also where several processes test."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "reproduction"
    folder.mkdir(exist_ok=True)
    runs, shown = folder / "runs", folder / "shown.txt"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shown.exists():
            process = reproduce(runs)
            text, _ = process.communicate()
            assert process.returncode == 0, text
            shown.write_text(text)
    return runs, shown.read_text()


@pytest.mark.slow
def test_it_ends_with_tables_claims_and_the_page(whole):
    runs, shown = whole
    for row in made_for("1"):
        assert list((runs / "decode" / row).glob("*scores.json")), row
    end = shown[shown.index("Table 1") :]
    parts = ["Table 1", "Table 5", "Table 6", "Training (paper: B.3", "RL is significantly better than ML, extractive"]
    assert sorted(parts, key=end.index) == parts
    claims = read_json(runs / "claims.json")
    unknown = [claim["figures"] for claim in claims if claim["verdict"] == "not evaluated"]
    expected = ("METEOR", "on DUC-2002", "on anonymized text", "judges decide")
    assert all(any(reason in why for reason in expected) for why in unknown)
    assert len(unknown) < len(claims) == len(COMPARISONS) + len(PREFERENCES) + 6
    for model in ("rl", "abstractor"):
        record = read_json(runs / "stages" / f"{model}.json")
        assert record["seconds"] > 0 and record["cpu_seconds"] > 0 and record["peak_bytes"] > 2**26
    assert end.splitlines()[-1] == f"report: {runs / 'report.html'}"
    assert "<html" in (runs / "report.html").read_text()
    assert (runs / "judging.key.json").exists() and (runs / "models" / "rl" / "learning_curve.png").exists()


@pytest.mark.slow
def test_run_again_it_repeats_nothing_and_shows_the_same(whole):
    runs, shown = whole
    process = reproduce(runs)
    again, _ = process.communicate()
    assert process.returncode == 0
    start, end = "Table 1", "stages are done"
    assert again[again.index(start) : again.index(end)] == shown[shown.index(start) : shown.index(end)]
    assert again.strip().startswith("Table 1"), "a stage was repeated"


@pytest.mark.slow
def test_killed_again_and_again_it_goes_on_to_the_same_table(whole, tmp_path, monkeypatch):
    """Before a stage begins, while others are at work, and when one has ended but is not yet known as done."""
    runs, _ = whole
    monkeypatch.delenv("DATA", raising=False)
    monkeypatch.setenv("METEOR", WITHOUT_JAVA["METEOR"])
    flags = ["--preset", "tiny", "--runs", tmp_path / "runs", "--table", "6"]
    for point, n in (("_begin", 2), ("_end", 1), ("_begin", 5), ("_end", 3), ("_end", 1)):
        killed = struck_script("pipeline.runner:Runner", point, n, signal.SIGKILL, FORKED, *flags)
        assert killed == -signal.SIGKILL, f"it made no {n} calls of {point}"
    process = reproduce(tmp_path / "runs", "--table", "6")
    shown, _ = process.communicate()
    assert process.returncode == 0, shown
    names = [path.relative_to(runs) for path in sorted((runs / "models").glob("*/ckpt/*"))]
    trained = [path.relative_to(tmp_path / "runs") for path in sorted((tmp_path / "runs" / "models").glob("*/ckpt/*"))]
    assert set(trained) <= set(names) and len(trained) >= 10
    assert (tmp_path / "runs" / "tables" / "table_6.txt").read_text() == (runs / "tables" / "table_6.txt").read_text()


def test_stages_are_processes_of_their_own(tmp_path):
    process = reproduce(tmp_path / "runs", "--only", "corpus,labels", program=("-m", "pipeline"))
    shown, _ = process.communicate()
    assert process.returncode == 0, shown
    assert "extracted" in read_json(tmp_path / "runs/data/train/0.json")


def test_the_shell_scripts_call_the_pipeline_from_where_the_user_is(tmp_path):
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    (project / "scripts").mkdir(parents=True)
    elsewhere.mkdir()
    shutil.copy(ROOT / "reproduce.sh", project)
    for table in "12346":
        shutil.copy(ROOT / "scripts" / f"table{table}.sh", project / "scripts")
    (project / "scripts" / "environment.sh").write_text(
        'make_environment() { echo "made $1 in $PWD"; }\n'
        "perl_for_official_rouge() { :; }\n"
        'python() { echo "python $* in $PWD"; }\nexec() { "$@"; }\n'
    )
    for script, more in (("reproduce.sh", ""), *((f"scripts/table{t}.sh", f"--table {t} ") for t in "12346")):
        command = [project / script, "--data_dir", "mine"]
        done = subprocess.run(command, cwd=elsewhere, text=True, capture_output=True, check=True)
        expected = f"made requirements.txt in {project}\npython -m pipeline {more}--data_dir mine in {elsewhere}\n"
        assert done.stdout == expected

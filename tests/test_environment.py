"""Setting up: which Python is taken, what is installed when, and that every supported Python can begin."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = "bash sh env cat cksum cut grep mkdir rm cp dirname basename chmod nproc"
VERSIONS = ("3.10", "3.11", "3.12", "3.13")


@pytest.fixture
def project(tmp_path) -> Path:
    """The two scripts where pip, Perl and the tests only tell that they are called."""
    (tmp_path / "scripts").mkdir()
    for name in ("reproduce.sh", "test.sh", "scripts/environment.sh", "requirements.txt", "requirements-dev.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def pretend_python(path: Path, version: str) -> Path:
    """It knows its version and makes environments with a pip that tells what it installs."""
    return program(
        path,
        f"""
if [ "$1" = --version ]; then
    echo "Python {version}"
elif [ "$1" = -c ]; then
    exec {sys.executable} -c "import sys; sys.version_info = ({version.replace(".", ", ")}); $2"
elif [ "$2" = venv ]; then
    mkdir -p .venv/bin
    cp "$0" .venv/bin/python
    printf '#!/bin/sh\necho "pip $*"\n' > .venv/bin/pip
    chmod +x .venv/bin/pip
else
    echo "$(basename "$0") {version} $*"
fi""",
    )


def sh(project: Path, command: str, *folders: Path, **variables: str) -> subprocess.CompletedProcess:
    """With these folders before the system's, and no other Python than theirs."""
    tools = project / "tools"
    tools.mkdir(exist_ok=True)
    for name in TOOLS.split():
        if not (tools / name).exists():
            (tools / name).symlink_to(str(shutil.which(name)))
    for name in ("perl", "chromium", "ruff", "mypy"):
        program(tools / name, "exit 0")
    path = ":".join(map(str, (*folders, tools)))
    environment = {"PATH": path, "HOME": str(project), **variables}
    return subprocess.run(
        ["bash", "-c", command], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def test_help_and_plan_are_told_without_installing(project):
    pretend_python(project / "bin" / "python3", "3.12")
    for flag in ("--help", "-h", "--dry-run", "--data_dir D --dry-run"):
        done = sh(project, f"./reproduce.sh {flag}", project / "bin")
        assert done.stdout == f"python3 3.12 -m pipeline {flag}\n", done.stderr
    assert not (project / ".venv").exists()


def test_going_between_the_scripts_installs_nothing_twice(project):
    pretend_python(project / "bin" / "python3", "3.12")
    first = sh(project, "./reproduce.sh", project / "bin").stdout
    assert first.count("pip install") == 1 and "-r requirements.txt" in first
    assert sh(project, "./test.sh", project / "bin").stdout.count("pip install") == 1
    for script in ("./reproduce.sh", "./test.sh", "./reproduce.sh"):
        assert "pip install" not in sh(project, script, project / "bin").stdout
    with open(project / "requirements.txt", "a") as file:
        file.write("more==1\n")
    assert "pip install" in sh(project, "./reproduce.sh", project / "bin").stdout


def test_what_the_tests_need_includes_what_the_reproduction_needs(project):
    pretend_python(project / "bin" / "python3", "3.12")
    assert "-r requirements-dev.txt" in sh(project, "./test.sh", project / "bin").stdout
    assert "pip install" not in sh(project, "./reproduce.sh", project / "bin").stdout
    assert "-r requirements.txt" in (ROOT / "requirements-dev.txt").read_text().splitlines()


@pytest.mark.parametrize("newest", ["3.14", "3.9"])
def test_with_another_default_a_python_that_fits_is_looked_for(project, newest):
    pretend_python(project / "bin" / "python3", newest)
    done = sh(project, "./reproduce.sh --help", project / "bin")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"no Python from 3.10 to 3.13 found (Python {newest})" in done.stderr and "PYTHON=" in done.stderr
    managed = pretend_python(project / ".pyenv" / "versions" / "3.11.7" / "bin" / "python", "3.11")
    assert " 3.11 -m pipeline" in sh(project, "./reproduce.sh --help", project / "bin").stdout
    pretend_python(project / "bin" / "python3.12", "3.12")
    assert "python3.12 3.12 -m" in sh(project, "./reproduce.sh --help", project / "bin").stdout
    assert "python 3.11 -m" in sh(project, "./reproduce.sh --help", project / "bin", PYTHON=str(managed)).stdout
    done = sh(project, "./reproduce.sh", project / "bin", PYTHON=str(project / "bin" / "python3"))
    assert done.returncode == 2 and "is not a Python from 3.10 to 3.13" in done.stderr


def test_the_supported_versions_are_the_same_everywhere():
    assert 'requires-python = ">=3.10,<3.14"' in (ROOT / "pyproject.toml").read_text()
    assert "3, 10) <= sys.version_info < (3, 14)" in (ROOT / "scripts" / "environment.sh").read_text()


def interpreter(version: str) -> str | None:
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    managed_ones = map(str, sorted(managed.glob(f"{version}.*/bin/python")))
    found = [sys.executable, shutil.which(f"python{version}"), *managed_ones]
    return next((path for path in found if path and _runs(path, version)), None)


def _runs(path: str, version: str) -> bool:
    """pyenv's shims are there for versions that are switched off, too."""
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return told.startswith(f"Python {version}.")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_that_is_found_reads_the_code_and_tells_the_plan(version, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    files = [str(path) for path in ROOT.rglob("*.py") if not {".venv", "runs"} & set(path.relative_to(ROOT).parts)]
    read = "import sys\nfor path in sys.argv[1:]: compile(open(path, encoding='utf-8').read(), path, 'exec')"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    plan, texts = ["-m", "pipeline", "--dry-run"], [str(ROOT / "summarize.py"), "--help"]
    for arguments in (["-c", read, *files], plan, texts):
        command = [python, "-S", *arguments]  # without any package
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

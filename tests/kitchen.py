"""Stages that only write who they are, for tests of what runs them."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pipeline.__main__ import in_use
from pipeline.display import Display
from pipeline.runner import Runner
from pipeline.stage import Stage
from support.files import read_json


class Kitchen:
    """Stages that write their own name, their flags and their inputs' texts, and a count of how often each was run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs = folder, folder / "runs"
        folder.mkdir(exist_ok=True)

    def stage(self, name: str, *inputs: str, code: str = "", **options: Any) -> Stage:
        program = (
            f"import sys, time, pathlib; f = pathlib.Path({str(self.folder)!r})\n"
            f"open(f / '{name}.calls', 'a').write(' '.join(['call', *sys.argv[1:]]) + '\\n')\n"
            f"{code}\n"
            f"texts = [(f / name).read_text() for name in {inputs!r}]\n"
            f"(f / '{name}').write_text(''.join(['{name}', *sys.argv[1:], *texts]))\n"
            f"print('made {name}')"
        )
        paths = tuple(str(self.folder / i) for i in inputs)
        options = {"outputs": (str(self.folder / name),), **options}
        return Stage(name=name, command=("-c", program), inputs=paths, **options)

    def run(self, *stages: Stage, force: tuple[Stage, ...] = (), jobs: int = 2) -> tuple[list[str], str]:
        """Names of failed stages, and what was shown."""
        shown = io.StringIO()
        with in_use(self.runs) as lock, redirect_stdout(shown):
            failed = Runner(self.runs, jobs, lock, Display()).run(stages, force)
        return [stage.name for stage in failed], shown.getvalue()

    def calls(self, name: str) -> list[str]:
        path = self.folder / f"{name}.calls"
        return path.read_text().splitlines() if path.exists() else []

    def record(self, name: str) -> dict[str, Any]:
        return read_json(self.runs / "stages" / f"{name}.json")

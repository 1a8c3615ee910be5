"""Times evaluation at the size of the CNN/DM test set, by the commands that users run, on synthetic newswire.

    python -m scripts.bench_eval [--documents 11490] [--official]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from metrics.summaries import escape
from sample.article import compose
from support.errors import UserError, run
from support.flags import flag, parse

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Flags:
    documents: int = flag(11490, "how many", source="the CNN/DM test set", at_least=1)
    official: bool = flag(False, "time the official Perl script too")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    with tempfile.TemporaryDirectory(prefix="bench-eval-") as name:
        folder = Path(name)
        _write_documents(folder, flags.documents)
        print(f"{flags.documents:,} documents, {os.cpu_count()} cores\n")
        print(f"{'':<34}{'wall':>8}{'CPU':>8}")
        first, second = _evaluation(folder, "first"), _evaluation(folder, "second")
        _time("ROUGE", [*first, "--rouge"])
        if flags.official:
            _time("ROUGE by the official script", [*first, "--rouge", "--official"])
        _time("ROUGE + METEOR", [*first, "--rouge", "--meteor"])
        _time("ROUGE + METEOR, second system", [*second, "--rouge", "--meteor"])
        systems = [str(folder / "first"), str(folder / "second")]
        _time("significance, 100,000 samples", ["-m", "metrics.significance", *systems])


def _write_documents(folder: Path, count: int) -> None:
    """Two systems: the first three sentences, and the same with every tenth word dropped."""
    rng = Random(0)
    for name in ("first", "second", "refs"):
        (folder / name).mkdir()
    for i in range(count):
        article = compose(rng)
        lead = article.sentences[:3]
        thinned = [" ".join(word for word in sentence.split() if rng.random() > 0.1) for sentence in lead]
        texts = {f"first/{i}.dec": lead, f"second/{i}.dec": thinned, f"refs/{i}.ref": article.highlights}
        for name, sentences in texts.items():
            (folder / name).write_text(escape("\n".join(sentences)), encoding="utf-8")


def _evaluation(folder: Path, system: str) -> list[str]:
    return ["eval_acl.py", "--decode_dir", str(folder / system), "--ref_dir", str(folder / "refs")]


def _time(label: str, command: list[str]) -> None:
    wall, cpu = time.perf_counter(), _children_cpu()
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"{' '.join(command)}: {done.stderr.strip()}")
    print(f"{label:<34}{time.perf_counter() - wall:6.1f} s{_children_cpu() - cpu:6.1f} s", flush=True)


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    run(main)

"""Paired bootstrap test between two evaluated systems (Sec. 6.2: 100,000 samples).

    python -m metrics.significance decoded/rl decoded/ml

Each is a directory that was evaluated, or its scores.json. A sample draws documents with replacement, the same for
both systems; p is the share of samples in which the system is not better than the other. ROUGE is shown as the plain
mean over documents: the averages that ROUGE-1.5.5 prints are means of its own bootstrap, which change a little with
the numbering of the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from metrics import meteor
from metrics.rouge import METRICS, F
from metrics.scores import Scores, load_scores
from metrics.summaries import check_same_ids
from support.errors import UserError, run
from support.flags import flag, parse
from support.progress import progress

_CHUNK = 200  # samples at once: their counts fill a matrix of (_CHUNK, documents)
_UNITS = 100_000  # ROUGE has five decimals: in whole units all sums are exact, and ties are ties


@dataclass(frozen=True, kw_only=True)
class Flags:
    a: str = flag(help="directory that was evaluated, or its scores.json", positional=True)
    b: str = flag(help="the system to compare with", positional=True)
    samples: int = flag(100_000, "bootstrap samples", source="Sec. 6.2", at_least=1)
    seed: int = flag(0, "seed of the samples", at_least=0)


class Comparison(NamedTuple):
    metric: str
    a: float
    b: float
    p_a_better: float
    p_b_better: float


def compare(a: Scores, b: Scores, samples: int = 100_000, seed: int = 0) -> list[Comparison]:
    """All metrics that both systems have: their values, and p for either being the better one."""
    return compare_all(a, [b], samples, seed)[0]


def compare_all(a: Scores, others: Sequence[Scores], samples: int = 100_000, seed: int = 0) -> list[list[Comparison]]:
    """`a` with each of the others, on the same samples, in the metrics that all have."""
    shared = [_common_metrics(a, other) for other in others]
    names = [name for name in shared[0] if all(name in found for found in shared)]
    summable = np.concatenate([_summable(system, names) for system in (a, *others)], axis=1)
    value_a, value_b = _values(summable.sum(axis=0)[None], names, len(summable), len(others))
    a_not_better, b_not_better = np.zeros((2, len(others), len(names)))
    rng = np.random.default_rng(seed)
    bar: tqdm[Any] = progress(None, "bootstrap", total=samples, unit="sample")
    with bar:
        for start in range(0, samples, _CHUNK):
            counts = _draw(rng, min(_CHUNK, samples - start), len(summable))
            sample_a, sample_b = _values(counts @ summable, names, len(summable), len(others))
            a_not_better += (sample_a <= sample_b).sum(axis=1)
            b_not_better += (sample_b <= sample_a).sum(axis=1)
            bar.update(len(counts))
    found = []
    for k in range(len(others)):
        columns = (value_a[0, 0], value_b[k, 0], a_not_better[k] / samples, b_not_better[k] / samples)
        found.append([Comparison(name, *map(float, row)) for name, *row in zip(names, *columns, strict=True)])
    return found


def _common_metrics(a: Scores, b: Scores) -> list[str]:
    check_same_ids(a.ids, "{}.dec of the first system", b.ids, "{}.dec of the second system")
    if a.references != b.references:
        raise UserError("the two systems were scored against different references: evaluate both again")
    names = [*METRICS] if a.rouge and b.rouge else []
    names += ["meteor"] if a.meteor and b.meteor else []
    if not names:
        raise UserError("the two systems share no metric: evaluate both with --rouge, --meteor or both")
    return names


def _summable(scores: Scores, names: list[str]) -> np.ndarray:
    """Per document: F1 of ROUGE in units, statistics of METEOR."""
    parts = []
    if scores.rouge and METRICS[0] in names:
        parts.append(np.rint(scores.rouge.documents[:, :, F] * _UNITS))
    if scores.meteor and "meteor" in names:
        parts.append(scores.meteor.statistics)
    return np.concatenate(parts, axis=1)


def _values(sums: np.ndarray, names: list[str], documents: int, others: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums over documents -> the metrics of a (1, samples, metrics) and of the others (others, samples, metrics)."""
    systems = []
    for part in np.split(sums, 1 + others, axis=1):
        columns = [part[:, k] / (documents * _UNITS) for k, name in enumerate(names) if name in METRICS]
        columns += [meteor.score(part[:, -meteor.STATISTICS :])] if "meteor" in names else []
        systems.append(np.stack(columns, axis=1))
    return np.stack(systems[:1]), np.stack(systems[1:])


def _draw(rng: np.random.Generator, samples: int, documents: int) -> np.ndarray:
    """How often each document is in each sample -> (samples, documents)."""
    picks = rng.integers(documents, size=(samples, documents))
    picks += np.arange(samples)[:, None] * documents
    return np.bincount(picks.ravel(), minlength=samples * documents).reshape(samples, -1).astype(np.float64)


def table(comparisons: list[Comparison], samples: int) -> str:
    lines = [f"{'metric':<10}{'A':>9}{'B':>9}{'A - B':>9}{'p (A better)':>15}{'p (B better)':>15}"]
    for row in comparisons:
        numbers = f"{100 * row.a:9.2f}{100 * row.b:9.2f}{100 * (row.a - row.b):+9.2f}"
        values = (_p_value(p, samples) for p in (row.p_a_better, row.p_b_better))
        lines.append(f"{row.metric:<10}{numbers}" + "".join(f"{value:>15}" for value in values))
    return "\n".join(lines)


def _p_value(p: float, samples: int) -> str:
    return f"{p:.5f}" if p else f"< {1 / samples:.2g}"


def find_scores(path: Path) -> Path:
    """The scores.json of a directory: its own, or where eval_acl.py and eval_baselines.py put it."""
    if not path.is_dir() or (path / "scores.json").is_file():
        return path / "scores.json" if path.is_dir() else path
    found = [*sorted(path.glob("top*_scores.json")), *sorted(path.glob("output*/scores.json"))]
    if not found:
        raise UserError(f"{path} has no scores.json: evaluate that system first, such as by eval_full_model.py")
    if len(found) > 1:
        raise UserError(f"{path} was evaluated in several ways: name one of {', '.join(map(str, found))}")
    return found[0]


def main() -> None:
    flags = parse(Flags, __doc__ or "", prog="python -m metrics.significance")
    paths = find_scores(Path(flags.a)), find_scores(Path(flags.b))
    a, b = map(load_scores, paths)
    print(f"A = {paths[0]}\nB = {paths[1]}\n{len(a.ids):,} documents, {flags.samples:,} samples, seed {flags.seed}")
    print(table(compare(a, b, flags.samples, flags.seed), flags.samples))


if __name__ == "__main__":
    run(main)

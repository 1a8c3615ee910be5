"""Paired bootstrap test between two evaluated systems (Sec. 6.2: 100,000 samples).

    python -m metrics.significance decoded/rl decoded/ml

Each is a decode directory with a scores.json, or such a file. A sample draws documents with replacement, the
same for both systems; p is the share of samples in which the system is not better than the other.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from metrics import meteor
from metrics.rouge import METRICS, Score
from metrics.scores import Scores, load_scores
from metrics.summaries import check_same_ids
from support.errors import UserError, run
from support.progress import progress

_CHUNK = 200  # samples at once: their counts fill a matrix of (_CHUNK, documents)
_F = Score._fields.index("f")
_UNITS = 100_000  # ROUGE has five decimals: in whole units all sums are exact, and ties are ties


class Comparison(NamedTuple):
    metric: str
    a: float
    b: float
    p_a_better: float
    p_b_better: float


def compare(a: Scores, b: Scores, samples: int = 100_000, seed: int = 0) -> list[Comparison]:
    """All metrics that both systems have: their values, and p for either being the better one."""
    names = _common_metrics(a, b)
    summable = np.concatenate([_summable(a, names), _summable(b, names)], axis=1)
    value_a, value_b = _values(summable.sum(axis=0)[None], names, len(summable))
    a_not_better, b_not_better = np.zeros(len(names)), np.zeros(len(names))
    rng = np.random.default_rng(seed)
    bar: tqdm[Any] = progress(None, "bootstrap", total=samples, unit="sample")
    with bar:
        for start in range(0, samples, _CHUNK):
            counts = _draw(rng, min(_CHUNK, samples - start), len(summable))
            sample_a, sample_b = _values(counts @ summable, names, len(summable))
            a_not_better += (sample_a <= sample_b).sum(axis=0)
            b_not_better += (sample_b <= sample_a).sum(axis=0)
            bar.update(len(counts))
    columns = (value_a[0], value_b[0], a_not_better / samples, b_not_better / samples)
    return [Comparison(name, *map(float, row)) for name, *row in zip(names, *columns, strict=True)]


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
        parts.append(np.rint(scores.rouge.documents[:, :, _F] * _UNITS))
    if scores.meteor and "meteor" in names:
        parts.append(scores.meteor.statistics)
    return np.concatenate(parts, axis=1)


def _values(sums: np.ndarray, names: list[str], documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums over documents -> the metrics of a and of b, each (samples, metrics)."""
    systems = []
    for half in np.split(sums, 2, axis=1):
        columns = [half[:, k] / (documents * _UNITS) for k, name in enumerate(names) if name in METRICS]
        columns += [meteor.score(half[:, -meteor.STATISTICS :])] if "meteor" in names else []
        systems.append(np.stack(columns, axis=1))
    return systems[0], systems[1]


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


def _load(name: str) -> Scores:
    path = Path(name)
    if path.is_dir():
        path /= "scores.json"
    if not path.is_file():
        raise UserError(f"{path} does not exist: evaluate that system first, such as by eval_full_model.py")
    return load_scores(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m metrics.significance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("a", metavar="A", help="decode directory or scores.json")
    parser.add_argument("b", metavar="B", help="the system to compare with")
    parser.add_argument("--samples", type=int, default=100_000, help="how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.samples < 1 or args.seed < 0:
        raise UserError("--samples must be at least 1 and --seed at least 0")
    a, b = _load(args.a), _load(args.b)
    print(f"A = {args.a}\nB = {args.b}\n{len(a.ids):,} documents, {args.samples:,} samples, seed {args.seed}")
    print(table(compare(a, b, args.samples, args.seed), args.samples))


if __name__ == "__main__":
    run(main)

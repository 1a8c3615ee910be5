"""Tunes the number of sentences of a baseline on validation (Sec. 5.2), from what decode_baselines.py wrote.

    python decode_baselines.py --path out/val --ext_dir E --abs_dir A --val
    python tune_n_ext.py --decode_dir out/val
    python decode_baselines.py --path out/test --ext_dir E --abs_dir A --test --n_ext <the best>

Every number of sentences that was decoded is scored: the first ones of lead and rnn-ext, the highest-scored ones
of ff-ext, which stay in document order. The best has the highest mean of ROUGE-1, ROUGE-2 and ROUGE-L F1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.store import TokenStore, open_store
from inference.best_sentences import BaselineOutput, rouge_by_count
from inference.output import DecodeDirectory
from metrics.rouge import METRICS
from metrics.summaries import decoded_split, escape
from support.errors import UserError, run
from support.files import write_json
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags:
    decode_dir: str = flag(help="directory that decode_baselines.py wrote")
    data_dir: str = flag(help="data set root, for the references", env="DATA")
    path: str | None = flag(None, "JSON file that gets the choice, as n_ext")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    output = BaselineOutput(flags.decode_dir)
    if output.n_ext is None or "timing" not in output.log:
        raise UserError(f"{output.path} is not a finished output of decode_baselines.py, by its log.json")
    store = open_store(flags.data_dir, decoded_split(output.path))
    decoded = DecodeDirectory(output.path, output.n_ext).finished()
    if missing := [article for article in range(len(store)) if article not in decoded]:
        where = f"a line of alignment.jsonl or a file {missing[0]}.dec is missing"
        raise UserError(f"{output.path} lacks {len(missing)} of {len(store)} articles: {where}; decode with --resume")
    if len(decoded) > len(store):
        advice = "give the data set that was decoded"
        raise UserError(f"{output.path} has {len(decoded)} articles, {flags.data_dir} only {len(store)}; {advice}")
    scores = rouge_by_count(output, {article: _reference(store, article) for article in decoded})
    best = int(scores.mean(1).argmax()) + 1
    report(scores, best)
    if flags.path:
        Path(flags.path).parent.mkdir(parents=True, exist_ok=True)
        means = {n: round(100 * float(mean), 3) for n, mean in enumerate(scores.mean(1), 1)}
        write_json(flags.path, {"n_ext": best, "mean_rouge": means})


def _reference(store: TokenStore, article: int) -> str:
    sentences = store.abstracts.document(article)
    return escape("\n".join(" ".join(store.text(words)) for words in sentences))


def report(scores: np.ndarray, best: int) -> None:
    print("sentences  " + "  ".join(f"{name:>8}" for name in (*METRICS, "mean")))
    for k, row in enumerate(scores, 1):
        print(f"{k:9}  " + "  ".join(f"{100 * value:8.2f}" for value in (*row, row.mean())))
    print(f"best: --n_ext {best}")


if __name__ == "__main__":
    run(main)

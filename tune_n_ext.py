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

from checkpoints.directory import FF_EXTRACTOR
from data.store import TokenStore, open_store
from inference.best_sentences import best_sentences
from inference.output import DecodeDirectory
from metrics.rouge import METRICS, score_document
from metrics.summaries import escape
from support.errors import UserError, run
from support.files import read_json
from support.flags import flag, parse
from support.progress import progress


@dataclass(frozen=True, kw_only=True)
class Flags:
    decode_dir: str = flag(help="directory that decode_baselines.py wrote")
    data_dir: str = flag(help="data set root, for the references", env="DATA")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    log = read_json(Path(flags.decode_dir) / "log.json")
    if not isinstance(log, dict) or not isinstance(log.get("n_ext"), int) or "timing" not in log:
        raise UserError(f"{flags.decode_dir} is no finished output of decode_baselines.py")
    directory = DecodeDirectory(flags.decode_dir, n_outputs=log["n_ext"])
    by_score = (log["extractor"] or {}).get("net") == FF_EXTRACTOR
    scores = score_all(directory, open_store(flags.data_dir, log["split"]), log["n_ext"], by_score)
    report(scores)


def score_all(directory: DecodeDirectory, store: TokenStore, n_ext: int, by_score: bool) -> np.ndarray:
    """(n_ext, metric) mean F1 of summaries of 1, 2, ... sentences."""
    lines = directory.finished()
    if len(lines) != len(store):
        raise UserError(f"{directory.path} has {len(lines)} of {len(store)} articles; decode with --resume first")
    totals = np.zeros((n_ext, len(METRICS)))
    for article, line in progress(lines.items(), "ROUGE", len(lines), "article"):
        sentences = directory.read(article, len(line["sentences"]))
        reference = _reference(store, article)
        for k in range(1, n_ext + 1):
            kept = "\n".join(sentences[i] for i in best_sentences(line, k, by_score))
            totals[k - 1] += [score.f for score in score_document(kept, [reference])]
    return totals / len(lines)


def _reference(store: TokenStore, article: int) -> str:
    sentences = store.abstracts.document(article)
    return escape("\n".join(" ".join(store.lexicon[word] for word in words) for words in sentences))


def report(scores: np.ndarray) -> None:
    print("sentences  " + "  ".join(f"{name:>8}" for name in (*METRICS, "mean")))
    for k, row in enumerate(scores, 1):
        print(f"{k:9}  " + "  ".join(f"{100 * value:8.2f}" for value in (*row, row.mean())))
    print(f"best: --n_ext {int(scores.mean(1).argmax()) + 1}")


if __name__ == "__main__":
    run(main)

"""The paper's claims, checked on a folder of runs.

    python -m report.claims runs --data_dir data

Each holds, does not hold, or is not measured, with its figures; <runs>/claims.json has the same. Claims on novelty,
repetition and the number of sentences need the articles: --data_dir.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from metrics.ngram_table import ORDERS
from metrics.rouge import METRICS
from report.rows import FLAT_ROWS, METRIC_LABELS, ROWS, SIGNIFICANT
from report.runs import BATCHING, Reproduction, command_line, reproduction
from report.tables import percent
from support.errors import run
from support.files import write_json


class Verdict(str, Enum):
    HOLDS = "holds"
    FAILS = "does not hold"
    UNKNOWN = "not measured"


class Claim(NamedTuple):
    text: str
    section: str
    verdict: Verdict
    figures: str  # what was found, or what is missing

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "verdict": self.verdict.value}


def check_claims(runs: Reproduction) -> list[Claim]:
    return [
        _better(runs, "RL above ML, extractive", "Sec. 6.1", "rnn_ext_rl", "rnn_ext", METRICS),
        _better(runs, "RL above ML, abstractive", "Sec. 6.2", "rnn_ext_abs_rl", "rnn_ext_abs", (*METRICS, "meteor")),
        _better(runs, "Learned selection above lead-3 + abs", "Sec. 6.2", "rnn_ext_abs_rl", "lead3_abs", METRICS),
        _less_repetition(runs),
        _reranking_keeps_rouge(runs),
        _number_of_sentences(runs),
        _more_novel(runs),
        _faster(runs, "rnn_ext_abs_rl"),
        _faster(runs, "rnn_ext_abs_rl_rerank"),
    ]


def _better(runs: Reproduction, text: str, section: str, row: str, other: str, metrics: tuple[str, ...]) -> Claim:
    """Significantly better in all of the metrics that were measured."""
    found = runs.significance(row, other) or {}
    if METRICS[0] not in found:
        return Claim(text, section, Verdict.UNKNOWN, _not_evaluated(runs, row, other))
    rows = [found[metric] for metric in metrics if metric in found]
    ours, theirs = (percent(runs.runs()[name].scores) for name in (row, other))
    parts = [
        f"{METRIC_LABELS[r.metric]} {ours[r.metric]:.2f} against {theirs[r.metric]:.2f} (p {_p(r.p_a_better)})"
        for r in rows
    ]
    figures = f"{ROWS[row].label} against {ROWS[other].label}: " + ", ".join(parts)
    return Claim(text, section, _verdict(all(r.p_a_better < SIGNIFICANT for r in rows)), figures)


def _less_repetition(runs: Reproduction) -> Claim:
    text, section, rows = "Reranking reduces repetition", "Sec. 3.3", ("rnn_ext_abs_rl_rerank", "rnn_ext_abs_rl")
    if missing := _without_articles(runs, *rows):
        return Claim(text, section, Verdict.UNKNOWN, missing)
    with_rerank, without = (runs.repetition[row] for row in rows)
    parts = [f"{n}-grams {a:.2f} % against {b:.2f} %" for n, a, b in zip(ORDERS, with_rerank, without, strict=True)]
    bigram = ORDERS.index(2)
    return Claim(text, section, _verdict(with_rerank[bigram] < without[bigram]), "repeated " + ", ".join(parts))


def _reranking_keeps_rouge(runs: Reproduction) -> Claim:
    text, section, rows = "Reranking does not lower ROUGE", "Sec. 6.2", ("rnn_ext_abs_rl_rerank", "rnn_ext_abs_rl")
    found = runs.significance(*rows) or {}
    if METRICS[0] not in found:
        return Claim(text, section, Verdict.UNKNOWN, _not_evaluated(runs, *rows))
    compared = [found[metric] for metric in METRICS]
    parts = [f"{METRIC_LABELS[r.metric]} {100 * (r.a - r.b):+.2f} (lower with p {_p(r.p_b_better)})" for r in compared]
    return Claim(text, section, _verdict(all(r.p_b_better >= SIGNIFICANT for r in compared)), ", ".join(parts))


def _number_of_sentences(runs: Reproduction) -> Claim:
    """More sentences where the reference has more: positive correlation, p < 0.01."""
    text, section = "The number of sentences is learned", "Sec. 3.2"
    row = "rnn_ext_abs_rl"
    found = runs.run(row)
    if missing := _without_articles(runs, row):
        return Claim(text, section, Verdict.UNKNOWN, missing)
    assert found is not None
    if not found.sources:
        return Claim(text, section, Verdict.UNKNOWN, f"{found.path} has no alignment.jsonl")
    pairs = [(len(found.sources[i]), wanted) for i, wanted in runs.reference_sentences.items() if i in found.sources]
    extracted, wanted = np.array(pairs).T
    figures = f"{extracted.mean():.2f} sentences an article, references {wanted.mean():.2f}"
    if len(pairs) < 3 or not (extracted.std() and wanted.std()):
        return Claim(text, section, Verdict.FAILS, f"{figures}; a constant number has no correlation")
    r, p = stats.pearsonr(extracted, wanted, alternative="greater")
    return Claim(text, section, _verdict(p < SIGNIFICANT), f"{figures}; correlation {r:.3f} (p {_p(p)})")


def _more_novel(runs: Reproduction) -> Claim:
    """The paper speaks of multi-gram novelty: 2-, 3- and 4-grams must be more novel."""
    text, section, rows = "Rewriting is more novel than extraction", "Sec. 7.1", ("rnn_ext_abs_rl", "rnn_ext_rl")
    if missing := _without_articles(runs, *rows):
        return Claim(text, section, Verdict.UNKNOWN, missing)
    columns = list(zip(ORDERS, *(runs.novelty[row] for row in rows), strict=True))
    parts = [f"{n}-grams {ours:.1f} % against {extracted:.1f} %" for n, ours, extracted in columns]
    holds = all(ours > extracted for n, ours, extracted in columns if n > 1)
    return Claim(text, section, _verdict(holds), "novel " + ", ".join(parts))


def _faster(runs: Reproduction, row: str) -> Claim:
    text = f"{ROWS[row].label} decodes faster than a flat encoder-decoder, articles together in both"
    section, flat = "Sec. 6.4", runs.first_of(*FLAT_ROWS)
    ours, other = runs.timing(row), runs.timing(flat)
    if not (ours and other):
        missing = ROWS[row].label if not ours else ROWS[flat or FLAT_ROWS[0]].label
        return Claim(text, section, Verdict.UNKNOWN, f"{missing} was not timed")
    if ours.processes != other.processes:
        counts = f"{ours.processes} and {other.processes}"
        return Claim(text, section, Verdict.UNKNOWN, f"timed in different numbers of processes ({counts})")
    in_time, in_words = other.seconds / ours.seconds, ours.words_per_second / other.words_per_second
    figures = (
        f"{in_time:.1f} times as fast in total, {in_words:.1f} times in words: "
        f"{ours.seconds:,.1f} s and {ours.words_per_second:,.0f} words/s against "
        f"{other.seconds:,.1f} s and {other.words_per_second:,.0f} words/s "
        f"in {ours.processes} process{'es' * (ours.processes > 1)}; {BATCHING}"
    )
    return Claim(text, section, _verdict(in_time > 1 and in_words > 1), figures)


def _verdict(holds: bool) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.FAILS


def _not_evaluated(runs: Reproduction, *rows: str) -> str:
    missing = [ROWS[row].label for row in rows if not runs.run(row)]
    return f"{' and '.join(missing)} not evaluated" if missing else "not scored with ROUGE"


def _without_articles(runs: Reproduction, *rows: str) -> str | None:
    """What is missing to look into the texts of these rows."""
    if not all(runs.run(row) for row in rows):
        return _not_evaluated(runs, *rows)
    return None if runs.articles else "needs the articles: give --data_dir"


def _p(p: float) -> str:
    return f"{p:.4f}" if p >= 1e-4 else "< 0.0001"


def main() -> None:
    args = command_line("claims", __doc__ or "").parse_args()
    claims = check_claims(reproduction(args))
    width = max(len(verdict.value) for verdict in Verdict)
    for claim in claims:
        print(f"{claim.verdict.value.upper():<{width}}  {claim.text} ({claim.section})\n{'':<{width}}  {claim.figures}")
    write_json(args.runs / "claims.json", [claim.to_json() for claim in claims])


if __name__ == "__main__":
    run(main)

"""The paper's claims, checked on a folder of runs.

    python -m report.claims runs --data_dir data

Each holds, does not hold, or is not evaluated, with its figures; <runs>/claims.json has the same. "Significantly"
is p < 0.01 of the paired bootstrap, where the paper says so; elsewhere a higher number is enough, as it is there.
Claims on novelty, repetition and the number of sentences need the articles: --data_dir.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from metrics.ngram_table import ORDERS
from metrics.rouge import METRICS
from report.human_eval.kit import QUESTIONS
from report.rows import ANONYMIZED, DUC, FLAT_ROW, METRIC_LABELS, MODEL_LABELS, ORIGINAL, SEE_ET_AL, SIGNIFICANT
from report.runs import BATCHING, Reproduction, RunsFlags
from report.tables import FULL_MODEL, percent
from support.errors import run
from support.files import write_json
from support.flags import parse

_ALL = (*METRICS, "meteor")
_FULL, _RERANKED = "rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank"


class Verdict(str, Enum):
    HOLDS = "holds"
    FAILS = "does not hold"
    UNKNOWN = "not evaluated"


class Claim(NamedTuple):
    text: str
    section: str
    verdict: Verdict
    figures: str  # what was found, or what is missing

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "verdict": self.verdict.value}


class Comparison(NamedTuple):
    """A row is better than another one in all of the metrics."""

    text: str
    section: str
    row: str
    others: Sequence[str]  # of which the first that is there is taken
    metrics: Sequence[str] = METRICS
    folder: str = ORIGINAL
    significantly: bool = False


COMPARISONS = (
    Comparison("ff-ext is better than lead-3", "Sec. 6.1", "ff_ext", ("lead3",)),
    Comparison("ff-ext is better than lead-3, anonymized", "Sec. 6.1", "ff_ext", ("lead3",), folder=ANONYMIZED),
    Comparison("ff-ext is better than rnn-ext", "Sec. 6.1", "ff_ext", ("rnn_ext",)),
    Comparison("The reinforced extractor is better than ff-ext", "Sec. 6.1", "rnn_ext_rl", ("ff_ext",)),
    Comparison("The reinforced extractor is better than lead-3", "Sec. 6.1", "rnn_ext_rl", ("lead3",)),
    Comparison(
        "The reinforced extractor is better than lead-3, anonymized",
        "Sec. 6.1",
        "rnn_ext_rl",
        ("lead3",),
        folder=ANONYMIZED,
    ),
    Comparison(  # the paper says all metrics, but METEOR falls in its own table: see docs/DEVIATIONS.md
        "RL is significantly better than ML, extractive",
        "Table 1",
        "rnn_ext_rl",
        ("rnn_ext",),
        significantly=True,
    ),
    Comparison(
        "Extractive RL is significantly better than See et al. (2017) in all metrics",
        "Table 1",
        "rnn_ext_rl",
        SEE_ET_AL,
        _ALL,
        significantly=True,
    ),
    Comparison("ff-ext + abs is better than rnn-ext + abs", "Sec. 6.2", "ff_ext_abs", ("rnn_ext_abs",), _ALL),
    Comparison(
        "ff-ext + abs is better than the pointer-generator without coverage in all metrics",
        "Sec. 6.2",
        "ff_ext_abs",
        ("pointer_generator",),
        _ALL,
    ),
    Comparison(
        "rnn-ext + abs is better than the pointer-generator without coverage in all metrics",
        "Sec. 6.2",
        "rnn_ext_abs",
        ("pointer_generator",),
        _ALL,
    ),
    Comparison("Learned selection is better than lead-3 + abs", "Sec. 6.2", _FULL, ("lead3_abs",)),
    Comparison(
        "RL is significantly better than ML in all metrics, abstractive",
        "Sec. 6.2",
        _FULL,
        ("rnn_ext_abs",),
        _ALL,
        significantly=True,
    ),
    Comparison(
        "RL is significantly better than ML, abstractive and anonymized",
        "Sec. 6.2",
        _FULL,
        ("rnn_ext_abs",),
        folder=ANONYMIZED,
        significantly=True,
    ),
    Comparison(
        "RL is significantly better than See et al. (2017) in all metrics",
        "Sec. 6.2",
        _FULL,
        SEE_ET_AL,
        _ALL,
        significantly=True,
    ),
    Comparison("Reranking is significantly better", "Sec. 6.2", _RERANKED, (_FULL,), significantly=True),
    Comparison("The reranked model is better than See et al. (2017)", "Sec. 6.2", _RERANKED, SEE_ET_AL, _ALL),
    Comparison("The reranked model is better than lead-3", "Sec. 6.2", _RERANKED, ("lead3",)),
    Comparison("On DUC-2002 it is better than See et al. (2017)", "Table 3", _FULL, SEE_ET_AL, folder=DUC),
)

PREFERENCES = tuple(f"Judges prefer the reranked model to See et al. (2017) in {question}" for question in QUESTIONS)
JUDGED = "judges decide: python -m report.human_eval makes their pages, and Table 4 of their answers"


def check_claims(runs: Reproduction) -> list[Claim]:
    return [
        *(_better(runs, comparison) for comparison in COMPARISONS),
        *(Claim(text, "Sec. 6.3", Verdict.UNKNOWN, JUDGED) for text in PREFERENCES),
        _less_repetition(runs),
        _number_of_sentences(runs),
        _more_novel(runs),
        _faster(runs, "Decoding is at least 10 times as fast as a flat encoder-decoder", _FULL, 10),
        _faster(runs, "With reranking it is at least 6 times as fast", _RERANKED, 6),
        _faster_training(runs),
    ]


def _better(runs: Reproduction, claim: Comparison) -> Claim:
    row, other, folder = claim.row, runs.first_of(claim.others, claim.folder), claim.folder
    found = runs.significance(row, other, folder) or {}
    if METRICS[0] not in found:
        return Claim(claim.text, claim.section, Verdict.UNKNOWN, _not_evaluated(runs, row, other, folder=folder))
    rows = [found[metric] for metric in claim.metrics if metric in found]
    missing = [metric for metric in claim.metrics if metric not in found]
    ours, theirs = (percent(runs.runs(folder)[name].scores) for name in (row, other))
    parts = [
        f"{METRIC_LABELS[r.metric]} {ours[r.metric]:.2f} against {theirs[r.metric]:.2f} (p {_p(r.p_a_better)})"
        for r in rows
    ]
    parts += [f"{METRIC_LABELS[metric]} not evaluated" for metric in missing]
    figures = f"{runs.label(row, folder)} against {runs.label(other, folder)}: " + ", ".join(parts)
    holds = all(r.p_a_better < SIGNIFICANT if claim.significantly else r.a > r.b for r in rows)
    verdict = Verdict.UNKNOWN if holds and missing else _verdict(holds)
    return Claim(claim.text, claim.section, verdict, figures)


def _less_repetition(runs: Reproduction) -> Claim:
    text, section, rows = "Reranking reduces repetition", "Sec. 3.3", (_RERANKED, _FULL)
    if missing := _without_articles(runs, *rows):
        return Claim(text, section, Verdict.UNKNOWN, missing)
    with_rerank, without = (runs.repetition[row] for row in rows)
    parts = [f"{n}-grams {a:.2f} % against {b:.2f} %" for n, a, b in zip(ORDERS, with_rerank, without, strict=True)]
    bigram = ORDERS.index(2)
    return Claim(text, section, _verdict(with_rerank[bigram] < without[bigram]), "repeated " + ", ".join(parts))


def _number_of_sentences(runs: Reproduction) -> Claim:
    """More sentences where the reference has more: positive correlation, p < 0.01."""
    text, section = "The number of sentences is learned", "Sec. 3.2"
    found = runs.run(_FULL)
    if missing := _without_articles(runs, _FULL):
        return Claim(text, section, Verdict.UNKNOWN, missing)
    assert found is not None
    if not found.sources:
        return Claim(text, section, Verdict.UNKNOWN, f"{found.path} has no alignment.jsonl")
    pairs = [(len(found.sources[i]), wanted) for i, wanted in runs.reference_sentences.items()]
    extracted, wanted = np.array(pairs).T
    figures = f"{extracted.mean():.2f} sentences an article, references {wanted.mean():.2f}"
    if len(pairs) < 3 or not (extracted.std() and wanted.std()):
        return Claim(text, section, Verdict.FAILS, f"{figures}; a constant number has no correlation")
    r, p = stats.pearsonr(extracted, wanted, alternative="greater")
    return Claim(text, section, _verdict(p < SIGNIFICANT), f"{figures}; correlation {r:.3f} (p {_p(p)})")


def _more_novel(runs: Reproduction) -> Claim:
    """The paper explains multi-gram novelty, so that 2-, 3- and 4-grams count; "3x" stands in its introduction."""
    text, section = "The reranked model writes 3 times as many novel n-grams as See et al. (2017)", "Sec. 1, 7.1"
    rows = (_RERANKED, runs.first_of(SEE_ET_AL))
    if missing := _without_articles(runs, *rows):
        return Claim(text, section, Verdict.UNKNOWN, missing)
    columns = list(zip(ORDERS, *(runs.novelty[row] for row in rows), strict=True))
    parts = [f"{n}-grams {ours:.1f} % against {theirs:.1f} %" for n, ours, theirs in columns]
    holds = all(ours > theirs and ours >= 3 * theirs for n, ours, theirs in columns if n > 1)
    return Claim(text, section, _verdict(holds), "novel " + ", ".join(parts))


def _faster(runs: Reproduction, text: str, row: str, times: float) -> Claim:
    section = "Sec. 6.4"
    ours, flat = runs.timing(row), runs.timing(FLAT_ROW)
    if not (ours and flat):
        return Claim(text, section, Verdict.UNKNOWN, f"{runs.label(FLAT_ROW if ours else row)} was not timed")
    if ours.processes != flat.processes:
        counts = f"{ours.processes} and {flat.processes}"
        return Claim(text, section, Verdict.UNKNOWN, f"timed in different numbers of processes ({counts})")
    in_time, in_words = flat.seconds / ours.seconds, ours.words_per_second / flat.words_per_second
    figures = (
        f"{in_time:.1f} times as fast in total, {in_words:.1f} times in words: "
        f"{ours.seconds:,.1f} s and {ours.words_per_second:,.0f} words/s against "
        f"{flat.seconds:,.1f} s and {flat.words_per_second:,.0f} words/s "
        f"in {ours.processes} process{'es' * (ours.processes > 1)}; {BATCHING}"
    )
    return Claim(text, section, _verdict(in_time >= times and in_words >= times), figures)


def _faster_training(runs: Reproduction) -> Claim:
    text, section = "Training is at least 4 times as fast as that of a flat encoder-decoder", "B.3"
    flat = ("pointer_generator", "pointer_generator_coverage")
    hours = {model: runs.training_cost(model).hours for model in (*FULL_MODEL, *flat)}
    known = {model: value for model, value in hours.items() if value is not None}
    if missing := [MODEL_LABELS[model] for model in hours if model not in known]:
        return Claim(text, section, Verdict.UNKNOWN, f"no training time of {' and '.join(missing)}")
    ours, theirs = (sum(known[model] for model in models) for models in (FULL_MODEL, flat))
    figures = f"abstractor and RL {ours:.2f} h, pointer-generator + coverage {theirs:.2f} h: {theirs / ours:.1f} times"
    return Claim(text, section, _verdict(theirs >= 4 * ours), figures)


def _verdict(holds: bool) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.FAILS


def _not_evaluated(runs: Reproduction, *rows: str, folder: str = ORIGINAL) -> str:
    missing = [runs.label(row, folder) for row in rows if not runs.run(row, folder)]
    where = {ANONYMIZED: " on anonymized text", DUC: " on DUC-2002"}.get(folder, "")
    return f"{' and '.join(missing)} not evaluated{where}" if missing else "not scored with ROUGE"


def _without_articles(runs: Reproduction, *rows: str) -> str | None:
    """What is missing to look into the texts of these rows."""
    if not all(runs.run(row) for row in rows):
        return _not_evaluated(runs, *rows)
    return None if runs.articles else "needs the articles: give --data_dir"


def _p(p: float) -> str:
    return f"{p:.4f}" if p >= 1e-4 else "< 0.0001"


def main() -> None:
    flags = parse(RunsFlags, __doc__ or "", prog="python -m report.claims")
    claims = check_claims(flags.reproduction())
    width = max(len(verdict.value) for verdict in Verdict)
    for claim in claims:
        print(f"{claim.verdict.value.upper():<{width}}  {claim.text} ({claim.section})\n{'':<{width}}  {claim.figures}")
    write_json(flags.runs / "claims.json", [claim.to_json() for claim in claims])


if __name__ == "__main__":
    run(main)

"""What the evaluation scripts share: flags, scoring, and the result files of the released code (Sec. 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from metrics import bootstrap, meteor, meteor_text, official, rouge, rouge_text
from metrics.scores import MeteorScores, RougeScores, Scores, save_scores
from metrics.summaries import Document
from metrics.wordnet import exceptions_digest
from support.errors import UserError
from support.files import atomic_file
from support.flags import flag
from support.progress import progress

WHY_TWO_MEANS = (
    "ROUGE-1.5.5's average is the mean of 1,000 bootstrap samples, drawn in the order of the file names: it changes a "
    "little if the same summaries are numbered from 1 instead of 0, more so if they are few. The plain mean does not."
)


@dataclass(frozen=True, kw_only=True)
class MetricFlags:
    rouge: bool = flag(False, "ROUGE-1, ROUGE-2 and ROUGE-L", source="Sec. 5.1")
    meteor: bool = flag(False, "METEOR 1.5, needs Java", source="Sec. 5.1")
    official: bool = flag(False, "ROUGE by the official Perl script: the same numbers, much slower")

    def __post_init__(self) -> None:
        if not (self.rouge or self.meteor):
            raise UserError("nothing to compute: give --rouge, --meteor or both")
        if self.official and not self.rouge:
            raise UserError("--official says how ROUGE is computed: give --rouge too")


def check_tools(flags: MetricFlags) -> None:
    """Before any long work: what is missing is reported at once."""
    reasons = [official.why_unavailable() if flags.official else None]
    reasons.append(meteor.why_unavailable() if flags.meteor else None)
    for reason in filter(None, reasons):
        raise UserError(reason)


def evaluate(documents: Sequence[Document], flags: MetricFlags, folder: Path, prefix: str = "") -> Scores:
    """Prints the scores and writes rouge.txt, meteor.txt and scores.json, their names headed by `prefix`."""
    scores = Scores.of(documents)
    if flags.rouge:
        text, rouge_scores = (_official_rouge if flags.official else measure_rouge)(documents, scores)
        scores = replace(scores, rouge=rouge_scores)
        _store(folder / f"{prefix}rouge.txt", text)
        print(text + _plain_means(rouge_scores) + rouge_scores.signature, flush=True)
    if flags.meteor:
        meteor_scores = measure_meteor(documents, scores)
        scores = replace(scores, meteor=meteor_scores)
        _store(folder / f"{prefix}meteor.txt", meteor_text.report(meteor_scores.statistics))
        print(meteor_text.system(meteor_scores.statistics) + meteor_scores.signature, flush=True)
    path = folder / f"{prefix}scores.json"
    scores = scores.with_earlier(path)
    save_scores(scores, path)
    return scores


def measure_rouge(documents: Sequence[Document], scores: Scores) -> tuple[str, RougeScores]:
    """ROUGE in process, and the text that the script would print; `scores` are the documents' own, still empty."""
    bar = progress(documents, "ROUGE", total=len(documents), unit="doc")
    per_document = rouge.score_documents((document.summary, document.references) for document in bar)
    averages = bootstrap.aggregate(per_document, scores.ids)
    signature = _rouge_signature(documents, scores, "in-process")
    return rouge_text.report(averages), RougeScores(signature, averages, per_document)


def _official_rouge(documents: Sequence[Document], scores: Scores) -> tuple[str, RougeScores]:
    found = official.score(documents)
    signature = _rouge_signature(documents, scores, "ROUGE-1.5.5.pl")
    return found.text, RougeScores(signature, found.averages, found.scores)


def _plain_means(scores: RougeScores) -> str:
    means = zip(rouge.METRICS, scores.plain_mean[:, rouge.F], strict=True)
    return f"Plain mean of F: {', '.join(f'{name.upper()} {mean:.5f}' for name, mean in means)}\n{WHY_TWO_MEANS}\n"


def measure_meteor(documents: Sequence[Document], scores: Scores) -> MeteorScores:
    statistics = meteor.measure(documents)
    arguments = " ".join(meteor.ARGUMENTS)
    signature = _signature("meteor-1.5", scores, documents, f"jar-{meteor.jar_digest()}", arguments)
    return MeteorScores(signature, float(meteor.score(statistics.sum(axis=0))), statistics)


def _rouge_signature(documents: Sequence[Document], scores: Scores, tool: str) -> str:
    arguments = f"{' '.join(rouge.ARGUMENTS)}|exceptions:{exceptions_digest()}"
    return _signature("rouge-1.5.5", scores, documents, tool, arguments)


def _signature(metric: str, scores: Scores, documents: Sequence[Document], tool: str, arguments: str) -> str:
    """All that influenced a score, in one line."""
    counts = [len(document.references) for document in documents]
    refs = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)}-{max(counts)}"
    return (
        f"{metric}|tool:{tool}|args:{arguments}|docs:{len(documents)}|refs:{refs}"
        f"|outputs:{scores.outputs}|references:{scores.references}"
    )


def _store(path: Path, text: str) -> None:
    with atomic_file(path) as file:
        file.write(text)

"""`python -m data.check D`: says whether a data set is fit for training, and what to do where it is not.

The exit code is 0 when it is usable, perhaps with remarks, 1 when something must be fixed first, and 2 when
there is no data set. A set without a train split is judged as one for decoding only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from data.inspection import EXAMPLES, KINDS, Findings, inspect_split
from data.prepare.splits import SPLITS
from data.vocabulary import COUNTS_FILE, load_word_counts
from support.errors import UserError, run
from support.flags import flag, parse
from support.parallel import available_cores

_LABELLED_SPLITS = ("train", "val")


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA", positional=True)
    workers: int = flag(available_cores(), "processes", at_least=1)


class Remark(NamedTuple):
    where: str
    finding: str
    advice: str


class Report(NamedTuple):
    splits: dict[str, Findings]
    problems: list[Remark]  # to be fixed before training
    remarks: list[Remark]


def check(root: Path, workers: int) -> Report:
    present = [split for split in SPLITS if (root / split).exists()]
    if not present:
        raise UserError(f"{root} has no folder train, val or test; python -m data.prepare makes them")
    report = Report({split: inspect_split(root / split, workers) for split in present}, [], [])
    for split, findings in report.splits.items():
        if not findings.articles:
            report.problems.append(Remark(split, "no readable article", "expected 0.json, 1.json, ..."))
        for kind, (serious, what, advice) in KINDS.items():
            if findings.counts[kind] and not (kind == "no labels" and split not in _LABELLED_SPLITS):
                finding = f"{what}: {_files(kind, findings)}"
                remark = Remark(split, finding, advice.format(root=root))
                (report.problems if serious else report.remarks).append(remark)
    _check_whole(root, report)
    return report


def _check_whole(root: Path, report: Report) -> None:
    if "train" not in report.splits:
        report.remarks.append(Remark("train", "no such split", "nothing, if the set is for decoding only"))
        return
    if "val" not in report.splits:
        report.problems.append(Remark("val", "no such split", "make one; training stops by its score"))
    try:
        load_word_counts(root)
    except UserError as error:
        report.problems.append(Remark(COUNTS_FILE, str(error), f"run python -m data.count_words {root}"))


def _files(kind: str, findings: Findings) -> str:
    count = findings.counts[kind]
    names = ", ".join(findings.examples[kind])
    return names if count <= EXAMPLES else f"{names} and {count - EXAMPLES:,} more"


def render(root: Path, report: Report) -> str:
    rows = [["split", "articles", "sentences", "words", "highlights", "words", "labelled"]]
    rows += [[split, *_numbers(findings)] for split, findings in report.splits.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines.append("(sentences, highlights and their words: average of an article)")
    for title, items in (("to fix before training", report.problems), ("remarks", report.remarks)):
        if items:
            lines += ["", f"{title}:"]
            lines += [f"  {item.where:<6} {item.finding}\n         -> {item.advice}" for item in items]
    verdict = "usable" if not report.problems else f"{len(report.problems)} to fix"
    return "\n".join([*lines, "", f"{root}: {verdict}"])


def _numbers(findings: Findings) -> list[str]:
    n = max(findings.articles, 1)
    article, abstract = ("article_sentences", "article_words"), ("abstract_sentences", "abstract_words")
    sums = [getattr(findings, name) for name in article + abstract]
    return [f"{findings.articles:,}", *(f"{value / n:.1f}" for value in sums), f"{findings.labelled / n:.0%}"]


def main() -> int:
    flags = parse(Flags, __doc__ or "", prog="python -m data.check")
    root = Path(flags.data_dir)
    if not root.is_dir():
        raise UserError(f"{root} is not a directory")
    report = check(root, flags.workers)
    print(render(root, report))
    return 1 if report.problems else 0


if __name__ == "__main__":
    run(main)

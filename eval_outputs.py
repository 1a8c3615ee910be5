"""Scores the outputs of any systems against references: ROUGE, METEOR, lengths, repetition, and with articles novelty.

    python eval_outputs.py cands.txt --refs refs.txt
    python eval_outputs.py ours=decoded/rl "See et al.=pg/decoded" bart.jsonl --refs refs --articles test --out table

A system, the references and the articles are each a file with a document a line (sentences separated by <q>, <S_SEP>,
<t>, a tab or nothing), JSON, or a folder of numbered files. Several systems are tested against the first by the
paired bootstrap. Conventions in which outputs and references differ, such as ( and -lrb-, are named.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from metrics import meteor
from metrics.conventions import choose, differences, normalise
from metrics.outputs import ARTICLES, REFERENCES, SUMMARIES, Kind, Outputs, pair, paired_documents, read_outputs
from metrics.scores import save_scores
from metrics.significance import compare_all
from metrics.systems import measure_systems
from report.systems_page import FORMATS, Evaluation, text
from support.errors import UserError, run
from support.files import atomic_file
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags:
    systems: tuple[str, ...] = flag(help="file or folder of summaries, or NAME=PATH", positional=True)
    refs: str = flag(help="file or folder of reference summaries")
    articles: str | None = flag(None, "file or folder of the articles, for novelty")
    out: str | None = flag(None, "folder for table.txt, .csv, .tex and .html, and the scores of every document")
    normalise: str = flag("", "unify conventions that differ: all, or some of brackets,quotes,currency,case,sentences")
    field: str = flag("", "field of the summaries in JSON, where its name does not tell")
    ref_field: str = flag("", "field of the references in JSON")
    article_field: str = flag("", "field of the articles in JSON")
    meteor: bool = flag(True, "leave METEOR out", spelling="--no_meteor")
    samples: int = flag(100_000, "samples of the paired bootstrap", source="Sec. 6.2", at_least=1)
    seed: int = flag(0, "seed of the paired bootstrap", at_least=0)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    chosen = choose(flags.normalise)
    references = _read(flags.refs, REFERENCES, flags.ref_field, chosen)
    systems = {name: _read(path, SUMMARIES, flags.field, chosen) for name, path in name_systems(flags.systems).items()}
    articles = _read(flags.articles, ARTICLES, flags.article_field, chosen) if flags.articles else None
    notes = noticed(systems, references, articles)
    documents = {name: paired_documents(outputs, references) for name, outputs in systems.items()}
    ordered = [articles.texts[place][0] for place in pair(articles, references).places] if articles else None
    rows = measure_systems(documents, ordered, flags.meteor and has_meteor(), chosen)
    first, *further = [row.scores for row in rows if row.scores]
    against_first = compare_all(first, further, flags.samples, flags.seed) if further else []
    evaluation = Evaluation(rows, against_first, flags.samples, flags.refs, notes)
    print(text(evaluation))
    if flags.out:
        write(evaluation, Path(flags.out))


def name_systems(given: tuple[str, ...]) -> dict[str, str]:
    """NAME=PATH, or a path whose last part is the name, whole where two would be called the same."""
    split = [("", path) if Path(path).exists() or "=" not in path else path.split("=", 1) for path in given]
    short = [name or Path(path).absolute().name for name, path in split]
    names = [name if short.count(name) == 1 else path for name, (_, path) in zip(short, split, strict=True)]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{name} is given twice: give the systems different names, as in first={name}")
    return dict(zip(names, (path for _, path in split), strict=True))


def noticed(systems: dict[str, Outputs], references: Outputs, articles: Outputs | None) -> list[str]:
    """How documents were paired where names do not tell, and conventions that differ."""
    others = systems | ({"the articles": articles} if articles else {})
    notes = [note for other in others.values() if (note := pair(other, references).note)]
    everything = {"the references": references} | others
    return notes + differences({name: [texts[0] for texts in found.texts] for name, found in everything.items()})


def has_meteor() -> bool:
    reason = meteor.why_unavailable()
    if reason:
        print(f"METEOR is left out: {reason}", file=sys.stderr)
    return reason is None


def _read(path: str, kind: Kind, field: str, chosen: list[str]) -> Outputs:
    found = read_outputs(path, kind, field)
    if not chosen:
        return found
    return found._replace(texts=[tuple(normalise(text, chosen) for text in texts) for texts in found.texts])


def write(evaluation: Evaluation, folder: Path) -> None:
    """The tables in all formats and, for metrics.significance, the scores of each system."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, render in FORMATS.items():
        with atomic_file(folder / f"table.{suffix}") as file:
            file.write(render(evaluation))
    names: set[str] = set()
    for row, scores, _ in evaluation.scored:
        name = re.sub(r"[^\w.+-]+", "_", row.name)
        while name in names:
            name += "_"
        names.add(name)
        save_scores(scores, folder / f"{name}.scores.json")


if __name__ == "__main__":
    run(main)

"""What the decode scripts write, in the released layout, and what --resume finds of it.

    <path>/log.json             the models' meta.json, the settings, hashes of weights and texts, in the end the time
    <path>/output/{i}.dec       the summary of article i, one sentence a line   (full model)
    <path>/output_{k}/{i}.dec   its sentence k; absent if it has fewer          (baselines)
    <path>/alignment.jsonl      one line an article, see below

A line of alignment.jsonl is
    {"article": i, "sentences": [{"source": 4, "extraction_score": -0.2, "rewriting_score": -3.1,
                                  "copied": [0.98, 0.01], "replaced": [1]}, ...]}
with, for each summary sentence in order, the number of the article sentence it comes from, the log probability of
choosing it (ff-ext: its logit; null for the lead and for the fallback of an agent that chose nothing) and of
rewriting it (with the beam's penalties; null if it was not rewritten), the probability of each word to be copied
rather than generated, and the places of the words that stand for an UNK. Sentences of the flat baseline come from no
single sentence: their number and log probabilities are null.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from inference.summary import Summary
from metrics.summaries import escape
from support.errors import UserError
from support.files import atomic_file, naming, open_file, read_json, remove_leftovers, write_json
from support.locks import files_in, only_writer

Line = dict[str, Any]


class DecodeDirectory:
    def __init__(self, path: str | Path, n_outputs: int | None = None) -> None:
        """`n_outputs`: a file for each of that many sentences, instead of one for the summary."""
        self.path, self.n_outputs = Path(path), n_outputs

    @property
    def folders(self) -> list[Path]:
        names = ["output"] if self.n_outputs is None else [f"output_{k}" for k in range(self.n_outputs)]
        return [self.path / name for name in names]

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The directory is this process's alone."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path} is a file; --path needs a directory")
        with only_writer(self.path):
            yield

    def prepare(self, settings: dict[str, Any], resume: bool) -> None:
        """Makes the folders; an old run may lie there only to be resumed with the same settings.

        Nobody else may be writing there (`held`).
        """
        log = self.path / "log.json"
        if resume and log.exists():
            old = self._read_log()
            changed = [name for name in settings if old.get(name) != settings[name]]
            if changed:
                raise UserError(f"{log} was written with another {', '.join(changed)}; use another --path")
        elif files_in(self.path):
            advice = "it has no log.json to resume" if resume else "--resume continues it"
            raise UserError(f"{self.path} is not empty; {advice}, or give another --path")
        for folder in self.folders:
            folder.mkdir(exist_ok=True)
        remove_leftovers(self.path, *self.folders)
        if not log.exists():
            write_json(log, settings)

    def write(self, summary: Summary) -> None:
        lines = [_writable(escape(line)) for line in summary.lines()]
        texts = ["\n".join(lines)] if self.n_outputs is None else lines or [""]
        for folder, text in zip(self.folders, texts, strict=False):
            with atomic_file(folder / f"{summary.article}.dec") as file:
                file.write(text)

    def read(self, article: int, n_sentences: int) -> list[str]:
        """The sentences of a summary that has a file for each."""
        return [(folder / f"{article}.dec").read_text(encoding="utf-8") for folder in self.folders[:n_sentences]]

    def finished(self) -> dict[int, Line]:
        """The alignment of the articles whose files are all there."""
        lines = {line["article"]: line for path in self._alignments() for line in _read_lines(path)}
        present = [{entry.name for entry in os.scandir(folder) if entry.is_file()} for folder in self.folders]
        return {article: line for article, line in lines.items() if self._is_whole(line, present)}

    def _is_whole(self, line: Line, present: list[set[str]]) -> bool:
        n = 1 if self.n_outputs is None else max(1, len(line["sentences"]))
        return all(f"{line['article']}.dec" in names for names in present[:n])

    def part(self, rank: int) -> Path:
        """Where a process puts its alignment until all are done."""
        return self.path / f"alignment.{rank}.jsonl"

    def append(self, rank: int, lines: Iterable[Line]) -> None:
        with naming(self.part(rank)), open_file(self.part(rank), "a", encoding="utf-8") as file:
            file.write("".join("\n" + json.dumps(line) for line in lines))  # first the end of a line that a kill cut

    def close(self, settings: dict[str, Any], timing: dict[str, Any] | None) -> None:
        """Joins the alignments and writes the log; without timing, the old one stays."""
        lines = self.finished()
        with atomic_file(self.path / "alignment.jsonl") as file:
            file.writelines(json.dumps(lines[article]) + "\n" for article in sorted(lines))
        for part in self.path.glob("alignment.*.jsonl"):
            part.unlink()
        old = self._read_log()
        write_json(self.path / "log.json", {**old, **settings, **({"timing": timing} if timing else {})})

    def _read_log(self) -> dict[str, Any]:
        log = read_json(self.path / "log.json")
        if not isinstance(log, dict):
            raise UserError(f"{self.path / 'log.json'} is not the log of a decode script; use another --path")
        return log

    def _alignments(self) -> list[Path]:
        return [*self.path.glob("alignment.jsonl"), *self.path.glob("alignment.*.jsonl")]


def _writable(text: str) -> str:
    """A lone surrogate has no place in UTF-8: it becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _read_lines(path: Path) -> list[Line]:
    """The whole lines; a kill may have cut one, and whatever else is not a line counts as not decoded."""
    lines = []
    with open_file(path, encoding="utf-8", errors="replace") as file:
        texts = file.read().splitlines()
    for text in texts:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict) and isinstance(line.get("article"), int) and _are_sentences(line.get("sentences")):
            lines.append(line)
    return lines


def _are_sentences(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(sentence, dict) and "source" in sentence for sentence in value)

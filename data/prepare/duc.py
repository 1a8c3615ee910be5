"""DUC-2002 documents with their reference abstracts, as a test-only set (Table 3).

Documents are files with `<DOC> <DOCNO>..</DOCNO> <TEXT>..</TEXT> </DOC>`, sentences perhaps in `<s>..</s>` (both
distributions, `docs` and `docs.with.sentence.breaks`, where even the number is an `<s>` element).
Abstracts are `<SUM DOCREF="docno" ...>..</SUM>` elements in any files (those named `perdocs`), or plain files
whose names begin with the document number (`AP880911-0016.A.txt`). Folders may be nested in any way.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

from data.prepare.documents import (
    Flags,
    LeftOut,
    Preparation,
    RawDocument,
    Source,
    TextRules,
    paragraphs,
    read_text,
    units_flag,
    walk,
)
from data.tokenizer import resolve
from support.errors import UserError
from support.flags import flag

_DOCUMENT = re.compile(r"<DOC>(.*?)</DOC>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.DOTALL | re.IGNORECASE)
_TEXT = re.compile(r"<TEXT>(.*?)</TEXT>", re.DOTALL | re.IGNORECASE)
_SENTENCE = re.compile(r"<s(?:\s[^>]*)?>(.*?)</s>", re.DOTALL | re.IGNORECASE)
_SUMMARY = re.compile(r"<SUM\b([^>]*)>(.*?)</SUM>", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*\"([^\"]*)\"")
_PARAGRAPH = re.compile(r"</?P\b[^>]*>|\n(?=[ \t]{3,}\S)", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, kw_only=True)
class DucFlags(Flags):
    documents: str = flag(help="folder of the documents")
    abstracts: str = flag(help="folder of the reference abstracts; may be the same")
    units: str = units_flag("sentences", "lines takes <s> elements or paragraphs, sentences splits these")


def plan(flags: DucFlags) -> Preparation:
    texts = _documents(Path(flags.documents), flags.encoding)
    references = _references(Path(flags.abstracts), set(texts), flags.encoding)
    found = [
        RawDocument(number, text, references[number][0], further_abstracts=references[number][1:])
        for number, text in texts.items()
        if number in references
    ]
    if not found:
        raise UserError(
            f"none of the {len(texts)} documents in {flags.documents} has an abstract in {flags.abstracts}; "
            'expected <SUM DOCREF="docno"> elements, or files whose names begin with the document number'
        )
    left_out = [LeftOut("test", name, "", "no reference") for name in texts if name not in references]
    left_out += [LeftOut("test", name, "", "no such document") for name in references if name not in texts]
    inputs = [*walk(Path(flags.documents)), *walk(Path(flags.abstracts))]
    rules = TextRules(resolve(flags.tokenizer), flags.units, "sentences", True)
    return Preparation([Source("test", lambda: found, inputs, len(found))], rules, left_out)


def _documents(folder: Path, encoding: str) -> dict[str, list[str]]:
    """Document number -> its text; a document that lies in several sets is taken once."""
    texts: dict[str, list[str]] = {}
    for path in walk(folder):
        for match in _DOCUMENT.finditer(read_text(path, encoding)):
            number = _plain(" ".join(_NUMBER.findall(match.group(1))[:1]))
            if not number:
                raise UserError(f"{path} has a <DOC> without <DOCNO>")
            texts.setdefault(number, _blocks("\n\n".join(_TEXT.findall(match.group(1)))))
    if not texts:
        raise UserError(f"{folder} holds no file with a <DOC> element")
    return texts


def _references(folder: Path, numbers: set[str], encoding: str) -> dict[str, list[list[str]]]:
    references: dict[str, list[list[str]]] = {}
    for path in walk(folder):
        text = read_text(path, encoding)
        found = _tagged_abstracts(text)
        if not found and not _DOCUMENT.search(text):
            name = _longest_prefix(path.name, numbers)
            found = [(name, _blocks(text))] if name else []
        for number, abstract in found:
            if abstract and abstract not in references.setdefault(number, []):
                references[number].append(abstract)
    return {number: abstracts for number, abstracts in references.items() if abstracts}


def _tagged_abstracts(text: str) -> list[tuple[str, list[str]]]:
    """Abstracts of single documents; those of whole document sets name several in DOCREF."""
    found = []
    for attributes, body in _SUMMARY.findall(text):
        named = {name.upper(): value.split() for name, value in _ATTRIBUTE.findall(attributes)}
        if len(named.get("DOCREF", [])) == 1:
            found.append((named["DOCREF"][0], _blocks(body)))
    return found


def _longest_prefix(name: str, numbers: set[str]) -> str | None:
    parts = re.split(r"(?<=[^.])(?=\.)", name)
    prefixes = ("".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in numbers), None)


def _blocks(markup: str) -> list[str]:
    """Marked sentences, or else paragraphs (blank line, <P> or indentation), without tags."""
    marked = _SENTENCE.findall(markup)
    blocks = marked or paragraphs(_PARAGRAPH.sub("\n\n", markup))
    return list(filter(None, map(_plain, blocks)))


def _plain(markup: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())

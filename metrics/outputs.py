"""Outputs of any system, references and articles, in the forms in which people release them.

    read_outputs("cands.txt")               a summary a line, sentences separated by <q>, <S_SEP>, <t>, a tab or nothing
    read_outputs("decoded.jsonl")           an object a line; the usual field names are tried, or `field` names one
    read_outputs("decoded")                 a folder of numbered files, or a decode directory
    read_outputs("refs.txt", REFERENCES)    a document may have several: 0.A.ref and 0.B.ref, or a list `references`

`pair` brings the summaries of a system in the order of the references.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metrics.numbered_files import numbered_files
from metrics.output_texts import as_lines, find_field, json_texts
from metrics.summaries import Document, escape, read_text, summary_folder
from support.errors import UserError

_IDS = ("id", "doc_id", "article_id", "story_id", "example_id", "guid", "uid", "filename", "name", "index")


class Kind(NamedTuple):
    """What is looked for, and the names that it usually has."""

    flag: str  # that names a field
    fields: Sequence[str]
    marks: Sequence[str]  # in names of files
    folders: Sequence[str]  # below the one that is given


SUMMARIES = Kind(
    "--field",
    ("decoded", "decoded_summary", "prediction", "predicted", "predicted_summary", "pred", "hypothesis", "hyp",
     "candidate", "cand", "generated", "generated_summary", "output", "system_summary", "summary", "text"),
    ("dec", "hyp", "cand", "pred", "gen", "sys", "out", "sum"),
    ("decoded",),  # beside those of metrics.summaries.summary_folder
)  # fmt: skip
REFERENCES = Kind(
    "--ref_field",
    ("references", "reference", "refs", "ref", "reference_summary", "reference_summaries", "gold", "gold_summary",
     "target", "targets", "tgt", "highlights", "abstract", "label", "summary", "text"),
    ("ref", "gold", "tgt", "target", "sum"),
    ("reference", "references", "ref", "refs"),
)  # fmt: skip
ARTICLES = Kind(
    "--article_field",
    ("article", "document", "source", "src", "input", "doc", "text", "article_text"),
    ("article", "src", "source", "doc", "story"),
    ("articles", "article"),
)


class Outputs(NamedTuple):
    path: Path
    texts: list[tuple[str, ...]]  # of each document; more than one only of references
    names: list[str] | None  # numbers of files or ids; None where only the order tells


def read_outputs(path: str | Path, kind: Kind = SUMMARIES, field: str = "") -> Outputs:
    """`field` names the one of JSON that is meant, where the usual names do not tell."""
    path = Path(path)
    if path.is_dir():
        found = _read_folder(path, kind, field)
    else:
        text = read_text(path).removeprefix("\ufeff")
        if path.suffix == ".json":
            found = _read_items(path, *_json_items(_parse(text, str(path)), kind, field), kind, field)
        elif path.suffix in (".jsonl", ".ndjson") or text.lstrip().startswith('{"'):
            numbered = enumerate(text.split("\n"), start=1)
            items = [_parse(line, f"{path}, line {number}") for number, line in numbered if line.strip()]
            found = _read_items(path, items, None, kind, field)
        else:
            lines = text.removesuffix("\n").split("\n") if text else []
            found = Outputs(path, [(as_lines(line),) for line in lines], None)
    if not found.texts:
        raise UserError(f"{path} is empty")
    several = next((i for i, texts in enumerate(found.texts) if len(texts) > 1), None)
    if several is not None and kind is not REFERENCES:
        raise UserError(f"{path}: document {found.names[several] if found.names else several} has several texts")
    return found


def _read_folder(folder: Path, kind: Kind, field: str) -> Outputs:
    below = next((folder / name for name in kind.folders if (folder / name).is_dir()), None)
    if below:
        return _read_folder(below, kind, field)
    if kind is SUMMARIES:
        folder = summary_folder(folder)
    files = numbered_files(folder, kind.marks)
    texts = [tuple(text for path in paths for text in _read_file(path, kind, field)) for paths in files.values()]
    return Outputs(folder, texts, list(map(str, files)))


def _read_file(path: Path, kind: Kind, field: str) -> tuple[str, ...]:
    if path.suffix != ".json":
        return (as_lines(read_text(path)),)
    item = _parse(read_text(path), str(path))
    if not isinstance(item, dict):
        raise UserError(f"{path} holds no JSON object")
    return _item_texts(item, field or find_field(item, kind.fields, str(path), kind.flag), str(path))


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place} is not readable JSON ({error})") from None


def _json_items(value: Any, kind: Kind, field: str) -> tuple[list[Any], list[str] | None]:
    """A list of documents, an object of columns, or an object from id to document."""
    if not isinstance(value, dict):
        return (value if isinstance(value, list) else [value]), None
    column = next((value[name] for name in ([field] if field else kind.fields) if name in value), None)
    return (column, None) if isinstance(column, list) else (list(value.values()), list(value))


def _read_items(path: Path, items: list[Any], names: list[str] | None, kind: Kind, field: str) -> Outputs:
    objects = [item for item in items if isinstance(item, dict)]
    if objects and len(objects) < len(items):
        raise UserError(f"{path} mixes objects with other values")
    if not objects:
        return Outputs(path, [json_texts(item, f"{path}, item {i}") for i, item in enumerate(items)], names)
    field = field or find_field(objects[0], kind.fields, str(path), kind.flag)
    texts = [_item_texts(item, field, f"{path}, item {i}") for i, item in enumerate(objects)]
    return Outputs(path, texts, names or _ids(objects))


def _item_texts(item: dict[str, Any], field: str, place: str) -> tuple[str, ...]:
    if field not in item:
        raise UserError(f"{place} has no field {field}; it has {', '.join(map(str, item)) or 'none'}")
    return json_texts(item[field], place, field)


def _ids(items: list[dict[str, Any]]) -> list[str] | None:
    name = next((name for name in _IDS if name in items[0]), None)
    if name is None or any(type(item.get(name)) not in (str, int) for item in items):
        return None
    found = [str(item[name]) for item in items]
    return found if len(set(found)) == len(found) else None


class Pairing(NamedTuple):
    places: list[int]  # for each document of the references, its place in the outputs
    note: str  # how, where names did not tell; may be empty


def pair(outputs: Outputs, references: Outputs) -> Pairing:
    """By name where both have names, else by order; also by order if one is numbered from 0 and one from 1."""
    same_count, in_order = len(outputs.texts) == len(references.texts), list(range(len(references.texts)))
    if not outputs.names or not references.names:
        if same_count:
            return Pairing(in_order, "")
        counts = f"{len(outputs.texts):,} documents and {references.path} {len(references.texts):,}"
        raise UserError(f"{outputs.path} has {counts}: which belong together?")
    places = {name: place for place, name in enumerate(outputs.names)}
    wanted = dict.fromkeys(references.names)
    if places.keys() == wanted.keys():
        return Pairing([places[name] for name in wanted], "")
    both_in_row = _without_gap(outputs.names) and _without_gap(references.names)
    if same_count and (both_in_row or places.keys().isdisjoint(wanted)):
        first, other = outputs.names[0], references.names[0]
        return Pairing(in_order, f"{outputs.path} begins with {first}, {references.path} with {other}: paired in order")
    missing = [name for name in wanted if name not in places]
    lacking, having = (outputs, references) if missing else (references, outputs)
    missing = missing or [name for name in places if name not in wanted]
    raise UserError(f"{lacking.path} has nothing for {missing[0]}, which {having.path} has")


def _without_gap(names: Sequence[str]) -> bool:
    if not all(name.isdecimal() for name in names):
        return False
    numbers = list(map(int, names))
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def paired_documents(outputs: Outputs, references: Outputs) -> list[Document]:
    """For scoring, in the order of the references; numbered as they are, else from 0."""
    names = references.names or []
    numbered = bool(names) and all(name.isdecimal() for name in names) and len(set(map(int, names))) == len(names)
    ids = map(int, names) if numbered else range(len(references.texts))
    places = pair(outputs, references).places
    return [
        Document(i, escape(outputs.texts[place][0]), tuple(map(escape, texts)))
        for i, place, texts in zip(ids, places, references.texts, strict=True)
    ]

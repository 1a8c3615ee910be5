"""Folders of summaries and references: `{i}.dec` and `{i}.ref`, or `{i}.A.ref` `{i}.B.ref` ... for several.

One sentence per line, words joined by a space, `<` and `>` escaped as in the released outputs, & as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from support.errors import UserError
from support.files import read_json

_NAMES = {
    "dec": re.compile(r"(0|[1-9]\d*)\.dec", re.ASCII),
    "ref": re.compile(r"(0|[1-9]\d*)(?:\.[A-Z])?\.ref", re.ASCII),
}
_TOP = re.compile(r"output_top(\d+)", re.ASCII)
_NAMED_AT_MOST = 3


class Document(NamedTuple):
    id: int
    summary: str
    references: tuple[str, ...]


def escape(text: str) -> str:
    """For .dec and .ref files: ROUGE's HTML reader would cut a sentence at "<"."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">")


def read_documents(decode_dir: str | Path, ref_dir: str | Path) -> list[Document]:
    return with_references(read_summaries(decode_dir), decode_dir, ref_dir)


def with_references(summaries: Mapping[int, str], decode_dir: str | Path, ref_dir: str | Path) -> list[Document]:
    """Pairs summaries and references by id, in the order of ids; one without partner is an error."""
    references = read_references(ref_dir)
    check_same_ids(summaries, f"{decode_dir}/{{}}.dec", references, f"{ref_dir}/{{}}.ref")
    return [Document(i, summaries[i], tuple(references[i])) for i in sorted(summaries)]


def decoded_split(decode_dir: Path) -> str:
    """The split that a decode directory's log.json names."""
    log = read_json(decode_dir / "log.json")
    split = log.get("split") if isinstance(log, dict) else None
    if not isinstance(split, str):
        raise UserError(f"{decode_dir / 'log.json'} names no split: is this the output of a decode script?")
    return split


def top_sentences(decode_dir: Path) -> int | None:
    """How many sentences an article were evaluated, if eval_baselines.py chose them: n of output_top<n>."""
    if not decode_dir.is_dir() or (decode_dir / "output").is_dir():
        return None
    folders = (entry.name for entry in decode_dir.iterdir() if entry.is_dir())
    found = sorted(int(match[1]) for name in folders if (match := _TOP.fullmatch(name)))
    if len(found) > 1:
        names = " and ".join(f"output_top{n}" for n in found)
        raise UserError(f"{decode_dir} holds {names}: name one of them, or keep just one")
    return found[0] if found else None


def summary_folder(path: Path) -> Path:
    """Where a decode directory keeps its summaries; any other folder is its own."""
    top = top_sentences(path)
    output = path / ("output" if top is None else f"output_top{top}")
    return output if output.is_dir() else path


def read_summaries(folder: str | Path) -> dict[int, str]:
    return {i: _decode(paths[0]) for i, paths in _files(Path(folder), "dec").items()}


def read_references(folder: str | Path) -> dict[int, list[str]]:
    files = _files(Path(folder), "ref", advice="; make_eval_references.py writes them")
    for i, paths in files.items():
        if len(paths) > 1 and (plain := Path(folder) / f"{i}.ref") in paths:
            other = next(path for path in paths if path != plain)
            raise UserError(f"{folder} holds both {plain.name} and {other.name}: one reference or several?")
    return {i: [_decode(path) for path in paths] for i, paths in files.items()}


def read_text(path: Path) -> str:
    if not path.is_file():
        raise UserError(f"{path} " + ("is not a file" if path.exists() else "does not exist"))
    return _decode(path)


def _decode(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UserError(f"{path} is not a text file in UTF-8")
    return text


def check_same_ids(left: Iterable[int], left_name: str, right: Iterable[int], right_name: str) -> None:
    """`left_name` and `right_name` are patterns whose last {} stands for the id."""
    without_right, without_left = sorted(set(left) - set(right)), sorted(set(right) - set(left))
    if without_right:
        present = _name(left_name, without_right[0])
        raise UserError(f"missing {_name_some(right_name, without_right)}, although {present} exists")
    if without_left:
        present = _name(right_name, without_left[0])
        raise UserError(f"missing {_name_some(left_name, without_left)}, although {present} exists")


def _name(pattern: str, i: int) -> str:
    """Other braces belong to the path."""
    return str(i).join(pattern.rsplit("{}", 1))


def _name_some(pattern: str, ids: Sequence[int]) -> str:
    names = ", ".join(_name(pattern, i) for i in ids[:_NAMED_AT_MOST])
    return names + (f" and {len(ids) - _NAMED_AT_MOST} more" if len(ids) > _NAMED_AT_MOST else "")


def _files(folder: Path, kind: str, advice: str = "") -> dict[int, list[Path]]:
    """Id -> files, names sorted. Result files may lie beside them, but no summary under a broken name."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder{advice}")
    files: dict[int, list[Path]] = {}
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.startswith(".") or f".{kind}" not in entry.name:
            continue
        match = _NAMES[kind].fullmatch(entry.name)
        if not match:
            raise UserError(f"{entry.path} is not named <number>.{kind}: rename or remove it")
        if not entry.is_file():
            raise UserError(f"{entry.path} is not a file")
        files.setdefault(int(match[1]), []).append(Path(entry.path))
    if not files:
        raise UserError(f"{folder} holds no <number>.{kind} file{advice}")
    return files

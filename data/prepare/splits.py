"""Which files belong to train, val and test: by flags, or by the names in one folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from data.prepare.documents import Flags, units_flag, walk
from support.errors import UserError
from support.flags import flag

SPLITS = ("train", "val", "test")
_WORDS = {
    "train": "train", "training": "train",
    "val": "val", "valid": "val", "validation": "val", "dev": "val",
    "test": "test", "testing": "test",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SplitFlags(Flags):
    """Formats whose files are divided into splits."""

    source: str | None = flag(None, "folder of files or folders with train, val or test in their names")
    train: str | None = flag(None, "file or folder of the training split, instead of --source")
    val: str | None = flag(None, "file or folder of the validation split, instead of --source")
    test: str | None = flag(None, "file or folder of the test split, instead of --source")
    abstract_units: str = units_flag("lines", "what becomes a sentence of the summary: its lines, or sentences")


def split_files(flags: SplitFlags, *suffixes: str) -> dict[str, list[Path]]:
    """The input files of each split that is there, in the order of their names."""
    given = {split: Path(path) for split in SPLITS if (path := getattr(flags, split))}
    if given:
        found = {split: _files(path, *suffixes) for split, path in given.items()}
    elif flags.source:
        found = _by_name(Path(flags.source), *suffixes)
    else:
        raise UserError("what should be read? give --source FOLDER, or --train, --val and --test")
    for split, files in found.items():
        if not files:
            raise UserError(f"{given.get(split, flags.source)} holds no {' or '.join(suffixes)} file")
    return {split: found[split] for split in SPLITS if split in found}


def _by_name(source: Path, *suffixes: str) -> dict[str, list[Path]]:
    if not source.exists():
        raise UserError(f"--source {source} does not exist")
    entries = sorted(source.iterdir()) if source.is_dir() else [source]
    found: dict[str, list[Path]] = {}
    for entry in entries:
        split = split_of(entry.name)
        if split and (entry.is_dir() or entry.name.endswith(suffixes)):
            found.setdefault(split, []).extend(_files(entry, *suffixes))
    if not found:
        raise UserError(
            f"{source} holds no {' or '.join(suffixes)} file or folder with train, val or test in its name; "
            "name them by --train, --val and --test"
        )
    return found


def _files(path: Path, *suffixes: str) -> list[Path]:
    if path.is_dir():
        return list(walk(path, *suffixes))
    if not path.exists():
        raise UserError(f"{path} does not exist")
    return [path]


def split_of(name: str) -> str | None:
    """train-00000-of-00003.parquet -> train, cnn_wayback_validation_urls.txt -> val."""
    words = re.findall("[a-z]+", name.lower())
    return next((_WORDS[word] for word in words if word in _WORDS), None)

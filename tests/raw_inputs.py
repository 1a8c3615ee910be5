"""Small raw texts and files in the forms that data.prepare reads, and its call."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow
import pyarrow.parquet

from data.prepare import __main__ as command
from support.flags import parse

STORY = (
    "(Post) -- The dam broke.\n\nNobody was hurt\n\n@highlight\n\nDam breaks\n\n@highlight\n\nNo one's hurt\n"
)
DUC = """<DOC>
<DOCNO> AP-1 </DOCNO>
<HEAD>Not this</HEAD>
<TEXT>
   The dam
broke. Nobody &amp; all.
   Then rain
</TEXT></DOC>"""


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet(path: Path, **columns: list) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def prepare(format: str, out: Path, *argv: object) -> None:
    raw = format not in ("jsonl", "anonymized")
    arguments = ["--out", out, *(["--tokenizer", "python"] if raw else []), *argv]
    command.prepare(format, parse(command.FORMATS[format].flags, "", list(map(str, arguments))))


def sha1(url: str) -> str:
    return hashlib.sha1(url.encode()).hexdigest()


def write_stories(folder: Path) -> Path:
    """Two stories a split, in two folders, with url lists."""
    for split in ("train", "val", "test"):
        urls = [f"http://post.example/{split}/{number}" for number in (2, 1)]
        for url in urls:
            path = folder / "raw" / f"site{url[-1]}" / f"{sha1(url)}.story"
            write(path, STORY.replace("dam", f"dam {url[-1]}"))
        write(folder / "urls" / f"all_{split}.txt", "\n".join(urls) + "\n")
    return folder


def story_flags(folder: Path) -> list[object]:
    return ["--stories", folder / "raw", "--source", folder / "urls"]

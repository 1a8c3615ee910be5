"""Rows of preparation: every format that is read, and the records of what is prepared."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from raw_inputs import DUC, STORY, parquet, write

from data.articles import Article
from data.prepare import __main__ as prepare
from data.prepare import writing
from fuzz.formats import is_gzip, is_json, is_jsonl, is_parquet, is_text, is_utf8, is_xz
from fuzz.rows_data import PAIRS
from fuzz.table import File, Row

JSONL = "\n".join(json.dumps({"id": f"a{i}", "article": a, "abstract": b}) for i, (a, b) in enumerate(PAIRS))


def prepare_in_pieces_of_two() -> None:
    with patch.object(writing, "_PIECE", 2):
        prepare.main()


def build_unfinished(folder: Path) -> None:
    """A val split that is prepared, and a test split of which the first piece is."""
    write(folder / "raw.jsonl", JSONL)
    write_article = writing.write_article

    def stop_at_the_last(path: Path, article: Article) -> None:
        if ".preparing/test/2.json" in str(path):
            raise KeyboardInterrupt
        write_article(path, article)

    with patch.object(writing, "write_article", stop_at_the_last):
        for split in ("val", "test"):
            arguments = f"prepare jsonl --{split} {folder}/raw.jsonl --out {folder}/out --workers 1 --tokenizer none"
            try:
                with patch("sys.argv", arguments.split()):
                    prepare_in_pieces_of_two()
            except KeyboardInterrupt:
                continue


def build_xz(folder: Path) -> None:
    write(folder / "raw.jsonl.xz", lzma.compress(JSONL.encode()))


def build_gzip(folder: Path) -> None:
    write(folder / "raw.jsonl.gz", gzip.compress(JSONL.encode()))


def build_parquet(folder: Path) -> None:
    texts = {"article": [" ".join(a) for a, _ in PAIRS], "highlights": ["\n".join(b) for _, b in PAIRS]}
    parquet(folder / "raw.parquet", **texts, id=list("abc"))


def build_stories(folder: Path) -> None:
    for url in ("u1", "u2"):
        write(folder / "raw" / f"{hashlib.sha1(url.encode()).hexdigest()}.story", STORY)
    write(folder / "all_test.txt", "u1\nu2\n")


def build_questions(folder: Path) -> None:
    for number in (1, 2):
        question = f"u{number}\n\n@entity0 ran . he fell\n\n@placeholder ran\n\n@entity0\n\n@entity0:Fox\n"
        write(folder / "raw" / "test" / f"{number}.question", question)


def build_duc(folder: Path) -> None:
    for number in (1, 2):
        write(folder / "docs" / f"document{number}", DUC.replace("AP-1", f"AP-{number}"))
        write(folder / "abs" / f"abstract{number}", f'<SUM DOCREF="AP-{number}">Dam broke. Rain.</SUM>')


def build_texts(folder: Path) -> None:
    for number in (1, 2):
        write(folder / "raw" / f"{number}.txt", "It rained\nall day.\n\nThen sun.")
        write(folder / "raw" / f"{number}.summary.txt", "Rain. Sun.")


def text(kind: str, path: str) -> File:
    return File(kind, path, "text", is_text, optional=True)


def row(format: str, build: Callable[[Path], None], source: str, *files: File, tokenizer: str = "python") -> Row:
    return Row(
        f"data.prepare {format}",
        prepare_in_pieces_of_two,
        f"{format} {source} --out {{}}/out --workers 1 --tokenizer {tokenizer}",
        build,
        files,
        outputs=("out/test/*.json", "out/manifest.tsv"),
        own=("out/*",),
    )


ROWS = (
    row(
        "jsonl",
        build_unfinished,
        "--test {}/raw.jsonl",
        File("jsonl", "raw.jsonl", "jsonl", is_jsonl),
        File("record", "out/prepared.json", "json", is_json, optional=True),
        File("unfinished record", "out/.preparing/test.json", "json", is_json, optional=True),
        File("manifest", "out/manifest.tsv", "text", is_utf8, optional=True),
        tokenizer="none",
    ),
    row("jsonl", build_xz, "--test {}/raw.jsonl.xz", File("jsonl.xz", "raw.jsonl.xz", "archive", is_xz)),
    row("jsonl", build_gzip, "--test {}/raw.jsonl.gz", File("jsonl.gz", "raw.jsonl.gz", "archive", is_gzip)),
    row("hub", build_parquet, "--test {}/raw.parquet", File("parquet", "raw.parquet", "archive", is_parquet)),
    row(
        "stories",
        build_stories,
        "--stories {}/raw --test {}/all_test.txt",
        text("story", "raw/c5ea*.story"),
        text("url list", "all_test.txt"),
    ),
    row("anonymized", build_questions, "--source {}/raw", text("question", "raw/test/1.question"), tokenizer="none"),
    row(
        "duc",
        build_duc,
        "--documents {}/docs --abstracts {}/abs",
        text("duc document", "docs/document1"),
        text("duc abstract", "abs/abstract1"),
    ),
    row(
        "txt",
        build_texts,
        "--source {}/raw",
        text("text", "raw/1.txt"),
        text("summary", "raw/1.summary.txt"),
    ),
)

"""Small raw texts and files in the forms that data.prepare reads."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet

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

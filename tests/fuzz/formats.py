"""Whether a changed content is still a file of its format, perhaps with other values."""

from __future__ import annotations

import gzip
import io
import json
import lzma
from collections.abc import Callable

import numpy as np
import pyarrow.parquet
import torch

from support.pickles import _RestrictedUnpickler


def is_json(content: bytes) -> bool:
    return _succeeds(lambda: json.loads(content.decode("utf-8")))


def is_jsonl(content: bytes) -> bool:
    return _succeeds(lambda: [json.loads(line) for line in content.decode("utf-8").splitlines() if line.strip()])


def is_utf8(content: bytes) -> bool:
    return _succeeds(lambda: content.decode("utf-8"))


def is_text(content: bytes) -> bool:
    return b"\0" not in content and is_utf8(content)


def is_xz(content: bytes) -> bool:
    return _succeeds(lambda: lzma.decompress(content))


def is_gzip(content: bytes) -> bool:
    return _succeeds(lambda: gzip.decompress(content))


def is_parquet(content: bytes) -> bool:
    return _succeeds(lambda: pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist())


def is_pickle(content: bytes) -> bool:
    """One of plain containers; nothing is run."""
    return _succeeds(lambda: _RestrictedUnpickler(io.BytesIO(content)).load())


def is_checkpoint(content: bytes) -> bool:
    """A flipped weight is another value; torch tells what else is broken."""
    return _succeeds(lambda: torch.load(io.BytesIO(content), weights_only=True))


def is_npz(content: bytes) -> bool:
    return _succeeds(lambda: dict(np.load(io.BytesIO(content))))


def is_npy(content: bytes) -> bool:
    return _succeeds(lambda: np.load(io.BytesIO(content)))


def anything(content: bytes) -> bool:
    """Lines that are no such are passed over, and numbers are numbers."""
    return True


def never(content: bytes) -> bool:
    """A cache of ours is as it was written, or it is made again."""
    return False


def _succeeds(read: Callable[[], object]) -> bool:
    try:
        read()
    except Exception:
        return False
    return True

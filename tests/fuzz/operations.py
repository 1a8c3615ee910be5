"""What can happen to a file: hypothesis strategies for its new content, format by format.

Those of tensors and arrays are in fuzz.array_operations.
"""

from __future__ import annotations

import json
import os
import pickle
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzz.array_operations import (
    fewer_tokens,
    fewer_vectors,
    huge_elements,
    huge_tensors,
    huge_tokens,
    huge_vectors,
    nest_objects,
    nest_tensors,
    other_arrays,
    other_lengths,
    other_shape,
    other_tensors,
    other_tokens,
    other_vectors,
)
from fuzz.edits import SCALARS, VALUES, Edit, Evil, Strategy, changed, places, put, resized

Change = Callable[[Path], None]  # done to a file in its place

_HOLE = "\u2603 hole"  # in place of a value that `json.dumps` cannot write
_NESTED = st.sampled_from([200, 100_000]).map(lambda depth: "[" * depth + "]" * depth)
_HUGE = st.sampled_from(["9" * 5000, "-" + "9" * 5000, "1e999", "1" + "0" * 30, "NaN"])


# --- any bytes ---


def cut(content: bytes) -> Strategy:
    return st.integers(0, max(0, len(content) - 1)).map(lambda end: content[:end])


def flip(content: bytes) -> Strategy:
    def flipped(changes: list[tuple[int, int]]) -> bytes:
        found = bytearray(content)
        for place, bits in changes:
            found[place] ^= bits
        return bytes(found)

    places = st.tuples(st.integers(0, len(content) - 1), st.integers(1, 255))
    return st.lists(places, min_size=1, max_size=4).map(flipped)


def grow(content: bytes) -> Strategy:
    return st.binary(min_size=1, max_size=40).map(lambda more: content + more)


def scramble(content: bytes) -> Strategy:
    return st.integers(0, 2**32).map(lambda seed: random.Random(seed).randbytes(len(content)))


def repeat(content: bytes) -> Strategy:
    return st.just(content * 2)


# --- text ---


def encode(content: bytes) -> Strategy:
    text = content.decode("utf-8") + "\u00e9"
    return st.sampled_from(["latin-1", "utf-16", "utf-32", "utf-8-sig"]).map(lambda name: text.encode(name, "replace"))


# --- JSON ---


def _edit(content: bytes, edits: st.SearchStrategy[Edit]) -> Strategy:
    """One place of a JSON value is changed; of jsonl, in one of the lines."""
    lines = content.decode().split("\n") if content.count(b"\n{") else [content.decode()]
    filled = [number for number, line in enumerate(lines) if line.strip()]

    def edited(number: int) -> Strategy:
        value = json.loads(lines[number])
        place = st.sampled_from(places(value))
        return st.tuples(place, edits).map(lambda drawn: _join(lines, number, changed(value, *drawn)))

    return st.sampled_from(filled).flatmap(edited)


def _join(lines: list[str], number: int, value: Any) -> bytes:
    return "\n".join([*lines[:number], json.dumps(value), *lines[number + 1 :]]).encode()


def other_type(content: bytes) -> Strategy:
    return _edit(content, VALUES.map(put))


def other_length(content: bytes) -> Strategy:
    return _edit(content, st.just(resized))


def _fill_hole(content: bytes, fillings: Strategy) -> Strategy:
    with_hole = _edit(content, st.just(put(_HOLE)))
    hole = json.dumps(_HOLE).encode()
    return st.tuples(with_hole, fillings).map(lambda drawn: drawn[0].replace(hole, drawn[1].encode()))


def nest(content: bytes) -> Strategy:
    return _fill_hole(content, _NESTED)


def huge_number(content: bytes) -> Strategy:
    return _fill_hole(content, _HUGE)


# --- pickles ---


def other_object(content: bytes) -> Strategy:
    evil = st.sampled_from([Evil(), {"a": Evil()}])
    return st.one_of(VALUES, st.dictionaries(SCALARS, VALUES, max_size=3), evil).map(pickle.dumps)


def fewer_objects(content: bytes) -> Strategy:
    return st.just(pickle.dumps(resized(pickle.loads(content))))


def huge_count(content: bytes) -> Strategy:
    return st.sampled_from([10**400, -(10**400), 10**30]).map(lambda count: pickle.dumps(Counter(a=count)))


# --- the place in the file system ---


def _remove(path: Path) -> None:
    path.unlink()


def _replace(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


def _make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


PLACES: dict[str, Change] = {"missing": _remove, "directory": _make_folder, "fifo": _make_pipe}

Damages = dict[str, Callable[[bytes], Strategy]]
_ANY: Damages = {"cut": cut, "bytes flipped": flip, "random bytes": scramble, "longer": grow, "twice": repeat}
_TEXT = _ANY | {"encoding": encode}
_JSON = _TEXT | {"other type": other_type, "other length": other_length, "nesting": nest, "huge number": huge_number}
_PICKLE = {"other type": other_object, "other length": fewer_objects, "nesting": nest_objects}
_CHECKPOINT = {"other type": other_tensors, "other length": other_shape, "nesting": nest_tensors}
_NPZ = {"other type": other_arrays, "other length": other_lengths, "huge number": huge_elements}
_VECTORS = {"other type": other_tokens, "other length": fewer_tokens, "huge number": huge_tokens}
_GENSIM = {"other type": other_vectors, "other length": fewer_vectors, "huge number": huge_vectors}
CONTENTS: dict[str, Damages] = {
    "json": _JSON,
    "jsonl": _JSON,
    "text": _TEXT,
    "pickle": _ANY | _PICKLE | {"huge number": huge_count},
    "checkpoint": _ANY | _CHECKPOINT | {"huge number": huge_tensors},
    "npz": _ANY | _NPZ,
    "npy": _ANY | _NPZ,
    "word vectors": _TEXT | _VECTORS,
    "gensim model": _ANY | _GENSIM | {"nesting": nest_objects},
    "archive": _ANY,
    "store": _ANY,
}


def changes(format: str, operation: str, content: bytes) -> st.SearchStrategy[Change]:
    if operation in PLACES:
        return st.just(PLACES[operation])
    return CONTENTS[format][operation](content).map(lambda new: lambda path: _replace(path, new))


def operations(format: str) -> list[str]:
    return [*CONTENTS[format], *PLACES]

"""What can happen to a file: hypothesis strategies for its new content, format by format."""

from __future__ import annotations

import json
import os
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Change = Callable[[Path], None]  # done to a file in its place
Strategy = st.SearchStrategy[Any]

_HOLE = "\u2603 hole"  # in place of a value that `json.dumps` cannot write
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.sampled_from(["", "a b .", "\ud800", "\u0130"])
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner), max_leaves=4
)
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
    return st.randoms(use_true_random=False).map(lambda dice: dice.randbytes(len(content)))


def repeat(content: bytes) -> Strategy:
    return st.just(content * 2)


# --- text ---


def encode(content: bytes) -> Strategy:
    text = content.decode("utf-8") + "\u00e9"
    return st.sampled_from(["latin-1", "utf-16", "utf-32", "utf-8-sig"]).map(lambda name: text.encode(name, "replace"))


# --- JSON ---


def _paths(value: Any) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, as the keys that lead to it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *rest) for key, part in inner for rest in _paths(part))]


def _with(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(copy[path[0]], path[1:], change)
    return copy


def _edit(content: bytes, changes: st.SearchStrategy[Callable[[Any], Any]]) -> Strategy:
    """One place of a JSON value is changed; of jsonl, in one of the lines."""
    lines = content.decode().split("\n") if content.count(b"\n{") else [content.decode()]
    filled = [number for number, line in enumerate(lines) if line.strip()]

    def edited(number: int) -> Strategy:
        value = json.loads(lines[number])
        place = st.sampled_from(_paths(value))
        return st.tuples(place, changes).map(lambda drawn: _join(lines, number, _with(value, *drawn)))

    return st.sampled_from(filled).flatmap(edited)


def _join(lines: list[str], number: int, value: Any) -> bytes:
    return "\n".join([*lines[:number], json.dumps(value), *lines[number + 1 :]]).encode()


def other_type(content: bytes) -> Strategy:
    return _edit(content, _VALUES.map(lambda new: lambda old: new))


def other_length(content: bytes) -> Strategy:
    def resized(part: Any) -> Any:
        if isinstance(part, dict):
            return dict(list(part.items())[:-1])
        return part[:-1] if isinstance(part, str) else [*part, *part][1:] if isinstance(part, list) else [part]

    return _edit(content, st.just(resized))


def _fill_hole(content: bytes, fillings: Strategy) -> Strategy:
    with_hole = _edit(content, st.just(lambda old: _HOLE))
    hole = json.dumps(_HOLE).encode()
    return st.tuples(with_hole, fillings).map(lambda drawn: drawn[0].replace(hole, drawn[1].encode()))


def nest(content: bytes) -> Strategy:
    return _fill_hole(content, _NESTED)


def huge_number(content: bytes) -> Strategy:
    return _fill_hole(content, _HUGE)


# --- pickles ---


class _Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("evil-was-here",)


def other_object(content: bytes) -> Strategy:
    evil = st.sampled_from([_Evil(), {"a": _Evil()}])
    return st.one_of(_VALUES, st.dictionaries(_SCALARS, _VALUES, max_size=3), evil).map(pickle.dumps)


def nest_objects(content: bytes) -> Strategy:
    depths = st.sampled_from([200, 100_000])
    return depths.map(lambda depth: b"\x80\x04" + b"]" * depth + b"a" * (depth - 1) + b".")


def huge_count(content: bytes) -> Strategy:
    return st.sampled_from([10**400, -(10**400), 10**30]).map(lambda count: pickle.dumps(Counter(a=count)))


# --- the place in the file system ---


def _remove(path: Path) -> None:
    path.unlink()


def _make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


PLACES: dict[str, Change] = {"missing": _remove, "directory": _make_folder, "fifo": _make_pipe}

_ANY = {"cut": cut, "bytes flipped": flip, "random bytes": scramble, "longer": grow, "twice": repeat}
_TEXT = _ANY | {"encoding": encode}
_JSON = _TEXT | {"other type": other_type, "other length": other_length, "nesting": nest, "huge number": huge_number}
_PICKLE = _ANY | {"other type": other_object, "nesting": nest_objects, "huge number": huge_count}
CONTENTS: dict[str, dict[str, Callable[[bytes], Strategy]]] = {
    "json": _JSON,
    "jsonl": _JSON,
    "text": _TEXT,
    "pickle": _PICKLE,
    "binary": _ANY,
}


def changes(format: str, operation: str, content: bytes) -> st.SearchStrategy[Change]:
    if operation in PLACES:
        return st.just(PLACES[operation])
    return CONTENTS[format][operation](content).map(lambda new: lambda path: path.write_bytes(new) and None)


def operations(format: str) -> list[str]:
    return [*CONTENTS[format], *PLACES]

"""What can happen to files of tensors, arrays and word vectors."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.serialization import MAGIC_NUMBER, PROTOCOL_VERSION

from fuzz.edits import VALUES, Edit, Evil, Strategy, changed, places, put, resized

_ZIP = b"PK"
_HUGE = [10**400, -(10**400), 10**30, float("inf"), float("nan")]
_HUGE_WEIGHTS = [3e38, float("inf"), float("nan")]


# --- torch ---


def _edit_tensors(content: bytes, edits: st.SearchStrategy[Edit]) -> Strategy:
    value = torch.load(io.BytesIO(content), weights_only=True)
    drawn = st.tuples(st.sampled_from(places(value)), edits)
    return drawn.map(lambda pair: _saved(changed(value, *pair), content.startswith(_ZIP)))


def _saved(value: Any, as_zip: bool) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=as_zip)
    return file.getvalue()


def other_tensors(content: bytes) -> Strategy:
    tensors = st.sampled_from([torch.zeros(0), torch.ones(2, 3), torch.tensor(1), torch.zeros(4, dtype=torch.bool)])
    return _edit_tensors(content, st.one_of(VALUES, tensors, st.just(Evil())).map(put))


def other_shape(content: bytes) -> Strategy:
    def edit(part: Any) -> Any:
        if isinstance(part, Tensor):
            return part[1:] if part.ndim else part[None]
        return resized(part)

    return _edit_tensors(content, st.just(edit))


def huge_tensors(content: bytes) -> Strategy:
    def filled(numbers: tuple[float, float]) -> Edit:
        def edit(part: Any) -> Any:
            is_weight = isinstance(part, Tensor) and part.is_floating_point()
            return torch.full_like(part, numbers[0], dtype=torch.float32).to(part.dtype) if is_weight else numbers[1]

        return edit

    return _edit_tensors(content, st.tuples(st.sampled_from(_HUGE_WEIGHTS), st.sampled_from(_HUGE)).map(filled))


def nest_tensors(content: bytes) -> Strategy:
    system_info: dict[str, int] = {}
    heads = b"".join(pickle.dumps(head, 2) for head in (MAGIC_NUMBER, PROTOCOL_VERSION, system_info))
    return nest_objects(content).map(lambda nested: heads + nested + pickle.dumps([], 2))


def nest_objects(content: bytes) -> Strategy:
    depths = st.sampled_from([200, 100_000])
    return depths.map(lambda depth: b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b".")


# --- numpy ---


def _edit_arrays(content: bytes, edits: st.SearchStrategy[Edit]) -> Strategy:
    """One array of an archive, or the only one of a file."""
    if not content.startswith(_ZIP):
        array = np.load(io.BytesIO(content))
        return edits.map(lambda edit: _written(np.save, edit(array)))
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)

    def zipped(drawn: tuple[str, Edit]) -> bytes:
        name, edit = drawn
        found = {**arrays, name: edit(arrays[name])}
        return _written(np.savez, **{name: array for name, array in found.items() if array is not None})

    return st.tuples(st.sampled_from(list(arrays)), edits).map(zipped)


def _written(save: Callable[..., None], *arrays: Any, **named: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def other_arrays(content: bytes) -> Strategy:
    others = [np.array([Evil()], object), np.array("a"), np.array(b"a"), np.zeros(3, bool), np.array(None, object)]
    kinds = st.sampled_from(["f8", "f2", "i1", "u8", "U5", "c8"])
    return _edit_arrays(content, st.sampled_from(others).map(put) | kinds.map(_cast))


def _cast(kind: str) -> Edit:
    return lambda array: array.astype(kind) if array.dtype.kind != "U" else np.zeros(2, kind)


def other_lengths(content: bytes) -> Strategy:
    def cut(array: Any) -> Any:
        return array[1:] if array.ndim else array[None]

    edits: list[Edit] = [cut, lambda array: array[None], lambda array: array.ravel(), lambda array: None]
    return _edit_arrays(content, st.sampled_from(edits))


def huge_elements(content: bytes) -> Strategy:
    def filled(number: int) -> Edit:
        def edit(array: Any) -> Any:
            least = np.iinfo(array.dtype).min if array.dtype.kind in "iu" else 0
            return np.full_like(array, np.nan if array.dtype.kind == "f" else max(number, least))

        return edit

    return _edit_arrays(content, st.sampled_from([-1, 2**31 - 1]).map(filled))


# --- word vectors ---


def _edit_tokens(content: bytes, new: list[bytes]) -> Strategy:
    """One word or number of the text is another."""
    tokens = content.split(b" ")
    drawn = st.tuples(st.integers(0, len(tokens) - 1), st.sampled_from(new))
    return drawn.map(lambda pair: b" ".join([*tokens[: pair[0]], pair[1], *tokens[pair[0] + 1 :]]))


def other_tokens(content: bytes) -> Strategy:
    return _edit_tokens(content, [b"word", b"\n", b"True", b"0x1"])


def fewer_tokens(content: bytes) -> Strategy:
    return _edit_tokens(content, [b"", b"1.5 1.5"])


def huge_tokens(content: bytes) -> Strategy:
    return _edit_tokens(content, [b"9" * 5000, b"1e999", b"nan", b"-inf", b"1" + b"0" * 30])


def _edit_vectors(content: bytes, edits: dict[str, list[Callable[[Any], Any]]]) -> Strategy:
    """A field of the word vectors in a model that gensim saved."""

    def edited(drawn: tuple[str, Callable[[Any], Any]]) -> bytes:
        model = pickle.loads(content)
        field, edit = drawn
        setattr(model.wv, field, edit(getattr(model.wv, field)))
        return pickle.dumps(model)

    return st.sampled_from([(field, edit) for field, several in edits.items() for edit in several]).map(edited)


def other_vectors(content: bytes) -> Strategy:
    kinds = [put(None), put("a"), put([]), put({"a": Evil()}), put(np.array([Evil()]))]
    casts: list[Edit] = [lambda matrix: matrix.astype(int), lambda matrix: matrix.astype(object)]
    return _edit_vectors(content, {"vectors": [*kinds, *casts], "index_to_key": [*kinds, lambda words: [1, *words]]})


def fewer_vectors(content: bytes) -> Strategy:
    return _edit_vectors(
        content,
        {
            "vectors": [lambda m: m[1:], lambda m: m[:, 1:], lambda m: m[0], lambda m: m[None]],
            "index_to_key": [lambda words: words[1:], lambda words: words * 2, lambda words: []],
        },
    )


def huge_vectors(content: bytes) -> Strategy:
    return _edit_vectors(content, {"vectors": [partial(np.full_like, fill_value=n) for n in (np.nan, np.inf)]})

"""Values that replace others, and nested containers with one place changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Strategy = st.SearchStrategy[Any]
Edit = Callable[[Any], Any]

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.sampled_from(["", "a b .", "\ud800", "\u0130"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner), max_leaves=4
)


class Evil:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("evil-was-here",)


def places(value: Any) -> list[tuple[Any, ...]]:
    """Every place in nested containers, as the keys that lead to it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *rest) for key, part in inner for rest in places(part))]


def changed(value: Any, place: tuple[Any, ...], edit: Edit) -> Any:
    """A copy with one place edited."""
    if not place:
        return edit(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = changed(copy[place[0]], place[1:], edit)
    return copy


def resized(part: Any) -> Any:
    if isinstance(part, dict):
        return dict(list(part.items())[:-1])
    return part[:-1] if isinstance(part, str) else [*part, *part][1:] if isinstance(part, list) else [part]


def put(new: Any) -> Edit:
    return lambda old: new

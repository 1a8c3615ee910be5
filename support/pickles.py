"""Pickles are data here: an unpickler that can build containers and counters, and nothing else."""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

from support.errors import UserError
from support.files import open_file

_SAFE = {
    ("collections", "Counter"): Counter,
    ("collections", "OrderedDict"): OrderedDict,
    ("builtins", "dict"): dict,
}


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _SAFE:
            return _SAFE[module, name]
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which a plain word table never needs")


def load_pickle(path: str | Path) -> Any:
    """Loads a pickle of plain containers; one that would run code is refused."""
    try:
        with open_file(path, "rb") as file:
            return _RestrictedUnpickler(file).load()
    except FileNotFoundError:
        raise UserError(f"{path} does not exist") from None
    except Exception as error:  # a broken pickle can raise almost anything
        raise UserError(f"{path} is not a safe pickle of words: {error}") from None

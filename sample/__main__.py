"""`python -m sample --out D` writes the sample corpus."""

from __future__ import annotations

from sample.corpus import main
from support.errors import run

run(main)

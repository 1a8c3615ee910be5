"""How many words a convolution of the sentence encoder sees (A.1)."""

from __future__ import annotations

WINDOWS = (3, 4, 5)
MIN_WIDTH = max(WINDOWS)  # shorter sentences are padded to it

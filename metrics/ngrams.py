"""N-grams of token sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

Tokens = Sequence[Hashable]


def ngrams(tokens: Tokens, n: int) -> Iterator[tuple[Hashable, ...]]:
    return zip(*(tokens[start:] for start in range(n)), strict=False)


def clipped_matches(found: Counter, available: Counter) -> int:
    """How many of the found items are available, none counted more often than it is there."""
    return sum(min(count, available[item]) for item, count in found.items() if item in available)

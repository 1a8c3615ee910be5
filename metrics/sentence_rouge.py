"""ROUGE F1 of token sequences, as the rewards of reinforcement learning use it (Sec. 3.2, Eq. 7; Sec. 6.2).

Tokens are compared as they are, without stemming; a text is one sequence, words or ids. The LCS comes from
rapidfuzz, bit-parallel and on lists of integers as well as of strings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cpdist

from metrics.ngrams import Tokens, clipped_matches, ngrams


def rouge_l_batch(outputs: Sequence[Tokens], references: Sequence[Tokens]) -> np.ndarray:
    """ROUGE-L of each output with its own reference, their LCS against their lengths -> (len(outputs),) float64."""
    if len(outputs) != len(references):
        raise ValueError(f"{len(outputs)} outputs but {len(references)} references")
    if not outputs:
        return np.zeros(0)
    outputs, references = [_plain(tokens) for tokens in outputs], [_plain(tokens) for tokens in references]
    common = cpdist(outputs, references, scorer=LCSseq.similarity, dtype=np.int32, workers=1)
    given = np.fromiter(map(len, outputs), np.float64, len(outputs))
    wanted = np.fromiter(map(len, references), np.float64, len(references))
    precision, recall = common / np.maximum(given, 1), common / np.maximum(wanted, 1)
    return 2 * precision * recall / np.maximum(precision + recall, np.finfo(np.float64).tiny)


def rouge_n_batch(outputs: Sequence[Tokens], references: Sequence[Tokens], n: int = 1) -> np.ndarray:
    """ROUGE-n of each output with its own reference -> (len(outputs),) float64."""
    pairs = zip(outputs, references, strict=True)
    return np.array([rouge_n(_plain(output), _plain(reference), n) for output, reference in pairs])


def rouge_n(output: Tokens, reference: Tokens, n: int = 1) -> float:
    """ROUGE-n: common n-grams, each counted as often as both have it, against the numbers of n-grams."""
    given, wanted = Counter(ngrams(output, n)), Counter(ngrams(reference, n))
    hits = clipped_matches(given, wanted)
    if not hits:
        return 0.0
    precision, recall = hits / given.total(), hits / wanted.total()
    return 2 * precision * recall / (precision + recall)


# The batched F1 that training may ask for by name.
REWARDS: dict[str, Callable[[Sequence[Tokens], Sequence[Tokens]], np.ndarray]] = {
    "rouge-l": rouge_l_batch,
    "rouge-1": partial(rouge_n_batch, n=1),
    "rouge-2": partial(rouge_n_batch, n=2),
}


def _plain(tokens: Tokens) -> Tokens:
    """Arrays and tensors as lists: Python integers are compared faster than numpy's."""
    return tokens.tolist() if hasattr(tokens, "tolist") else tokens

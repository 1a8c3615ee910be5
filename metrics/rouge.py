"""ROUGE-1, ROUGE-2 and ROUGE-L in process (Sec. 5.1), equal in every digit to
`ROUGE-1.5.5.pl -c 95 -r 1000 -n 2 -m`.

    scores = score_documents([("the cat sat .", ["a cat was sitting ."])])  # (1, metric, recall/precision/F)
    print(rouge_text.report(bootstrap.aggregate(scores)))

A text is a string with one sentence per line. Several references: hits and counts are summed over them, the
script's default.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from metrics.lcs import Lanes, union_lcs
from metrics.ngrams import clipped_matches, ngrams
from metrics.porter import stem
from metrics.wordnet import exceptions

METRICS = ("rouge-1", "rouge-2", "rouge-l")
ARGUMENTS = ("-c", "95", "-r", "1000", "-n", "2", "-m")
_words = re.compile(rb"[a-z0-9]+").findall


class RecallPrecisionF(NamedTuple):
    recall: float
    precision: float
    f: float


F = RecallPrecisionF._fields.index("f")  # its column in arrays of (documents, metric, recall/precision/F)


def score_documents(documents: Iterable[tuple[str, Sequence[str]]]) -> np.ndarray:
    """Scores (summary, references) pairs -> (documents, metric, recall/precision/F)."""
    scores = [score_document(summary, references) for summary, references in documents]
    return np.array(scores, dtype=np.float64).reshape(-1, len(METRICS), len(RecallPrecisionF._fields))


def score_document(summary: str, references: Sequence[str]) -> list[RecallPrecisionF]:
    """ROUGE-1, ROUGE-2 and ROUGE-L of a summary."""
    sentences = _sentences(summary)
    unigrams = _flatten(sentences)
    bigrams = list(ngrams(unigrams, 2))
    unigram_counts, bigram_counts, lanes = Counter(unigrams), Counter(bigrams), Lanes.of(sentences)
    hits_1 = hits_2 = hits_l = wanted_1 = wanted_2 = 0
    for reference in references:
        reference_sentences = _sentences(reference)
        words = _flatten(reference_sentences)
        pairs = list(ngrams(words, 2))
        on_lcs = [word for sentence in reference_sentences for word in union_lcs(sentence, lanes)]
        hits_1 += clipped_matches(Counter(words), unigram_counts)
        hits_2 += clipped_matches(Counter(pairs), bigram_counts)
        hits_l += clipped_matches(Counter(on_lcs), unigram_counts)
        wanted_1 += len(words)
        wanted_2 += len(pairs)
    given_1, given_2 = len(unigrams) * len(references), len(bigrams) * len(references)
    return [
        _ratios(hits_1, wanted_1, given_1),
        _ratios(hits_2, wanted_2, given_2),
        _ratios(hits_l, wanted_1, given_1),
    ]


class _Stems(dict[bytes, str]):
    """Word -> stem, remembered. Words of three characters or fewer stay as they are."""

    def __missing__(self, word: bytes) -> str:
        text = word.decode("ascii")
        result = text if len(text) <= 3 else exceptions().get(text) or stem(text)
        self[word] = result
        return result


_stems = _Stems()


def _sentences(text: str) -> list[list[str]]:
    """Stems of each sentence: ASCII letters and digits only; ROUGE's HTML reader loses what follows a "<"."""
    lines = text.encode("utf-8", "surrogatepass").lower().split(b"\n")
    return [list(map(_stems.__getitem__, _words(line.partition(b"<")[0]))) for line in lines]


def _flatten(sentences: list[list[str]]) -> list[str]:
    return [word for sentence in sentences for word in sentence]


def _ratios(hits: int, wanted: int, given: int) -> RecallPrecisionF:
    """Recall and precision are rounded before F is taken of them, and F is rounded too."""
    recall = round(hits / wanted, 5) if wanted else 0.0
    precision = round(hits / given, 5) if given else 0.0
    middle = 0.5 * precision + 0.5 * recall
    return RecallPrecisionF(recall, precision, round(precision * recall / middle, 5) if middle else 0.0)

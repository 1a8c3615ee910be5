"""Union of longest common subsequences, as ROUGE-L counts it for a whole summary.

A row of the dynamic programme is one integer: bit j is 0 where the LCS length grows at column j (Hyyrö 2004).
All sentences of the summary lie side by side in that integer, each in its own lane with a guard bit above it
that swallows the carry, so that one addition advances all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

Sentence = Sequence[Hashable]


class Lanes(NamedTuple):
    """The sentences of a summary, side by side in the bits of an integer."""

    occurrences: dict[Hashable, int]  # word -> bits of its columns
    masks: list[int]  # bits of each sentence
    columns: int  # bits of all sentences

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> Lanes:
        occurrences: dict[Hashable, int] = {}
        masks = []
        bit = 1
        for sentence in sentences:
            first = bit
            for word in sentence:
                occurrences[word] = occurrences.get(word, 0) | bit
                bit <<= 1
            masks.append(bit - first)
            bit <<= 1
        return cls(occurrences, masks, sum(masks))


def union_lcs(reference: Sentence, summary: Lanes) -> list[Hashable]:
    """The words of a reference sentence that lie on its LCS with at least one sentence of the summary."""
    words = [word for word in reference if word in summary.occurrences]
    columns = [summary.occurrences[word] for word in words]
    rows = _rows(columns, summary.columns)
    hits: set[int] = set()
    for lane in summary.masks:
        hits.update(_trace_back(rows, columns, lane))
    return [words[i] for i in hits]


def _rows(columns: list[int], everywhere: int) -> list[int]:
    """Row i has a 1 at each column where the LCS of the first i reference words does not grow."""
    row = everywhere
    rows = [row]
    for matches in columns:
        row = ((row + (row & matches)) | (row & ~matches)) & everywhere
        rows.append(row)
    return rows


def _trace_back(rows: list[int], columns: list[int], lane: int) -> list[int]:
    """Rows on the LCS that ROUGE-1.5.5 finds in a lane.

    Its rule: diagonal at a match, else up where no length is lost, else left. Moving left ends at the next
    match, so each row needs one decision.
    """
    hits = []
    inside = lane  # the columns up to the current one
    i = len(columns)
    length = (inside & ~rows[i]).bit_count()
    while length:
        i -= 1
        reach = (columns[i] & inside).bit_length()
        if reach and (reach == inside.bit_length() or (inside & ~rows[i]).bit_count() < length):
            hits.append(i)
            inside &= (1 << (reach - 1)) - 1
            length -= 1
    return hits

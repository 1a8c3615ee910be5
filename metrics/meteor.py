"""METEOR 1.5 (Denkowski and Lavie 2014) by its own jar, with the statistics of each document (Sec. 5.1).

The score of a set of documents is taken of their summed statistics; it is not the mean of their scores. So
the jar is asked for statistics alone, and one formula turns those of a document, of the whole set or of a
bootstrap sample into a score.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from metrics.meteor_jar import meteor_jar, why_unavailable
from metrics.summaries import Document
from support.errors import UserError
from support.java import find_java
from support.progress import progress

ARGUMENTS = ("-l", "en", "-norm")
STAGE_WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])  # exact, stem, synonym, paraphrase
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75  # the jar's parameters for English
STATISTICS = 23

# Columns of a statistics row.
TEST_WORDS, REFERENCE_WORDS, TEST_FUNCTION_WORDS, REFERENCE_FUNCTION_WORDS = range(4)
TEST_CONTENT, REFERENCE_CONTENT, TEST_FUNCTION, REFERENCE_FUNCTION = (slice(4 + k, 20, 4) for k in range(4))
CHUNKS, TEST_MATCHES, REFERENCE_MATCHES = range(20, 23)


def jar_digest() -> str:
    return hashlib.sha256(meteor_jar().read_bytes()).hexdigest()[:8]


def measure(documents: Sequence[Document]) -> np.ndarray:
    """Runs the jar -> (documents, STATISTICS), summable: the one chunk of a perfect match counts as none."""
    if reason := why_unavailable():
        raise UserError(reason)
    width = max(len(document.references) for document in documents)
    reference_lines = [text for document in documents for text in _exactly(width, document.references)]
    with tempfile.TemporaryDirectory(prefix="meteor-") as folder:
        summaries, references = Path(folder) / "dec.txt", Path(folder) / "ref.txt"
        _write_lines(summaries, [document.summary for document in documents])
        _write_lines(references, reference_lines)
        command = [str(find_java()), "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", str(meteor_jar())]
        command += [str(summaries), str(references), *ARGUMENTS, "-r", str(width), "-ssOut"]
        lines = list(progress(_output(command), "METEOR", total=len(documents), unit="doc"))
    try:
        statistics = np.array([line.split() for line in lines], dtype=np.float64)
    except ValueError:
        raise UserError(f"{meteor_jar()} did not print the statistics of METEOR 1.5: {lines[0].strip()!r}") from None
    if statistics.shape != (len(documents), STATISTICS):
        raise UserError(f"{meteor_jar()} scored {len(lines)} of {len(documents)} documents")
    perfect = (
        (statistics[:, TEST_MATCHES] == statistics[:, TEST_WORDS])
        & (statistics[:, REFERENCE_MATCHES] == statistics[:, REFERENCE_WORDS])
        & (statistics[:, CHUNKS] == 1)
    )
    statistics[perfect, CHUNKS] = 0
    return statistics


def score(statistics: np.ndarray) -> np.ndarray:
    """METEOR of each row of statistics, (..., STATISTICS) -> (...)."""
    precision, recall = precision_recall(statistics)
    with np.errstate(divide="ignore", invalid="ignore"):
        f_mean = 1.0 / ((1.0 - ALPHA) / precision + ALPHA / recall)
        return np.nan_to_num(f_mean * (1.0 - penalty(statistics)), nan=0.0)


def precision_recall(statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matches against length, content words weighing DELTA and function words 1 - DELTA."""
    test = TEST_CONTENT, TEST_FUNCTION, TEST_WORDS, TEST_FUNCTION_WORDS
    reference = REFERENCE_CONTENT, REFERENCE_FUNCTION, REFERENCE_WORDS, REFERENCE_FUNCTION_WORDS
    return _ratio(statistics, *test), _ratio(statistics, *reference)


def _ratio(statistics: np.ndarray, content: slice, function: slice, words: int, function_words: int) -> np.ndarray:
    parts = [
        DELTA * STAGE_WEIGHTS * statistics[..., content],
        (1 - DELTA) * STAGE_WEIGHTS * statistics[..., function],
    ]
    matched = np.add.accumulate(np.concatenate(parts, axis=-1), axis=-1)[..., -1]  # in the jar's order
    content_words = statistics[..., words] - statistics[..., function_words]
    length = DELTA * content_words + (1 - DELTA) * statistics[..., function_words]
    with np.errstate(divide="ignore", invalid="ignore"):
        return matched / length


def penalty(statistics: np.ndarray) -> np.ndarray:
    """What scattered matches cost: GAMMA * (chunks per matched word) ** BETA."""
    matches = (statistics[..., TEST_MATCHES] + statistics[..., REFERENCE_MATCHES]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return GAMMA * (statistics[..., CHUNKS] / matches) ** BETA


def _exactly(width: int, references: tuple[str, ...]) -> tuple[str, ...]:
    """The jar wants equally many everywhere; it takes the best, so a repeated one changes nothing."""
    return references + references[-1:] * (width - len(references))


def _write_lines(path: Path, texts: list[str]) -> None:
    path.write_text("".join(" ".join(text.split()) + "\n" for text in texts), encoding="utf-8")


def _output(command: list[str]) -> Iterator[str]:
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8") as process:
            assert process.stdout is not None
            yield from process.stdout
        if process.returncode:
            errors.seek(0)
            last = (errors.read().strip().splitlines() or ["no message"])[-1]
            raise UserError(f"METEOR failed ({' '.join(command[:5])} ...): {last}")

"""Small data sets for tests: hypothesis strategies for texts, and writers of the JSON layout."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from data.articles import Article, article_path, write_article
from data.labels import proxy_labels

Pairs = list[tuple[list[str], list[str]]]
ROOT = Path(__file__).parents[1]
WORDS = ["a", "b", "c", "The", "the", "<pad>", "<unk>", "<end>", "<START>", "naïve", "İ", "\ud800", "3.5"]

sentences = st.lists(st.sampled_from(WORDS), max_size=7).flatmap(
    lambda words: st.sampled_from([" ", "  ", "\u00a0", " \t"]).map(lambda gap: gap.join(words))
)
texts = st.lists(sentences, max_size=5)
corpora = st.lists(st.tuples(texts, texts), min_size=1, max_size=6)


def write_split(root: Path, split: str, pairs: Pairs, labels: bool = False) -> Path:
    (root / split).mkdir(parents=True, exist_ok=True)
    for index, (article, abstract) in enumerate(pairs):
        found = proxy_labels(article, abstract)._asdict() if labels else {}
        content = Article(f"{split}-{index}", article, abstract, **found)
        write_article(article_path(root, split, index), content)
    return root


def write_counts(root: Path, pairs: Pairs) -> Counter[str]:
    sentences = [sentence for article, abstract in pairs for sentence in article + abstract]
    counter = Counter(word for sentence in sentences for word in sentence.split())
    (root / "vocab_cnt.pkl").write_bytes(pickle.dumps(counter))
    return counter


def random_pairs(count: int, seed: int = 0, n_words: int = 200) -> Pairs:
    """Texts of invented words, with some empty articles, abstracts and sentences."""
    dice = random.Random(seed)

    def text(most: int, longest: int) -> list[str]:
        lengths = [dice.randint(dice.random() > 0.1, longest) for _ in range(dice.randint(0, most))]
        return [" ".join(f"w{int(dice.paretovariate(0.7)) % n_words}" for _ in range(n)) for n in lengths]

    return [(text(12, 15), text(4, 8)) for _ in range(count)]


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=_environment(environment), text=True, capture_output=True)


def kill_when(ready: Callable[[], bool], *arguments: str) -> bool:
    """Starts Python and kills it as soon as `ready()`; returns whether it was still running."""
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=_environment({}), stderr=subprocess.DEVNULL)
    while process.poll() is None and not ready():
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def contents(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    files = (path for path in folder.rglob(pattern) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _environment(more: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "DATA"}
    return kept | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | more

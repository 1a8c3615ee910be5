"""A pipe in the place of a file is refused at once, by everything that reads: to wait for it would be to hang."""

from __future__ import annotations

import os

import numpy as np
import pytest

from checkpoints.tensor_files import load_tensors
from data.embeddings import initial_embedding
from data.vocabulary import SPECIAL_NAMES, Vocabulary
from data.word2vec_state import ResumeFile
from inference.output import DecodeDirectory
from support.errors import UserError
from training.metrics_log import read_metrics
from training.rewriting_cache import RewritingCache

WORDS = Vocabulary([*SPECIAL_NAMES, "a"])
READERS = {
    "checkpoint": ("ckpt", load_tensors),
    "text vectors": ("x.w2v", lambda path: initial_embedding(path, WORDS, 4)),
    "gensim vectors": ("x.bin", lambda path: initial_embedding(path, WORDS, 4)),
    "curves": ("metrics.jsonl", read_metrics),
    "rewritings": ("kept.npz", lambda path: RewritingCache(3, 4, 3).load(path, "")),
    "word2vec": ("resume.npz", lambda path: ResumeFile(path.parent, "").restore(np.zeros(1))),
    "alignment": ("alignment.jsonl", lambda path: DecodeDirectory(path.parent).finished()),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused(tmp_path, name):
    (tmp_path / "output").mkdir()
    file, read = READERS[name]
    os.mkfifo(tmp_path / file)
    with pytest.raises((UserError, OSError), match=file):
        read(tmp_path / file)

"""How far the training of word vectors has come, on disk: what `--resume` goes on with after a kill."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from gensim.models import Word2Vec

from support.errors import UserError
from support.files import atomic_file, open_file

RESUME_FILE = "resume.npz"
SAVE_EVERY_SECONDS = 300


class ResumeFile:
    """Vectors of words and contexts, the random generator, and the number of pieces that they have seen."""

    def __init__(self, folder: Path, signature: str) -> None:
        """`signature`: of the texts and of all flags that act on the result."""
        self.path, self.signature = folder / RESUME_FILE, signature
        self._saved_at = time.monotonic()

    def save_now_and_then(self, model: Word2Vec, done: int) -> None:
        if time.monotonic() - self._saved_at >= SAVE_EVERY_SECONDS:
            self.save(model, done)
            self._saved_at = time.monotonic()

    def save(self, model: Word2Vec, done: int) -> None:
        _, keys, position, _, _ = model.random.get_state()
        with atomic_file(self.path, "wb") as file:
            np.savez(
                file,
                signature=np.array(self.signature),
                done=np.array(done),
                words=model.wv.vectors,
                contexts=model.syn1neg,
                random_keys=keys,
                random_position=np.array(position),
            )

    def restore(self, model: Word2Vec) -> int:
        """Returns the number of pieces that were done; none, where nothing was saved."""
        if not self.path.exists():
            return 0
        names = ("signature", "done", "words", "contexts", "random_keys", "random_position")
        try:
            with open_file(self.path, "rb") as file, np.load(file) as content:
                signature, done, words, contexts, keys, position = (content[name] for name in names)
            if str(signature) == self.signature:
                _copy(words, model.wv.vectors)
                _copy(contexts, model.syn1neg)
                if not 0 <= position <= len(keys):  # numpy would read beyond them
                    raise ValueError("another generator")
                model.random.set_state(("MT19937", keys, int(position)))
                return int(done)
        except Exception as error:  # a damaged file can raise almost anything
            raise UserError(f"{self.path} is damaged ({type(error).__name__}); delete it to start over") from None
        raise UserError(f"{self.path} belongs to other texts or flags; use those again, or a new --path")

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _copy(values: np.ndarray, target: np.ndarray) -> None:
    if values.shape != target.shape or values.dtype != target.dtype or not np.isfinite(values).all():
        raise ValueError("other numbers")
    target[:] = values

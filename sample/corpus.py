"""`python -m sample --out D` writes a corpus of synthetic newswire in the layout of the real data.

The corpus has the structure that the paper exploits, so that its claims can be checked in minutes on a CPU:
each highlight rewrites one article sentence, the number of highlights follows from what the article reports,
names and numbers must be copied, retellings of key sentences tempt a summariser to repeat itself. Article i
of a split depends on the seed, the split and i alone. `python -m report.corpus D` describes the result;
sample/__init__.py tells how to add templates and story kinds.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from cytoolz import partition_all

from data.articles import Article, article_path, count_articles, write_article
from data.count_words import write_word_counts
from data.vocabulary import COUNTS_FILE
from sample import RECIPE_FILE, library
from sample.article import compose
from support.errors import UserError
from support.files import atomic_directory, atomic_file, read_json, write_json
from support.flags import flag, parse
from support.parallel import available_cores, map_pieces

MANIFEST_FILE = "manifest.tsv"
_PIECE = 200  # articles written at a time by a worker
VOCABULARY_SIZE = 2500  # words seen about 40 times or more in the default corpus; the rest is left to copying


@dataclass(frozen=True, kw_only=True)
class Flags:
    out: str = flag(help="where the corpus goes", env="DATA")
    train: int = flag(6000, "training articles", at_least=1)
    val: int = flag(400, "validation articles", at_least=1)
    test: int = flag(400, "test articles", at_least=1)
    seed: int = flag(0, "another seed gives another corpus")
    workers: int = flag(available_cores(), "processes; the corpus does not depend on them", at_least=1)
    force: bool = flag(False, "replace what --out already holds")


class Recipe(NamedTuple):
    """What the bytes of a corpus depend on."""

    seed: int
    train: int
    val: int
    test: int
    generator: str  # digest of the program and its texts

    @property
    def sizes(self) -> dict[str, int]:
        return {"train": self.train, "val": self.val, "test": self.test}


def sample_article(seed: int, split: str, index: int) -> Article:
    name = f"sample-{seed}-{split}-{index}"
    story = compose(Random(name))
    return Article(id=name, article=story.sentences, abstract=story.highlights)


def generator_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(library.FOLDER.glob("*.*")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def write_sample(out: str | Path, recipe: Recipe, workers: int = 1, force: bool = False) -> bool:
    """Writes the corpus unless it is there already; what else is in the way is replaced only if `force`."""
    out = Path(out).resolve()
    occupied = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if occupied and not force:
        if _holds(out, recipe):
            return False
        what = f"{out} holds something else (by its {RECIPE_FILE})"
        raise UserError(f"{what}; choose another --out, or replace it by --force")
    try:
        if occupied:
            _replace_parts(out, recipe, workers)
        else:
            with atomic_directory(out) as folder:
                _write(folder, recipe, workers)
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror or error}") from None
    return True


def _holds(out: Path, recipe: Recipe) -> bool:
    if not (out / RECIPE_FILE).is_file() or read_json(out / RECIPE_FILE) != recipe._asdict():
        return False
    whole = all((out / name).is_file() for name in (COUNTS_FILE, MANIFEST_FILE))
    return whole and all(count_articles(out / split) == size for split, size in recipe.sizes.items())


def _replace_parts(out: Path, recipe: Recipe, workers: int) -> None:
    """Replaces the files of a corpus and leaves others alone; the recipe, the sign of success, comes last."""
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        _write(Path(folder), recipe, workers)
        for name in (RECIPE_FILE, *recipe.sizes, COUNTS_FILE, MANIFEST_FILE):
            _remove(out / name)
        for name in (*recipe.sizes, COUNTS_FILE, MANIFEST_FILE, RECIPE_FILE):
            os.replace(Path(folder) / name, out / name)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(folder: Path, recipe: Recipe, workers: int) -> None:
    library.library()  # a mistake in the texts is found before any worker starts
    for split in recipe.sizes:
        (folder / split).mkdir()
    articles = [(split, index) for split, size in recipe.sizes.items() for index in range(size)]
    write, pieces = partial(_write_piece, folder, recipe.seed), partition_all(_PIECE, articles)
    with atomic_file(folder / MANIFEST_FILE) as manifest:
        for piece, ids in map_pieces(write, pieces, workers, "writing newswire", len(articles)):
            manifest.writelines(f"{split}\t{i}\t{id}\n" for (split, i), id in zip(piece, ids, strict=True))
    write_word_counts(folder, workers)
    write_json(folder / RECIPE_FILE, recipe._asdict())


def _write_piece(folder: Path, seed: int, piece: tuple[tuple[str, int], ...]) -> list[str]:
    """Writes these articles, returns their ids."""
    articles = [sample_article(seed, split, index) for split, index in piece]
    for (split, index), article in zip(piece, articles, strict=True):
        write_article(article_path(folder, split, index), article)
    return [article.id for article in articles]


def main() -> None:
    flags = parse(Flags, "Writes a corpus of synthetic newswire in the layout of the real data.")
    recipe = Recipe(flags.seed, flags.train, flags.val, flags.test, generator_digest())
    written = write_sample(flags.out, recipe, flags.workers, flags.force)
    sizes = ", ".join(f"{size:,} {split}" for split, size in recipe.sizes.items())
    print(f"{flags.out}: {sizes} articles {'written' if written else 'are there already'}")


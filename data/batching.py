"""What the three training stages read: seeded, resumable streams of batches on torch's DataLoader.

Supervised stages bucket by length as released: 6400 articles at a time are sorted, cut into batches, and the
batches are shuffled.  The order depends on the seed and the epoch alone; worker processes never change it.
"""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from data.collate import ALL_ROWS, collate_articles, collate_extraction, collate_pairs
from data.documents import Ints, cut, offsets, ranges
from data.store import TokenStore
from data.vocabulary import Vocabulary
from model.batches import PAD, ArticleBatch, ExtractionBatch, RewritingBatch, SourceBatch
from support.errors import UserError
from support.progress import progress

HYPER_BATCH = 6400  # articles sorted together
TOGETHER = 4  # batches validated as one
Batch = TypeVar("Batch", covariant=True)


class RLBatch(NamedTuple):
    """Whole articles, and where they lie in the store."""

    articles: ArticleBatch
    indices: Tensor  # (B,) document in the store

    def to(self, device: torch.device) -> RLBatch:
        return RLBatch(self.articles.to(device), self.indices)


class BatchData(Protocol[Batch]):
    """Items 0 .. n-1 of some kind, in groups that are sorted together."""

    def __len__(self) -> int: ...

    def hyper_batches(self, random: np.random.Generator | None) -> list[Ints]:
        """Items in the order of batching, in an order without surprises if `random` is None."""

    def collate(self, items: Ints, rank: int, world: int) -> Batch:
        """The share of one of `world` processes in the batch of these items."""

    @property
    def together(self) -> int:
        """How many batches are validated as one, which is faster."""

    def collate_together(self, batches: list[Ints]) -> Batch:
        """Several batches as one; what depends on the batch, the numbers of unknown words, stays as it was."""


class ExtractionData:
    """Labelled articles for the extractor (Sec. 3.1)."""

    together = TOGETHER

    def __init__(
        self,
        store: TokenStore,
        vocabulary: Vocabulary,
        max_words: int | None = 100,
        max_sentences: int | None = 60,
    ) -> None:
        self.store, self.word_map = store, store.map_to(vocabulary)
        self.max_words, self.max_sentences = max_words, max_sentences
        self.indices = _labelled(store)
        self._sizes = cut(store.articles.sentence_counts_of(self.indices), max_sentences)

    def __len__(self) -> int:
        return len(self.indices)

    def hyper_batches(self, random: np.random.Generator | None) -> list[Ints]:
        return [part[np.argsort(self._sizes[part], kind="stable")] for part in parts(len(self), random)]

    def collate(self, items: Ints, rank: int, world: int) -> ExtractionBatch:
        indices = self.indices[items[rank::world]]
        return collate_extraction(self.store, self.word_map, indices, self.max_words, self.max_sentences)

    def collate_together(self, batches: list[Ints]) -> ExtractionBatch:
        return self.collate(np.concatenate(batches), 0, 1)


class RewritingData:
    """Pairs of an extracted article sentence and its abstract sentence, for the abstractor (Sec. 3.1)."""

    together = 2 * TOGETHER  # sentences are small

    def __init__(
        self, store: TokenStore, vocabulary: Vocabulary, max_art: int | None = 100, max_abs: int | None = 30
    ) -> None:
        self.store, self.word_map, self.V = store, store.map_to(vocabulary), len(vocabulary)
        self.max_art, self.max_abs = max_art, max_abs
        self.pairs, self._pair_offsets = _pairs(store, _labelled(store))
        self._source_lengths = cut(store.articles.sentence_lengths_of(self.pairs[:, 0]), max_art)
        self._target_lengths = cut(store.abstracts.sentence_lengths_of(self.pairs[:, 1]), max_abs)

    def __len__(self) -> int:
        return len(self.pairs)

    def hyper_batches(self, random: np.random.Generator | None) -> list[Ints]:
        return [self._sorted(articles) for articles in parts(len(self._pair_offsets) - 1, random)]

    def _sorted(self, articles: Ints) -> Ints:
        starts = self._pair_offsets[articles]
        items = ranges(starts, self._pair_offsets[articles + 1] - starts)
        return items[np.lexsort((self._source_lengths[items], self._target_lengths[items]))]

    def collate(self, items: Ints, rank: int, world: int) -> RewritingBatch:
        rows = slice(rank, None, world) if world > 1 else ALL_ROWS
        pairs = self.pairs[items]
        return collate_pairs(self.store, self.word_map, pairs, self.V, self.max_art, self.max_abs, rows)

    def collate_together(self, batches: list[Ints]) -> RewritingBatch:
        return join_pairs([self.collate(items, 0, 1) for items in batches])


class ArticleData:
    """Whole articles that have an abstract, for reinforcement learning (Sec. 3.2)."""

    def __init__(
        self, store: TokenStore, vocabulary: Vocabulary, max_sentences: int | None = None, together: int = TOGETHER
    ) -> None:
        self.together = together
        self.store, self.word_map, self.max_sentences = store, store.map_to(vocabulary), max_sentences
        self.indices = _complete(store)
        if len(self.indices) == 0:
            raise UserError(f"{store.name} has no article with an abstract")

    def __len__(self) -> int:
        return len(self.indices)

    def hyper_batches(self, random: np.random.Generator | None) -> list[Ints]:
        return [np.arange(len(self)) if random is None else random.permutation(len(self))]

    def collate(self, items: Ints, rank: int, world: int) -> RLBatch:
        indices = self.indices[items[rank::world]]
        articles = collate_articles(self.store, self.word_map, indices, max_sentences=self.max_sentences)
        return RLBatch(articles, torch.from_numpy(indices))

    def collate_together(self, batches: list[Ints]) -> RLBatch:
        return self.collate(np.concatenate(batches), 0, 1)


def training_batches(
    data: BatchData[Batch],
    batch_size: int,
    seed: int,
    start: int = 0,
    workers: int = 0,
    rank: int = 0,
    world: int = 1,
) -> Iterator[Batch]:
    """Endless; `start` batches are skipped without being made.  Each process gets its rows of every batch."""
    if batch_size < world:
        raise UserError(f"a batch of {batch_size} cannot be shared by {world} processes; give a larger --batch")
    if len(data) == 0:
        raise UserError("the training set has nothing to learn from: every article, abstract or pair is empty")
    if len(data) < world:
        raise UserError(f"{len(data)} training items cannot be shared by {world} processes")
    collate = partial(data.collate, rank=rank, world=world)
    return _load(collate, _training_order(data, batch_size, seed, start, world), workers)


def validation_batches(
    data: BatchData[Batch], batch_size: int, workers: int = 0, rank: int = 0, world: int = 1
) -> Generator[Batch, None, None]:
    """One pass in a fixed order, `data.together` batches at a time; every process gets every `world`-th of these."""
    batches = [
        part[start : start + batch_size]
        for part in data.hyper_batches(None)
        for start in range(0, len(part), batch_size)
    ]
    groups = [batches[start : start + data.together] for start in range(0, len(batches), data.together)][rank::world]
    sizes = [sum(map(len, group)) for group in groups]
    bar: tqdm[Any] = progress(None, "validation", sum(sizes), "item", passing=True)
    bar.disable = bar.disable or rank > 0
    with bar:
        for size, batch in zip(sizes, _load(data.collate_together, iter(groups), workers), strict=True):
            yield batch
            bar.update(size)


def _training_order(data: BatchData[Any], batch_size: int, seed: int, start: int, world: int = 1) -> Iterator[Ints]:
    """Every batch has an item for every process."""
    for epoch in itertools.count():
        random = np.random.default_rng([seed, epoch])
        batches = [
            batch
            for part in data.hyper_batches(random)
            if len(part) >= world
            for batch in _shuffled(np.array_split(part, min(-(-len(part) // batch_size), len(part) // world)), random)
        ]
        yield from batches[start:]
        start = max(0, start - len(batches))


def _shuffled(batches: list[Ints], random: np.random.Generator) -> list[Ints]:
    return [batches[place] for place in random.permutation(len(batches))]


class _Batches(Dataset[Batch], Generic[Batch]):
    """Looked up by arrays of items, so that a whole batch is made at once, in a worker if there are any."""

    def __init__(self, collate: Callable[[Any], Batch]) -> None:
        self.collate = collate

    def __getitem__(self, items: Any) -> Batch:
        return self.collate(items)


def _load(collate: Callable[[Any], Batch], order: Iterator[Any], workers: int) -> Iterator[Batch]:
    loader: DataLoader[Batch] = DataLoader(
        _Batches(collate),
        batch_size=None,
        sampler=cast(Any, order),
        num_workers=workers,
        collate_fn=cast(Any, _as_is),
        generator=torch.Generator(),  # the global one stays as it is, also when a run resumes
        worker_init_fn=_ignore_signals,
    )
    return iter(loader)


def _as_is(batch: Any) -> Any:
    return batch


def _ignore_signals(_worker: int) -> None:
    """Terminals and schedulers send them to every process of a job; a worker lives until its trainer has saved."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def join_pairs(batches: list[RewritingBatch]) -> RewritingBatch:
    """One batch, longest targets first; every row keeps the numbers that its batch gave to unknown words."""
    S, T = (max(widths) for widths in zip(*((b.source.words.size(1), b.inputs.size(1)) for b in batches), strict=True))
    lengths = torch.cat([batch.lengths for batch in batches])
    rows = torch.argsort(lengths, descending=True, stable=True)

    def join(fields: Iterable[Tensor], width: int) -> Tensor:
        return torch.cat([F.pad(field, (0, width - field.size(1)), value=PAD) for field in fields])[rows]

    source = SourceBatch(
        words=join((batch.source.words for batch in batches), S),
        extended=join((batch.source.extended for batch in batches), S),
        lengths=torch.cat([batch.source.lengths for batch in batches])[rows],
        n_extra=torch.cat([batch.source.n_extra for batch in batches])[rows],
    )
    inputs, targets = (join([getattr(batch, field) for batch in batches], T) for field in ("inputs", "targets"))
    return RewritingBatch(source, inputs, targets, lengths[rows])


def parts(count: int, random: np.random.Generator | None) -> list[Ints]:
    order = np.arange(count) if random is None else random.permutation(count)
    return [order[start : start + HYPER_BATCH] for start in range(0, count, HYPER_BATCH)]


def _complete(store: TokenStore) -> Ints:
    """Documents of which neither article nor abstract is empty."""
    return np.flatnonzero((store.articles.sentence_counts > 0) & (store.abstracts.sentence_counts > 0))


def _labelled(store: TokenStore) -> Ints:
    complete = _complete(store)
    missing = int((np.diff(store.label_offsets)[complete] == 0).sum())
    if missing or len(complete) == 0:
        what = f"{missing} of {len(store)} articles of {store.name} have" if missing else f"{store.name} has"
        raise UserError(f"{what} no labels; make_extraction_labels.py adds them")
    return complete


def _pairs(store: TokenStore, articles: Ints) -> tuple[Ints, Ints]:
    """Pairs (n, 2) of article and abstract sentence, neither empty, and where each article's pairs begin."""
    starts = store.label_offsets[articles]
    counts = store.label_offsets[articles + 1] - starts
    firsts = store.articles.document_offsets[articles]
    sources = np.repeat(firsts, counts) + store.labels[ranges(starts, counts)]
    targets = ranges(store.abstracts.document_offsets[articles], counts)
    lengths = store.articles.sentence_lengths_of(sources), store.abstracts.sentence_lengths_of(targets)
    full = (lengths[0] > 0) & (lengths[1] > 0)
    owners = np.repeat(np.arange(len(articles)), counts)[full]
    return np.stack([sources, targets], axis=1)[full], offsets(np.bincount(owners, minlength=len(articles)))

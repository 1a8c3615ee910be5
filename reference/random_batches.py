"""Random batches of any size for tests and benchmarks."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from model.batches import END, START, UNK, ArticleBatch, ExtractionBatch, RewritingBatch, SourceBatch, mask_of
from model.windows import MIN_WIDTH

Range = tuple[int, int]  # the second one excluded


def random_words(generator: Generator, lengths: Tensor, vocab_size: int) -> Tensor:
    """Right-padded ids; frequent words are frequent, as in text."""
    words = torch.zeros(len(lengths), int(lengths.max()), dtype=torch.long)
    n = int(lengths.sum())
    span = torch.tensor(float(vocab_size - 4)).log()
    ids = (torch.rand(n, generator=generator) * span).exp().long() + 3
    words[mask_of(lengths)] = ids.clamp(4, vocab_size - 1)
    return words


def random_articles(
    seed: int, batch: int, vocab_size: int, sentences: Range = (5, 45), words: Range = (4, 45)
) -> ArticleBatch:
    generator = Generator().manual_seed(seed)
    counts = torch.randint(*sentences, (batch,), generator=generator)
    lengths = torch.randint(*words, (int(counts.sum()),), generator=generator)
    widths = torch.cat([own.max().clamp(min=MIN_WIDTH).expand(len(own)) for own in lengths.split(counts.tolist())])
    ids = random_words(generator, lengths, vocab_size)
    ids = torch.nn.functional.pad(ids, (0, int(widths.max()) - ids.size(1)))
    return ArticleBatch(ids, lengths, widths, counts)


def random_extraction(seed: int, batch: int, vocab_size: int, labels: int = 4, **sizes: Range) -> ExtractionBatch:
    articles = random_articles(seed, batch, vocab_size, **sizes)
    generator = Generator().manual_seed(seed + 1)
    targets = torch.full((batch, labels), -1)
    for row, count in enumerate(articles.counts.tolist()):
        n = min(count, int(torch.randint(1, labels + 1, (1,), generator=generator)))
        targets[row, :n] = torch.randperm(count, generator=generator)[:n]
    return ExtractionBatch(articles, targets)


def random_pairs(
    seed: int, batch: int, vocab_size: int, source: Range = (5, 40), target: Range = (3, 25), extra: int = 3
) -> RewritingBatch:
    """Some source words lie outside the vocabulary, and some targets copy them."""
    generator = Generator().manual_seed(seed)
    lengths = torch.randint(*source, (batch,), generator=generator)
    extended = random_words(generator, lengths, vocab_size)
    outside = (torch.rand(extended.shape, generator=generator) < 0.1) & mask_of(lengths)
    extended[outside] = vocab_size + torch.randint(0, extra, (int(outside.sum()),), generator=generator)
    steps = torch.randint(*target, (batch,), generator=generator).sort(descending=True).values
    targets = random_words(generator, steps, vocab_size)
    copied = (torch.rand(targets.shape, generator=generator) < 0.5) & mask_of(steps)
    rows = copied.nonzero()[:, 0]
    targets[copied] = extended[rows, (torch.rand(len(rows), generator=generator) * lengths[rows]).long()]
    targets[torch.arange(batch), steps - 1] = END
    inputs = torch.cat([torch.full((batch, 1), START), targets[:, :-1]], 1)
    words, inputs = (ids.masked_fill(ids >= vocab_size, UNK) for ids in (extended, inputs))
    n_extra = torch.full((batch,), extra)
    return RewritingBatch(SourceBatch(words, extended, lengths, n_extra), inputs, targets, steps)

"""Random batches of any size for tests and benchmarks."""

from __future__ import annotations

import torch

from model.batches import END, START, UNK, ArticleBatch, ExtractionBatch, RewritingBatch, SourceBatch, mask_of
from model.windows import MIN_WIDTH


def random_words(generator, lengths, vocab_size):
    """Right-padded ids; frequent words are frequent, as in text."""
    words = torch.zeros(len(lengths), int(lengths.max()), dtype=torch.long)
    n = int(lengths.sum())
    span = torch.tensor(float(vocab_size - 4)).log()
    ids = (torch.rand(n, generator=generator) * span).exp().long() + 3
    words[mask_of(lengths)] = ids.clamp(4, vocab_size - 1)
    return words


def random_articles(seed, batch, vocab_size, sentences=(5, 45), words=(4, 45)) -> ArticleBatch:
    generator = torch.Generator().manual_seed(seed)
    counts = torch.randint(*sentences, (batch,), generator=generator)
    lengths = torch.randint(*words, (int(counts.sum()),), generator=generator)
    widths = torch.cat([own.max().clamp(min=MIN_WIDTH).expand(len(own)) for own in lengths.split(counts.tolist())])
    ids = random_words(generator, lengths, vocab_size)
    ids = torch.nn.functional.pad(ids, (0, int(widths.max()) - ids.size(1)))
    return ArticleBatch(ids, lengths, widths, counts)


def random_extraction(seed, batch, vocab_size, labels=4, **sizes) -> ExtractionBatch:
    articles = random_articles(seed, batch, vocab_size, **sizes)
    generator = torch.Generator().manual_seed(seed + 1)
    targets = torch.full((batch, labels), -1)
    for row, count in enumerate(articles.counts.tolist()):
        n = min(count, int(torch.randint(1, labels + 1, (1,), generator=generator)))
        targets[row, :n] = torch.randperm(count, generator=generator)[:n]
    return ExtractionBatch(articles, targets)


def random_pairs(seed, batch, vocab_size, source=(5, 40), target=(3, 25), extra=3) -> RewritingBatch:
    """Some source words lie outside the vocabulary, and some targets copy them."""
    generator = torch.Generator().manual_seed(seed)
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
    inside = lambda ids: ids.masked_fill(ids >= vocab_size, UNK)  # noqa: E731
    n_extra = torch.full((batch,), extra)
    return RewritingBatch(SourceBatch(inside(extended), extended, lengths, n_extra), inside(inputs), targets, steps)

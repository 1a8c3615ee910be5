"""The summarizer for torch.hub, with its weights.

    summarizer = torch.hub.load(REPOSITORY, "fast_abs_rl", source="local")
    print(summarizer.summarize_raw(open("article.txt").read()))
"""

from __future__ import annotations

from dataclasses import replace

from decoding import INDEPENDENT, Summarizer

dependencies = ["torch", "numpy", "tqdm", "cytoolz"]


def fast_abs_rl(beam: int = 1, n_sentences: int | None = None, device: str = "cpu") -> Summarizer:
    """rnn-ext + abs + RL (pretrained/README.md): `beam` above 1 reranks, `n_sentences` None lets the agent decide."""
    return Summarizer.pretrained(replace(INDEPENDENT, beam=beam, n_sentences=n_sentences), device)

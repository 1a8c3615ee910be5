"""Summarises a split without reinforcement learning: lead, ff-ext or rnn-ext, each with or without the abstractor.

Sentence k of every summary goes to output_k, so that eval_baselines.py --n_ext can score any number of sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoding import BASELINE_SENTENCES, Options, SummarizerBuilder
from inference.output import DecodeDirectory
from inference.split_decoding import DecodeFlags, decode_split
from support.errors import run
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags(DecodeFlags):
    ext_dir: str | None = flag(None, "directory that train_extractor_ml.py wrote (default: the first sentences)")
    abs_dir: str | None = flag(None, "directory that train_abstractor.py wrote (default: extractive)")
    n_ext: int = flag(BASELINE_SENTENCES, "sentences to extract, each into its own folder", at_least=1, below=1001)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    options = Options(
        max_words=flags.max_dec_word,
        n_sentences=flags.n_ext,
        batch=flags.batch,
        batch_invariant=flags.batch_invariant,
    )
    settings = {"rl": False, "beam": 1, "n_ext": flags.n_ext, **flags.settings()}
    builder = SummarizerBuilder(options=options, ext_dir=flags.ext_dir, abs_dir=flags.abs_dir)
    decode_split(flags, builder, DecodeDirectory(flags.path, n_outputs=flags.n_ext), settings, flags.batch)


if __name__ == "__main__":
    run(main)

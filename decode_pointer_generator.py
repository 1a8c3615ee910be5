"""Summarises a split with the flat baseline, the pointer-generator of See et al. (2017), by their beam search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from checkpoints.directory import load
from checkpoints.networks import POINTER_GENERATOR
from inference.flat import FlatOptions, FlatSummarizer
from inference.output import DecodeDirectory
from inference.split_decoding import Builder, Built, SplitFlags, decode_split
from model.pointer_generator import PointerGenerator
from support.errors import UserError, run
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags(SplitFlags):
    model_dir: str = flag(help="directory that train_pointer_generator.py wrote")
    beam: int = flag(4, "beam size", source="Sec. 6.4", at_least=1)
    min_dec_word: int = flag(35, "fewest words of a summary", at_least=0)
    max_dec_word: int = flag(120, "most words of a summary", at_least=1, below=10**4)
    max_art: int = flag(400, "words read of an article", source="B.3", at_least=1)


@dataclass(frozen=True, kw_only=True)
class FlatBuilder(Builder):
    options: FlatOptions
    model_dir: str

    def build(self) -> Built:
        loaded = load(self.model_dir, nets=(POINTER_GENERATOR,), device=self.device)
        network = cast(PointerGenerator, loaded.network)
        return Built(FlatSummarizer(network, loaded.vocabulary, self.options), loaded, None)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    if flags.min_dec_word > flags.max_dec_word:
        raise UserError(f"--min_dec_word {flags.min_dec_word} is above --max_dec_word {flags.max_dec_word}")
    options = FlatOptions(
        beam=flags.beam,
        min_words=flags.min_dec_word,
        max_words=flags.max_dec_word,
        max_article_words=flags.max_art,
    )
    settings = {
        "rl": False,
        "beam": flags.beam,
        "min_dec_word": flags.min_dec_word,
        "max_dec_word": flags.max_dec_word,
        "max_art": flags.max_art,
    }
    builder = FlatBuilder(options=options, model_dir=flags.model_dir)
    decode_split(flags, builder, DecodeDirectory(flags.path), settings)


if __name__ == "__main__":
    run(main)

"""Summarises a split with the full model (Sec. 2): the agent extracts, the abstractor rewrites, --beam reranks."""

from __future__ import annotations

from dataclasses import dataclass

from decoding import Options, SummarizerBuilder
from inference.output import DecodeDirectory
from inference.split_decoding import DecodeFlags, decode_split
from support.errors import run
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags(DecodeFlags):
    model_dir: str = flag(help="directory that train_full_rl.py wrote")
    beam: int = flag(1, "beam size; above 1 with reranking (paper: 5)", source="B.2", at_least=1)
    div: float = flag(1.0, "diversity penalty of the beam search", source="Sec. 3.3")
    n_ext: int | None = flag(None, "extract exactly this many sentences (default: the agent decides)", at_least=1)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    options = Options(
        beam=flags.beam,
        diversity=flags.div,
        max_words=flags.max_dec_word,
        n_sentences=flags.n_ext,
        batch=flags.batch,
        batch_invariant=flags.batch_invariant,
    )
    settings = {"rl": True, "beam": flags.beam, "diverse": flags.div, "n_ext": flags.n_ext, **flags.settings()}
    builder = SummarizerBuilder(options=options, model_dir=flags.model_dir)
    decode_split(flags, builder, DecodeDirectory(flags.path), settings, flags.batch)


if __name__ == "__main__":
    run(main)

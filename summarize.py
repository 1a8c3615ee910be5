"""Summarises texts: files, folders of them, or standard input (`-`).

    python summarize.py article.txt
    python summarize.py article.txt other.txt folder/ --format html --output summaries.html
    python summarize.py folder/ --output summaries/     a file for each text; run it again to continue
    python summarize.py --ext_dir runs/ext --abs_dir runs/abs article.txt     models without reinforcement learning
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from checkpoints.shipped import pretrained_directory
from data.tokenizer import CHOICES, resolve
from inference.doubts import doubts
from inference.input_texts import read_texts
from inference.raw_text import RawSentence, read_articles
from support.devices import DeviceFlags
from support.errors import UserError, run
from support.flags import flag, parse
from support.parallel import available_cores, map_pieces

if TYPE_CHECKING:  # torch takes seconds: what can be said or begun without it comes first
    from decoding import Summarizer, SummarizerBuilder
    from inference.readable import Readable
    from inference.split_decoding import Built
    from inference.summary_files import Item, Results

_FEW = 32  # texts that one process with one thread summarises at once
_PIECE = 32  # texts that a process takes at a time, and that are written together


@dataclass(frozen=True, kw_only=True)
class Flags(DeviceFlags):
    inputs: tuple[str, ...] = flag((), "text files, folders of them, - for standard input (default)", positional=True)
    input: str | None = flag(None, "one more of INPUTS; version 1.0 had only this")
    model_dir: str | None = flag(None, "directory that train_full_rl.py wrote (default: pretrained/)")
    ext_dir: str | None = flag(None, "directory that train_extractor_ml.py wrote, instead of --model_dir")
    abs_dir: str | None = flag(None, "directory that train_abstractor.py wrote; alone, it rewrites the lead")
    extractive: bool = flag(False, "leave the extracted sentences as they are")
    output: str | None = flag(None, "file for the result, or folder/ for a file each (default: standard output)")
    format: str = flag("text", "text, json, or html, which shows where each sentence comes from",
                       choices=("text", "json", "html"))
    beam: int = flag(1, "beam size; above 1 with reranking (paper: 5)", source="B.2", at_least=1)
    div: float = flag(1.0, "diversity penalty of the beam search", source="Sec. 3.3")
    n_ext: int | None = flag(None, "extract exactly this many sentences (default: the agent decides)", at_least=1)
    max_dec_word: int = flag(30, "most words of a rewritten sentence", source="B.2", at_least=1, below=10**4)
    tokenizer: str = flag("auto", "stanford needs Java; none: every line is a tokenised sentence", choices=CHOICES)
    workers: int | None = flag(None, "processes for many texts on the CPU (default: all cores)", at_least=1)

    def all_inputs(self) -> list[str]:
        return [*self.inputs, *([self.input] if self.input else [])] or ["-"]

    def check(self) -> None:
        """Mistakes are reported before the work is done."""
        parts = self.ext_dir or self.abs_dir
        if self.model_dir and parts:
            raise UserError("--model_dir is a whole model; give it, or --ext_dir and --abs_dir")
        if self.extractive and self.abs_dir:
            raise UserError("--abs_dir rewrites and --extractive does not; leave one of them out")
        if self.output is not None:
            _check_output(Path(self.output), self.to_folder(), self.all_inputs())
        elif sys.stdout is None:
            raise UserError("standard output is closed; name a file by --output")

    def agent(self) -> str | None:
        """The directory of a whole model; None if its parts are named."""
        return None if self.ext_dir or self.abs_dir else self.model_dir or str(pretrained_directory())

    def to_stream(self) -> bool:
        """Whether the output must be written to, not replaced; the standard streams may be regular files."""
        if self.output is None or self.output.startswith(("/dev/stdout", "/dev/stderr", "/dev/fd/")):
            return True
        path = Path(self.output)
        return path.exists() and not path.is_file() and not path.is_dir()

    def to_folder(self) -> bool:
        return self.output is not None and (self.output.endswith("/") or Path(self.output).is_dir())


def _check_output(output: Path, folder: bool, inputs: list[str]) -> None:
    if any(os.path.realpath(source) == os.path.realpath(output) for source in inputs):
        raise UserError(f"--output {output} is an input, too; give another file or folder")
    if folder and output.exists() and not output.is_dir():
        raise UserError(f"--output {output} is a file, not a folder")
    if not output.resolve().parent.is_dir():
        raise UserError(f"--output {output}: its folder does not exist")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    flags.check()
    tokenizer = resolve(flags.tokenizer)
    texts = read_texts(flags.all_inputs())
    agent = flags.agent()
    with ExitStack() as stack:
        early: Future[list[list[RawSentence]]] | None = None
        if len(texts) <= _FEW:  # the tokenizer starts while torch does
            pool = stack.enter_context(ThreadPoolExecutor(1))
            early = pool.submit(read_articles, list(texts.values()), tokenizer)
        builder = _builder(flags, agent)
        built = _build(builder)
        resumable = [] if flags.to_stream() else [built.described(), asdict(builder.options), tokenizer, flags.format]
        items = _items(texts, resumable)
        results = _results(flags, items, stack)
        for line in doubts(texts):
            print(f"warning: {line}", file=sys.stderr)
        found: Iterable[tuple[Item, Readable]]
        if early:
            found = zip(items, _summarizer(built).summarize_readably(list(texts), early.result()), strict=True)
        else:
            missing = [item for item in items if item.key not in results.done]
            workers = (flags.workers or available_cores()) if builder.device == "cpu" else 1
            found = _in_pieces(builder, tokenizer, missing, workers)
            if len(missing) < len(items):
                print(f"{len(items) - len(missing):,} of {len(items):,} summaries are there already", file=sys.stderr)
        for item, summary in found:
            results.add(item.key, summary)
        results.close()


def _builder(flags: Flags, agent: str | None) -> SummarizerBuilder:
    import torch

    from decoding import Options, SummarizerBuilder
    from support.memory import keep_freed_memory

    keep_freed_memory()
    torch.set_num_threads(1)  # more make a short text slower, and many texts have a process each
    options = Options(
        beam=flags.beam,
        diversity=flags.div,
        max_words=flags.max_dec_word,
        n_sentences=flags.n_ext,
        batch_invariant=True,
    )
    return SummarizerBuilder(
        device=str(flags.pick_device()),
        options=options,
        model_dir=agent,
        ext_dir=flags.ext_dir,
        abs_dir=flags.abs_dir,
        extractive=flags.extractive,
    )


@lru_cache(maxsize=1)
def _build(builder: SummarizerBuilder) -> Built:
    """Once a process; a forked one has its parent's."""
    return builder.build()


def _summarizer(built: Built) -> Summarizer:
    return cast("Summarizer", built.summarizer)


def _in_pieces(
    builder: SummarizerBuilder, tokenizer: str, items: list[Item], workers: int
) -> Iterator[tuple[Item, Readable]]:
    """In order, by several processes."""
    from cytoolz import partition_all

    size = min(_PIECE, -(-len(items) // (4 * workers)) or 1)
    summarise = partial(_summarise, builder, tokenizer)
    pieces = partition_all(size, items)
    for piece, summaries in map_pieces(summarise, pieces, workers, "summarising", len(items), "text"):
        yield from zip(piece, summaries, strict=True)


def _summarise(builder: SummarizerBuilder, tokenizer: str, piece: Sequence[Item]) -> list[Readable]:
    articles = read_articles([item.text for item in piece], tokenizer)
    return _summarizer(_build(builder)).summarize_readably([item.name for item in piece], articles)


def _items(texts: dict[str, str], settings: list[Any]) -> list[Item]:
    from inference.summary_files import Item

    def key(name: str, text: str) -> str:
        decisive = json.dumps([name, text, settings, len(texts) == 1], sort_keys=True)
        return hashlib.blake2b(decisive.encode(), digest_size=16).hexdigest()

    return [Item(name, text, key(name, text)) for name, text in texts.items()]


def _results(flags: Flags, items: list[Item], stack: ExitStack) -> Results:
    from inference.summary_files import Folder, OneFile, Stream
    from inference.summary_formats import FORMATS

    form = FORMATS[flags.format]
    if flags.output is None:
        return Stream(sys.stdout.buffer, form, items)
    if flags.to_stream():
        return Stream(stack.enter_context(open(flags.output, "ab")), form, items)
    if flags.to_folder():
        return Folder(Path(flags.output), form, items)
    return OneFile(Path(flags.output).resolve(), form, items)


if __name__ == "__main__":
    run(main)

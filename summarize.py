"""Summarises raw text: a file, a folder of .txt files, or standard input.

    python summarize.py --model_dir pretrained/new --input article.txt
    python summarize.py --model_dir pretrained/new --input articles/ --format html --output summaries.html
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.tokenizer import CHOICES
from decoding import Options, Summarizer
from inference.raw_text import Casing, Pairs, RawSentence, join, read_articles, write_sentence
from inference.summary import Summary
from inference.summary_page import Shown, page
from support.devices import DeviceFlags
from support.errors import UserError, run
from support.files import atomic_file
from support.flags import flag, parse
from support.memory import keep_freed_memory


@dataclass(frozen=True, kw_only=True)
class Flags(DeviceFlags):
    model_dir: str = flag(help="directory that train_full_rl.py wrote")
    input: str | None = flag(None, "a text file, or a folder of .txt files (default: standard input)")
    output: str | None = flag(None, "file for the result (default: standard output)")
    format: str = flag("text", "text, json, or html, which shows where each sentence comes from",
                       choices=("text", "json", "html"))
    beam: int = flag(1, "beam size; above 1 with reranking (paper: 5)", source="B.2", at_least=1)
    div: float = flag(1.0, "diversity penalty of the beam search", source="Sec. 3.3")
    n_ext: int | None = flag(None, "extract exactly so many sentences (default: the agent decides)", at_least=1)
    max_dec_word: int = flag(30, "longest rewritten sentence", source="B.2", at_least=1)
    tokenizer: str = flag("auto", "stanford needs Java; none: every line is a tokenised sentence", choices=CHOICES)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    check_output(flags.output)
    keep_freed_memory()
    options = Options(
        beam=flags.beam,
        diversity=flags.div,
        max_words=flags.max_dec_word,
        n_sentences=flags.n_ext,
        batch_invariant=True,
    )
    summarizer = Summarizer.from_agent(flags.model_dir, options, flags.pick_device())
    texts = read_texts(flags.input)
    articles = read_articles(list(texts.values()), flags.tokenizer)
    summaries = summarizer.summarize_texts([[" ".join(s.words) for s in article] for article in articles])
    shown = [show(*item) for item in zip(texts, articles, summaries, strict=True)]
    write(flags.output, {"text": as_text, "json": as_json, "html": page}[flags.format](shown))


def show(name: str, article: list[RawSentence], summary: Summary) -> Shown:
    casing, pairs = Casing(article), Pairs(article)
    written = [write_sentence(sentence.words, casing, pairs, sentence.source) for sentence in summary.sentences]
    return Shown(name, [sentence.text for sentence in article], summary.sentences, written)


def as_text(articles: list[Shown]) -> str:
    bodies = ["\n".join(map(join, article.written)) for article in articles]
    if len(articles) == 1:
        return bodies[0] + "\n"
    return "\n".join(f"== {article.name}\n{body}\n" for article, body in zip(articles, bodies, strict=True))


def as_json(articles: list[Shown]) -> str:
    return json.dumps(list(map(_record, articles)), indent=4) + "\n"


def _record(shown: Shown) -> dict[str, Any]:
    """`sentences` as in alignment.jsonl (inference/output.py), with words and texts."""
    sentences = [
        {"text": join(written), "words": sentence.words, **sentence.alignment()}
        for sentence, written in zip(shown.summary, shown.written, strict=True)
    ]
    return {"name": shown.name, "article": shown.article, "sentences": sentences}


def read_texts(source: str | None) -> dict[str, str]:
    """Name -> text."""
    if source is None:
        return {"standard input": _decoded(sys.stdin.buffer.read(), "standard input")}
    path = Path(source)
    if not path.exists():
        raise UserError(f"--input {path} does not exist")
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"--input {path} holds no .txt file")
    return {file.name: _decoded(file.read_bytes(), str(file)) for file in files}


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{name} is not a text in UTF-8") from None


def check_output(output: str | None) -> None:
    """Mistakes are told before the work is done."""
    if output is None or _is_stream(output):
        return
    target = Path(output).resolve()
    if target.is_dir():
        raise UserError(f"--output {output} is a folder")
    if not target.parent.is_dir():
        raise UserError(f"--output {output}: its folder does not exist")


def _is_stream(output: str) -> bool:
    """Whether it must be written to, not replaced; the standard streams may be regular files."""
    path = Path(output)
    standard = output.startswith(("/dev/stdout", "/dev/stderr", "/dev/fd/"))
    return standard or (path.exists() and not path.is_file() and not path.is_dir())


def write(output: str | None, text: str) -> None:
    data = text.encode("utf-8", "replace")
    if output is None:
        sys.stdout.buffer.write(data)
    elif _is_stream(output):
        with open(output, "ab") as file:
            file.write(data)
    else:
        with atomic_file(Path(output).resolve(), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    run(main)

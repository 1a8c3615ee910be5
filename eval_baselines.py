"""Scores the best --n_ext sentences of decode_baselines.py's output: lead-3, ff-ext, rnn-ext (Sec. 5.2).

The merged summaries go to <decode_dir>/output_top<n>, the results to <decode_dir>/top<n>_rouge.txt and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inference.best_sentences import BaselineOutput
from metrics.evaluation import MetricFlags, check_tools, evaluate
from metrics.summaries import decoded_split, with_references
from support.errors import run
from support.files import atomic_directory
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags(MetricFlags):
    decode_dir: str = flag(help="the --path of decode_baselines.py")
    n_ext: int = flag(help="sentences of a summary", at_least=1)
    data_dir: str = flag(help="data set root with refs/ by make_eval_references.py", env="DATA")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    check_tools(flags)
    decode_dir = Path(flags.decode_dir)
    references = Path(flags.data_dir) / "refs" / decoded_split(decode_dir)
    summaries = merge_sentences(decode_dir, flags.n_ext)
    merged = decode_dir / f"output_top{flags.n_ext}"
    documents = with_references(summaries, decode_dir / "output_0", references)
    write_summaries(summaries, merged)
    evaluate(documents, flags, decode_dir, prefix=f"top{flags.n_ext}_")


def merge_sentences(decode_dir: Path, count: int) -> dict[int, str]:
    """The summaries of the best `count` sentences."""
    return {i: "\n".join(sentences) for i, sentences in BaselineOutput(decode_dir).summaries(count).items()}


def write_summaries(summaries: dict[int, str], path: Path) -> None:
    with atomic_directory(path) as folder:
        for i, text in summaries.items():
            (folder / f"{i}.dec").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    run(main)

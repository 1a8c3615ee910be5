"""Scores the best --n_ext sentences of decode_baselines.py's output: lead-3, ff-ext, rnn-ext (Sec. 5.2).

The merged summaries go to <decode_dir>/output_top<n>, the results to <decode_dir>/top<n>_rouge.txt and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inference.best_sentences import BaselineOutput
from metrics.evaluation import MetricFlags, check_tools, evaluate
from metrics.summaries import decoded_split, read_documents
from support.errors import run
from support.files import atomic_directory
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags(MetricFlags):
    decode_dir: str = flag(help="the --path of decode_baselines.py")
    n_ext: int = flag(help="sentences of a summary", at_least=1)
    data_dir: str = flag(help="dataset root with refs/ by make_eval_references.py", env="DATA")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    check_tools(flags)
    decode_dir = Path(flags.decode_dir)
    references = Path(flags.data_dir) / "refs" / decoded_split(decode_dir)
    merged = merge_sentences(decode_dir, flags.n_ext)
    evaluate(read_documents(merged, references), flags, decode_dir, prefix=f"top{flags.n_ext}_")


def merge_sentences(decode_dir: Path, count: int) -> Path:
    """The summaries of the best `count` sentences, as output_top<count>."""
    summaries = BaselineOutput(decode_dir).summaries(count)
    with atomic_directory(decode_dir / f"output_top{count}") as folder:
        for i, sentences in summaries.items():
            (folder / f"{i}.dec").write_text("\n".join(sentences), encoding="utf-8", newline="\n")
    return decode_dir / f"output_top{count}"


if __name__ == "__main__":
    run(main)

"""Scores the first --n_ext sentences of decode_baselines.py's output: lead-3, ff-ext, rnn-ext (Sec. 5.2).

The merged summaries go to <decode_dir>/output_top<n>, the results to <decode_dir>/top<n>_rouge.txt and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metrics.evaluation import MetricFlags, check_tools, evaluate
from metrics.summaries import decoded_split, read_documents, read_summaries
from support.errors import UserError, run
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
    """Joins output_0 ... output_{count-1}; an article of fewer sentences has no file in the later folders."""
    last = decode_dir / f"output_{count - 1}"
    if not last.is_dir():
        raise UserError(f"{last} does not exist: --n_ext {count} needs the folders output_0 to {last.name}")
    by_rank = [read_summaries(decode_dir / f"output_{rank}") for rank in range(count)]
    for rank in range(1, count):
        if orphans := sorted(by_rank[rank].keys() - by_rank[rank - 1].keys()):
            missing = decode_dir / f"output_{rank - 1}" / f"{orphans[0]}.dec"
            raise UserError(f"missing {missing}, although output_{rank} has {orphans[0]}.dec")
    with atomic_directory(decode_dir / f"output_top{count}") as folder:
        for i in by_rank[0]:
            sentences = [sentences[i] for sentences in by_rank if i in sentences]
            (folder / f"{i}.dec").write_text("\n".join(sentences), encoding="utf-8", newline="\n")
    return decode_dir / f"output_top{count}"


if __name__ == "__main__":
    run(main)

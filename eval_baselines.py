"""Scores the best --n_ext sentences of decode_baselines.py's output: lead-3, ff-ext, rnn-ext (Sec. 5.2).

The merged summaries go to <decode_dir>/output_top<n>, the results to <decode_dir>/top<n>_rouge.txt and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from checkpoints.directory import FF_EXTRACTOR
from inference.best_sentences import best_sentences
from inference.output import DecodeDirectory, Line
from metrics.evaluation import MetricFlags, check_tools, evaluate
from metrics.summaries import decoded_split, read_documents, read_summaries
from support.errors import UserError, run
from support.files import atomic_directory, read_json
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
    """Joins output_0 ... output_{count-1}, of ff-ext the best `count` of all; an article of fewer sentences has no
    file in the later folders."""
    last = decode_dir / f"output_{count - 1}"
    if not last.is_dir():
        raise UserError(f"{last} does not exist: --n_ext {count} needs the folders output_0 to {last.name}")
    lines = scored_sentences(decode_dir, count)
    n_folders = max((len(line["sentences"]) for line in lines.values()), default=count)
    by_rank = [read_summaries(decode_dir / f"output_{rank}") for rank in range(n_folders)]
    for rank in range(1, n_folders):
        if orphans := sorted(by_rank[rank].keys() - by_rank[rank - 1].keys()):
            missing = decode_dir / f"output_{rank - 1}" / f"{orphans[0]}.dec"
            raise UserError(f"missing {missing}, although output_{rank} has {orphans[0]}.dec")
    with atomic_directory(decode_dir / f"output_top{count}") as folder:
        for i in by_rank[0]:
            sentences = [sentences[i] for sentences in by_rank if i in sentences]
            places = best_sentences(lines[i], count, by_score=True) if i in lines else range(count)
            sentences = [sentences[place] for place in places if place < len(sentences)]
            (folder / f"{i}.dec").write_text("\n".join(sentences), encoding="utf-8", newline="\n")
    return decode_dir / f"output_top{count}"


def scored_sentences(decode_dir: Path, count: int) -> dict[int, Line]:
    """The alignment of an ff-ext of more than `count` sentences; of others nothing, since they begin with the best."""
    log = read_json(decode_dir / "log.json")
    n_ext = log.get("n_ext")
    if (log.get("extractor") or {}).get("net") != FF_EXTRACTOR or not isinstance(n_ext, int) or n_ext <= count:
        return {}
    return DecodeDirectory(decode_dir, n_ext).finished()


if __name__ == "__main__":
    run(main)

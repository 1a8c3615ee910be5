"""Scores the output of decode_full_model.py: ROUGE and METEOR against <data_dir>/refs/<split> (Sec. 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metrics.evaluation import MetricFlags, check_tools, evaluate
from metrics.summaries import decoded_split, read_documents
from support.errors import run
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags(MetricFlags):
    decode_dir: str = flag(help="the --path of decode_full_model.py")
    data_dir: str = flag(help="data set root with refs/ by make_eval_references.py", env="DATA")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    check_tools(flags)
    decode_dir = Path(flags.decode_dir)
    references = Path(flags.data_dir) / "refs" / decoded_split(decode_dir)
    evaluate(read_documents(decode_dir / "output", references), flags, decode_dir)


if __name__ == "__main__":
    run(main)

"""Scores any folder of outputs, such as those released with the paper: <i>.dec against <i>.ref (Sec. 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metrics.evaluation import MetricFlags, check_tools, evaluate
from metrics.summaries import read_documents
from support.errors import run
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags(MetricFlags):
    decode_dir: str = flag(help="folder of the .dec files; the results go there too")
    ref_dir: str = flag("acl18_results/reference", "folder of the .ref files")


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    check_tools(flags)
    evaluate(read_documents(flags.decode_dir, flags.ref_dir), flags, Path(flags.decode_dir))


if __name__ == "__main__":
    run(main)

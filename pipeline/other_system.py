"""Takes outputs of another system into a folder of runs, as a row that is evaluated and shown like the others.

    python -m pipeline.other_system --system "See et al." --outputs FOLDER --path runs/decode/see_et_al \\
                                    --data_dir data --split test
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metrics.outputs import REFERENCES, paired_documents, read_outputs
from support.errors import UserError, run
from support.files import atomic_directory, write_json
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags:
    system: str = flag(help="what it is called in the tables")
    outputs: str = flag(help="its summaries, in any form that eval_outputs.py reads")
    path: str = flag(help="decode directory of the row")
    data_dir: str = flag(help="data set root with refs/ by make_eval_references.py", env="DATA")
    split: str = flag(help="split that was summarised", choices=("val", "test"))


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    references = read_outputs(Path(flags.data_dir) / "refs" / flags.split, REFERENCES)
    documents = paired_documents(read_outputs(flags.outputs), references)
    if Path(flags.path).exists():
        raise UserError(f"{flags.path} is in use: remove it, or give another --path")
    with atomic_directory(flags.path) as folder:
        (folder / "output").mkdir()
        for document in documents:
            (folder / "output" / f"{document.id}.dec").write_text(document.summary, encoding="utf-8", newline="\n")
        write_json(folder / "log.json", {"system": flags.system, "split": flags.split, "outputs": flags.outputs})
    print(f"{len(documents):,} summaries of {flags.system}")


if __name__ == "__main__":
    run(main)

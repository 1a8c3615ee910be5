"""Chooses the number of sentences of a model without reinforcement learning on the validation set (B.2).

Reads the output_0, output_1 ... of decode_baselines.py; the best mean of ROUGE-1, ROUGE-2 and ROUGE-L F1 wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metrics.rouge import F, score_documents
from metrics.summaries import check_same_ids, decoded_split, read_references, read_summaries
from support.errors import UserError, run
from support.files import write_json
from support.flags import flag, parse


@dataclass(frozen=True, kw_only=True)
class Flags:
    decode_dir: str = flag(help="the --path of decode_baselines.py")
    path: str = flag(help="JSON file for the choice")
    data_dir: str = flag(help="data set root with refs/ by make_eval_references.py", env="DATA")


def mean_rouge(by_rank: Sequence[Mapping[int, str]], references: Mapping[int, Sequence[str]]) -> list[float]:
    """For 1, 2 ... sentences: `by_rank[k]` has sentence k of each article that has one."""
    summaries = {i: [sentences[i] for sentences in by_rank if i in sentences] for i in references}
    scores = []
    for count in range(1, len(by_rank) + 1):
        texts = (("\n".join(summaries[i][:count]), texts) for i, texts in references.items())
        scores.append(float(score_documents(texts)[:, :, F].mean()))
    return scores


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    folder = Path(flags.decode_dir)
    references = read_references(Path(flags.data_dir) / "refs" / decoded_split(folder))
    folders = sorted(folder.glob("output_[0-9]"))
    if not folders:
        raise UserError(f"{folder} has no output_0: is it the --path of decode_baselines.py?")
    by_rank = [read_summaries(part) for part in folders]
    check_same_ids(by_rank[0], f"{folders[0]}/{{}}.dec", references, "{}.ref")
    scores = mean_rouge(by_rank, references)
    best = max(range(len(scores)), key=scores.__getitem__) + 1
    Path(flags.path).parent.mkdir(parents=True, exist_ok=True)
    write_json(flags.path, {"n_ext": best, "mean_rouge": {n: round(100 * s, 3) for n, s in enumerate(scores, 1)}})
    values = ", ".join(f"{n}: {100 * score:.2f}" for n, score in enumerate(scores, 1))
    print(f"{best} sentences are best; mean ROUGE by number {values}")


if __name__ == "__main__":
    run(main)

"""Draws learning curves of training runs: rewards of reinforcement learning as in the supplement, or the loss.

    python -m report.curve models/rl                             writes models/rl/learning_curve.png
    python -m report.curve models/abs models/rl --out curves.svg

Training curves are means of consecutive updates, validation is drawn point by point. Below the average reward stand
the number of extracted sentences and how often the agent stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from report.charts import Metrics, has_curve, learning_curves, picture
from report.rows import MODEL_LABELS
from support.errors import UserError, run
from support.flags import flag, parse
from training.metrics_log import read_metrics

FORMATS = (".png", ".svg")


@dataclass(frozen=True, kw_only=True)
class Flags:
    model_dirs: tuple[Path, ...] = flag(help="the --path of a train script; several share a picture", positional=True)
    out: Path | None = flag(None, "png or svg file (default: learning_curve.png in the first directory)")


def main() -> None:
    flags = parse(Flags, __doc__ or "", prog="python -m report.curve")
    out = flags.out or flags.model_dirs[0] / "learning_curve.png"
    if out.suffix not in FORMATS:
        raise UserError(f"--out {out} must end in {' or '.join(FORMATS)}")
    if not out.parent.is_dir():
        raise UserError(f"--out {out}: its folder does not exist")
    runs = [logged(path) for path in flags.model_dirs]
    titles = [MODEL_LABELS.get(path.name, path.name) for path in flags.model_dirs] if len(runs) > 1 else [""]
    picture(learning_curves(list(zip(titles, runs, strict=True))), out)
    print(out)


def logged(model_dir: Path) -> Metrics:
    path = model_dir / "metrics.jsonl"
    if not path.is_file():
        raise UserError(f"{path} does not exist: give a directory that a train script wrote")
    metrics = read_metrics(path)
    if not has_curve(metrics):
        raise UserError(f"{path} has neither reward nor loss yet: let the training run for some updates")
    return metrics


if __name__ == "__main__":
    run(main)

"""Draws the learning curve of a training run, as in the supplement: average reward against updates.

    python -m report.curve models/rl                 writes models/rl/learning_curve.png
    python -m report.curve models/rl --format svg

Below the reward stand the number of extracted sentences and how often the agent stops. A run without rewards shows
its loss.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from report.charts import learning_curve, picture
from support.errors import UserError, run
from training.metrics_log import read_metrics


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m report.curve", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model_dir", type=Path, help="the --path of a train script")
    parser.add_argument("--format", choices=("png", "svg"), default="png", help="(default %(default)s)")
    args = parser.parse_args()
    metrics = args.model_dir / "metrics.jsonl"
    if not metrics.is_file():
        raise UserError(f"{metrics} does not exist: give a directory that a train script wrote")
    figure = learning_curve(read_metrics(metrics))
    if figure is None:
        raise UserError(f"{metrics} has neither reward nor loss yet: let the training run for some updates")
    path = args.model_dir / f"learning_curve.{args.format}"
    picture(figure, path)
    print(path)


if __name__ == "__main__":
    run(main)

"""Charts: learning curves, numbers and positions of extracted sentences, novelty.

Drawn by matplotlib, as a picture file or as SVG inside a page, where colours become CSS variables so that the page's
light and dark themes apply to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import PercentFormatter

from metrics.ngram_table import REFERENCE_ROW
from support.files import atomic_file

Metrics = Sequence[Mapping[str, float]]  # lines of metrics.jsonl

INK, GRID = "#30343a", "#dfe2e6"
SERIES = ("#2f6db5", "#cf5b2a", "#3b8a55", "#8a55a6", "#97780f", "#6b7480")
_VARIABLES = {INK: "--ink", GRID: "--grid"} | {colour: f"--series-{k}" for k, colour in enumerate(SERIES)}
_POINTS = 60  # of a training curve, after averaging
_MOST_TICKS = 16
_WIDTH, _HEIGHT = 5.6, 2.9  # inches
_STYLE: dict[str, Any] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.prop_cycle": cycler(color=SERIES),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "font.sans-serif": ["DejaVu Sans"],
    "svg.fonttype": "none",
}


def has_curve(metrics: Metrics) -> bool:
    return _has_rewards(metrics) or any("loss" in line for line in metrics)


def learning_curves(runs: Sequence[tuple[str, Metrics]]) -> Figure:
    """Titles and what was logged: rewards of reinforcement learning, else the loss; two runs in a row."""
    columns = min(2, len(runs))
    rows = -(-len(runs) // columns)
    heights = [1.75 * _HEIGHT if _has_rewards(metrics) else _HEIGHT for _, metrics in runs]
    row_heights = [max(heights[row * columns : (row + 1) * columns]) for row in range(rows)]
    with matplotlib.rc_context(_STYLE):
        figure = _figure(columns * _WIDTH, sum(row_heights))
        parts = figure.subfigures(rows, columns, squeeze=False, height_ratios=row_heights).flat
        for part, (title, metrics) in zip(parts, runs, strict=False):
            if title:
                part.suptitle(title, fontsize="medium")
            (_draw_rewards if _has_rewards(metrics) else _draw_loss)(part, metrics)
        return figure


def count_histogram(counts: Mapping[str, Sequence[int]]) -> Figure:
    """Name -> sentences of each summary."""
    highest = max(max(values) for values in counts.values())
    shares = {name: np.bincount(values, minlength=highest + 1) / len(values) for name, values in counts.items()}
    lowest = min(min(values) for values in counts.values())
    ticks = list(range(lowest, highest + 1))
    rows = {name: (100 * values[lowest:]).tolist() for name, values in shares.items()}
    return _bars(rows, [str(tick) for tick in ticks], "sentences of the summary", "articles (%)")


def position_chart(positions: Mapping[str, Sequence[int]], last: int = 20) -> Figure:
    """Name -> positions of all extracted sentences in their articles, from 0; the last point is all beyond."""
    with matplotlib.rc_context(_STYLE):
        figure = _figure()
        panel = figure.subplots()
        for name, found in positions.items():
            shares = np.bincount(np.minimum(found, last), minlength=last + 1) / max(1, len(found))
            panel.plot(range(1, last + 2), 100 * shares, marker="o", markersize=3, linewidth=1.6, label=name)
        ticks = [1, *range(5, last, 5)]
        panel.set_xticks([*ticks, last + 1], [*map(str, ticks), f">{last}"])
        panel.set(xlabel="position of the sentence in the article", ylabel="extracted sentences (%)")
        _legend(figure, len(positions))
        return figure


def novelty_chart(percentages: Mapping[str, Sequence[float]], orders: Sequence[int]) -> Figure:
    return _bars(percentages, [f"{order}-grams" for order in orders], "", "novel (%)")


def picture(figure: Figure, path: Path) -> None:
    """A file of the kind that its name ends in."""
    with atomic_file(path, "wb") as file, matplotlib.rc_context(_STYLE | {"svg.hashsalt": path.stem}):
        figure.savefig(file, format=path.suffix[1:], dpi=160, metadata=_no_date(path.suffix[1:]))


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """For a page: no fixed size, ids of its own, the page's colours and font."""
    buffer = StringIO()
    with matplotlib.rc_context(_STYLE | {"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata=_no_date("svg"))
    text = buffer.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    head = rf'<svg role="img" aria-label="{escape(description)}" viewBox="\1">'
    svg = re.sub(r'<svg[^>]*?viewBox="([^"]*)"[^>]*>', head, svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg


def _no_date(kind: str) -> dict[str, None]:
    return {"Date": None} if kind == "svg" else {}


def _figure(width: float = _WIDTH, height: float = _HEIGHT) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def _legend(figure: Figure, entries: int) -> None:
    """Above the chart, where it hides nothing."""
    figure.legend(loc="outside upper left", ncols=min(entries, 3) if entries < 4 else 2, fontsize=9)


def _has_rewards(metrics: Metrics) -> bool:
    return any("reward" in line for line in metrics)


def _draw_rewards(figure: FigureBase, metrics: Metrics) -> None:
    """Average reward against updates (supplement, RL learning curve), extracted sentences and stop rate."""
    panels = (("reward", "average reward"), ("extracted", "sentences"), ("stop_rate", "stop rate"))
    axes = figure.subplots(len(panels), 1, sharex=True, height_ratios=(2, 1, 1))
    for panel, (name, label) in zip(axes, panels, strict=True):
        _curve(panel, metrics, name, "training")
        _curve(panel, metrics, f"val_{name}", "validation")
        panel.set_ylabel(label)
    figure.align_ylabels(axes)
    axes[0].legend()
    axes[-1].set_xlabel("updates")
    axes[-1].yaxis.set_major_formatter(PercentFormatter(1.0))


def _draw_loss(figure: FigureBase, metrics: Metrics) -> None:
    panel = figure.subplots()
    _curve(panel, metrics, "loss", "training")
    _curve(panel, metrics, "val_metric", "validation")
    panel.set(xlabel="updates", ylabel="loss")
    panel.legend()


def _curve(panel: Axes, metrics: Metrics, name: str, label: str) -> None:
    """A training curve as means of consecutive updates, a validation curve point by point."""
    points = np.array([(line["step"], line[name]) for line in metrics if name in line])
    if not len(points):
        return
    if name.startswith("val_"):
        panel.plot(*points.T, marker="o", markersize=3.5, linewidth=1.4, color=SERIES[1], label=label)
        return
    means = [part.mean(axis=0) for part in np.array_split(points, min(_POINTS, len(points)))]
    panel.plot(*np.array(means).T, linewidth=1.4, color=SERIES[0], label=label)


def _bars(rows: Mapping[str, Sequence[float]], ticks: Sequence[str], x_label: str, y_label: str) -> Figure:
    """A group of bars for each tick, one bar a row."""
    with matplotlib.rc_context(_STYLE):
        figure = _figure()
        panel = figure.subplots()
        centres, width = np.arange(len(ticks)), 0.8 / len(rows)
        for k, (name, values) in enumerate(rows.items()):
            colour = SERIES[-1] if name == REFERENCE_ROW else SERIES[k]
            panel.bar(centres + (k - (len(rows) - 1) / 2) * width, values, width * 0.92, label=name, color=colour)
        step = -(-len(ticks) // _MOST_TICKS)
        panel.set_xticks(centres[::step], ticks[::step])
        panel.grid(axis="x", visible=False)
        panel.set(xlabel=x_label, ylabel=y_label)
        _legend(figure, len(rows))
        return figure

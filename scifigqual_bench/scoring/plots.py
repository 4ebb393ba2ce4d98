"""Plots of scores, written to PNG or SVG (by the file's ending). Needs matplotlib: ``scifigqual-bench[plots]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scifigqual_bench.drawing import BLUE, DARK, GREY, ORANGE, Target, new_figure, save_figure
from scifigqual_bench.rubric import BANDS, COLUMNS, SCALE_MAX, SCALE_MIN, SHORT_COLUMNS
from scifigqual_bench.scoring.agreement import Floats
from scifigqual_bench.scoring.align import ColumnScores
from scifigqual_bench.scoring.comparison import Comparison
from scifigqual_bench.scoring.report import Report
from scifigqual_bench.scoring.tables import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

JUDGE, RATERS, FLOOR, NEUTRAL = BLUE, ORANGE, GREY, DARK


def reliability(report: Report, path: Target) -> Path:
    """Mean gold for each predicted score, per column; the area of a dot is the number of figures.

    On the diagonal a score means what people mean by it; a flat line means that it says nothing.
    """

    def draw(axes: Axes, scores: ColumnScores) -> None:
        x, g = _answered(scores)
        axes.plot([SCALE_MIN, SCALE_MAX], [SCALE_MIN, SCALE_MAX], color=FLOOR, linewidth=1)
        rounded = np.rint(x)
        values, counts = np.unique(rounded, return_counts=True)
        means = [g[rounded == value].mean() for value in values]
        axes.plot(values, means, color=JUDGE, linewidth=1)
        axes.scatter(values, means, s=8 + 300 * counts / max(x.size, 1), color=JUDGE, alpha=0.7)
        axes.set(xlabel="prediction", ylabel="mean gold", xlim=(0.5, 10.5), ylim=(0.5, 10.5))
        axes.set(xticks=range(SCALE_MIN, SCALE_MAX + 1), yticks=range(SCALE_MIN, SCALE_MAX + 1), aspect="equal")

    return _by_column(report, path, draw, "Reliability: mean gold of each predicted score")


def error_by_gold_band(report: Report, path: Target) -> Path:
    """Mean signed error (prediction - gold) by band of the gold, with one standard deviation, per column."""

    def draw(axes: Axes, scores: ColumnScores) -> None:
        x, g = _answered(scores)
        axes.axhline(0, color=FLOOR, linewidth=1)
        labels = []
        for place, band in enumerate(BANDS[::-1]):
            inside = (np.rint(g) >= band.low) & (np.rint(g) <= band.high)
            labels.append(f"{band.label}\nn={np.count_nonzero(inside)}")
            if inside.any():
                error = x[inside] - g[inside]
                axes.bar(place, error.mean(), yerr=error.std(), color=JUDGE, ecolor=NEUTRAL, capsize=3, width=0.7)
        axes.set_xticks(range(len(labels)), labels)
        axes.set(xlabel="band of gold", ylabel="prediction - gold")

    return _by_column(report, path, draw, "Error by band of gold (n: figures; whiskers: one standard deviation)")


def bland_altman(report: Report, path: Target) -> Path:
    """Difference of prediction and gold against their mean, with the bias and 1.96 standard deviations, per column."""

    def draw(axes: Axes, scores: ColumnScores) -> None:
        x, g = _answered(scores)
        difference = x - g
        axes.scatter((x + g) / 2, difference, s=6, color=JUDGE, alpha=0.25, linewidths=0)
        if x.size:
            bias, spread = difference.mean(), 1.96 * difference.std()
            axes.axhline(bias, color=NEUTRAL, linewidth=1)
            for limit in (bias - spread, bias + spread):
                axes.axhline(limit, color=NEUTRAL, linewidth=1, linestyle="--")
        axes.set(xlabel="mean of prediction and gold", ylabel="prediction - gold", xlim=(0.5, 10.5))

    return _by_column(report, path, draw, "Bland-Altman: bias (line) and limits of agreement (dashed)")


def dimension_bars(report: Report, path: Target) -> Path:
    """MAE, Within-1 and Spearman per column with intervals, the floor and, where ratings were given, the raters.

    The floor is the mean gold of the other papers. MAE and Within-1 of the raters are leave-one-out, a rating against
    the mean of the others; for Spearman the mark is the highest that any judge can reach against this gold.
    """
    figure = new_figure(12, 4)
    raters = {"mae": "loo_mae", "within_1": "loo_within_1", "spearman": "max_spearman"}
    handles = {}
    for axes, (statistic, ceiling_name) in zip(figure.subplots(1, 3), raters.items(), strict=True):
        for place, column in enumerate(report.columns.values()):
            estimate = getattr(column.answered_only, statistic)
            if estimate.value is not None:
                handles["judge"] = axes.bar(place, estimate.value, color=JUDGE, width=0.6)
                if estimate.low is not None:
                    axes.vlines(place, estimate.low, estimate.high, color=NEUTRAL, linewidth=1.5)
            floor = getattr(column.floors.get("mean_of_others"), statistic, None)
            ceiling = getattr(column.ceiling, ceiling_name, None)
            for mark, colour, label in ((floor, FLOOR, "floor"), (ceiling, RATERS, "raters")):
                if mark is not None and mark.value is not None:
                    handles[label] = axes.hlines(mark.value, place - 0.4, place + 0.4, color=colour, linewidth=3)
        axes.set_xticks(range(len(report.columns)), [SHORT_COLUMNS[key] for key in report.columns])
        axes.set_title(TITLES[statistic])
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    return save_figure(figure, path)


def forest(comparison: Comparison, path: Target, statistics: Sequence[str] = ("mae", "within_1", "spearman")) -> Path:
    """Differences between systems with their intervals, a panel per statistic; filled where Holm's p is under 0.05."""
    per_panel = sum(item.statistic == statistics[0] for item in comparison.differences)
    figure = new_figure(4.5 * len(statistics), 1.5 + 0.22 * per_panel)
    panels = figure.subplots(1, len(statistics), sharey=True, squeeze=False)[0]
    for axes, statistic in zip(panels, statistics, strict=True):
        rows = [item for item in comparison.differences if item.statistic == statistic]
        axes.axvline(0, color=FLOOR, linewidth=1)
        for place, item in enumerate(rows):
            if item.estimate.value is None:
                continue
            if item.estimate.low is not None:
                axes.hlines(place, item.estimate.low, item.estimate.high, color=JUDGE, linewidth=1.5)
            sure = item.p_holm is not None and item.p_holm < 0.05
            axes.plot(item.estimate.value, place, "o", color=JUDGE, markersize=5, fillstyle="full" if sure else "none")
        labels = [f"{SHORT_COLUMNS[item.column]}: {item.first} - {item.second}" for item in rows]
        axes.set_yticks(range(len(rows)), labels, fontsize=8, parse_math=False)
        axes.set_title(f"difference in {TITLES[statistic]}")
    panels[0].invert_yaxis()
    return save_figure(figure, path)


def _answered(scores: ColumnScores) -> tuple[Floats, Floats]:
    answered = ~np.isnan(scores.predictions)
    return scores.predictions[answered], scores.golds[answered]


def _by_column(report: Report, path: Target, draw: Callable[[Axes, ColumnScores], None], title: str) -> Path:
    figure = new_figure(11, 7)
    for index, (axes, column) in enumerate(zip(figure.subplots(2, 3).flat, COLUMNS, strict=True)):
        scores = report.aligned.column(index)
        draw(axes, scores)
        axes.set_title(f"{SHORT_COLUMNS[column]}, {np.count_nonzero(~np.isnan(scores.predictions))} figures")
    figure.suptitle(title)
    return save_figure(figure, path)

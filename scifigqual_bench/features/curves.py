"""Lines of a plot and which way they go, where the PDF tells them as strokes and their axes were read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from scifigqual_bench.records import Axis, Curve

Point = tuple[float, float]
MIN_POINTS = 4
"""Points of a line; fewer are those of frames, brackets and keys."""
MIN_WIDTH = 0.3
"""Width of a line over that of its plot."""
CLEAR, LEVEL = 0.15, 0.05
"""Way up or down, over the height of the plot, from which a line rises or falls, and up to which it is level."""
STEADY = 0.8
"""Rank correlation of height with place from which a line that ends higher rises on its whole way."""


class Stroke(NamedTuple):
    """A line that the PDF draws in one go.

    Attributes:
        points: In pixels of the figure's image.
        colour: As ``"#rrggbb"``.
    """

    points: tuple[Point, ...]
    colour: str


class _Plot(NamedTuple):
    panel: int
    left: float
    top: float
    right: float
    bottom: float
    turned: bool
    """Whether one of its axes runs backwards."""


def curves(strokes: Sequence[Stroke], axes: Sequence[Axis], size: tuple[int, int]) -> list[Curve]:
    """The lines of a figure's plots, plot by plot, from the top left.

    A line runs to the right (or to the left) all the way and spans three tenths of its plot. One that lies in no plot
    whose two axes were read has no panel.

    Args:
        strokes: What the PDF draws.
        axes: From :func:`scifigqual_bench.features.axes.plot_axes`.
        size: Height and width of the image in pixels.

    >>> left = Axis(panel=0, side="left", numbers=[0, 1, 2], bbox=[0, 0, 10, 100])
    >>> bottom = Axis(panel=0, side="bottom", numbers=[0, 5, 10], bbox=[10, 105, 110, 115])
    >>> line = Stroke(((10, 90), (40, 60), (70, 35), (110, 5)), "#1f77b4")
    >>> curves([line], [left, bottom], (120, 120))
    [Curve(panel=0, colour='#1f77b4', direction='rising')]
    """
    plots = [plot for panel in sorted({axis.panel for axis in axes}) if (plot := _plot(panel, axes)) is not None]
    found = []
    for stroke in strokes:
        x, y = np.array(stroke.points, float).T
        if len(x) < MIN_POINTS or not (np.all(np.diff(x) >= 0) or np.all(np.diff(x) <= 0)):
            continue
        plot = next((plot for plot in plots if _inside(plot, x, y)), None)
        area = plot or _Plot(-1, 0.0, 0.0, size[1] / 2, size[0] / 2, False)  # of a plot that is not known
        if np.ptp(x) < MIN_WIDTH * (area.right - area.left):
            continue
        direction = _direction(x, y, area)
        place = (plot.panel if plot else len(plots), float(y.min()), float(x.min()))
        found.append((place, Curve(panel=plot.panel if plot else None, colour=stroke.colour, direction=direction)))
    return [curve for _, curve in sorted(found, key=lambda entry: entry[0])]


def _plot(panel: int, axes: Sequence[Axis]) -> _Plot | None:
    """The area between the two axes of a panel, a step wider than their labels; None where one is missing."""
    sides = {axis.side: axis for axis in axes if axis.panel == panel}
    if len(sides) < 2:
        return None
    left, bottom = sides["left"], sides["bottom"]
    across, down = ((axis.bbox[k + 2] - axis.bbox[k]) / (len(axis.numbers) - 1) for axis, k in ((bottom, 0), (left, 1)))
    backwards = [axis.numbers[0] > axis.numbers[-1] for axis in (left, bottom)]
    return _Plot(
        panel,
        left.bbox[2],
        left.bbox[1] - down,
        bottom.bbox[2] + across,
        max(bottom.bbox[1], left.bbox[3]),
        backwards[0] != backwards[1],
    )


def _inside(plot: _Plot, x: np.ndarray, y: np.ndarray) -> bool:
    """Whether the middle of a line and most of its points lie in a plot."""
    within = (plot.left <= x) & (x <= plot.right) & (plot.top <= y) & (y <= plot.bottom)
    return float(within.mean()) > 0.8


def _direction(x: np.ndarray, y: np.ndarray, plot: _Plot) -> Literal["rising", "falling", "level", "mixed"]:
    height = plot.bottom - plot.top
    order = np.argsort(x, kind="stable")
    heights = -y[order]
    way = float(heights[-1] - heights[0]) / height
    if np.ptp(heights) <= LEVEL * height:
        return "level"
    steady = _rank_correlation(heights)
    if abs(way) < CLEAR or abs(steady) < STEADY or steady * way < 0:
        return "mixed"
    return "rising" if (way > 0) != plot.turned else "falling"


def _rank_correlation(values: np.ndarray) -> float:
    """Of values with their places; equal values share their mean rank."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = list(itertools.accumulate(counts.tolist()))
    means = np.array([end - (count - 1) / 2 for end, count in zip(ends, counts.tolist(), strict=True)])
    return float(np.corrcoef(means[group], np.arange(len(values)))[0, 1])

"""Plots of what a dataset holds, as SVG. Needs matplotlib: ``scifigqual-bench[plots]``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scifigqual_bench.dataset.statistics import BINS, BINS_PER_POINT, Statistics
from scifigqual_bench.drawing import (
    BLUE,
    DARK,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    new_figure,
    save_figure,
)
from scifigqual_bench.rubric import COLUMNS, SCALE_MAX, SCALE_MIN, SHORT_COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, DARK, GREY)


def draw(statistics: Statistics, folder: Path) -> dict[str, Path]:
    """Draw every plot into a folder; returns them by title."""
    drawn = {
        "Venue and year": ("venues", _venues),
        "Figure type": ("types", _types),
        "Gold": ("gold", _gold),
        "From PDFs to rated figures": ("funnel", _funnel),
    }
    return {title: save_figure(plot(statistics), folder / f"{name}.svg") for title, (name, plot) in drawn.items()}


def _venues(statistics: Statistics) -> Figure:
    counts: dict[str, Counter[str]] = {}
    for split in statistics.splits.values():
        for venue, years in split.venue_years.items():
            counts.setdefault(venue, Counter()).update(years)
    years = sorted({year for venue in counts.values() for year in venue})
    figure = new_figure(7, 3.5)
    axes = figure.subplots()
    _stack(axes, years, {venue: [counts[venue][year] for year in years] for venue in sorted(counts)})
    axes.set(xlabel="year", ylabel="figures")
    return figure


def _types(statistics: Statistics) -> Figure:
    types = sorted({name for split in statistics.splits.values() for name in split.types})
    figure = new_figure(7, 3)
    axes = figure.subplots()
    series = {name: [split.types.get(kind, 0) for kind in types] for name, split in sorted(statistics.splits.items())}
    _stack(axes, types, series)
    axes.set(ylabel="figures")
    return figure


def _stack(axes: Axes, labels: list[str], series: Mapping[str, list[int]]) -> None:
    """Stacked bars, the legend in their order."""
    feet = [0] * len(labels)
    for index, (name, heights) in enumerate(series.items()):
        hatch = "" if index < len(COLOURS) else "//"
        colour = COLOURS[index % len(COLOURS)]
        axes.bar(range(len(labels)), heights, bottom=feet, color=colour, hatch=hatch, label=name, width=0.8)
        feet = [foot + height for foot, height in zip(feet, heights, strict=True)]
    axes.set_xticks(range(len(labels)), labels, parse_math=False)
    axes.set_ylim(bottom=0)
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _gold(statistics: Statistics) -> Figure:
    figure = new_figure(9, 4.5)
    places = [SCALE_MIN + place / BINS_PER_POINT for place in range(BINS)]
    panels = figure.subplots(2, 3, sharex=True).flat
    for axes, column in zip(panels, COLUMNS, strict=True):
        heights = [sum(split.gold[column][place] for split in statistics.splits.values()) for place in range(BINS)]
        axes.bar(places, heights, width=0.45, color=BLUE)
        axes.set_title(f"{SHORT_COLUMNS[column]}, {sum(heights)} figures", fontsize=10)
        axes.set_xticks(range(SCALE_MIN, SCALE_MAX + 1))
    figure.supxlabel("mean of the ratings")
    figure.supylabel("figures")
    return figure


def _funnel(statistics: Statistics) -> Figure:
    steps = statistics.funnel
    figure = new_figure(7, 0.6 + 0.45 * len(steps))
    axes = figure.subplots()
    bars = axes.barh(range(len(steps)), [step.count for step in steps], color=BLUE)
    axes.bar_label(bars, [f"{step.count:,}" for step in steps], padding=3)
    axes.set_yticks(range(len(steps)), [step.name for step in steps])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel("count")
    return figure

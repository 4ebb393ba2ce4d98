"""Figures of made-up experiments: seeded data, drawn by matplotlib at print size, with or without a planted defect.

A plot holds the very numbers that are drawn, rounded as they are quoted, so that a caption or a sentence computed from
it (:mod:`scifigqual_bench.samples.text`) is true of the picture by construction.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import matplotlib.style
import numpy as np
import pymupdf
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image, ImageFilter

from scifigqual_bench.samples.typeset import Graphic

Defect = Literal[
    "clipped-axis",
    "truncated-bars",
    "tiny-labels",
    "blurred-raster",
    "panel-order",
    "vague-caption",
    "swapped-caption",
    "bare-pointer",
    "reversed-trend",
    "uncited",
]
"""A planted defect; the first five are drawn, the others are in caption or text."""

LABEL_PT = 7.5
TINY_LABEL_PT = 3.0
RASTER_DPI = 300
BLURRED_DPI = 45

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Theme:
    """A paper's plotting habits.

    Attributes:
        colours: One a group, in order.
        family: Font family that ships with matplotlib.
        grid: Whether plots have a light grid.
        boxed: Whether plots have all four spines.
        markers: Whether curves mark their points.
        font_type: How fonts are embedded in PDFs: 3 (outlines) or 42 (TrueType).
    """

    colours: tuple[str, ...] = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
    family: str = "DejaVu Sans"
    grid: bool = True
    boxed: bool = False
    markers: bool = True
    font_type: Literal[3, 42] = 3


# --- the plots: what was measured, and how it is drawn --------------------------------------------------------------


@dataclass(frozen=True)
class Curves:
    """One line a group over a shared x axis, with a band of one standard deviation.

    Attributes:
        x_name: What varies, for example ``"number of training trees"``.
        measure: What is measured, without unit.
        unit: Unit of the measure, ``"%"`` or ``""`` included in labels.
        x: The x values, ascending.
        means: One array a group, shape (len(x),), rounded as quoted.
        spread: Standard deviation over seeds, same shape.
        better: Which end of the scale is good.
        x_unit: Unit of the x values.
        log_x: Logarithmic x axis with a tick at every value.
    """

    x_name: str
    measure: str
    unit: str
    x: tuple[float, ...]
    means: dict[str, np.ndarray]
    spread: dict[str, np.ndarray]
    better: Better = "higher"
    x_unit: str = ""
    log_x: bool = False

    @property
    def groups(self) -> tuple[str, ...]:
        """The compared groups."""
        return tuple(self.means)

    def draw(self, ax: Axes, theme: Theme) -> None:
        """Draw into axes."""
        for colour, (name, mean) in zip(theme.colours, self.means.items(), strict=False):
            ax.fill_between(self.x, mean - self.spread[name], mean + self.spread[name], color=colour, alpha=0.18, lw=0)
            ax.plot(self.x, mean, color=colour, label=name, marker="o" if theme.markers else None, ms=2.6, lw=1.2)
        if self.log_x:
            ax.set_xscale("log")
            ax.set_xticks(self.x, [f"{value:g}" for value in self.x])
            ax.minorticks_off()
        ax.set_xlabel(axis_label(self.x_name, self.x_unit))
        ax.set_ylabel(axis_label(self.measure, self.unit))


@dataclass(frozen=True)
class Bars:
    """Grouped bars with error bars.

    Attributes:
        kind: What the clusters are, in the plural, for example ``"languages"``.
        measure: What is measured.
        unit: Its unit.
        clusters: Names along the x axis.
        means: One array a group, shape (len(clusters),).
        spread: Half length of the error bars: one standard deviation.
        better: Which end of the scale is good.
    """

    kind: str
    measure: str
    unit: str
    clusters: tuple[str, ...]
    means: dict[str, np.ndarray]
    spread: dict[str, np.ndarray]
    better: Better = "higher"

    @property
    def groups(self) -> tuple[str, ...]:
        """The compared groups."""
        return tuple(self.means)

    @property
    def top(self) -> float:
        """Upper end of the axis: a little over the highest error bar."""
        return 1.04 * max(float((self.means[name] + self.spread[name]).max()) for name in self.groups)

    @property
    def truncated_floor(self) -> float:
        """Where the axis starts if the bars are cut: just under the lowest error bar."""
        return float(np.floor(min(float((self.means[name] - self.spread[name]).min()) for name in self.groups)))

    def draw(self, ax: Axes, theme: Theme) -> None:
        """Draw into axes."""
        width = 0.8 / len(self.means)
        at = np.arange(len(self.clusters))
        for k, (colour, (name, mean)) in enumerate(zip(theme.colours, self.means.items(), strict=False)):
            shift = (k - (len(self.means) - 1) / 2) * width
            error = {"lw": 0.7, "capsize": 1.5, "capthick": 0.7}
            ax.bar(at + shift, mean, width * 0.92, color=colour, label=name, yerr=self.spread[name], error_kw=error)
        ax.set_xticks(at, self.clusters)
        ax.set_ylabel(axis_label(self.measure, self.unit))
        ax.set_ylim(0, self.top)


@dataclass(frozen=True)
class Scatter:
    """Points with a least-squares line.

    Attributes:
        items: What the points are, in the plural.
        x_name: Quantity along x.
        x_unit: Its unit.
        measure: Quantity along y.
        unit: Its unit.
        x: Shape (n,).
        y: Shape (n,).
    """

    items: str
    x_name: str
    x_unit: str
    measure: str
    unit: str
    x: np.ndarray
    y: np.ndarray

    @property
    def groups(self) -> tuple[str, ...]:
        """What is set against what."""
        return (self.x_name, self.measure)

    @property
    def line(self) -> np.ndarray:
        """The least-squares line at the smallest and the largest x, shape (2,)."""
        return np.polyval(np.polyfit(self.x, self.y, 1), [self.x.min(), self.x.max()])

    @property
    def correlation(self) -> float:
        """Pearson's r of the points."""
        return float(np.corrcoef(self.x, self.y)[0, 1])

    def draw(self, ax: Axes, theme: Theme) -> None:
        """Draw into axes."""
        ax.scatter(self.x, self.y, s=10, color=theme.colours[0], alpha=0.8, lw=0)
        ax.plot([self.x.min(), self.x.max()], self.line, color=theme.colours[1], lw=1.1)
        ax.set_xlabel(axis_label(self.x_name, self.x_unit))
        ax.set_ylabel(axis_label(self.measure, self.unit))


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix in per cent of the row, with its numbers printed.

    Attributes:
        classes: Row and column names.
        values: Shape (n, n), rows sum to 100.
        rows: What a row is, for example ``"gold label"``.
        columns: What a column is.
    """

    classes: tuple[str, ...]
    values: np.ndarray
    rows: str
    columns: str

    measure = "share of the row"
    unit = "%"

    @property
    def groups(self) -> tuple[str, ...]:
        """The classes."""
        return self.classes

    def draw(self, ax: Axes, theme: Theme) -> None:
        """Draw into axes."""
        image = ax.imshow(self.values, cmap="Blues", vmin=0, vmax=100, aspect="auto")
        for i, row in enumerate(self.values):
            for j, value in enumerate(row):
                ax.text(j, i, f"{value:.0f}", ha="center", va="center", color="white" if value > 55 else "black")
        ax.set_xticks(range(len(self.classes)), self.classes)
        ax.set_yticks(range(len(self.classes)), self.classes)
        ax.set_xlabel(sentence_case(self.columns))
        ax.set_ylabel(sentence_case(self.rows))
        ax.grid(False)
        ax.figure.colorbar(image, ax=ax, label=axis_label(self.measure, self.unit), pad=0.02)


@dataclass(frozen=True)
class Histogram:
    """Overlaid histograms of the groups with a dashed line at each median.

    Attributes:
        measure: Quantity along x.
        unit: Its unit.
        items: What was counted, in the plural.
        samples: One array of values a group.
    """

    measure: str
    unit: str
    items: str
    samples: dict[str, np.ndarray]

    @property
    def groups(self) -> tuple[str, ...]:
        """The compared groups."""
        return tuple(self.samples)

    def median(self, group: str) -> float:
        """Median of a group, rounded as quoted."""
        return round(float(np.median(self.samples[group])), 1)

    def draw(self, ax: Axes, theme: Theme) -> None:
        """Draw into axes."""
        low = min(values.min() for values in self.samples.values())
        high = max(values.max() for values in self.samples.values())
        edges = np.linspace(low, high, 25)
        for colour, (name, values) in zip(theme.colours, self.samples.items(), strict=False):
            ax.hist(values, edges, color=colour, alpha=0.5, label=name)
            ax.axvline(self.median(name), color=colour, ls="--", lw=1.1)
        ax.set_xlabel(axis_label(self.measure, self.unit))
        ax.set_ylabel(f"Number of {self.items}")


@dataclass(frozen=True)
class Flow:
    """A row of boxes joined by arrows: how a system works.

    Attributes:
        stages: Name of each box, in order, and the line of small print under it.
    """

    stages: tuple[tuple[str, str], ...]

    measure = "order of the stages"
    unit = ""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the stages."""
        return tuple(name for name, _ in self.stages)

    def draw(self, ax: Axes, theme: Theme) -> None:
        """Draw into axes."""
        count = len(self.stages)
        ax.set_axis_off()
        ax.set_xlim(0.1, count - 0.14)
        ax.set_ylim(0.11, 0.89)
        for k, (name, detail) in enumerate(self.stages):
            colour = theme.colours[k % len(theme.colours)]
            box = FancyBboxPatch(
                (k + 0.1, 0.12), 0.76, 0.76, boxstyle="round,pad=0,rounding_size=0.06", fc=colour, ec=colour, alpha=0.16
            )
            ax.add_patch(box)
            ax.text(k + 0.48, 0.62, name, ha="center", va="center", weight="bold")
            ax.text(k + 0.48, 0.36, detail, ha="center", va="center", fontsize="small", linespacing=1.15)
            if k + 1 < count:
                arrow = {"arrowstyle": "-|>", "lw": 1.0, "color": "#333333", "shrinkA": 0, "shrinkB": 0}
                ax.annotate("", (k + 1.09, 0.5), (k + 0.87, 0.5), arrowprops=arrow)


@dataclass(frozen=True)
class Picture:
    """An image with a colour bar, such as a micrograph or a spectrogram.

    Attributes:
        measure: What the grey level or colour means.
        unit: Its unit.
        values: Shape (rows, columns).
        subject: What is seen.
        x_name: Label of the x axis; empty for an image without axes.
        y_name: Label of the y axis.
        extent: Axis ranges as matplotlib's imshow takes them.
    """

    subject: str
    measure: str
    unit: str
    values: np.ndarray
    x_name: str = ""
    y_name: str = ""
    extent: tuple[float, float, float, float] | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """What is seen."""
        return (self.subject,)

    def draw(self, ax: Axes, theme: Theme) -> None:
        """Draw into axes."""
        colours = "magma" if self.x_name else "gray"
        image = ax.imshow(self.values, cmap=colours, aspect="auto", origin="lower", extent=self.extent)
        ax.grid(False)
        if self.x_name:
            ax.set_xlabel(self.x_name)
            ax.set_ylabel(self.y_name)
            ax.figure.colorbar(image, ax=ax, label=axis_label(self.measure, self.unit), pad=0.02)
        else:
            ax.set_xticks([])
            ax.set_yticks([])


Plot = Curves | Bars | Scatter | Matrix | Histogram | Flow | Picture


@dataclass(frozen=True)
class Panels:
    """Plots side by side under panel letters.

    Attributes:
        plots: From left to right.
        letters: The letter printed over each, from left to right.
    """

    plots: tuple[Plot, ...]
    letters: tuple[str, ...] = field(default=("a", "b", "c", "d"))

    @property
    def measure(self) -> str:
        """What the first panel measures."""
        return self.plots[0].measure

    @property
    def unit(self) -> str:
        """Unit of the first panel."""
        return self.plots[0].unit

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups of the first panel."""
        return self.plots[0].groups


def sentence_case(text: str) -> str:
    """Upper-case the first letter and leave the rest.

    >>> sentence_case("LAS of sites"), sentence_case("share of rows")
    ('LAS of sites', 'Share of rows')
    """
    return text[:1].upper() + text[1:]


def axis_label(quantity: str, unit: str) -> str:
    """Axis label with its unit.

    >>> axis_label("error rate", "%"), axis_label("loss", "")
    ('Error rate (%)', 'Loss')
    """
    return sentence_case(quantity) + (f" ({unit})" if unit else "")


# --- rendering ------------------------------------------------------------------------------------------------------


def _rc(theme: Theme, label_pt: float) -> dict[str, object]:
    return {
        "font.family": [theme.family],
        "font.size": label_pt,
        "axes.labelsize": label_pt,
        "axes.titlesize": label_pt,
        "xtick.labelsize": label_pt * 0.93,
        "ytick.labelsize": label_pt * 0.93,
        "legend.fontsize": label_pt * 0.93,
        "legend.frameon": False,
        "legend.handlelength": 1.4,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "axes.grid": theme.grid,
        "axes.axisbelow": True,
        "grid.linewidth": 0.4,
        "grid.alpha": 0.5,
        "axes.spines.top": theme.boxed,
        "axes.spines.right": theme.boxed,
        "mathtext.fontset": "dejavusans",
        "pdf.fonttype": theme.font_type,
    }


def render(
    plot: Plot | Panels,
    width: float,
    height: float,
    *,
    theme: Theme = Theme(),
    defect: Defect | None = None,
    raster: bool = False,
) -> Graphic:
    """Draw a plot for print.

    Args:
        plot: What to draw.
        width: Of the canvas in points. A sound figure is cropped to its ink, so the printed width is a little less.
        height: Of the canvas in points.
        theme: Colours and fonts.
        defect: A defect to draw; defects of caption or text change nothing here.
        raster: PNG at 300 dpi instead of vector graphics.

    Returns:
        The figure at print size.

    Raises:
        ValueError: The defect can't be drawn on this kind of plot.
    """
    if defect == "truncated-bars" and not isinstance(plot, Bars):
        raise ValueError("only bars can be truncated")
    if defect == "blurred-raster" and not raster:
        raise ValueError("only a raster can be blurred")
    label_pt = TINY_LABEL_PT if defect == "tiny-labels" else LABEL_PT
    # The default style first: a user's matplotlibrc must not change the bytes.
    with matplotlib.style.context(["default", _rc(theme, label_pt)]):
        clipped = defect == "clipped-axis"
        figure = Figure(figsize=(width / 72, height / 72), layout=None if clipped else "constrained")
        _fill(figure, plot, theme)
        if defect == "truncated-bars":
            figure.axes[0].set_ylim(plot.truncated_floor, plot.top)
        if clipped:
            # Margins too narrow for the labels: half of each axis label is beyond the canvas.
            figure.subplots_adjust(left=25 / width, bottom=17 / height, right=0.99, top=0.9)
        return _save(figure, crop=not clipped, raster=raster, blurred=defect == "blurred-raster")


def _fill(figure: Figure, plot: Plot | Panels, theme: Theme) -> None:
    """Draw the plot or its panels, with one legend above them all, where it covers nothing."""
    panels = plot.plots if isinstance(plot, Panels) else (plot,)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, part in zip(axes, panels, strict=True):
        part.draw(ax, theme)
    if isinstance(plot, Panels):
        figure.get_layout_engine().set(wspace=0.06)
        for ax, letter in zip(axes, plot.letters, strict=False):
            ax.set_title(f"({letter})", loc="left", fontweight="bold")
    handles, labels = axes[0].get_legend_handles_labels()
    if labels:
        where = "outside upper center" if figure.get_layout_engine() else "upper center"
        figure.legend(handles, labels, ncols=len(labels), loc=where)


def _save(figure: Figure, *, crop: bool, raster: bool, blurred: bool) -> Graphic:
    box = {"bbox_inches": "tight", "pad_inches": 0.03} if crop else {}
    buffer = io.BytesIO()
    if not raster:
        figure.savefig(buffer, format="pdf", metadata={"CreationDate": None}, **box)
        with pymupdf.open(stream=buffer.getvalue(), filetype="pdf") as document:
            page = document[0]
            if crop:
                pixels = page.get_pixmap(dpi=RASTER_DPI, colorspace=pymupdf.csGRAY)
                sheet = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
                page.set_cropbox(pymupdf.Rect(_ink_box(sheet, RASTER_DPI)) * (72 / RASTER_DPI) & page.rect)
            data = document.tobytes(garbage=3, deflate=True, no_new_id=True)
            return Graphic(data, "pdf", page.rect.width, page.rect.height)
    dpi = BLURRED_DPI if blurred else RASTER_DPI
    figure.savefig(buffer, format="png", dpi=dpi, **box)
    image = Image.open(buffer).convert("RGB")
    image = image.crop(_ink_box(image.convert("L"), dpi))
    width, height = (side * 72 / dpi for side in image.size)
    if blurred:
        # Upsampled, as a small screenshot that was dragged to the width of the column.
        image = image.resize((image.width * 5, image.height * 5), Image.Resampling.BICUBIC)
        image = image.filter(ImageFilter.GaussianBlur(3))
    out = io.BytesIO()
    image.save(out, format="PNG")
    return Graphic(out.getvalue(), "image", width, height)


def _ink_box(image: Image.Image, dpi: int) -> tuple[int, int, int, int]:
    """Pixels that enclose everything darker than near white, with a margin of about a point.

    matplotlib's own tight box counts the invisible frame of a legend and the descenders that a text does not have.
    """
    x0, y0, x1, y1 = image.point(lambda grey: 255 * (grey < 250)).getbbox()
    margin = math.ceil(dpi / 72)
    return max(x0 - margin, 0), max(y0 - margin, 0), min(x1 + margin, image.width), min(y1 + margin, image.height)


# --- seeded experiments ---------------------------------------------------------------------------------------------


def _spreads(rng: np.random.Generator, names: Sequence[str], count: int, scale: float) -> dict[str, np.ndarray]:
    return {name: np.round(scale * rng.uniform(0.6, 1.3, count), 2) for name in names}


def curves(
    rng: np.random.Generator,
    x_name: str,
    measure: str,
    unit: str,
    x: Sequence[float],
    ends: dict[str, tuple[float, float]],
    *,
    spread: float,
    better: Better = "higher",
    x_unit: str = "",
    log_x: bool = False,
) -> Curves:
    """Saturating curves that go monotonically from a start to an end value, shifted a little by the seed.

    Args:
        rng: Source of the variation.
        x_name: What varies.
        measure: What is measured.
        unit: Its unit.
        x: The x values.
        ends: Start and end of each group's curve.
        spread: Typical standard deviation.
        better: Which end of the scale is good.
        x_unit: Unit of the x values.
        log_x: Logarithmic x axis.
    """
    shift = rng.uniform(-1.5, 1.5) * spread
    rate = rng.uniform(1.6, 2.4)
    share = (1 - np.exp(-rate * np.linspace(0, 1, len(x)))) / (1 - np.exp(-rate))
    means = {name: np.round(start + shift + (end - start) * share, 1) for name, (start, end) in ends.items()}
    errors = _spreads(rng, tuple(ends), len(x), spread)
    return Curves(x_name, measure, unit, tuple(x), means, errors, better, x_unit, log_x)


def bars(
    rng: np.random.Generator,
    kind: str,
    measure: str,
    unit: str,
    clusters: Sequence[str],
    levels: dict[str, float],
    *,
    between: float,
    spread: float,
    better: Better = "higher",
) -> Bars:
    """Bars around one level a group, with effects shared by a cluster and small ones of their own.

    Args:
        rng: Source of the variation.
        kind: What the clusters are, in the plural.
        measure: What is measured.
        unit: Its unit.
        clusters: Names of the clusters.
        levels: Mean of each group.
        between: Standard deviation between clusters.
        spread: Typical length of an error bar.
        better: Which end of the scale is good.
    """
    shared = between * rng.permutation(np.linspace(-1.4, 1.4, len(clusters)))
    means = {
        name: np.round(level + shared + rng.uniform(-0.8, 0.8, len(clusters)) * spread, 1)
        for name, level in levels.items()
    }
    errors = _spreads(rng, tuple(levels), len(clusters), spread)
    return Bars(kind, measure, unit, tuple(clusters), means, errors, better)


def scatter(
    rng: np.random.Generator,
    items: str,
    x_name: str,
    x_unit: str,
    measure: str,
    unit: str,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    *,
    count: int,
    noise: float,
) -> Scatter:
    """Points along a line from one corner of the ranges to the other.

    Args:
        rng: Source of the variation.
        items: What the points are.
        x_name: Quantity along x.
        x_unit: Its unit.
        measure: Quantity along y.
        unit: Its unit.
        x_range: Ends of x.
        y_range: Value of y at either end of x.
        count: Number of points.
        noise: Standard deviation around the line, as a share of the y range.
    """
    x = np.sort(rng.uniform(*x_range, count))
    line = np.interp(x, x_range, y_range)
    y = line + noise * abs(y_range[1] - y_range[0]) * rng.standard_normal(count)
    return Scatter(items, x_name, x_unit, measure, unit, np.round(x, 2), np.round(y, 2))


def confusion(
    rng: np.random.Generator, classes: Sequence[str], rows: str, columns: str, *, diagonal: tuple[float, float]
) -> Matrix:
    """A confusion matrix whose diagonal lies in a range; the rest of a row is shared out unevenly."""
    size = len(classes)
    values = np.zeros((size, size), dtype=int)
    for i in range(size):
        values[i, i] = round(rng.uniform(*diagonal))
        others = [j for j in range(size) if j != i]
        values[i, others] = np.floor((100 - values[i, i]) * rng.dirichlet(np.full(size - 1, 0.9)))
        values[i, rng.choice(others)] += 100 - values[i].sum()
    return Matrix(tuple(classes), values, rows, columns)


def histogram(
    rng: np.random.Generator,
    measure: str,
    unit: str,
    items: str,
    centres: dict[str, float],
    *,
    width: float,
    count: int,
) -> Histogram:
    """Bell-shaped samples around one centre a group; none below zero."""
    samples = {
        name: np.round(np.abs(centre + width * rng.standard_normal(count)), 2) for name, centre in centres.items()
    }
    return Histogram(measure, unit, items, samples)


def grains(rng: np.random.Generator, cells: int, noise: float, *, edges: bool = False, size: int = 180) -> np.ndarray:
    """A polished metal section as a microscope sees it, or only its grain boundaries: shape (size, size), 0..1."""
    seeds = rng.uniform(0, size, (cells, 2))
    grid = np.stack(np.mgrid[0:size, 0:size], axis=-1).reshape(-1, 1, 2)
    distance = np.linalg.norm(grid - seeds, axis=2)
    nearest = distance.argmin(axis=1).reshape(size, size)
    closest = np.partition(distance, 1, axis=1)
    boundary = (closest[:, 1] - closest[:, 0] < 2.2).reshape(size, size)
    if edges:
        return boundary.astype(float)
    shade = rng.uniform(0.45, 0.9, cells)[nearest]
    return np.clip(np.where(boundary, 0.15, shade) + noise * rng.standard_normal((size, size)), 0, 1)


def spectrogram(rng: np.random.Generator, drops: int, rows: int = 120, columns: int = 260) -> np.ndarray:
    """Short broadband bursts over a noise floor in dB: shape (rows, columns)."""
    floor = -72 + 4 * rng.standard_normal((rows, columns)) - np.linspace(0, 8, rows)[:, None]
    frequency = np.linspace(0, 1, rows)[:, None]
    time = np.arange(columns)[None, :]
    for start in np.linspace(14, columns - 26, drops) + rng.uniform(-5, 5, drops):
        burst = np.exp(-np.maximum(time - start, 0) / 5.0) * (time >= start)
        floor = np.maximum(floor, -70 + 48 * burst * np.exp(-(((frequency - rng.uniform(0.3, 0.5)) / 0.28) ** 2)))
    return floor

"""The numbered axes of a figure, told from its text: tick labels, their scale, titles, units, plots (SPEC 9).

All functions are pure and don't depend on the order in which the boxes come.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scifigqual_bench.features.bars import BarRow
from scifigqual_bench.features.text import (
    marked_letters,
    middle,
    order_key,
    plain,
    reading_order,
    text_height,
)
from scifigqual_bench.features.vision import Pixels
from scifigqual_bench.records import Axis, TextBox

MIN_TICKS = 3
TICK_TOLERANCE = 0.25
"""How far a tick label may lie from its place on the scale, in text heights."""
REACH = 4
"""How many labels further down a label may find its partner that defines the scale: three in between may be wrong."""
ALIGNMENT_TOLERANCE = 0.6
"""How far the edges of tick labels of one axis may lie apart, in text heights."""
MAX_NUMBERS = 600
"""Numbers in one figure from which they are the cells of tables and maps, and no axis is looked for."""
TITLE_REACH = 4.0
"""How far from its labels the title of an axis stands at most, in text heights."""
FACTOR_REACH = 3.0
"""How far from the last label the factor of an axis stands at most, in text heights."""
GROUND_REACH = 3.0
"""How far on both sides of a label is looked for the ink of its axis, in text heights."""
CLOSER = 0.8
"""Gap left of labels over the gap right of them, under which their plot area is on the left."""
SIGN_GAP = 0.15
"""Gap under which the ink left of labels is a sign that the text left out, in text heights."""
BAND = 0.3
"""Half of the height of the strip that is looked at, in text heights."""
INK = 24
"""Channel difference to the ground from which a pixel counts as ink, a pale grid and a tinted plot area too."""
CORNER_REACH = 5.0
"""How far the left and the bottom labels of one plot stand apart at most, in text heights."""

_PLAIN_NUMBER = re.compile(
    r"(?P<sign>[+-]?)\s?"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,3}(?:\.\d{1,9})?|\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})"
    r"(?:e(?P<exponent>[+-]?\d{1,2}))?\s?"
    r"(?P<suffix>%|[kKMBG])?"
)
_POWER_OF_TEN = re.compile(r"10\s?\^?\s?(?P<exponent>[+-]?\d{1,2}|°)")
_POWER = re.compile(r"(?P<base>2|10)\^(?P<exponent>[+-]?\d{1,2})")
_FACTOR = re.compile(r"(?:1e|[×x·*]\s?10\s?\^?\s?|10\^)(?P<exponent>[+-]?\d{1,2})")
_SUFFIXES = {"": 1.0, "%": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9}

_UNITS = (
    r"%|[fpnuµμmkMGT]?s|secs?|seconds?|mins?|minutes?|hrs?|hours?|h|days?|months?|years?|[kKMGT]i?B|[bB]ytes?|bits?|bps|"
    r"[fpnuµμmck]?m|km|inch(?:es)?|pts?|px|pixels?|[kKMG]?Hz|[mkMG]?W|[mkµμ]?[VA]|[kmµμ]?g|°\s?[CF]?|K|[kMG]?Pa|[kmM]?eV|"
    r"[kM]?J|dB|rad|deg(?:rees)?|m/s|km/h|mol|[mµμn]?[ML]|[kMG]?Ω|a\.u\.|ppm|[kMGT]?FLOPs?|[kMG]?tokens?|epochs?|steps?|"
    r"iterations?|x|×"
)
_UNIT = re.compile(
    rf"(?:^|\s)[(\[]\s*(?:in\s+)?(?P<bracketed>(?:{_UNITS})(?:\s?[/·^]\s?[\w^-]+)?)\s*[)\]]|[/,]\s(?P<open>{_UNITS})$"
)


def readings(text: str) -> list[float]:
    """The numbers that a tick label may stand for; none when it is no number.

    Understands signs (any dash), decimals, thousands commas, ``%`` (kept as printed), ``k``, ``M``, ``B``, ``1e-3``
    and powers of ten and of two. A lost superscript leaves two readings, and a lone O may be a zero: the other labels
    of the axis decide.

    >>> readings("−20"), readings("1,500"), readings("2.5k"), readings("75%")
    ([-20.0], [1500.0], [2500.0], [75.0])
    >>> readings("101"), readings("10⁻³"), readings("2^10"), readings("K = 5")
    ([101.0, 10.0], [0.001], [1024.0], [])
    """
    text = plain(text)
    values = []
    if match := _PLAIN_NUMBER.fullmatch(text):
        digits = match["digits"].replace(",", "")
        values.append(float(f"{match['sign']}{digits}e{match['exponent'] or 0}") * _SUFFIXES[match["suffix"] or ""])
    if match := _POWER.fullmatch(text):
        values.append(float(match["base"]) ** int(match["exponent"]))
    elif match := _POWER_OF_TEN.fullmatch(text):
        values.append(10.0 ** int(match["exponent"].replace("°", "0")))
    if text in ("O", "o"):
        values.append(0.0)
    return values


# --- tick labels ----------------------------------------------------------------------------------------------------

Side = Literal["left", "bottom"]
ScaleName = Literal["linear", "logarithmic"]


@dataclass(frozen=True)
class TickLabels:
    """The labels of one axis and their numbers, upwards or from the left."""

    side: Side
    labels: tuple[TextBox, ...]
    numbers: tuple[float, ...]
    scale: ScaleName

    @property
    def area(self) -> TextBox:
        """A box around the labels."""
        return _around(self.labels)

    @property
    def height(self) -> float:
        """Text height of most labels, in pixels."""
        return statistics.median(text_height(box) for box in self.labels)

    def value_at(self, position: float) -> float:
        """The number at a place along the axis, in pixels from the image's top or left, by the line through all."""
        along = [middle(box)[1 if self.side == "left" else 0] for box in self.labels]
        values = np.array(self.numbers) if self.scale == "linear" else np.log10(self.numbers)
        slope, start = np.polyfit(along, values, 1)
        value = float(slope * position + start)
        return value if self.scale == "linear" else 10.0**value


def axis_numbers(boxes: Sequence[TextBox]) -> list[list[float]]:
    """Numbers along left axes, from bottom to top, one list an axis, axes in reading order; see :func:`left_axes`."""
    return [list(axis.numbers) for axis in left_axes(boxes)]


def left_axes(boxes: Sequence[TextBox]) -> list[TickLabels]:
    """Tick labels of vertical axes, in reading order.

    At least three numbers are taken for an axis when their right edges are aligned, their steps are multiples of one
    step, and their heights lie on a linear or a logarithmic scale, provided that two thirds of the numbers above and
    below them belong to axes, too. That holds for tick labels and hardly for other numbers: among 40 heat maps of 120
    random numbers it found 3 axes. A label that was misread falls off the scale and is left out. Columns that are
    better aligned at their left edges stand right of a plot area and are left out, and so is 1, 2, 3 counted
    downwards: rows of a table.

    A right-hand axis whose labels are all of one width can't be told from a left-hand one by its text;
    :func:`stands_right` asks the pixels. An axis with fewer than three labels is not reported.
    """
    axes = []
    for ticks, scale in _axes_down(boxes):
        labels, numbers = zip(*reversed(ticks), strict=True)
        rows_of_a_table = list(numbers) == list(range(len(numbers), 0, -1))
        if not (rows_of_a_table or _left_aligned(labels)):
            axes.append(TickLabels("left", labels, numbers, scale))
    return _in_reading_order(axes)


def stands_right(rgb: Pixels, axis: TickLabels) -> bool:
    """Whether the labels of an upright axis stand right of its plot area, as those of colour bars do.

    They stand close to ticks, spine, grid or ground of their plot, and further from everything else.

    Args:
        rgb: The figure, ``uint8``, shape (height, width, 3).
        axis: Its labels.
    """
    gaps = [_gaps(rgb, box) for box in axis.labels]
    # by quartiles: a title stands beside some of the labels only, ticks beside all of them
    (left, left_high), (right, right_high) = (np.quantile(side, (0.25, 0.75)) for side in zip(*gaps, strict=True))
    steady = left_high - left <= right_high - right
    return bool(SIGN_GAP * axis.height <= left < CLOSER * right and steady)


def _gaps(rgb: Pixels, box: TextBox) -> tuple[int, int]:
    """Pixels from a label to the next ink on its left and on its right, about the height of its middle."""
    height = text_height(box)
    middle_row, reach, half = middle(box)[1], round(GROUND_REACH * height), BAND * height
    band = rgb[max(0, round(middle_row - half)) : round(middle_row + half) + 1].astype(np.int16)
    x0, x1 = max(0, round(box.bbox[0])), round(box.bbox[2])
    sides = band[:, max(0, x0 - reach) : x0][:, ::-1], band[:, x1 : x1 + reach]
    return tuple(next(iter(np.flatnonzero(_ink_columns(side)).tolist()), reach) for side in sides)


def _ink_columns(strip: Pixels) -> NDArray[np.bool_]:
    """Which columns of a strip differ from its beginning."""
    start = np.median(strip[:, :2], axis=(0, 1)) if strip.size else 0
    return (np.abs(strip - start).max(axis=2) > INK).any(axis=0)


def bottom_axes(boxes: Sequence[TextBox]) -> list[TickLabels]:
    """Tick labels of horizontal axes, in reading order: :func:`left_axes` on the figure turned over its diagonal.

    Labels above a plot area can't be told from those below another.
    """
    flipped = [_flipped(box) for box in boxes]
    upright = {id(turned): box for turned, box in zip(flipped, boxes, strict=True)}
    axes = [
        TickLabels("bottom", tuple(upright[id(box)] for box, _ in ticks), tuple(value for _, value in ticks), scale)
        for ticks, scale in _axes_down(flipped)
    ]
    return _in_reading_order(axes)


def _flipped(box: TextBox) -> TextBox:
    """A box with its axes exchanged."""
    x0, y0, x1, y1 = box.bbox
    return box.model_copy(update={"bbox": [y0, x0, y1, x1], "rotated": not box.rotated})


def _in_reading_order(axes: Sequence[TickLabels]) -> list[TickLabels]:
    areas = [axis.area for axis in axes]
    return [axis for area in reading_order(areas) for axis, other in zip(axes, areas, strict=True) if other is area]


Number = tuple[TextBox, list[float]]
"""A box and the numbers that it may stand for."""
Tick = tuple[TextBox, float]
"""A box and the number that it stands for."""
Scale = Callable[[float], float | None]


def _axes_down(boxes: Sequence[TextBox]) -> list[tuple[list[Tick], ScaleName]]:
    """Columns of numbers that are an axis each, their ticks from top to bottom."""
    rest = [(box, values) for box in sorted(boxes, key=order_key) if (values := readings(box.text))]
    if len(rest) > MAX_NUMBERS:
        return []
    found: list[tuple[list[Tick], ScaleName]] = []
    while (best := _best_scale(rest)) is not None:
        taken = {id(box) for box, _ in best[0]}
        rest = [entry for entry in rest if id(entry[0]) not in taken]
        found.append(best)
    members = [box for ticks, _ in found for box, _ in ticks]
    axes = []
    for ticks, scale in found:
        area = _around([box for box, _ in ticks])
        strays = sum(_above_or_below(box, area) for box, _ in rest)
        if 2 * strays <= sum(_above_or_below(box, area) for box in members):
            axes.append((ticks, scale))
    return axes


def _best_scale(numbers: Sequence[Number]) -> tuple[list[Tick], ScaleName] | None:
    """The largest set of numbers that are one axis, from top to bottom, and its scale; None when there is none.

    Any two numbers define a linear and, when positive, a logarithmic scale; the others lie on it or not.
    """
    best: tuple[list[Tick], ScaleName] | None = None
    best_rank = (0, 0.0, False, 0.0)
    for first, values in numbers:
        column = [(box, readings) for box, readings in numbers if _right_aligned(box, first)]
        below = [(box, readings) for box, readings in column if middle(box)[1] > middle(first)[1]]
        for second, others in below[:REACH]:
            for low, high, (name, scale) in itertools.product(values, others, _SCALES.items()):
                ticks, error = _on_scale(column, scale, (first, low), (second, high))
                if len(ticks) < MIN_TICKS or not _regular([value for _, value in ticks], scale):
                    continue
                # most ticks first; then the axis that is compact, then powers before 100, 101, 102, then the better fit
                extent = middle(ticks[-1][0])[1] - middle(ticks[0][0])[1]
                rank = (-len(ticks), round(extent), _flattened([box for box, _ in ticks], scale), error)
                if rank < best_rank:
                    best, best_rank = (ticks, name), rank
    return best


def _flattened(labels: Sequence[TextBox], scale: Scale) -> bool:
    """Whether a linear scale is of numbers that OCR may have made of powers of ten, which are far more usual."""
    return scale is _linear and all(box.source == "ocr" and len(readings(box.text)) > 1 for box in labels)


def _on_scale(column: Sequence[Number], scale: Scale, first: Tick, second: Tick) -> tuple[list[Tick], float]:
    """The numbers on the scale through two of them, each value once, and how far they miss it in all, in pixels."""
    start, end = scale(first[1]), scale(second[1])
    if start is None or end is None or start == end:
        return [], 0.0
    y_start, y_end = middle(first[0])[1], middle(second[0])[1]
    slope = (y_end - y_start) / (end - start)
    ticks: list[Tick] = []
    total = 0.0
    for box, values in column:
        misses = [
            (abs(y_start + slope * (place - start) - middle(box)[1]), value)
            for value in values
            if (place := scale(value)) is not None
        ]
        miss, value = min(misses, default=(math.inf, 0.0))
        if miss <= TICK_TOLERANCE * text_height(box) and all(value != other for _, other in ticks):
            ticks.append((box, value))
            total += miss
    return ticks, total


def _above_or_below(box: TextBox, area: TextBox) -> bool:
    """Whether a box overlaps the vertical strip of an area, anywhere between top and bottom of the image."""
    return box.bbox[0] < area.bbox[2] and area.bbox[0] < box.bbox[2]


def _right_aligned(box: TextBox, other: TextBox) -> bool:
    return abs(box.bbox[2] - other.bbox[2]) <= ALIGNMENT_TOLERANCE * text_height(other)


def _regular(values: Sequence[float], scale: Scale) -> bool:
    """Whether the steps between neighbours are whole multiples of the smallest, give or take rounded labels.

    Three numbers do that by chance often enough: with those the smallest step (ratio, on a logarithmic scale) must be
    round as well, such as 0.2, 25 or 10.
    """
    places = [scale(value) for value in values]
    steps = [abs(b - a) for a, b in itertools.pairwise(places)]
    smallest = min(steps)
    if any(abs(step / smallest - round(step / smallest)) > 0.05 for step in steps):
        return False
    if len(values) > MIN_TICKS:
        return True
    unit = smallest if scale is _linear else 10**smallest
    halves = 2 * unit / 10 ** math.floor(math.log10(unit))
    return abs(halves - round(halves)) < 0.01


def _linear(value: float) -> float | None:
    return value


def _logarithmic(value: float) -> float | None:
    return math.log10(value) if value > 0 else None


_SCALES: dict[ScaleName, Scale] = {"linear": _linear, "logarithmic": _logarithmic}


def _left_aligned(labels: Sequence[TextBox]) -> bool:
    """Whether labels of different widths share their left edges rather than their right ones."""
    left, right = (max(edges) - min(edges) for edges in ([box.bbox[side] for box in labels] for side in (0, 2)))
    return right - left > 0.25 * statistics.median(text_height(box) for box in labels)


def _around(boxes: Sequence[TextBox]) -> TextBox:
    """One box around several."""
    x0, y0, x1, y1 = zip(*(box.bbox for box in boxes), strict=True)
    return TextBox(text="", confidence=1.0, bbox=[min(x0), min(y0), max(x1), max(y1)])


# --- plots ----------------------------------------------------------------------------------------------------------


def plot_axes(
    left: Sequence[TickLabels], bottom: Sequence[TickLabels], boxes: Sequence[TextBox], letters: Sequence[str] = ()
) -> list[Axis]:
    """Axes with their titles and units, plot by plot in reading order, the left axis of a plot before the bottom one.

    A left and a bottom axis are of one plot where their labels meet at its lower left corner. Plots that share the
    labels of a neighbour have one axis, or none.

    Args:
        left: From :func:`left_axes`.
        bottom: From :func:`bottom_axes`.
        boxes: All text of the figure, for the titles.
        letters: Panel letters in reading order; given to the plots where there are as many, in alphabetical order.
    """
    partners = _partners(left, bottom)
    plots = [(axis, partners.get(k)) for k, axis in enumerate(left)]
    plots += [(None, axis) for axis in bottom if all(axis is not other for other in partners.values())]
    corners = [_around([axis.area for axis in plot if axis is not None]) for plot in plots]
    order = {id(area): k for k, area in enumerate(reading_order(corners))}
    plots = [plot for plot, area in sorted(zip(plots, corners, strict=True), key=lambda pair: order[id(pair[1])])]
    certain = len(letters) == len(plots) and list(letters) == sorted(letters)
    lettered = list(letters) if certain else [None] * len(plots)
    labels = {id(box) for axis in (*left, *bottom) for box in axis.labels}
    others = [box for box in boxes if id(box) not in labels]
    axes = []
    for panel, plot in enumerate(plots):
        for axis in filter(None, plot):
            title = axis_title(axis, others)
            axes.append(
                Axis(
                    panel=panel,
                    letter=lettered[panel],
                    side=axis.side,
                    numbers=list(axis.numbers),
                    scale=axis.scale,
                    title=title,
                    unit=axis_unit(title, axis.labels),
                    factor=axis_factor(axis, others),
                    bbox=axis.area.bbox,
                )
            )
    return axes


def _partners(left: Sequence[TickLabels], bottom: Sequence[TickLabels]) -> dict[int, TickLabels]:
    """The bottom axis of each left one, by the left one's index: the nearest to the corner, each given once."""
    distances = []
    for k, axis in enumerate(left):
        _, _, right_edge, foot = axis.area.bbox
        for other in bottom:
            x0, y0, *_ = other.area.bbox
            reach = max(axis.height, other.height)
            # labels at the very corner may stand on either side of it
            across, down = x0 - right_edge, y0 - foot
            if -2 * reach <= across and -reach <= down and max(across, down) <= CORNER_REACH * reach:
                distances.append((abs(across) + abs(down), k, other))
    partners: dict[int, TickLabels] = {}
    for _, k, other in sorted(distances, key=lambda entry: entry[:2]):
        if k not in partners and all(other is not given for given in partners.values()):
            partners[k] = other
    return partners


def axis_title(axis: TickLabels, boxes: Sequence[TextBox]) -> str | None:
    """The text nearest to an axis' labels on their outer side, along the axis; None where there is none.

    Args:
        axis: The labels.
        boxes: The figure's other text.
    """
    x0, y0, x1, y1 = axis.area.bbox
    reach = TITLE_REACH * axis.height
    candidates = []
    for box in boxes:
        a0, b0, a1, b1 = box.bbox
        if axis.side == "left":
            gap, beside = x0 - a1, box.rotated and b0 < y1 and y0 < b1
        else:
            gap, beside = b0 - y1, not box.rotated and a0 < x1 and x0 < a1
        if beside and not marked_letters(box.text) and -0.5 * axis.height <= gap <= reach:
            candidates.append((gap, *order_key(box), box))
    named = [entry for entry in candidates if any(map(str.isalpha, entry[-1].text))]
    if not named:
        return None
    parts = _in_line(min(named, key=lambda entry: entry[:-1])[-1], [entry[-1] for entry in candidates])
    return plain(" ".join(box.text for box in parts))


def _in_line(first: TextBox, boxes: Sequence[TextBox]) -> list[TextBox]:
    """A piece of text with those that go on in its line, in its direction: OCR parts a title at its brackets."""
    along, across = ((1, 3), (0, 2)) if first.rotated else ((0, 2), (1, 3))
    height = text_height(first)
    line = [
        box
        for box in boxes
        if box.source == first.source
        and box.bbox[across[0]] < middle(first)[across[0]] < box.bbox[across[1]]
        and 0.6 * height < text_height(box) < 1.6 * height
    ]
    line.sort(key=lambda box: box.bbox[along[0]])
    place = next(k for k, box in enumerate(line) if box is first)
    start, end = place, place + 1
    while start > 0 and line[start].bbox[along[0]] - line[start - 1].bbox[along[1]] <= height:
        start -= 1
    while end < len(line) and line[end].bbox[along[0]] - line[end - 1].bbox[along[1]] <= height:
        end += 1
    return line[start:end][::-1] if first.rotated else line[start:end]


def axis_factor(axis: TickLabels, boxes: Sequence[TextBox]) -> float:
    """The power of ten at the end of an axis by which its numbers are to be multiplied; 1 where there is none.

    It stands above the labels of a left axis, and below those of a bottom axis at the right.

    Args:
        axis: The labels.
        boxes: The figure's other text.

    >>> labels = [TextBox(text=str(k), confidence=1, bbox=[0, 90 - 40 * k, 8, 100 - 40 * k]) for k in (0, 1, 2)]
    >>> axis_factor(left_axes(labels)[0], [TextBox(text="1e−3", confidence=1, bbox=[10, -8, 30, 2])])
    0.001
    """
    last = axis.labels[-1].bbox
    reach = FACTOR_REACH * axis.height
    for box in boxes:
        x0, y0, x1, y1 = box.bbox
        if axis.side == "left":
            beside = -axis.height <= x0 - last[0] <= reach and -reach <= y1 - last[1] <= axis.height
        else:
            beside = -axis.height <= y0 - last[1] <= reach and -reach <= x1 - last[2] <= reach
        if beside and (match := _FACTOR.fullmatch(plain(box.text))):
            return 10.0 ** int(match["exponent"])
    return 1.0


def axis_unit(title: str | None, labels: Sequence[TextBox] = ()) -> str | None:
    """The unit that an axis' title gives in brackets, or after a slash or a comma, or that its labels bear.

    >>> axis_unit("Latency (ms)"), axis_unit("Speed [km/h]"), axis_unit("Time / s"), axis_unit("Score (ours)")
    ('ms', 'km/h', 's', None)
    """
    if title and (match := _UNIT.search(title)):
        return match["bracketed"] or match["open"]
    return "%" if labels and sum(box.text.rstrip().endswith("%") for box in labels) * 2 > len(labels) else None


def bar_base(axes: Sequence[TickLabels], bars: BarRow) -> float | None:
    """The value at the foot of a row of bars, on the linear axis left of it or, where they lie, below it.

    A value within a tenth of a step of zero or of a label is that number: labels are centred on their ticks within
    some pixels only.

    Args:
        axes: Left and bottom ones.
        bars: The row.

    Returns:
        None without such an axis.
    """
    beside = []
    for axis in axes:
        x0, y0, x1, y1 = axis.area.bbox
        (low, high), gap = ((x0, x1), y0 - bars.end) if bars.lying else ((y0, y1), bars.start - x1)
        spacing = (high - low) / max(1, len(axis.labels) - 1)
        covered = low - spacing * bars.lying <= bars.foot <= high + spacing * (not bars.lying)
        if axis.side == ("bottom" if bars.lying else "left") and axis.scale == "linear" and gap >= 0 and covered:
            beside.append((gap, axis))
    if not beside:
        return None
    axis = min(beside, key=lambda entry: entry[0])[1]
    value = axis.value_at(bars.foot)
    step = min(abs(b - a) for a, b in itertools.pairwise(axis.numbers))
    near = min((0.0, *axis.numbers), key=lambda number: abs(number - value))
    return near if abs(near - value) <= 0.1 * step else float(f"{value:.3g}")

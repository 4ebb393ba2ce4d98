"""Bars that stand on a common line: what tells a bar chart, whose axis has to start at zero, from a line plot."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.features.vision import WHITE, Pixels

MIN_BARS = 3
MIN_COLOUR_SHARE = 0.002
MAX_COLOURS = 12
MIN_SIDE = 4
"""Shortest side of a bar, in pixels."""
MIN_TALLEST = 0.08
"""Height of the tallest bar over the height of the image: strokes of letters are shorter."""
FILLED = 0.85
"""Share of its box that a bar fills; error bars and rounded corners take some."""
MIN_CLOSING, CLOSING = 5, 1 / 120
"""Widest line across a bar (error bar, grid) that does not divide it: pixels at least, and a share of the height."""


class _Box(NamedTuple):
    x: int
    y: int
    width: int
    height: int

    @property
    def foot(self) -> int:
        return self.y + self.height


class BarRow(NamedTuple):
    """A row of bars on a common line.

    Attributes:
        count: Bars in it.
        start: Left edge of the first, in pixels from the left.
        foot: The line they stand on, in pixels from the top.
    """

    count: int
    start: int
    foot: int


def row_of_bars(rgb: Pixels) -> BarRow | None:
    """The largest row of bars; None where there is none.

    A row of bars: at least three filled rectangles of one flat colour each, of about the same width, side by side on a
    common line, and not all of the same height (legend keys and cells of a heat map are). Bars that touch in one
    colour, as in histograms, and hatched bars are not seen.

    Args:
        rgb: Image, ``uint8``, shape (height, width, 3).

    >>> canvas = np.full((100, 100, 3), 255, np.uint8)
    >>> for x, height in ((10, 30), (40, 60), (70, 45)):
    ...     canvas[90 - height : 90, x : x + 15] = (200, 80, 0)
    >>> row_of_bars(canvas), row_of_bars(canvas[:, :60])
    (BarRow(count=3, start=10, foot=90), None)
    """
    boxes = sorted(_flat_boxes(rgb), key=lambda box: (box.foot, box.x))
    tolerance = max(2, rgb.shape[0] // 200)
    rows: list[list[_Box]] = []
    for box in boxes:
        if rows and box.foot - rows[-1][0].foot <= tolerance:
            rows[-1].append(box)
        else:
            rows.append([box])
    tallest = MIN_TALLEST * rgb.shape[0]
    found = [row for row in map(_of_one_width, rows) if _is_row_of_bars(row, tallest)]
    if not found:
        return None
    row = max(found, key=len)
    return BarRow(len(row), min(box.x for box in row), row[0].foot)


def _flat_boxes(rgb: Pixels) -> list[_Box]:
    """Boxes of the filled rectangles of one colour, background and white left out."""
    red, green, blue = (rgb[..., channel].astype(np.int32) >> 4 for channel in range(3))
    codes = (red << 8) | (green << 4) | blue
    counts = np.bincount(codes.ravel(), minlength=4096)
    common = np.argsort(counts)[::-1][: MAX_COLOURS + 1]
    frequent = [int(code) for code in common if counts[code] >= MIN_COLOUR_SHARE * codes.size]
    white = int(f"{WHITE >> 4:x}" * 3, 16)
    closing = max(MIN_CLOSING, round(CLOSING * rgb.shape[0]))
    kernel = np.ones((closing, closing), np.uint8)
    boxes = []
    for code in frequent[1:]:
        if code == white:
            continue
        mask = cv2.morphologyEx((codes == code).astype(np.uint8), cv2.MORPH_CLOSE, kernel)
        _, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
        for x, y, width, height, area in stats[1:].tolist():
            if min(width, height) >= MIN_SIDE and area >= FILLED * width * height:
                boxes.append(_Box(x, y, width, height))
    return boxes


def _of_one_width(row: list[_Box]) -> list[_Box]:
    middle = sorted(box.width for box in row)[len(row) // 2]
    return [box for box in row if abs(box.width - middle) <= max(2, 0.15 * middle)]


def _is_row_of_bars(row: list[_Box], tallest: float) -> bool:
    heights = [box.height for box in row]
    uneven = max(heights) >= 1.1 * min(heights) and max(heights) - min(heights) > 3
    apart = all(a.x + a.width <= b.x + 2 for a, b in itertools.pairwise(sorted(row)))
    return len(row) >= MIN_BARS and uneven and apart and max(heights) >= tallest

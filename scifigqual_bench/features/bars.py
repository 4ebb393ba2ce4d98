"""Bars that stand on a common line: what tells a bar chart, whose axis has to start at zero, from a line plot."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
ABOVE = 10
"""Pixels above a bar where its ground is looked for, beyond its outline."""
GROUND = 0.1
"""Share of the image from which a colour is a ground."""
BLACK = 0
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
    """A row of bars on a common line, in pixels from the left and the top of the image.

    Attributes:
        count: Bars in it.
        start: Where the first begins, along the line.
        end: Where the last ends, along the line.
        foot: The line they stand on.
        lying: Whether they lie: the line is upright, and they reach to the right.
    """

    count: int
    start: int
    end: int
    foot: int
    lying: bool = False


def row_of_bars(rgb: Pixels) -> BarRow | None:
    """The largest row of standing bars; None where there is none.

    A row of bars: at least three filled rectangles of one flat colour each, of about the same width, side by side on a
    common line, not all of the same height (legend keys and cells of a heat map are), and with the ground in between or
    above. Bars that touch in one colour, as in histograms, and hatched bars are not seen.

    Args:
        rgb: Image, ``uint8``, shape (height, width, 3).

    >>> canvas = np.full((100, 100, 3), 255, np.uint8)
    >>> for x, height in ((10, 30), (40, 60), (70, 45)):
    ...     canvas[90 - height : 90, x : x + 15] = (200, 80, 0)
    >>> row_of_bars(canvas), row_of_bars(canvas[:, :60])
    (BarRow(count=3, start=10, end=85, foot=90, lying=False), None)
    """
    codes = _codes(rgb)
    counts = np.bincount(codes.ravel(), minlength=4096)
    boxes = sorted(_flat_boxes(codes, counts), key=lambda box: (box.foot, box.x))
    tolerance = max(2, rgb.shape[0] // 200)
    rows: list[list[_Box]] = []
    for box in boxes:
        if rows and box.foot - rows[-1][0].foot <= tolerance:
            rows[-1].append(box)
        else:
            rows.append([box])
    tallest = MIN_TALLEST * rgb.shape[0]
    ground = counts[codes] >= GROUND * codes.size
    found = [row for row in map(_of_one_width, rows) if _is_row_of_bars(row, tallest) and _on_ground(row, ground)]
    if not found:
        return None
    row = max(found, key=len)
    return BarRow(len(row), min(box.x for box in row), max(box.x + box.width for box in row), row[0].foot)


def lying_bars(rgb: Pixels) -> BarRow | None:
    """The largest row of bars that begin at a common line on their left; otherwise as :func:`row_of_bars`."""
    row = row_of_bars(np.rot90(rgb))
    return row._replace(foot=rgb.shape[1] - row.foot, lying=True) if row else None


def _codes(rgb: Pixels) -> NDArray[np.int32]:
    """One number a pixel: the upper 4 bits of each channel."""
    red, green, blue = (rgb[..., channel].astype(np.int32) >> 4 for channel in range(3))
    return (red << 8) | (green << 4) | blue


def _flat_boxes(codes: NDArray[np.int32], counts: NDArray[np.intp]) -> list[_Box]:
    """Boxes of the filled rectangles of one colour, background and white left out."""
    common = np.argsort(counts)[::-1][: MAX_COLOURS + 1]
    frequent = [int(code) for code in common if counts[code] >= MIN_COLOUR_SHARE * codes.size]
    white = int(f"{WHITE >> 4:x}" * 3, 16)
    closing = max(MIN_CLOSING, round(CLOSING * codes.shape[0]))
    kernel = np.ones((closing, closing), np.uint8)
    boxes = []
    for code in frequent[1:]:
        if code == white:
            continue
        # black bars stand on a black axis; closed, black letters would make bars
        step = cv2.MORPH_OPEN if code == BLACK else cv2.MORPH_CLOSE
        mask = cv2.morphologyEx((codes == code).astype(np.uint8), step, kernel)
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


def _on_ground(row: list[_Box], ground: NDArray[np.bool_]) -> bool:
    """Whether the ground shows between bars or above them; around the cells of a heat map are other cells."""
    ordered = sorted(row)
    between = [((a.x + a.width + b.x) // 2, a.foot - MIN_SIDE) for a, b in itertools.pairwise(ordered)]
    above = [(box.x + box.width // 4, max(0, box.y - ABOVE)) for box in ordered]  # beside an error bar
    return 3 * sum(bool(ground[y, x]) for x, y in between + above) >= len(between + above)

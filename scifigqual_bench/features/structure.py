"""What kind of marks a figure is made of: texture of photographs, long rules, boxes, flat fills.

Measured on the image scaled to at most :data:`SIDE` pixels a side, so that a figure's resolution hardly matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.features.vision import Pixels

SIDE = 1024
"""Pixels of the longer side."""
TILE = 16
RICH_COLOURS = 24
"""Distinct colours (5 bits a channel) in a tile, from which it looks like a photograph and not like drawing."""
DARK = 60
INK = 160
"""Grey below which a pixel belongs to a line."""
RULE = 0.3
"""Length of a long rule over the side that it runs along."""
BOX_SIDES = (24, 700)
"""Pixels of a box's sides."""


@dataclass(frozen=True)
class Structure:
    """Shares and counts, all independent of size.

    Attributes:
        rich_share: Share of the tiles that look like photographs, 0..1.
        dark_share: Share of dark pixels, 0..1.
        fill_share: Share of pixels in flat areas that are neither white nor dark, 0..1.
        horizontal_rules: Long thin horizontal lines.
        vertical_rules: Long thin vertical lines.
        boxes: Closed four-cornered outlines.
    """

    rich_share: float
    dark_share: float
    fill_share: float
    horizontal_rules: int
    vertical_rules: int
    boxes: int


def structure(rgb: Pixels) -> Structure:
    """Measure an image.

    Args:
        rgb: (height, width, 3), uint8.

    >>> blank = structure(np.full((200, 300, 3), 255, np.uint8))
    >>> (blank.rich_share, blank.horizontal_rules, blank.boxes)
    (0.0, 0, 0)
    """
    scale = min(1.0, SIDE / max(rgb.shape[:2]))
    size = (max(1, round(rgb.shape[1] * scale)), max(1, round(rgb.shape[0] * scale)))
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA) if scale < 1 else rgb
    grey = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)
    ink = (grey < INK).astype(np.uint8)
    return Structure(
        rich_share=_rich_share(small),
        dark_share=float((grey < DARK).mean()),
        fill_share=_fill_share(small, grey),
        horizontal_rules=_rules(ink),
        vertical_rules=_rules(ink.T),
        boxes=_boxes(ink),
    )


def _rich_share(rgb: Pixels) -> float:
    rows, columns = rgb.shape[0] // TILE, rgb.shape[1] // TILE
    if not rows or not columns:
        return 0.0
    colours = (rgb[: rows * TILE, : columns * TILE] >> 3).astype(np.int32)
    codes = (colours[..., 0] << 10) | (colours[..., 1] << 5) | colours[..., 2]
    tiles = np.sort(codes.reshape(rows, TILE, columns, TILE).swapaxes(1, 2).reshape(rows * columns, -1), axis=1)
    distinct = 1 + np.count_nonzero(np.diff(tiles, axis=1), axis=1)
    return float((distinct >= RICH_COLOURS).mean())


def _fill_share(rgb: Pixels, grey: Pixels) -> float:
    """Pixels whose neighbourhood is of one colour, neither white nor dark."""
    kernel = np.ones((5, 5), np.uint8)
    flat = (cv2.dilate(rgb, kernel) == cv2.erode(rgb, kernel)).all(axis=2)
    return float((flat & (grey < 245) & (grey >= DARK)).mean())


def _rules(ink: Pixels) -> int:
    """Long lines along the second axis, thinner than a hundredth of the first."""
    length = max(20, round(RULE * ink.shape[1]))
    found = cv2.morphologyEx(np.ascontiguousarray(ink), cv2.MORPH_OPEN, np.ones((1, length), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(found, connectivity=8)
    thin = max(3, ink.shape[0] // 100)
    return int(sum(stats[k, cv2.CC_STAT_HEIGHT] <= thin for k in range(1, count)))


def _boxes(ink: Pixels) -> int:
    contours, _ = cv2.findContours(ink, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    low, high = BOX_SIDES
    found = 0
    for contour in contours:
        _, _, width, height = cv2.boundingRect(contour)
        if low <= width <= high and low <= height <= high:
            corners = cv2.approxPolyDP(contour, 0.02 * cv2.arcLength(contour, True), True)
            filled = cv2.contourArea(contour) / (width * height)
            found += len(corners) == 4 and filled > 0.8
    return found

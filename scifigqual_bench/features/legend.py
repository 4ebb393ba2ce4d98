"""Legend entries: pieces of text with a key before them, a stroke, a patch or a marker (SPEC 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scifigqual_bench.features.axes import readings
from scifigqual_bench.features.colour import MIN_CHROMA
from scifigqual_bench.features.text import middle, reading_order, text_height
from scifigqual_bench.features.vision import Pixels
from scifigqual_bench.records import TextBox

REACH = 5.0
"""How far a key begins left of its text at most, in text heights."""
MAX_GAP = 1.9
"""Widest space between key and text, in text heights."""
MIN_KEY, MAX_KEY = 0.35, 4.5
"""Width of a key, in text heights: narrower is a rule or a frame, wider a curve or an axis."""
CLEAR = 0.3
"""Empty space left of a key, in text heights."""
BAND = 0.35
"""Half of the height of the strip that is looked at, in text heights."""
PITCH = 3.0
"""How far entries of one column stand apart at most, in text heights; entries of a row, three times as far."""
ALIGNED = 0.5
"""How far the places of keys, or of text, may differ in one column or row, in text heights."""
MAX_ENTRIES = 40
"""Entries above which a figure is a cloud of marked words."""
INK = 40
"""Channel difference from the ground from which a pixel counts as ink."""


@dataclass(frozen=True)
class _Entry:
    box: TextBox
    key_start: float


def legend_entries(rgb: Pixels, boxes: Sequence[TextBox]) -> list[str]:
    """Texts that stand beside a key, in reading order.

    A key is ink of 0.35 to 4.5 text heights at the middle of the line, with space on both sides, on the left of its
    text. At least two entries of one row or column make a legend: a lone piece of text with something beside it may be
    a label. Numbers count with coloured keys only: tick marks are keys to the
    eye. Legends whose keys stand on the right of the text, or far away, are not seen, and text written onto the curves
    is no legend.

    Args:
        rgb: Image, ``uint8``, shape (height, width, 3).
        boxes: Its text.
    """
    found = [entry for box in boxes if not box.rotated and (entry := _entry(rgb, box)) is not None]
    kept = [entry.box for entry in found if any(_together(entry, other) for other in found if other is not entry)]
    return [box.text for box in reading_order(kept)] if len(kept) <= MAX_ENTRIES else []


def _entry(rgb: Pixels, box: TextBox) -> _Entry | None:
    """A piece of text with its key; None where there is none."""
    height = text_height(box)
    (_, y), x0 = middle(box), box.bbox[0]
    top, foot = round(y - BAND * height), round(y + BAND * height) + 1
    left, right = max(0, round(x0 - REACH * height)), round(x0)
    strip = rgb[max(0, top) : foot, left:right].astype(np.int16)
    letters = rgb[max(0, top) : foot, right : round(box.bbox[2])]
    if min(strip.shape[:2]) < 2 or not letters.size or not any(char.isalnum() for char in box.text):
        return None
    ground = np.median(letters.reshape(-1, 3), axis=0)
    ink = np.abs(strip - ground).max(axis=2) > INK
    coloured = ink & (strip.max(axis=2) - strip.min(axis=2) >= MIN_CHROMA)
    for mask in (ink, coloured):  # a grey grid line may run through a coloured key
        if (key := _key(mask, height, at_edge=left == 0)) is not None:
            start, end = key
            own = mask[:, start:end]
            if readings(box.text) and not (own & coloured[:, start:end]).sum() * 2 > own.sum():
                return None
            return _Entry(box, left + start)
    return None


def _key(ink: NDArray[np.bool_], height: float, *, at_edge: bool) -> tuple[int, int] | None:
    """Where a key begins and ends in the strip before a text; None where no ink there looks like one.

    Args:
        ink: The strip, shape (rows, columns); the text follows on its right.
        height: Of the text, in pixels.
        at_edge: Whether the strip begins at the edge of the image.
    """
    # dashes, and a marker on its line, are one key: short gaps in it are closed
    runs = _runs(ink.any(axis=0), round(0.5 * height))
    if not runs:
        return None
    start, end = runs[-1]
    if ink.shape[1] - end <= 1 and len(runs) > 1:  # the first letter reaches out of its box
        start, end = runs[-2]
    width, gap = (end - start) / height, (ink.shape[1] - end) / height
    space = start - max((stop for _, stop in runs if stop <= start), default=0)
    apart = space >= CLEAR * height or (at_edge and start == 0)
    return (start, end) if MIN_KEY <= width <= MAX_KEY and gap <= MAX_GAP and apart else None


def _runs(columns: np.ndarray, join: int) -> list[tuple[int, int]]:
    """Half-open ranges of true values; those less than ``join`` apart are one."""
    steps = np.flatnonzero(np.diff(columns.astype(np.int8), prepend=0, append=0))
    runs: list[tuple[int, int]] = []
    for start, end in zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True):
        if runs and start - runs[-1][1] < join:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs


def _together(entry: _Entry, other: _Entry) -> bool:
    """Whether two entries are of one legend: one below the other, or side by side."""
    height = max(text_height(entry.box), text_height(other.box))
    (_, y), (_, y_other) = middle(entry.box), middle(other.box)
    column = (
        abs(entry.key_start - other.key_start) <= ALIGNED * height
        and abs(entry.box.bbox[0] - other.box.bbox[0]) <= ALIGNED * height
        and abs(y - y_other) <= PITCH * height
    )
    space = max(entry.key_start - other.box.bbox[2], other.key_start - entry.box.bbox[2])
    row = abs(y - y_other) <= ALIGNED * height and 0 <= space <= 3 * PITCH * height
    return column or row

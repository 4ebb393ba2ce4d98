"""The colours of a figure: which there are, and whether people with a colour vision deficiency can tell them apart.

Sources: sRGB (IEC 61966-2-1), CIELAB (D65), CIEDE2000 (Sharma, Wu and Dalal 2005), dichromacy by the matrices of
Machado, Oliveira and Fernandes (2009, severity 1.0, applied to linear RGB), contrast by WCAG 2.2.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.records import MainColour

Floats = NDArray[np.float64]

MIN_CHROMA = 32
"""Largest minus smallest channel from which a pixel counts as coloured; compression noise stays below it."""
HUES = 12
MAX_COLOURS = 12
MIN_COLOUR_SHARE = 0.0005
"""Of the image's pixels: a curve of one point across a figure has a few thousandths."""
SAME_COLOUR = 8.0
"""CIEDE2000 distance under which two flat colours are taken for one."""
MIN_LAB_CHROMA = 20.0
"""CIELAB chroma from which a colour is no grey."""
MIN_PURE = 0.4
"""Share of a colour's pixels that are of its most frequent shade; less, and it is a part of a colour gradient."""
MIN_FLAT = 0.6
"""Share of the coloured flat pixels that the main colours have to cover, else colours run into each other."""

PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE_D65 = _TO_XYZ.sum(axis=1)


@dataclass(frozen=True)
class ColourStatistics:
    """The colours of one image; the fields of the same names in :class:`scifigqual_bench.records.ImageFeatures`."""

    coloured_share: float
    hue_shares: list[float]
    main_colours: list[MainColour]
    colour_distance_min: float | None = None
    deuteranopia_distance_min: float | None = None
    deuteranopia_pair: list[str] = field(default_factory=list)
    protanopia_distance_min: float | None = None
    protanopia_pair: list[str] = field(default_factory=list)


def colour_statistics(rgb: NDArray[np.uint8]) -> ColourStatistics:
    """All statistics of this module; shares rounded to four decimals, distances to one.

    Args:
        rgb: Image, ``uint8``, shape (height, width, 3).

    >>> stripes = np.repeat(np.array([[[215, 48, 39]], [[26, 152, 80]]], np.uint8), 20, axis=0).repeat(40, axis=1)
    >>> found = colour_statistics(stripes)
    >>> [main.colour for main in found.main_colours], found.colour_distance_min > 3 * found.deuteranopia_distance_min
    (['#d73027', '#1a9850'], True)
    """
    coloured = rgb.max(axis=2).astype(np.int16) - rgb.min(axis=2) >= MIN_CHROMA
    hue = cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV)[..., 0][coloured]  # 0..179, two degrees a step
    step = 180 // HUES
    counts = np.bincount((hue.astype(np.int16) + step // 2) % 180 // step, minlength=HUES)
    colours, flat = _flat_colours(rgb, coloured)
    chromatic = [(colour, share) for colour, share in colours if _chroma(colour) >= MIN_LAB_CHROMA]
    found = ColourStatistics(
        coloured_share=round(float(coloured.mean()), 4),
        hue_shares=[round(int(count) / coloured.size, 4) for count in counts],
        main_colours=[MainColour(colour=_hex(colour), share=round(share, 4)) for colour, share in colours],
    )
    if len(chromatic) < 2 or sum(share for _, share in chromatic) < MIN_FLAT * flat:
        return found
    values = np.array([colour for colour, _ in chromatic], np.float64)
    distances = {kind: _closest(values, matrix) for kind, matrix in _VISIONS.items()}
    return ColourStatistics(
        coloured_share=found.coloured_share,
        hue_shares=found.hue_shares,
        main_colours=found.main_colours,
        colour_distance_min=distances["normal"][0],
        deuteranopia_distance_min=distances["deuteranopia"][0],
        deuteranopia_pair=distances["deuteranopia"][1],
        protanopia_distance_min=distances["protanopia"][0],
        protanopia_pair=distances["protanopia"][1],
    )


_VISIONS = {"normal": np.eye(3), "deuteranopia": DEUTERANOPIA, "protanopia": PROTANOPIA}


def _closest(colours: Floats, matrix: Floats) -> tuple[float, list[str]]:
    """The smallest distance between two of the colours as seen through a matrix, and the two as they are."""
    lab = lab_of(np.clip(linear(colours) @ matrix.T, 0.0, 1.0))
    pairs = list(itertools.combinations(range(len(colours)), 2))
    first, second = (lab[[pair[k] for pair in pairs]] for k in (0, 1))
    distances = ciede2000(first, second)
    nearest = int(distances.argmin())
    return round(float(distances[nearest]), 1), [_hex(colours[k]) for k in pairs[nearest]]


def _flat_colours(rgb: NDArray[np.uint8], coloured: NDArray[np.bool_]) -> tuple[list[tuple[Floats, float]], float]:
    """Colours of flat pixels with their shares, most frequent first, and the share of flat pixels with colour.

    A pixel is flat where it and its neighbours to the right, below and between are of one colour: the soft edges of
    strokes, which mix two colours, are not. Strokes of one pixel are lost with them.
    """
    codes = (rgb >> 3).astype(np.int32) @ np.array([1024, 32, 1])
    here = codes[:-1, :-1]
    flat = (here == codes[:-1, 1:]) & (here == codes[1:, :-1]) & (here == codes[1:, 1:])
    counts = np.bincount(here[flat], minlength=32768)
    flat_coloured = int(np.count_nonzero(flat & coloured[:-1, :-1])) / codes.size
    order = np.argsort(counts, kind="stable")[::-1][: 8 * MAX_COLOURS]
    order = order[counts[order] >= MIN_COLOUR_SHARE * codes.size]
    found: list[list] = []
    for code in order.tolist():
        where = flat & (here == code)
        colour = rgb[:-1, :-1][where].mean(axis=0, dtype=np.float64)
        lab = lab_of(linear(colour))
        near = next((entry for entry in found if float(ciede2000(entry[2], lab)) < SAME_COLOUR), None)
        count = int(counts[code])
        if near is not None:
            near[1] += count
        elif len(found) < MAX_COLOURS:
            found.append([colour, count, lab, count])
    found.sort(key=lambda entry: -entry[1])
    pure = [(colour, count / codes.size) for colour, count, _, most in found if most >= MIN_PURE * count]
    return pure, flat_coloured


def linear(rgb: Floats | NDArray[np.uint8]) -> Floats:
    """Linear light, 0..1, of sRGB values 0..255; any shape."""
    value = np.asarray(rgb, np.float64) / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab_of(light: Floats) -> Floats:
    """CIELAB (D65) of linear RGB in 0..1, shape (..., 3).

    >>> lab_of(np.ones(3)).round(3).tolist()
    [100.0, 0.0, 0.0]
    """
    xyz = light @ _TO_XYZ.T / _WHITE_D65
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def _chroma(colour: Floats) -> float:
    return float(np.hypot(*lab_of(linear(colour))[1:]))


def ciede2000(first: Floats, second: Floats) -> Floats:
    """CIEDE2000 colour difference of CIELAB colours, shape (..., 3) each -> (...); about 1 is just visible.

    >>> float(ciede2000(np.array([50, 2.5, 0]), np.array([73, 25, -18])).round(4))
    27.1492
    """
    l1, a1, b1 = np.moveaxis(np.asarray(first, np.float64), -1, 0)
    l2, a2, b2 = np.moveaxis(np.asarray(second, np.float64), -1, 0)
    mean7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    g = 0.5 * (1 - np.sqrt(mean7 / (mean7 + 25.0**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    grey = c1 * c2 == 0
    turn = np.where(grey, 0.0, (h2 - h1 + 180) % 360 - 180)
    # a difference of exactly 180 degrees is one of +180
    turn = np.where(~grey & (np.abs(h2 - h1) == 180), h2 - h1, turn)
    d_l, d_c = l2 - l1, c2 - c1
    d_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    lightness, c = (l1 + l2) / 2, (c1 + c2) / 2
    far = np.abs(h1 - h2) > 180
    h = np.where(grey, h1 + h2, (h1 + h2 + np.where(far, np.where(h1 + h2 < 360, 360, -360), 0)) / 2)
    t = 1 - 0.17 * _cos(h - 30) + 0.24 * _cos(2 * h) + 0.32 * _cos(3 * h + 6) - 0.20 * _cos(4 * h - 63)
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2)
    s_c, s_h = 1 + 0.045 * c, 1 + 0.015 * c * t
    r_c = 2 * np.sqrt(c**7 / (c**7 + 25.0**7))
    r_t = -np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2)))) * r_c
    terms = d_l / s_l, d_c / s_c, d_h / s_h
    squares = terms[0] ** 2 + terms[1] ** 2 + terms[2] ** 2 + r_t * terms[1] * terms[2]
    return np.sqrt(np.maximum(squares, 0.0))


def _cos(degrees: Floats) -> Floats:
    return np.cos(np.radians(degrees))


def _hex(colour: Floats) -> str:
    return "#" + "".join(f"{round(float(channel)):02x}" for channel in colour)


# --- contrast -------------------------------------------------------------------------------------------------------


def contrast_ratio(first: Floats, second: Floats) -> float:
    """Contrast ratio of two sRGB colours (0..255) by WCAG 2.2, 1..21.

    >>> contrast_ratio(np.zeros(3), np.full(3, 255)), round(contrast_ratio(np.full(3, 118), np.full(3, 255)), 2)
    (21.0, 4.54)
    """
    lights = [float(linear(colour) @ np.array([0.2126, 0.7152, 0.0722])) + 0.05 for colour in (first, second)]
    return round(max(lights) / min(lights), 6)


MIN_TEXT_SHARE = 0.02
"""Share of the box's pixels that are taken for the core of the strokes: those furthest from the ground."""


def text_contrast(rgb: NDArray[np.uint8], box: list[float]) -> float | None:
    """Contrast ratio of the text in a box against its ground, 1..21; None for an empty box.

    The ground is the most frequent colour of the box, the text the mean of the 2% of its pixels that differ most from
    it. Strokes of less than two pixels never show their full colour, so that small text comes out paler than it was
    drawn, as it does in print.

    Args:
        rgb: Image, ``uint8``, shape (height, width, 3).
        box: x0, y0, x1, y1 in pixels.
    """
    x0, y0, x1, y1 = (round(value) for value in box)
    part = rgb[max(0, y0) : y1, max(0, x0) : x1].reshape(-1, 3)
    if not len(part):
        return None
    codes = (part >> 3).astype(np.int32) @ np.array([1024, 32, 1])
    ground = part[codes == np.bincount(codes).argmax()].mean(axis=0)
    distance = np.abs(part - ground).max(axis=1)
    count = max(1, round(MIN_TEXT_SHARE * len(part)))
    core = part[np.argpartition(distance, len(part) - count)[-count:]].mean(axis=0)
    return round(contrast_ratio(core, ground), 2)

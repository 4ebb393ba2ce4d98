"""What can be counted in the pixels of a figure (SPEC 9).

Every function takes an RGB image as a ``uint8`` array of shape (height, width, 3) and is pure. The numbers describe,
they do not judge: a heat map has little white space and a line plot few colours, and both can be excellent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.features.colour import MIN_CHROMA

Pixels = NDArray[np.uint8]
"""RGB, shape (height, width, 3)."""

WHITE = 245
"""Grey from which a pixel counts as white (SPEC 9)."""
CANNY_LOW, CANNY_HIGH = 100, 200
HUE_BINS = 36
MIN_HUE_SHARE = 0.002

CUT_DEPTH = 12
"""Pixels that a touching stroke is followed inwards."""
CUT_CONTRAST = 64
"""Channel difference to the background from which a pixel counts as ink."""
MIN_CUT_STROKES = 2

BLOCK = 8
"""Side of a JPEG block."""
STEP = 24
"""Grey values from which a step is an edge of the picture rather than of a block."""
STANDARD_DC = 16
"""First entry of the luminance table of the JPEG standard, annex K."""
MIN_STEPS = 200
"""Steps at borders of blocks, below which their mean says nothing."""


@dataclass(frozen=True)
class VisionStatistics:
    """The statistics of one image; the fields of the same names in :class:`scifigqual_bench.records.ImageFeatures`."""

    width: int
    height: int
    megapixels: float
    blur_laplacian: float
    edge_density: float
    whitespace_share: float
    dominant_colour_share: float
    distinct_hues: int
    colourfulness: float
    ink_offset_x: float | None
    ink_offset_y: float | None
    clipped_edges: list[str]


def vision_statistics(rgb: Pixels) -> VisionStatistics:
    """All statistics of this module, rounded to four decimals (shares) or two (blur, colourfulness).

    >>> vision_statistics(np.full((50, 100, 3), 255, np.uint8)).whitespace_share
    1.0
    """
    height, width = rgb.shape[:2]
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    offset = ink_offset(rgb) or (None, None)
    return VisionStatistics(
        width=width,
        height=height,
        megapixels=round(width * height / 1e6, 4),
        blur_laplacian=round(blur_laplacian(grey), 2),
        edge_density=round(edge_density(grey), 4),
        whitespace_share=round(whitespace_share(grey), 4),
        dominant_colour_share=round(dominant_colour_share(rgb), 4),
        distinct_hues=distinct_hues(rgb),
        colourfulness=round(colourfulness(rgb), 2),
        ink_offset_x=offset[0],
        ink_offset_y=offset[1],
        clipped_edges=clipped_edges(rgb),
    )


def blur_laplacian(grey: NDArray[np.uint8]) -> float:
    """Variance of the Laplacian of a grey image, >= 0; low means few sharp transitions.

    It depends on resolution and content, so it compares versions of one figure better than two figures.
    """
    # 16 bits hold the extremes (4 x 255) and cv2 sums in double precision
    _, deviation = cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S))
    return float(deviation[0, 0]) ** 2


def edge_density(grey: NDArray[np.uint8]) -> float:
    """Share of the pixels that Canny (thresholds 100 and 200) marks as edges, 0..1."""
    return cv2.countNonZero(cv2.Canny(grey, CANNY_LOW, CANNY_HIGH)) / grey.size


def whitespace_share(grey: NDArray[np.uint8]) -> float:
    """Share of the pixels with grey >= 245, 0..1."""
    return int(np.count_nonzero(grey >= WHITE)) / grey.size


def dominant_colour_share(rgb: Pixels) -> float:
    """Share of the most frequent colour when each channel keeps its upper 5 bits, in (0, 1]."""
    return int(np.bincount(_colour_codes(rgb)).max()) / (rgb.shape[0] * rgb.shape[1])


def distinct_hues(rgb: Pixels) -> int:
    """Number of 10-degree hue bins that hold at least 0.2% of the coloured pixels, 0..36.

    A pixel is coloured when its largest and smallest channel differ by at least 32 of 255.
    """
    pixels = rgb.reshape(-1, 3)
    coloured = pixels[pixels.max(axis=1) - pixels.min(axis=1) >= MIN_CHROMA]
    if not len(coloured):
        return 0
    hue = cv2.cvtColor(coloured[None], cv2.COLOR_RGB2HSV)[0, :, 0]  # 0..179, two degrees a step
    counts = np.bincount(hue // (180 // HUE_BINS), minlength=HUE_BINS)
    return int(np.count_nonzero(counts >= MIN_HUE_SHARE * len(coloured)))


def colourfulness(rgb: Pixels) -> float:
    """Hasler and Suesstrunk's colourfulness (2003), >= 0; 0 for grey images.

    ``sqrt(var(rg) + var(yb)) + 0.3 sqrt(mean(rg)^2 + mean(yb)^2)`` with ``rg = R - G`` and ``yb = (R + G) / 2 - B``.
    """
    red, green, blue = (rgb[..., channel].astype(np.float32) for channel in range(3))
    means, deviations = zip(*(cv2.meanStdDev(x) for x in (red - green, (red + green) / 2 - blue)), strict=True)
    return float(np.linalg.norm(deviations) + 0.3 * np.linalg.norm(means))


def ink_offset(rgb: Pixels) -> tuple[float, float] | None:
    """Centre of the ink's mass from the middle of the image, in widths and heights, each -0.5..0.5; None without ink.

    Each pixel weighs as much as it differs from the most frequent colour. It is the equilibrium of Ngo, Teo and Byrne
    (2003), on pixels in place of objects: 0 for a figure whose sides balance, negative where the left (top) is heavier.

    >>> page = np.full((10, 10, 3), 255, np.uint8)
    >>> page[:, :5] = 0
    >>> page[:, 4] = 255
    >>> ink_offset(page)
    (-0.3, 0.0)
    """
    codes = _colour_codes(rgb)
    ground = rgb.reshape(-1, 3)[codes == np.bincount(codes).argmax()].mean(axis=0)
    weight = np.abs(rgb - ground.astype(np.float32)).max(axis=2)
    weight[weight < BLOCK] = 0  # noise of compression
    total = float(weight.sum(dtype=np.float64))
    if total == 0:
        return None
    columns, rows = weight.sum(axis=0, dtype=np.float64), weight.sum(axis=1, dtype=np.float64)
    x, y = (float(mass @ (np.arange(len(mass)) + 0.5)) / total / len(mass) - 0.5 for mass in (columns, rows))
    return round(x, 4), round(y, 4)


def jpeg_blockiness(grey: NDArray[np.uint8]) -> float | None:
    """Mean step at the borders of 8 x 8 blocks over the mean step elsewhere; about 1 without blocks.

    After Wang, Sheikh and Bovik (2002): their ratio of jumps across and within blocks, over steps below 24 grey values
    only, since the edges of line art would drown what compression adds. It sees blocks that start at the corner of the
    image: a JPEG that was cut or scaled afterwards looks clean. None where there are too few steps to tell.
    """
    jumps, places = np.zeros(2), np.zeros(2)
    for image in (grey, grey.T):
        steps = np.abs(np.diff(image.astype(np.int16), axis=1))
        border = np.arange(steps.shape[1]) % BLOCK == BLOCK - 1
        for k, columns in enumerate((border, ~border)):
            part = steps[:, columns]
            calm = part < STEP
            jumps[k] += int(part[calm].sum())
            places[k] += np.count_nonzero(calm)
    if places.min() < MIN_STEPS or jumps[1] == 0:
        return None
    return round(float(jumps[0] / places[0] / (jumps[1] / places[1])), 3)


def jpeg_quality(picture: Image.Image) -> int | None:
    """Quality setting, 1..100, of the encoder that stored a JPEG, by the first entry of its luminance table.

    For encoders that scale the tables of the JPEG standard, as libjpeg does; exact up to 90, within 3 above. None for
    anything but a JPEG.
    """
    tables = getattr(picture, "quantization", None)
    if not tables:
        return None
    scale = 100 * tables[0][0] / STANDARD_DC
    return max(1, min(100, round(5000 / scale if scale > 100 else (200 - scale) / 2)))


def clipped_edges(rgb: Pixels) -> list[str]:
    """Edges where ink runs off the image, out of left, right, top, bottom.

    Ink is what differs from the edge's own background, and an edge is clipped where at least two strokes lean or
    narrow across it: letters and curves. What touches an edge without being cut is left out: full-bleed photos and
    frames (no background, or ink along a quarter of the edge), corners, strokes at a right angle to the edge (axes,
    grid lines, table rules) and round tips.

    Among 136 figures of real papers cut with a margin of three points, 2 of the 489 edges that cut nothing are named,
    and 28 of the 55 that do; cut six points into the figure, 241 of 442. A figure cropped exactly at its ink looks
    like a cut one (48 of 478 such edges are named): leave a margin.
    """
    turned = {"left": np.rot90(rgb, -1), "right": np.rot90(rgb), "top": rgb, "bottom": rgb[::-1]}
    return [edge for edge, view in turned.items() if _ink_leaves_at_top(view)]


def _ink_leaves_at_top(view: Pixels) -> bool:
    """Whether letters or curves cross the first row."""
    depth = min(CUT_DEPTH, view.shape[0])
    length = view.shape[1]
    strip = view[:depth].astype(np.int16)
    codes = _colour_codes(view[:1])
    background = strip[0][codes == np.bincount(codes).argmax()].mean(axis=0)
    ink = np.abs(strip - background).max(axis=2) > CUT_CONTRAST
    if ink[0].mean() > 0.5:
        return False
    corner = max(3, length // 50)
    strokes = [(a, b) for a, b in _runs(ink[0]) if corner <= a and b <= length - corner and b - a <= length / 4]
    return sum(_crosses(ink, start, end) for start, end in strokes) >= MIN_CUT_STROKES


def _crosses(ink: NDArray[np.bool_], start: int, end: int) -> bool:
    """Whether the stroke that begins in the first row as [start, end) leans or narrows inwards.

    A stroke that widens to both sides has its tip at the edge, one that keeps its sides meets the edge squarely.
    """
    low, high = start, end
    for row in ink[1:]:
        touching = [run for run in _runs(row) if run[0] < high and run[1] > low]
        if not touching:
            return False  # a stub: a tick mark
        low, high = touching[0][0], touching[-1][1]
        if low > start + 1 or high < end - 1:
            return True
        if low < start - 1 and high > end + 1:
            return False
    return False


def _runs(row: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Half-open ranges of true values."""
    steps = np.flatnonzero(np.diff(row.astype(np.int8), prepend=0, append=0))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))


def _colour_codes(rgb: Pixels) -> NDArray[np.int32]:
    """One number a pixel: the upper 5 bits of each channel."""
    red, green, blue = (rgb[..., channel].astype(np.int32) >> 3 for channel in range(3))
    return ((red << 10) | (green << 5) | blue).ravel()

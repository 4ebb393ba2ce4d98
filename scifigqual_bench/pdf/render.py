"""Render one region of a page, and nothing else of it."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from scifigqual_bench.pdf.document import Rect

DPI = 300.0
MAX_SIDE = 6000
"""Pixels: a longer side is rendered at a lower resolution instead."""
MARGIN = 1.0
"""Points of white that are kept around the ink, so that ink at the image's edge means a cut figure."""
PNG_LEVEL = 3
"""zlib's level. Level 6 makes the images of real figures 3% smaller and takes one and a half times as long."""
WHITE = 250
"""From this value on in every channel a pixel is paper."""


@dataclass(frozen=True)
class Crop:
    """A rendered region.

    Attributes:
        png: The image, RGB; the same region of the same file gives the same bytes.
        pixels: The same image, (height, width, 3) of uint8.
        width: In pixels.
        height: In pixels.
        bbox: The ink, in PDF points from the page's top left corner; the image shows up to MARGIN more on each side.
        dpi: Resolution; below the one asked for where the image would have been too large.
        frame: What the image shows, margin included, in PDF points from the page's top left corner.
    """

    png: bytes
    pixels: np.ndarray = field(repr=False, compare=False)
    width: int
    height: int
    bbox: Rect
    dpi: float
    frame: Rect


def render_region(page: object, bbox: Rect, dpi: float = DPI, max_side: int = MAX_SIDE) -> Crop:
    """Render a region of a page and cut its empty margins off.

    Images and paths often have white borders that reach far beyond what they show; so the result is cut to the ink,
    with a narrow margin. A region without ink is left as it is.

    Args:
        page: The open page (``pymupdf.Page``), not rotated.
        bbox: The region in points; the part outside of the page is left out.
        dpi: Pixels an inch.
        max_side: The longest side allowed, in pixels.

    Returns:
        The image and what it shows.

    Raises:
        ValueError: The region has no area on the page.
    """
    import pymupdf

    x0, y0, x1, y1 = bbox
    region = pymupdf.Rect(bbox) & page.rect
    if region.is_empty or region.width < 1 or region.height < 1:
        raise ValueError(f"region {tuple(round(v, 1) for v in bbox)} has no area on page {page.number + 1}")
    area = pymupdf.Rect(x0 - MARGIN, y0 - MARGIN, x1 + MARGIN, y1 + MARGIN) & page.rect
    scale = min(dpi / 72.0, max_side / max(area.width, area.height))
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), clip=area, colorspace=pymupdf.csRGB, alpha=False)
    pixels = np.frombuffer(pixmap.samples, dtype=np.uint8).reshape(pixmap.height, pixmap.stride)
    pixels = pixels[:, : pixmap.width * 3].reshape(pixmap.height, pixmap.width, 3)
    # pixmaps start at whole pixels of the scaled page; ink is looked for in the region itself, not in its margin
    inner = [round(v * scale) for v in bbox]
    x0 = min(max(0, inner[0] - pixmap.x), pixmap.width - 1)
    y0 = min(max(0, inner[1] - pixmap.y), pixmap.height - 1)
    x1, y1 = max(x0 + 1, inner[2] - pixmap.x), max(y0 + 1, inner[3] - pixmap.y)
    ink = _ink(pixels[y0:y1, x0:x1])
    ink = (ink[0] + x0, ink[1] + y0, ink[2] + x0, ink[3] + y0)
    margin = round(MARGIN * scale)
    left, top = max(0, ink[0] - margin), max(0, ink[1] - margin)
    shown = pixels[top : ink[3] + margin, left : ink[2] + margin]
    frame = (left, top, left + shown.shape[1], top + shown.shape[0])
    shown = np.ascontiguousarray(shown)
    buffer = io.BytesIO()
    Image.fromarray(shown).save(buffer, format="PNG", compress_level=PNG_LEVEL)
    corners = (pixmap.x + ink[0], pixmap.y + ink[1], pixmap.x + ink[2], pixmap.y + ink[3])
    return Crop(
        png=buffer.getvalue(),
        pixels=shown,
        width=shown.shape[1],
        height=shown.shape[0],
        bbox=tuple(corner / scale for corner in corners),
        dpi=scale * 72.0,
        frame=tuple((v + (pixmap.x, pixmap.y)[k % 2]) / scale for k, v in enumerate(frame)),
    )


def _ink(pixels: np.ndarray) -> tuple[int, int, int, int]:
    """Box of the pixels that are not paper, half open; the whole image where all is paper."""
    height, width, channels = pixels.shape
    # one row of values a row of pixels: a reduction over three channels is far slower than one along a row
    ink = pixels.reshape(height, width * channels) < WHITE
    columns = np.flatnonzero(ink.any(axis=0).reshape(width, channels).any(axis=1))
    rows = np.flatnonzero(ink.any(axis=1))
    if len(columns) == 0:
        return 0, 0, pixels.shape[1], pixels.shape[0]
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1

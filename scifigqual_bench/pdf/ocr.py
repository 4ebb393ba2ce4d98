"""Scanned pages: read their text from the image, where no hidden layer tells it, and find what is drawn on them.

After it a scanned page holds lines, images and rules like any other, so that the steps that follow need not know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from scifigqual_bench.pdf.document import Document, Drawing, Line, Page, Rect, Span, open_pdf, shown_page
from scifigqual_bench.records import TextBox

if TYPE_CHECKING:
    from scifigqual_bench.features.ocr import OcrEngine

DPI = 120.0
"""A page is read at this: the engine enlarges it a little, and from more it cuts rows into pieces."""
MAX_SIDE = 4000
"""Pixels: a page that would be larger is read at a lower resolution."""
HEIGHT_TO_SIZE = 0.78
"""Font size over the height of the box that the engine draws around a line of text."""
SAME_HEIGHT = 0.3
"""Boxes of one font size differ in height by this share, with the letters they hold."""
DARKER = 32
"""Grey values by which ink is darker than the paper of its page."""
JOIN = 3.0
"""Points: parts of a drawing that stand no further apart are one."""
SPECK = 6.0
"""Points: what is smaller in both directions is dirt or a letter that was not read."""
RULE = 2.5
"""Points: ink that is no thicker, and much longer, is a rule."""
_BLACK = (0.0, 0.0, 0.0)


def is_scan(page: Page) -> bool:
    """Whether a page is an image without a text layer; a page with neither is empty or drawn."""
    return not page.lines and page.pictured


def read_scans(document: Document, engine: OcrEngine | None) -> Document:
    """Give the scanned pages of a document lines, images and rules.

    Lines that a hidden text layer tells are kept; such pages need no engine.

    Args:
        document: The document as read.
        engine: What reads the text; None, or an engine named ``"none"``, leaves scanned pages as they are, and the
            document says so in a problem.

    Returns:
        The document; the same one where no page is a scan.
    """
    scans = [page.number for page in document.pages if is_scan(page)]
    pictures = [page.number for page in document.pages if page.text_layer == "ocr"]
    if scans and (engine is None or engine.name == "none"):
        which = ", ".join(map(str, scans[:10])) + (" and more" if len(scans) > 10 else "")
        message = (
            f"{document.path.name}: {len(scans)} of {len(document.pages)} pages have no text layer (page {which}), "
            'and no OCR engine is at hand; pip install "scifigqual-bench[ocr]" to read them'
        )
        document = replace(document, problems=[*document.problems, ("scan-without-ocr", message, scans[0])])
        scans = []
    if not scans and not pictures:
        return document
    pages = list(document.pages)
    with open_pdf(document.path) as pdf:
        for number in (*scans, *pictures):
            pages[number - 1] = _read(shown_page(pdf, number, pages[number - 1].turn), pages[number - 1], engine)
    return replace(document, pages=pages)


def _read(printed: object, page: Page, engine: OcrEngine | None) -> Page:
    """A scanned page with what its picture shows; its text is read where it has no lines yet."""
    import pymupdf

    scale = min(DPI / 72.0, MAX_SIDE / max(page.width, page.height))
    pixmap = printed.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False)
    rgb = np.frombuffer(pixmap.samples, dtype=np.uint8).reshape(pixmap.height, pixmap.width, 3)
    lines = page.lines or _lines([box for box in engine.read(rgb) if box.text.strip()], page.number, scale)
    grey = rgb.min(axis=2)
    ink = grey < float(np.median(grey)) - DARKER
    for line in lines:
        x0, y0, x1, y1 = (round(v * scale) for v in line.bbox)
        ink[max(0, y0 - 1) : y1 + 2, max(0, x0 - 1) : x1 + 2] = False
    drawn = [tuple(v / scale for v in box) for box in _components(ink, round(JOIN * scale))]
    size = [(x1 - x0, y1 - y0) for x0, y0, x1, y1 in drawn]
    return replace(
        page,
        lines=lines,
        images=[box for box, (w, h) in zip(drawn, size, strict=True) if min(w, h) > RULE and max(w, h) > SPECK],
        drawings=[
            Drawing(bbox=box, fill=None, stroke=_BLACK, rect=True)
            for box, (w, h) in zip(drawn, size, strict=True)
            if min(w, h) <= RULE and max(w, h) > 4 * SPECK
        ],
        text_layer="ocr",
    )


def _lines(boxes: list[TextBox], number: int, scale: float) -> list[Line]:
    """The pieces that were read, as lines in reading order of the page's rows."""
    heights = _levelled(np.array([b.bbox[2] - b.bbox[0] if b.rotated else b.bbox[3] - b.bbox[1] for b in boxes]))
    order = sorted(range(len(boxes)), key=lambda k: (round(boxes[k].bbox[1] / (4 * scale)), boxes[k].bbox[0]))
    lines = []
    for k in order:
        box = tuple(v / scale for v in boxes[k].bbox)
        span = Span(
            text=boxes[k].text,
            bbox=box,
            size=float(heights[k]) / scale * HEIGHT_TO_SIZE,
            font="ocr",
            bold=False,
            italic=False,
            superscript=False,
        )
        direction = (0.0, -1.0) if boxes[k].rotated else (1.0, 0.0)
        lines.append(
            Line(page=number, index=len(lines), block=len(lines), bbox=box, spans=(span,), direction=direction)
        )
    return lines


def _levelled(heights: np.ndarray) -> np.ndarray:
    """Heights with those that differ only by the letters of their lines made equal: the most frequent one first."""
    level = heights.astype(float)
    left = np.ones(len(heights), dtype=bool)
    while left.any():
        near = np.abs(heights[left][:, None] - heights[left][None, :]) < SAME_HEIGHT * heights[left][:, None]
        centre = heights[left][np.argmax(near.sum(axis=1))]
        group = left & (np.abs(heights - centre) < SAME_HEIGHT * centre)
        level[group] = np.median(heights[group])
        left &= ~group
    return level


def _components(ink: np.ndarray, join: int) -> list[Rect]:
    """Boxes, in pixels, of connected ink; parts up to ``join`` apart count as connected."""
    grown = ndimage.maximum_filter(ink, size=join + 1)
    labels, _ = ndimage.label(grown)
    boxes = []
    for label, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
        part = ink[rows, columns] & (labels[rows, columns] == label)
        ys, xs = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
        if len(ys):
            boxes.append(
                (columns.start + xs[0], rows.start + ys[0], columns.start + xs[-1] + 1, rows.start + ys[-1] + 1)
            )
    return boxes

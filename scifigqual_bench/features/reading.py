"""The text of a figure: from the PDF where it tells it, from the pixels where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from scifigqual_bench.features.ocr import NoOcr, OcrEngine
from scifigqual_bench.features.vision import Pixels
from scifigqual_bench.records import TextBox

if TYPE_CHECKING:
    from scifigqual_bench.pdf.document import Rect
    from scifigqual_bench.pdf.figure_text import PrintedFigure

FROM_PDF = "pdf"
"""Engine name of text that the PDF tells."""
JOIN = 12
"""Pixels: parts that stand no further apart are read as one."""
MARGIN = 4
"""Pixels around a part that is read."""
MIN_PART = 12
"""Pixels: a part with a shorter side holds no text that anything reads."""
MAX_PARTS = 4
"""Parts up to which each is read on its own; of more, the whole image is read once."""
MAX_SHARE = 0.6
"""Share of the image above which the whole of it is read at once."""
SAME_PLACE = 0.5
"""Share of a box read by OCR that words of the PDF cover, from which it was told already."""


class Reading(NamedTuple):
    """The text of a figure.

    Attributes:
        boxes: Pieces of text, in no particular order.
        engine: What read them: ``"pdf"``, an engine's name, both, or ``"none"``.
    """

    boxes: list[TextBox]
    engine: str


def read_text(rgb: Pixels, ocr: OcrEngine, printed: PrintedFigure | None = None) -> Reading:
    """The text of a figure.

    The words of the PDF are taken as they are. OCR reads the embedded images, characters that the PDF does not name,
    and all of a figure without words or with shapes that look like letters; what it reads over a word of the PDF is
    left out.

    Args:
        rgb: Image, ``uint8``, shape (height, width, 3).
        ocr: Reads pixels.
        printed: What the PDF tells; None where there is no PDF: OCR then reads everything.
    """
    if printed is None:
        return Reading(ocr.read(rgb), ocr.name)
    words = list(printed.words)
    if ocr.name == NoOcr.name:
        return Reading(words, FROM_PDF if words else NoOcr.name)
    if not words:
        return Reading(ocr.read(rgb), ocr.name)
    parts = _joined([raster.bbox for raster in printed.rasters] + list(printed.unread), rgb)
    if printed.outlined:
        read = ocr.read(rgb)
    elif len(parts) > MAX_PARTS or sum(map(_area, parts)) > MAX_SHARE * rgb.shape[0] * rgb.shape[1]:
        read = [box for box in ocr.read(rgb) if any(_inside(box.bbox, part) for part in parts)]
    else:
        read = [box for part in parts for box in _read_part(rgb, part, ocr)]
    new = [box for box in read if not _told(box.bbox, words)]
    return Reading(words + new, f"{FROM_PDF}, {ocr.name}" if printed.outlined or parts else FROM_PDF)


def _read_part(rgb: Pixels, part: Rect, ocr: OcrEngine) -> list[TextBox]:
    x0, y0, x1, y1 = map(round, part)
    moved = []
    for box in ocr.read(rgb[y0:y1, x0:x1]):
        a0, b0, a1, b1 = box.bbox
        bbox = [round(value, 1) for value in (a0 + x0, b0 + y0, a1 + x0, b1 + y0)]
        moved.append(box.model_copy(update={"bbox": bbox}))
    return moved


def _joined(boxes: Sequence[Rect], rgb: Pixels) -> list[Rect]:
    """Boxes with those that touch or nearly do made one, and a margin, within the image."""
    height, width = rgb.shape[:2]
    parts: list[Rect] = []
    for box in boxes:
        part = tuple(box)
        while near := [other for other in parts if _near(part, other)]:
            for other in near:
                parts.remove(other)
                part = (*map(min, part[:2], other[:2]), *map(max, part[2:], other[2:]))
        parts.append(part)
    grown = [
        (max(0.0, x0 - MARGIN), max(0.0, y0 - MARGIN), min(width, x1 + MARGIN), min(height, y1 + MARGIN))
        for x0, y0, x1, y1 in parts
        if min(x1 - x0, y1 - y0) >= MIN_PART
    ]
    return grown


def _near(a: Rect, b: Rect) -> bool:
    return a[0] <= b[2] + JOIN and b[0] <= a[2] + JOIN and a[1] <= b[3] + JOIN and b[1] <= a[3] + JOIN


def _inside(box: Sequence[float], part: Rect) -> bool:
    """Whether the middle of a box lies in a part."""
    return part[0] <= (box[0] + box[2]) / 2 <= part[2] and part[1] <= (box[1] + box[3]) / 2 <= part[3]


def _told(box: Sequence[float], words: Sequence[TextBox]) -> bool:
    """Whether words of the PDF cover most of a box, each on its own part."""
    covered = 0.0
    for word in words:
        width = min(box[2], word.bbox[2]) - max(box[0], word.bbox[0])
        height = min(box[3], word.bbox[3]) - max(box[1], word.bbox[1])
        if width > 0 and height > 0:
            covered += width * height
    return covered >= SAME_PLACE * _area(box)


def _area(box: Sequence[float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])

"""S3 of curation (SPEC 8): flagged figures are cropped once more, another way, and the better crop is kept.

The first way (:mod:`scifigqual_bench.pdf.regions`) starts from the page: all that is neither text nor caption, in the
strip that belongs to the caption. The second way starts at the caption: the one connected group of images and paths
that adjoins it, within the columns of text, with the words that touch it. Where both find the same, a flag says that
a figure is unusual, and not that its crop is wrong. Where they differ, the second box is taken only if all that it
leaves out is running text or stands outside of the columns; a crop is never cut in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from scifigqual_bench.pdf.captions import Caption
from scifigqual_bench.pdf.document import Rect
from scifigqual_bench.pdf.layout import EDGE, PageLayout, Role
from scifigqual_bench.records import Mark

JOINED = 12.0
"""Points between the parts of one group, at the most: the gap between panels, and less than that between floats."""
ADJOINING = 40.0
"""Points between the group and the caption, at the most."""
SAME_BOX = 0.9
"""Two boxes with this intersection over union, or more, are of one figure."""
PROSE_WORDS, PROSE_SHARE = 6, 0.6
"""A line of so many words that fills this share of its column is running text; labels are shorter."""
PAGE_SHARE = 0.85
"""An image or path over this share of the page is a background."""
CELL = 2.0
"""Points: resolution at which groups are joined."""


def second_crop(page: PageLayout, caption: Caption, first: Rect) -> tuple[Rect | None, Mark]:
    """Crop a flagged figure once more, anchored at its caption.

    Args:
        page: The page of the figure.
        caption: Its caption, on the same page.
        first: The first crop, in points.

    Returns:
        The second box, None where the first is to be kept, and the mark that says why: ``recropped``,
        ``recrop-agrees``, ``recrop-refused`` or ``recrop-failed``.
    """
    second = adjoining_group(page, caption, first)
    if second is None:
        return None, _mark("recrop-failed", f"no graphic adjoins the caption; first box {_told(first)} kept")
    both = f"first box {_told(first)}, second {_told(second)}"
    if _iou(first, second) >= SAME_BOX:
        return None, _mark("recrop-agrees", f"{both}; the first is kept")
    if not _within(second, first):
        return None, _mark("recrop-refused", f"{both}; the second reaches beyond the first, which is kept")
    graphics, words = _left_out(page, first, second)
    if graphics or words:
        lost = f"{graphics} graphic elements and {words} short lines, which may be the figure's"
        return None, _mark("recrop-refused", f"{both}; it would leave out {lost}; the first is kept")
    return second, _mark("recropped", f"{both}; it leaves out only running text and what is beside the columns")


def adjoining_group(page: PageLayout, caption: Caption, first: Rect) -> Rect | None:
    """Box of the largest connected group of images and paths that adjoins a caption, with the words that touch it.

    Args:
        page: The page.
        caption: A caption on it.
        first: A box that the group overlaps; so it is looked for on the same side of the caption.

    Returns:
        The box in points, within the page's columns; None where nothing adjoins the caption.
    """
    graphics = _graphics(page)
    if not len(graphics):
        return None
    groups = _groups(graphics, page)
    boxes = [_union(graphics[groups == group]) for group in np.unique(groups)]
    near = [box for box in boxes if _gap(box, caption.bbox) <= ADJOINING and _overlap(box, first) > 0]
    if not near:
        return None
    group = max(near, key=lambda box: (box[2] - box[0]) * (box[3] - box[1]))
    words = page.boxes[page.roles == Role.OTHER]
    own = np.array([line not in caption.lines for line in np.flatnonzero(page.roles == Role.OTHER)], dtype=bool)
    words = words[own] if len(words) else words
    while True:  # a title above, a legend below, and what stands beside them
        x0, y0, x1, y1 = group
        close = (
            (words[:, 0] < x1 + JOINED)
            & (words[:, 2] > x0 - JOINED)
            & (words[:, 1] < y1 + JOINED)
            & (words[:, 3] > y0 - JOINED)
        )
        grown = _union(np.concatenate([[group], words[close]]))
        if grown == group:
            return group
        group, words = grown, words[~close]


def _graphics(page: PageLayout) -> np.ndarray:
    """Boxes of the images and paths that show, cut to the columns of text; (n, 4)."""
    left, right = page.columns[-1] if page.columns else (0.0, page.page.width)
    boxes = np.array([*page.page.images, *(d.bbox for d in page.drawings if d.shows)], dtype=float).reshape(-1, 4)
    size = boxes[:, 2:] - boxes[:, :2]
    boxes = boxes[size.prod(axis=1) < PAGE_SHARE * page.page.width * page.page.height]
    boxes = np.clip(boxes, [left - EDGE, 0, left - EDGE, 0], [right + EDGE, np.inf, right + EDGE, np.inf])
    return boxes[(boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] >= boxes[:, 1])]


def _groups(boxes: np.ndarray, page: PageLayout) -> np.ndarray:
    """Number of the group that each box belongs to: boxes less than JOINED apart are of one."""
    mask = np.zeros((int(page.page.height / CELL) + 2, int(page.page.width / CELL) + 2), dtype=bool)
    grown = boxes + JOINED / 2 * np.array([-1, -1, 1, 1])
    low = np.clip(np.floor(grown[:, :2] / CELL).astype(int), 0, [mask.shape[1] - 1, mask.shape[0] - 1])
    high = np.clip(np.ceil(grown[:, 2:] / CELL).astype(int), low + 1, None)
    for x0, y0, x1, y1 in np.unique(np.concatenate([low, high], axis=1), axis=0):
        mask[y0:y1, x0:x1] = True
    labels, _ = ndimage.label(mask)
    return labels[low[:, 1], low[:, 0]]


def _gap(box: Rect, caption: Rect) -> float:
    """Points between a box and a caption above, below or beside it; infinite where they are not level."""
    across = max(box[0], caption[0]) - min(box[2], caption[2])
    along = max(box[1], caption[1]) - min(box[3], caption[3])
    return max(across, along, 0.0) if min(across, along) < 0 else float("inf")


def _left_out(page: PageLayout, first: Rect, second: Rect) -> tuple[int, int]:
    """How many graphics and short lines of the first box, within the columns, are not in the second."""
    graphics = _graphics(page)
    words = np.array(
        [
            box
            for line, box, role in zip(page.page.lines, page.boxes, page.roles, strict=True)
            if role == Role.OTHER and not _is_prose(page, line.text, tuple(box))
        ],
        dtype=float,
    ).reshape(-1, 4)
    return tuple(int((_centred(b, first) & ~_centred(b, second)).sum()) for b in (graphics, words))


def _is_prose(page: PageLayout, text: str, box: Rect) -> bool:
    left, right = page.column_of(box)
    return len(text.split()) >= PROSE_WORDS and box[2] - box[0] >= PROSE_SHARE * (right - left)


def _centred(boxes: np.ndarray, frame: Rect) -> np.ndarray:
    """Which boxes have their middle in a frame."""
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    return (x > frame[0]) & (x < frame[2]) & (y > frame[1]) & (y < frame[3])


def _within(inner: Rect, outer: Rect) -> bool:
    return all(a >= b - EDGE for a, b in zip(inner[:2], outer[:2], strict=True)) and all(
        a <= b + EDGE for a, b in zip(inner[2:], outer[2:], strict=True)
    )


def _union(boxes: np.ndarray | Sequence[Rect]) -> Rect:
    boxes = np.asarray(boxes)
    return (*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist())


def _iou(one: Rect, two: Rect) -> float:
    areas = [(x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in (one, two)]
    return _overlap(one, two) / max(sum(areas) - _overlap(one, two), 1e-9)


def _overlap(one: Rect, two: Rect) -> float:
    across = max(0.0, min(one[2], two[2]) - max(one[0], two[0]))
    return across * max(0.0, min(one[3], two[3]) - max(one[1], two[1]))


def _mark(code: str, detail: str) -> Mark:
    return Mark(stage="S3", code=code, detail=detail)


def _told(box: Rect) -> str:
    return "(" + ", ".join(f"{value:.0f}" for value in box) + ")"

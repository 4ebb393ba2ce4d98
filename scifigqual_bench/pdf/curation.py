"""Which crops enter the dataset: the filters S1, the flags S2, soft marks S4 and the verdict on a paper S5 of SPEC 8.

Pure functions from images and boxes to marks. Nothing is deleted here: a figure with an S1 mark is dropped by the
caller, who keeps the mark as its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.features.vision import Pixels, dominant_colour_share
from scifigqual_bench.pdf.document import Rect
from scifigqual_bench.records import ImageFeatures, Mark

MIN_SIDE = 50
"""S1: pixels of the shorter side, at the least."""
MAX_ASPECT = 20.0
"""S1: longer side over shorter side, at the most."""
MAX_DOMINANT = 0.97
"""S1: share of the most frequent colour, at the most."""
MAX_DISTANCE = 8
"""S1: bits in which the hashes of near duplicates differ, at the most."""
MAX_AREA_RATIO = 3.0
"""S2: area over the median area of the paper's figures, at the most."""
TEXT_EDGE = 3.0
"""S2: points by which a figure may exceed the text area; the ends of the lines of one column differ by as much."""
DENSE_EDGES = 0.10
"""S4: share of edge pixels above which a figure is dense: a grid, a heat map, many curves, where small labels are
normal (SPEC 2). Of 218 figures of the real papers 9 have more; half of them lie between 0.040 and 0.072."""
LOW_CONFIDENCE = 0.80
"""S4: mean confidence of OCR below which the text that it read is doubtful: of 29
figures of the real papers in which OCR read text 2 have less, half have more than 0.97."""
MAX_DELETED_SHARE = 0.30
"""S5: share of a paper's figures that S1 deletes, at the most."""

HASH_SIDE, HASH_BITS = 32, 8
COMPARED_SIDE = 192
"""Pixels of the square to which two images are scaled to be compared."""
SAME_ASPECT = 0.05
"""Relative difference in aspect of two pictures of one thing, at the most."""
VISIBLE_DIFFERENCE = 16
"""Difference in a channel, of 255, that compression and scaling don't make at the size compared. On the real papers a
figure printed twice differs so in none of its pixels, three grids of one paper with like pictures in 0.005 to 0.007."""
SAME_SHARE = 0.002
"""Share of pixels with a visible difference in two pictures of one thing, at the most."""
INK = 200
"""Below this value in some channel a pixel is no margin; what compression leaves around letters is lighter."""


@dataclass(frozen=True)
class Placed:
    """Where a figure stands in its paper.

    Attributes:
        number: As printed.
        page: From 1.
        bbox: In PDF points.
        continued: Whether its caption says that it continues an earlier figure.
    """

    number: str
    page: int
    bbox: Rect
    continued: bool = False


def decode(data: bytes) -> Pixels | None:
    """The RGB pixels of an encoded image; None where it can't be decoded."""
    if not data:
        return None
    image = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    return None if image is None else cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


def crop_marks(rgb: Pixels | None) -> list[Mark]:
    """S1 of one crop: what makes it unusable by itself (SPEC 8).

    Args:
        rgb: The image, None where it could not be decoded.

    Returns:
        One mark for every rule it breaks; empty for a usable crop.

    >>> [mark.code for mark in crop_marks(np.full((40, 900, 3), 255, np.uint8))]
    ['small', 'aspect', 'dominant-colour']
    """
    if rgb is None:
        return [Mark(stage="S1", code="undecodable", detail="the image can't be decoded")]
    height, width = rgb.shape[:2]
    marks = []
    if min(height, width) < MIN_SIDE:
        marks.append(Mark(stage="S1", code="small", detail=f"{width} x {height} pixels; a side is under {MIN_SIDE}"))
    aspect = max(height, width) / min(height, width)
    if aspect > MAX_ASPECT:
        marks.append(Mark(stage="S1", code="aspect", detail=f"aspect {aspect:.1f}:1; over {MAX_ASPECT:.0f}:1"))
    share = dominant_colour_share(rgb)
    if share > MAX_DOMINANT:
        detail = f"{share:.4f} of the pixels have one colour; over {MAX_DOMINANT}"
        marks.append(Mark(stage="S1", code="dominant-colour", detail=detail))
    return marks


# --- near duplicates --------------------------------------------------------------------------------------------------


def phash(rgb: Pixels) -> int:
    """Perceptual hash of 64 bits: which of the 64 lowest frequencies of the image lie above their median.

    The image is scaled to 32 x 32 grey values and transformed by an orthonormal DCT-II; bits run row by row, the first
    one highest.

    >>> distance(phash(np.zeros((80, 60, 3), np.uint8)), phash(np.zeros((40, 30, 3), np.uint8)))
    0
    """
    small = cv2.resize(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), (HASH_SIDE, HASH_SIDE), interpolation=cv2.INTER_AREA)
    low = cv2.dct(small.astype(np.float32))[:HASH_BITS, :HASH_BITS]
    return int.from_bytes(np.packbits(low > np.median(low)).tobytes(), "big")


def distance(one: int, two: int) -> int:
    """Hamming distance of two hashes, 0..64."""
    return (one ^ two).bit_count()


@dataclass(frozen=True)
class Look:
    """What two figures are compared by.

    Attributes:
        hash: See :func:`phash`.
        aspects: Width over height of the image, as it is and without its empty margins.
        pictures: (2, side, side, 3) both of them scaled to a square of COMPARED_SIDE pixels and smoothed a little.
    """

    hash: int
    aspects: tuple[float, float]
    pictures: np.ndarray = field(repr=False, compare=False)

    @classmethod
    def of(cls, rgb: Pixels) -> Look:
        """The look of an image."""
        both = rgb, _without_margins(rgb)
        return cls(phash(rgb), tuple(i.shape[1] / i.shape[0] for i in both), np.stack([_square(i) for i in both]))


def difference(one: Look, two: Look) -> float:
    """Share of the pixels in which two images visibly differ, 0..1.

    They are compared as they are and without their empty margins; the smaller share counts. Images of different aspect
    differ wholly, 1.0.
    """
    comparable = [k for k in (0, 1) if _same_aspect(one.aspects[k], two.aspects[k])]
    return min((_difference(one.pictures[k], two.pictures[k]) for k in comparable), default=1.0)


def may_be_same(one: Sequence[float], two: Sequence[float]) -> bool:
    """Whether two looks with these aspects can differ in less than all of their pixels."""
    return any(map(_same_aspect, one, two))


def _same_aspect(one: float, two: float) -> bool:
    return max(one, two) <= (1 + SAME_ASPECT) * min(one, two)


def _difference(one: Pixels, two: Pixels) -> float:
    return float((cv2.absdiff(one, two).max(axis=2) > VISIBLE_DIFFERENCE).mean())


def _square(rgb: Pixels) -> Pixels:
    small = cv2.resize(rgb, (COMPARED_SIDE, COMPARED_SIDE), interpolation=cv2.INTER_AREA)
    return cv2.GaussianBlur(small, (0, 0), 1.0)


def duplicate_marks(looks: Sequence[Look | None], names: Sequence[str]) -> list[list[Mark]]:
    """S1 of a set of crops: near duplicates of an earlier one.

    The hash of SPEC 8 alone takes line plots on white for each other. So a pair within its distance is compared pixel
    by pixel, and only a pair that passes is a duplicate; the other keeps a soft mark that says what the plain rule
    would have done.

    Args:
        looks: Crops in the order of the paper; None for one that could not be decoded.
        names: How the marks name them, for example ``"Figure 3"``.

    Returns:
        The marks of each crop: ``near-duplicate`` (S1) or ``similar-hash`` (S4), at most one.
    """
    marks: list[list[Mark]] = [[] for _ in looks]
    kept: list[int] = []
    for k, look in enumerate(looks):
        if look is None:
            continue
        bits = {j: distance(look.hash, looks[j].hash) for j in kept}
        near = (j for j in kept if bits[j] <= MAX_DISTANCE)
        mark = decisive(duplicate_mark(names[j], bits[j], difference(looks[j], look)) for j in near)
        marks[k] = [mark] if mark else []
        if mark is None or mark.stage != "S1":
            kept.append(k)
    return marks


def duplicate_mark(name: str, bits: int, share: float) -> Mark:
    """What is said of a figure whose hash is near that of an earlier one.

    Args:
        name: The earlier one.
        bits: In which their hashes differ.
        share: Of the pixels that differ (see :func:`difference`).

    Returns:
        ``near-duplicate`` (S1), or ``similar-hash`` (S4) where the pixels say otherwise.

    >>> duplicate_mark("Figure 3", 2, 0.0).code, duplicate_mark("Figure 3", 2, 0.1).code
    ('near-duplicate', 'similar-hash')
    """
    measured = f"hash differs from {name} in {bits} of 64 bits, {share:.4f} of the pixels differ"
    if share <= SAME_SHARE:
        return Mark(stage="S1", code="near-duplicate", detail=measured)
    return Mark(stage="S4", code="similar-hash", detail=f"{measured}; the plain hash rule would delete it")


def decisive(marks: Iterable[Mark]) -> Mark | None:
    """The first mark that deletes, else the first one; no mark after one that deletes is asked for."""
    first = None
    for mark in marks:
        if mark.stage == "S1":
            return mark
        first = first or mark
    return first


def _without_margins(rgb: Pixels) -> Pixels:
    empty = cv2.inRange(rgb, (INK, INK, INK), (255, 255, 255))
    x, y, width, height = cv2.boundingRect(cv2.bitwise_not(empty))
    return rgb[y : y + height, x : x + width] if width else rgb


# --- the paper --------------------------------------------------------------------------------------------------------


def placement_marks(figures: Sequence[Placed], text_area: tuple[float, float]) -> list[list[Mark]]:
    """S2: flags of figures that may be cropped or numbered wrongly; they are kept (SPEC 8).

    Args:
        figures: All figures of a paper, in its order.
        text_area: Width and height of the paper's text in points (``Layout.text_area``).

    Returns:
        The marks of each figure: ``large``, ``wide``, ``tall``, ``index-repeated``, ``index-gap``.
    """
    areas = [(x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in (figure.bbox for figure in figures)]
    usual = median(areas) if areas else 0.0
    times = Counter(figure.number for figure in figures if not figure.continued)
    plain = {int(figure.number) for figure in figures if _is_plain(figure.number)}
    marks = []
    for figure, area in zip(figures, areas, strict=True):
        x0, y0, x1, y1 = figure.bbox
        own = []
        if area > MAX_AREA_RATIO * usual:
            own.append(("large", f"area {area / usual:.1f} times the paper's median; over {MAX_AREA_RATIO:.0f}"))
        if x1 - x0 > text_area[0] + TEXT_EDGE:
            own.append(("wide", f"{x1 - x0:.0f} points wide; the text is {text_area[0]:.0f}"))
        if y1 - y0 > text_area[1] + TEXT_EDGE:
            own.append(("tall", f"{y1 - y0:.0f} points tall; the text is {text_area[1]:.0f}"))
        if times[figure.number] > 1 and not figure.continued:
            own.append(("index-repeated", f"{times[figure.number]} figures are numbered {figure.number}"))
        if _is_plain(figure.number) and int(figure.number) > 1 and int(figure.number) - 1 not in plain:
            own.append(("index-gap", f"figure {figure.number} without a figure {int(figure.number) - 1}"))
        marks.append([Mark(stage="S2", code=code, detail=detail) for code, detail in own])
    return marks


def measured_marks(image: ImageFeatures) -> list[Mark]:
    """S4: what the measured features say of a figure; nothing is deleted for it.

    Returns:
        The marks ``dense`` and ``low-ocr-confidence``, where they hold.
    """
    marks = []
    if image.edge_density > DENSE_EDGES:
        marks.append(("dense", f"{image.edge_density:.3f} of the pixels are edges; over {DENSE_EDGES}"))
    mean = image.ocr_confidence_mean
    if mean is not None and mean < LOW_CONFIDENCE:
        marks.append(("low-ocr-confidence", f"mean confidence {mean:.2f} of what OCR read; under {LOW_CONFIDENCE}"))
    return [Mark(stage="S4", code=code, detail=detail) for code, detail in marks]


def _is_plain(number: str) -> bool:
    return number.isascii() and number.isdecimal()


def paper_unusable(found: int, deleted: int, threshold: float = MAX_DELETED_SHARE) -> Mark | None:
    """S5: whether too many of a paper's figures were deleted for the others to be trusted (SPEC 8).

    Args:
        found: Figures found.
        deleted: Those of them that S1 deletes.
        threshold: The share from which on, exclusive, the paper is dropped.

    Returns:
        The mark that drops the paper, or None.

    Raises:
        ValueError: Counts that can't be.

    >>> paper_unusable(10, 3) is None
    True
    >>> paper_unusable(10, 4).detail
    '4 of 10 figures deleted, a share of 0.40; over 0.3'
    """
    if not 0 <= deleted <= found:
        raise ValueError(f"{deleted} deleted of {found} figures")
    if found == 0 or deleted / found <= threshold:
        return None
    detail = f"{deleted} of {found} figures deleted, a share of {deleted / found:.2f}; over {threshold}"
    return Mark(stage="S5", code="paper-unusable", detail=detail)

"""Where in the image a finding is to be seen: from a :class:`View` to a box in pixels, or None.

Each function is asked only where its rule found something. A place that can't be told is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scifigqual_bench.features.overlap import number_values
from scifigqual_bench.features.text import text_height
from scifigqual_bench.judges.backends import checks
from scifigqual_bench.judges.backends.checks import View
from scifigqual_bench.records import TextBox
from scifigqual_bench.text_rules import metrics_named

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels of the figure's image."""

SURE = 0.8
"""Confidence from which the height of a box says something of its letters, as for the heights in points."""
STRIP = 0.04
"""Width of the strip that shows an edge of the image, as a share of the image's side."""


def _boxes(view: View) -> list[TextBox]:
    return view.image.text_boxes if view.image else []


def _box(found: TextBox | None) -> Box | None:
    return tuple(found.bbox) if found else None


def around(boxes: Iterable[Sequence[float]]) -> Box | None:
    """The smallest box that holds all boxes; None where there are none.

    >>> around([(0, 5, 10, 9), (4, 0, 6, 7)])
    (0, 0, 10, 9)
    """
    sides = list(zip(*boxes, strict=True))
    return (min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3])) if sides else None


def smallest_text(view: View) -> Box | None:
    """The lowest piece of text, among those of several characters that were read surely."""
    sure = [box for box in _boxes(view) if (box.confidence or 0.0) >= SURE and len(box.text.strip()) > 1]
    return _box(min(sure or _boxes(view), key=text_height, default=None))


def least_sure_text(view: View) -> Box | None:
    """The piece of text that OCR was least sure of."""
    return _box(min(_boxes(view), key=lambda box: 1.0 if box.confidence is None else box.confidence, default=None))


def cut_title(view: View, *, largest: float) -> Box | None:
    """The first title that is cut off."""
    return _box(checks.beyond_the_left(view.image, largest)) if view.image else None


def clipped_edge(view: View) -> Box | None:
    """A strip along the first edge that ink runs over."""
    if view.image is None or not view.image.clipped_edges:
        return None
    width, height = float(view.image.width), float(view.image.height)
    return {
        "left": (0.0, 0.0, STRIP * width, height),
        "right": ((1 - STRIP) * width, 0.0, width, height),
        "top": (0.0, 0.0, width, STRIP * height),
        "bottom": (0.0, (1 - STRIP) * height, width, height),
    }[view.image.clipped_edges[0]]


def overlapping_text(view: View) -> Box | None:
    """The first two words that lie on each other."""
    return around(box.bbox for box in next(iter(checks.overlapping_words(view.image)), ())) if view.image else None


def faintest_text(view: View, *, below: float) -> Box | None:
    """The piece of text that stands out least from its ground."""
    return _box(next(iter(checks.faintest(view.image, below)), None)) if view.image else None


def untitled_axis(view: View) -> Box | None:
    """The numbers of the leftmost axis."""
    axis = checks.leftmost_axis(view.image) if view.image else None
    return tuple(axis.bbox) if axis else None


def panel_letters(view: View) -> Box | None:
    """All panel letters, for it is their order or a gap between them that matters."""
    found = [checks.place_of_letter(letter, view.image) for letter in view.panel_letters] if view.image else []
    return around([place for place in found if place is not None])


def axis_foot(view: View, *, share: float) -> Box | None:
    """The lowest number of an axis that starts high, under bars first; the leftmost text that reads so."""
    bars = checks.foot_of_bars(view, share)
    high = [bars[1]] if bars else [numbers for numbers in view.axis_numbers if checks.starts_high(numbers, share)]
    labels = [box for box in _boxes(view) if high and number_values(box.text) == {abs(high[0][0])}]
    return _box(min(labels, key=lambda box: (box.bbox[0], -box.bbox[1]), default=None))


def quantity(view: View) -> Box | None:
    """The text that names a quantity that needs a unit."""
    return _box(next((box for box in _boxes(view) if checks.NEEDS_UNIT.search(box.text)), None))


def metric(view: View) -> Box | None:
    """The first text that names a metric."""
    return _box(next((box for box in _boxes(view) if metrics_named(box.text)), None))


def contradicting_plot(view: View) -> Box | None:
    """The plot whose lines go the other way, from axis to axis."""
    found = checks.caption_contradiction(view) or checks.citing_contradiction(view)
    return around(axis.bbox for axis in view.image.axes if axis.panel == found.axis.panel) if found else None

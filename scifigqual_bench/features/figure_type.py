"""What kind of figure it is, told from its text, its axes, and what marks it is made of.

A linear model (softmax over standardised measures) whose coefficients stand in ``figure_type.json``. They were fitted
on figures of real papers, each labelled by eye: ``benchmarks/figure_types.py`` fits them and states their accuracy on
papers that were left out. Figures of mixed panels (composite) and tables set as figures are never told right: the
labelled papers have 12 and 3 of them, too few to learn from. Cutting figures at white bands and comparing the types of
their panels finds 4 of the 12 at best, and takes 18 other figures for composites.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from scifigqual_bench.features.structure import structure
from scifigqual_bench.records import FigureType, ImageFeatures, Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scifigqual_bench.features.vision import Pixels

COEFFICIENTS = "figure_type.json"
SURE = 0.5
"""Probability from which a type is told."""
MAX_AXES = 6
RICH_AND_AXIS = 4.0
"""Photographs on a quarter of a figure with axes count in full."""
ROW_GAP = 0.6
"""Median text heights from which two texts stand in different rows."""
ROW_TEXTS = 3
"""Texts in a row, from which it looks like a table's."""

MEASURES = (
    "rich tiles", "dark", "flat fills", "horizontal rules", "boxes", "axes", "any axis", "numbers", "words",
    "text area", "white", "coloured", "embedded images", "legend", "text in rows", "photographs and axes", "edges",
)  # fmt: skip


class Coefficients(Record):
    """The fitted model.

    Attributes:
        measures: Names of the measures, in their order.
        means: Of each measure over the figures it was fitted on; stands in for what is not known.
        scales: Their standard deviations.
        types: The figure types.
        intercepts: By type.
        slopes: By type, for standardised measures.
        figures: Labelled figures it was fitted on.
    """

    measures: list[str]
    means: list[float]
    scales: list[float]
    types: list[FigureType]
    intercepts: list[float]
    slopes: list[list[float]]
    figures: int


def measures(features: ImageFeatures, rgb: Pixels) -> NDArray[np.float64]:
    """What the type is told from, in the order of :data:`MEASURES`; NaN where it is not known.

    Args:
        features: Of the image, with its text.
        rgb: The image, (height, width, 3) of uint8.
    """
    marks = structure(rgb)
    words = [word for box in features.text_boxes for word in box.text.split()]
    has_axis = float(bool(features.axes))
    values = (
        marks.rich_share,
        marks.dark_share,
        marks.fill_share,
        math.log1p(marks.horizontal_rules),
        math.log1p(marks.boxes),
        min(len(features.axes), MAX_AXES),
        has_axis,
        sum(map(_is_number, words)) / len(words) if words else 0.0,
        math.log1p(len(words)),
        features.text_area_share,
        features.whitespace_share,
        math.nan if features.coloured_share is None else features.coloured_share,
        math.nan if features.raster_share is None else features.raster_share,
        math.log1p(len(features.legend)),
        _share_in_rows(features),
        min(marks.rich_share * RICH_AND_AXIS, 1.0) * has_axis,
        features.edge_density,
    )
    return np.array(values, dtype=float)


def _is_number(word: str) -> bool:
    return any(char.isdigit() for char in word) and not any(char.isalpha() for char in word)


def _share_in_rows(features: ImageFeatures) -> float:
    """Share of the texts that stand in one row with two others or more, 0..1."""
    boxes = [box.bbox for box in features.text_boxes]
    if not boxes:
        return 0.0
    gap = ROW_GAP * float(np.median([y1 - y0 for _, y0, _, y1 in boxes]))
    middles = np.sort([(y0 + y1) / 2 for _, y0, _, y1 in boxes])
    rows = np.split(middles, np.flatnonzero(np.diff(middles) >= gap) + 1)
    return sum(len(row) for row in rows if len(row) >= ROW_TEXTS) / len(boxes)


def figure_type(features: ImageFeatures, rgb: Pixels) -> FigureType | None:
    """The type of a figure.

    Args:
        features: Of the image.
        rgb: The image, (height, width, 3) of uint8.

    Returns:
        The type; None where nobody read the figure's text, and where no type has a probability of :data:`SURE`.
    """
    if features.ocr_engine == "none":
        return None
    return told(measures(features, rgb), coefficients())


def told(values: NDArray[np.float64], model: Coefficients) -> FigureType | None:
    """The type that a model tells from measures; None where it is not sure."""
    known = np.where(np.isnan(values), model.means, values)
    logits = np.array(model.slopes) @ ((known - model.means) / model.scales) + model.intercepts
    chances = np.exp(logits - logits.max())
    chances /= chances.sum()
    best = int(chances.argmax())
    return model.types[best] if chances[best] >= SURE else None


@cache
def coefficients() -> Coefficients:
    """The model that comes with the package."""
    text = resources.files("scifigqual_bench.features").joinpath(COEFFICIENTS).read_text(encoding="utf-8")
    return Coefficients.model_validate(json.loads(text))

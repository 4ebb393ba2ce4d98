"""Planted ratings: what raters who follow the rubric (SPEC 2) would say of the sample figures.

Nobody has seen the figures. Scores are drawn from a band that the planted defect sets for each dimension, within the
rubric's caps, and every scored dimension comes with a reason that names something visible.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scifigqual_bench.rubric import DIMENSION_KEYS
from scifigqual_bench.samples.draft import PlannedFigure
from scifigqual_bench.samples.figures import Defect
from scifigqual_bench.samples.text import listed

COLUMNS: tuple[str, ...] = ("figure_id", "rater_id", *DIMENSION_KEYS, *(f"{key}_reason" for key in DIMENSION_KEYS))
"""Columns of ``ratings.csv``."""

SOUND_BAND = (8, 10)
_RATERS = tuple(f"planted-{k}" for k in range(1, 7))
_FOURTH_RATER_SHARE = 0.25

# Per defect: the dimensions it touches, with the band of scores and the reason. Everything else stays sound.
_EFFECTS: dict[Defect, dict[str, tuple[int, int, str]]] = {
    "clipped-axis": {
        "visual_clarity": (3, 4, "The axis labels are cut off at the left and lower edge and cannot be read."),
        "structure_layout": (6, 7, "The plot runs into the edge of the figure; margins are missing."),
        "misleading_risk": (5, 6, "Quantity and unit of both axes have to be guessed from caption and text."),
    },
    "truncated-bars": {
        "misleading_risk": (3, 4, "The bars do not start at zero, so small differences in {measure} look large."),
    },
    "tiny-labels": {
        "visual_clarity": (
            3,
            4,
            "Tick labels, axis labels and legend are about three points high: illegible in print.",
        ),
    },
    "blurred-raster": {
        "visual_clarity": (3, 4, "The image is a blurred raster; labels and tick marks cannot be made out."),
    },
    "panel-order": {
        "structure_layout": (3, 4, "The panel letters run {panels} from left to right, out of order."),
    },
    "vague-caption": {
        "caption_consistency": (5, 6, "The caption names neither the measure ({measure}) nor the compared groups."),
    },
    "swapped-caption": {
        "caption_consistency": (1, 2, "The caption describes another figure; the image shows {measure} of {groups}."),
        "misleading_risk": (3, 4, "A reader who trusts the caption takes the plot for something else."),
    },
    "bare-pointer": {
        "context_consistency": (5, 6, "The text only points at the figure and says nothing about {measure}."),
    },
    "reversed-trend": {
        "context_consistency": (1, 2, "The text states the trend of {measure} the wrong way round."),
        "misleading_risk": (1, 2, "Text and curves contradict each other on the direction of {measure}."),
    },
    "uncited": {},
}

_SOUND_REASONS: dict[str, tuple[str, ...]] = {
    "visual_clarity": (
        "Everything that carries meaning, {first} included, is sharp at print size.",
        "Marks and text are crisp, and {first} stands out from the rest.",
    ),
    "structure_layout": (
        "There is one clear reading path through {groups}.",
        "Even spacing and no decoration; the eye finds {first} at once.",
    ),
    "caption_consistency": (
        "The caption names {measure} and the compared parts, as the image shows them.",
        "Caption and image agree on {groups}.",
    ),
    "context_consistency": (
        "What the text says about {measure} can be read off the image.",
        "The citing paragraph makes claims on {first} that the image supports.",
    ),
    "misleading_risk": (
        "Nothing about the {measure} is hidden or exaggerated.",
        "A careful reader comes to the right view of {groups}.",
    ),
}


def rate(figure: PlannedFigure, cited: bool, rng: np.random.Generator) -> Iterator[dict[str, int | str | None]]:
    """Ratings of one figure by three or four raters.

    Args:
        figure: The figure with its planted defect.
        cited: Whether a paragraph cites it; otherwise context consistency is closed and stays None.
        rng: Draws raters, scores and wordings.

    Yields:
        One row a rater: ``rater_id``, a score 1..10 or None per dimension, and its reason.
    """
    words = {
        "measure": figure.plot.measure,
        "groups": listed(figure.plot.groups),
        "first": figure.plot.groups[0],
        "panels": ", ".join(figure.panels),
    }
    effects = _EFFECTS[figure.defect] if figure.defect else {}
    count = 4 if rng.random() < _FOURTH_RATER_SHARE else 3
    for rater in sorted(rng.choice(_RATERS, count, replace=False)):
        row: dict[str, int | str | None] = {"rater_id": str(rater)}
        for key in DIMENSION_KEYS:
            if key == "context_consistency" and not cited:
                row[key] = row[f"{key}_reason"] = None
                continue
            low, high, *given = effects.get(key, SOUND_BAND)
            reason = given[0] if given else str(rng.choice(_SOUND_REASONS[key]))
            row[key] = int(rng.integers(low, high + 1))
            row[f"{key}_reason"] = reason.format(**words)
        yield row

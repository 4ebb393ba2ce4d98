"""Ratings to gold (SPEC 4): dimension-first, with the mean of the raters' own overalls kept beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from scifigqual_bench import gating
from scifigqual_bench.rubric import DIMENSION_KEYS

if TYPE_CHECKING:
    from scifigqual_bench.records import Gold, Rating

ADJUDICATION_GAP = 2.0
"""Two raters of one figure whose overalls differ by more than this go to adjudication (SPEC 4)."""


def rater_overall(scores: Mapping[str, float | None]) -> float | None:
    """A rater's own overall: the mean of the dimensions that this rater scored; None when none was.

    >>> rater_overall({"visual_clarity": 9, "structure_layout": 8, "context_consistency": None})
    8.5
    """
    return gating.overall(scores, [key for key in DIMENSION_KEYS if scores.get(key) is not None])


def dimension_means(rows: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Mean of the non-null ratings of each dimension; None where nobody scored it.

    >>> rows = [{"visual_clarity": 6}, {"visual_clarity": 5}, {"visual_clarity": 8}]
    >>> round(dimension_means(rows)["visual_clarity"], 2)
    6.33
    """
    means: dict[str, float | None] = {}
    for key in DIMENSION_KEYS:
        values = [row[key] for row in rows if row.get(key) is not None]
        means[key] = math.fsum(values) / len(values) if values else None
    return means


def gold_from_ratings(figure_id: str, ratings: Sequence[Rating], evidence: Sequence[str]) -> Gold | None:
    """Gold of one figure.

    The overall is dimension-first: the mean over the dimensions that have gold. ``overall_rater_mean`` is the mean of
    the raters' own overalls; the two agree on complete ratings and differ under uneven nulls.

    Args:
        figure_id: The figure the ratings are of.
        ratings: Its ratings, in any order.
        evidence: The dimensions that the figure's evidence leaves open, kept in the row so that a scorer can choose
            between the gold mask (what people rated) and the evidence mask.

    Returns:
        The gold row, or None when nobody scored any dimension.
    """
    from scifigqual_bench.records import Gold

    rows = [{key: getattr(rating, key) for key in DIMENSION_KEYS} for rating in ratings]
    means = dimension_means(rows)
    rated = [key for key, value in means.items() if value is not None]
    if not rated:
        return None
    own = [value for value in map(rater_overall, rows) if value is not None]
    return Gold(
        figure_id=figure_id,
        **means,
        overall_score=gating.overall(means, rated),
        overall_rater_mean=math.fsum(own) / len(own),
        n_ratings=len(own),
        open_dimensions=[key for key in DIMENSION_KEYS if key in evidence],
    )


def needs_adjudication(ratings: Sequence[Rating]) -> bool:
    """Whether two raters' own overalls differ by more than two points (SPEC 4)."""
    own = [rater_overall({key: getattr(rating, key) for key in DIMENSION_KEYS}) for rating in ratings]
    scored = [value for value in own if value is not None]
    return any(abs(a - b) > ADJUDICATION_GAP + 1e-9 for a, b in combinations(scored, 2))

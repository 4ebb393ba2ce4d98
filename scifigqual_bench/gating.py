"""Evidence gating (SPEC 3): missing evidence closes a dimension, it never lowers a score."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from scifigqual_bench.rubric import DIMENSION_KEYS


def open_dimensions(*, has_caption: bool, has_context: bool) -> tuple[str, ...]:
    """Dimensions that may be scored, given what the figure comes with (the table of SPEC 3).

    Args:
        has_caption: Whether the figure has a caption.
        has_context: Whether at least one citing paragraph is bound to it.

    Returns:
        Open dimension names in rubric order; empty when neither is there, which excludes the figure.

    >>> open_dimensions(has_caption=True, has_context=False)
    ('visual_clarity', 'structure_layout', 'caption_consistency', 'misleading_risk')
    >>> open_dimensions(has_caption=False, has_context=False)
    ()
    """
    if not has_caption and not has_context:
        return ()
    closed = set()
    if not has_caption:
        closed.add("caption_consistency")
    if not has_context:
        closed.add("context_consistency")
    return tuple(key for key in DIMENSION_KEYS if key not in closed)


def overall(scores: Mapping[str, float | None], mask: Collection[str] = DIMENSION_KEYS) -> float | None:
    """Gated mean of the dimension scores, ``y = sum g(d) s(d) / sum g(d)`` (SPEC 3).

    Args:
        scores: Score by dimension name; missing and None both mean "no score".
        mask: The open dimensions. A closed dimension is left out even where it has a score.

    Returns:
        The mean over the open dimensions, or None when an open dimension has no score or none is open: an overall
        over fewer dimensions than the mask would be a different quantity.

    >>> overall({"visual_clarity": 8, "structure_layout": 6}, mask=("visual_clarity", "structure_layout"))
    7.0
    >>> overall({"visual_clarity": 8}, mask=("visual_clarity", "structure_layout")) is None
    True
    """
    values = [scores.get(key) for key in DIMENSION_KEYS if key in mask]
    if not values or any(value is None for value in values):
        return None
    return math.fsum(values) / len(values)

"""Small valid records for tests."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image, ImageDraw

from scifigqual_bench import gating, gold
from scifigqual_bench.records import Citation, Figure, Rating, figure_id
from scifigqual_bench.rubric import DIMENSION_KEYS

# The worked example of SPEC 4: VC, SL, CC, CTX, MR per rater.
RATINGS = ((6, 5, 5, 6, 4), (5, 6, 5, 6, 4), (8, 9, 6, 7, 5))


def png(text: str = "a figure", size: tuple[int, int] = (320, 200)) -> bytes:
    """A small PNG with a line of text."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((20, 20, size[0] - 20, size[1] - 20), outline="black")
    draw.text((40, 60), text, fill="black")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def rating(fig_id: str, rater: str, scores: tuple[int | None, ...], **fields: Any) -> Rating:
    """A rating from scores in rubric order."""
    return Rating(figure_id=fig_id, rater_id=rater, **dict(zip(DIMENSION_KEYS, scores, strict=True)), **fields)


def figure(index: int = 1, paper: str = "2020.acl-main.1", *, rated: bool = True, **fields: Any) -> Figure:
    """A figure with a caption and a citing paragraph, rated unless told otherwise."""
    fig_id = figure_id(paper, index)
    values: dict[str, Any] = {
        "number": str(index),
        "caption": f"Figure {index}: Accuracy (%) of two models over training steps.",
        "citations": [
            Citation(
                text=f"Figure {index} shows that model A is better than B.", section="Results", page=3, kind="trend"
            )
        ],
        "page": 3,
        "bbox": [72.0, 90.5, 290.25, 240.0],
        "paper_id_norm": paper,
    } | fields
    mask = gating.open_dimensions(has_caption=bool(values["caption"]), has_context=bool(values["citations"]))
    values["open_dimensions"] = list(mask)
    if rated:
        ratings = [rating(fig_id, f"r{i}", scores) for i, scores in enumerate(RATINGS, start=1)]
        values["ratings"] = ratings
        values["gold"] = gold.gold_from_ratings(fig_id, ratings, mask)
    return Figure(figure_id=fig_id, paper_id=paper, fig_index=index, **values)

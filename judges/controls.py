"""Blind controls: the same judging with a part of the evidence withheld or swapped.

A judge whose caption_consistency does not fall when it gets the image of another figure is not looking at the image.
The mask stays that of the real evidence, so that the numbers of a control can be put beside those of the real run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.measure import overlap
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.judges.protocols import ProtocolName
from scifigqual_bench.records import Control, SidecarFeatures

CONTROLS: dict[Control, tuple[ProtocolName, ...]] = {
    "no-image": ("direct",),
    "no-text": ("direct", "sidecar"),
    "other-image": ("direct", "sidecar", "agent"),
}
"""The protocols under which each control leaves every call something to judge."""


def under_control(items: Iterable[JudgeItem], control: Control | None, protocol: ProtocolName) -> Iterator[JudgeItem]:
    """The items as a control wants them.

    Args:
        items: All figures, those of one paper together.
        control: None leaves the items as they are.
        protocol: How they will be judged.

    Raises:
        InputError: The control makes no sense under the protocol, or ``other-image`` finds a single paper.
    """
    if control is None:
        return iter(items)
    if protocol not in CONTROLS[control]:
        able = ", ".join(CONTROLS[control])
        raise InputError(f"--control {control} leaves a call of {protocol} nothing to judge; use it with {able}")
    if control == "other-image":
        return with_other_images(items)
    return (replace(item, control=control) for item in items)


def with_other_images(items: Iterable[JudgeItem]) -> Iterator[JudgeItem]:
    """Each figure with the first image of the next paper, the last paper's with that of the first.

    A figure without an image gets none: it is skipped, as it is without a control. Which image a figure gets depends on
    nothing but the dataset's order. Holds the figures of one paper in memory.

    Raises:
        InputError: There is one paper only.
    """
    papers = (list(group) for _, group in groupby(items, key=lambda item: item.figure.paper_id))
    first = current = next(papers, [])
    for following in papers:
        yield from (_with_image_of(item, _donor(following)) for item in current)
        current = following
    if current and current is first:
        raise InputError("--control other-image takes images of other papers, and there is one paper only")
    yield from (_with_image_of(item, _donor(first)) for item in current)


def _donor(paper: list[JudgeItem]) -> JudgeItem:
    return next((item for item in paper if item.image is not None), paper[0])


def _with_image_of(item: JudgeItem, other: JudgeItem) -> JudgeItem:
    """The figure with another's image, and what is measured in that one."""
    figure, features = item.figure, other.figure.features
    if features is not None:
        features = SidecarFeatures(image=features.image, caption=overlap(figure.caption, features.image))
    swapped = figure.model_copy(update={"features": features, "bbox": other.figure.bbox})
    image = None if item.image is None else other.image
    return replace(item, figure=swapped, image=image, problem=item.problem or other.problem, control="other-image")

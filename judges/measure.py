"""Sidecar features on demand: measured once an image, or taken from the rows that carry them.

How an image is measured is injected, so that a judge can run on rows that carry features without OpenCV or OCR.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from scifigqual_bench.judges.base import ImageInput
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.records import FEATURES_VERSION, CaptionOverlap, ImageFeatures, SidecarFeatures

MeasureImage = Callable[[bytes, tuple[float, float] | None], ImageFeatures]
"""Image bytes and printed size in points, where known, to features; raises where the image can't be read."""
MeasureOverlap = Callable[[str, ImageFeatures], CaptionOverlap]
"""Caption and image features to their overlap."""


class Measurements:
    """A bounded cache of image features before a function that measures them.

    Args:
        measure: Measures an image.
        overlap: Compares a caption with what was read in the image.
        engine: Name of what measures, for the manifest.
        capacity: Images whose features are kept; the least recently used go first.
    """

    def __init__(self, measure: MeasureImage, overlap: MeasureOverlap, *, engine: str, capacity: int = 512):
        self.engine = engine
        self._measure = measure
        self._overlap = overlap
        self._capacity = capacity
        self._known: OrderedDict[tuple[str, float | None, float | None], ImageFeatures] = OrderedDict()

    def image(self, image: ImageInput) -> ImageFeatures:
        """Features of an image."""
        key = _key(image)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        size = None
        if image.print_width_pt is not None and image.print_height_pt is not None:
            size = (image.print_width_pt, image.print_height_pt)
        return self._remember(key, self._measure(image.data, size))

    def overlap(self, caption: str, image: ImageFeatures) -> CaptionOverlap:
        """How much of a caption is found in the image's text."""
        return self._overlap(caption, image)

    def prepared(self, item: JudgeItem, *, measure: bool) -> JudgeItem:
        """Learn the features that an item's row carries; measure those that it lacks, if asked to.

        Features of another version of the record are measured anew. Where an image can't be measured, the item comes
        back with the reason as its problem.
        """
        features = item.figure.features
        if features is not None and features.image.version == FEATURES_VERSION:
            self._remember(_key(item.image_input), features.image)
            return item
        if not measure:
            return item
        try:
            image = self.image(item.image_input)
        except Exception as error:  # an image library or an OCR engine can fail in its own ways
            return replace(item, problem=f"features can't be measured ({type(error).__name__}: {error})")
        caption = item.figure.caption
        features = SidecarFeatures(image=image, caption=self.overlap(caption, image) if caption else None)
        return replace(item, figure=item.figure.model_copy(update={"features": features}))

    def _remember(self, key: tuple[str, float | None, float | None], features: ImageFeatures) -> ImageFeatures:
        self._known[key] = features
        self._known.move_to_end(key)
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return features


def _key(image: ImageInput) -> tuple[str, float | None, float | None]:
    return image.sha256, image.print_width_pt, image.print_height_pt

"""Sidecar features on demand: measured once an image, or taken from the rows that carry them.

How an image is measured is injected, so that a judge can run on rows that carry features without OpenCV or OCR.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from scifigqual_bench.features.overlap import caption_overlap
from scifigqual_bench.judges.base import ImageInput
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.records import FEATURES_VERSION, CaptionOverlap, ImageFeatures, SidecarFeatures

if TYPE_CHECKING:
    from scifigqual_bench.features.ocr import EngineName, OcrEngine

MeasureImage = Callable[[bytes, tuple[float, float] | None], ImageFeatures]
"""Image bytes and printed size in points, where known, to features; raises where the image can't be read."""


class Measurements:
    """A bounded cache of image features before a function that measures them.

    Args:
        measure: Measures an image.
        engine: Name of what measures, for the manifest.
        capacity: Images whose features are kept; the least recently used go first.
    """

    def __init__(self, measure: MeasureImage, *, engine: str, capacity: int = 512):
        self.engine = engine
        self._measure = measure
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

    def prepared(self, item: JudgeItem, *, measure: bool) -> JudgeItem:
        """Learn the features that an item's row carries; measure those that it lacks, if asked to.

        Features of another version of the record are measured anew. Where an image can't be measured, the item comes
        back with the reason as its problem; an item without an image comes back as it is.
        """
        if item.image is None:
            return item
        features = item.figure.features
        if features is not None and features.image.version == FEATURES_VERSION:
            self._remember(_key(item.image_input), features.image)
            return item
        if not measure:
            return item
        try:
            image = self.image(item.image_input)
        except ImportError:
            raise  # a missing package would fail every figure; its message names the remedy
        except Exception as error:  # an image library or an OCR engine can fail in its own ways
            return replace(item, problem=f"features can't be measured ({type(error).__name__}: {error})")
        features = SidecarFeatures(image=image, caption=overlap(item.figure.caption, image))
        return replace(item, figure=item.figure.model_copy(update={"features": features}))

    def _remember(self, key: tuple[str, float | None, float | None], features: ImageFeatures) -> ImageFeatures:
        self._known[key] = features
        self._known.move_to_end(key)
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return features


def ocr_measurements(ocr: EngineName = "rapidocr", *, threads: int = 1) -> Measurements:
    """Measurements by :func:`scifigqual_bench.features.extract.image_features`.

    OpenCV and the OCR engine are loaded when the first image has to be measured: rows that carry features need neither.

    Args:
        ocr: Name of the OCR engine, ``"rapidocr"`` or ``"none"``.
        threads: CPU threads of the engine.
    """

    @cache
    def engine() -> OcrEngine:
        from scifigqual_bench.features.ocr import ocr_engine

        return ocr_engine(ocr, threads=threads)

    def measure(image: bytes, size: tuple[float, float] | None) -> ImageFeatures:
        from scifigqual_bench.features.extract import image_features

        return image_features(image, print_size_pt=size, ocr=engine())

    return Measurements(measure, engine=f"features {FEATURES_VERSION}, {ocr}")


def overlap(caption: str, image: ImageFeatures) -> CaptionOverlap | None:
    """What of a caption was found in an image; None without a caption."""
    if not caption.strip():
        return None
    return caption_overlap(caption, None if image.ocr_engine == "none" else image.text_boxes, image.panel_letters)


def _key(image: ImageInput) -> tuple[str, float | None, float | None]:
    return image.sha256, image.print_width_pt, image.print_height_pt

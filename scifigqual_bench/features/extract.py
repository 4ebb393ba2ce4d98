"""One image (and its caption) in, the sidecar features of SPEC 9 out."""

from __future__ import annotations

import io
import math
import statistics
from dataclasses import asdict

import numpy as np
from PIL import Image, ImageOps

from scifigqual_bench.features.bars import standing_bars
from scifigqual_bench.features.ocr import NoOcr, OcrEngine
from scifigqual_bench.features.overlap import caption_overlap
from scifigqual_bench.features.text import axis_numbers, font_sizes_pt, panel_letters, reading_order
from scifigqual_bench.features.vision import Pixels, vision_statistics
from scifigqual_bench.records import ImageFeatures, SidecarFeatures, TextBox

MAX_PIXELS = 64_000_000
"""Larger images are refused before they are unpacked: a small file can hold a very large image."""


class ImageError(ValueError):
    """An image that can't be decoded or is too large; the message says why."""


def extract_features(
    image: bytes | Image.Image,
    *,
    caption: str | None = None,
    print_size_pt: tuple[float, float] | None = None,
    ocr: OcrEngine,
) -> SidecarFeatures:
    """Features of an image and the overlap of its text with its caption.

    Args:
        image: Encoded image or an open one.
        caption: None or blank where the figure has none; the overlap is then None.
        print_size_pt: Printed width and height in PDF points, where known.
        ocr: What reads the text, from :func:`scifigqual_bench.features.ocr.ocr_engine`.

    Raises:
        ImageError: The image can't be used.
        ValueError: A printed side is not a positive number.
    """
    features = image_features(image, print_size_pt=print_size_pt, ocr=ocr)
    boxes = None if features.ocr_engine == NoOcr.name else features.text_boxes
    overlap = caption_overlap(caption, boxes) if caption and caption.strip() else None
    return SidecarFeatures(image=features, caption=overlap)


def image_features(
    image: bytes | Image.Image, *, print_size_pt: tuple[float, float] | None = None, ocr: OcrEngine
) -> ImageFeatures:
    """What can be measured in the image alone; arguments and errors as for :func:`extract_features`."""
    if print_size_pt is not None and not all(math.isfinite(side) and side > 0 for side in print_size_pt):
        raise ValueError(f"printed width and height must be positive numbers of points, not {print_size_pt}")
    rgb = decode(image)
    height, width = rgb.shape[:2]
    boxes = reading_order(ocr.read(rgb))
    confidences = [box.confidence for box in boxes]
    sizes = font_sizes_pt(boxes, print_size_pt[1] / height) if print_size_pt else []
    return ImageFeatures(
        **asdict(vision_statistics(rgb)),
        ocr_engine=ocr.name,
        print_width_pt=float(print_size_pt[0]) if print_size_pt else None,
        print_height_pt=float(print_size_pt[1]) if print_size_pt else None,
        text_boxes=boxes,
        text_area_share=round(_covered_share(boxes, width, height), 4),
        ocr_confidence_mean=round(statistics.fmean(confidences), 4) if boxes else None,
        ocr_confidence_min=min(confidences) if boxes else None,
        text_height_pt_min=round(sizes[0], 2) if sizes else None,
        text_height_pt_median=round(statistics.median(sizes), 2) if sizes else None,
        panel_letters=panel_letters(boxes, width, height),
        axis_numbers=axis_numbers(boxes),
        standing_bars=standing_bars(rgb),
    )


def decode(image: bytes | Image.Image) -> Pixels:
    """An image as RGB, shape (height, width, 3), 0..255.

    The first frame, turned as its EXIF data asks, transparency composed on white, 16-bit grey scaled to 8 bits, CMYK
    converted.

    Raises:
        ImageError: No image, damaged, of floating point pixels, or over 64 million pixels.
    """
    try:
        picture = Image.open(io.BytesIO(image)) if isinstance(image, bytes) else image
        _check_size(picture)
        return np.asarray(_to_rgb(ImageOps.exif_transpose(picture)))
    except ImageError:
        raise
    except Image.DecompressionBombError as error:
        raise ImageError(f"the image is too large to be unpacked safely ({error})") from None
    except Exception as error:  # Pillow raises many types on damaged data, plain SyntaxError among them
        raise ImageError(f"the image can't be decoded ({type(error).__name__}: {error})") from None


def _check_size(picture: Image.Image) -> None:
    width, height = picture.size
    if width * height == 0:
        raise ImageError(f"the image is empty ({width} x {height} pixels)")
    if width * height > MAX_PIXELS:
        raise ImageError(
            f"the image has {width} x {height} pixels, over the limit of {MAX_PIXELS:,}: scale it down first"
        )


def _to_rgb(picture: Image.Image) -> Image.Image:
    if picture.mode == "F":
        raise ImageError("the image has floating point pixels, whose white is unknown: convert it to 8 bits first")
    if picture.mode.startswith("I"):  # 16 bits; Pillow's own conversion cuts values off at 255
        return Image.fromarray((np.asarray(picture).astype(np.int64).clip(0, 65535) >> 8).astype(np.uint8)).convert(
            "RGB"
        )
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")
    return picture.convert("RGB")


def _covered_share(boxes: list[TextBox], width: int, height: int) -> float:
    """Share of the image that text boxes cover; where they overlap, once."""
    covered = np.zeros((height, width), bool)
    for box in boxes:
        x0, y0, x1, y1 = (round(value) for value in box.bbox)
        covered[y0:y1, x0:x1] = True
    return float(covered.mean())

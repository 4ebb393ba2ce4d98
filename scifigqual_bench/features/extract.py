"""One image (and its caption, and its PDF's word on it) in, the sidecar features of SPEC 9 out."""

from __future__ import annotations

import io
import math
import statistics
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageOps

from scifigqual_bench.features.axes import bar_base, bottom_axes, left_axes, plot_axes, stands_right
from scifigqual_bench.features.bars import lying_bars, row_of_bars
from scifigqual_bench.features.colour import colour_statistics, text_contrast
from scifigqual_bench.features.curves import curves
from scifigqual_bench.features.legend import legend_entries
from scifigqual_bench.features.ocr import NoOcr, OcrEngine
from scifigqual_bench.features.overlap import caption_overlap
from scifigqual_bench.features.reading import read_text
from scifigqual_bench.features.text import font_sizes_pt, overlapping, panel_letters, reading_order
from scifigqual_bench.features.vision import Pixels, jpeg_blockiness, jpeg_quality, vision_statistics
from scifigqual_bench.records import ImageFeatures, SidecarFeatures, TextBox

if TYPE_CHECKING:
    from scifigqual_bench.pdf.figure_text import PrintedFigure

MAX_PIXELS = 64_000_000
"""Larger images are refused before they are unpacked: a small file can hold a very large image."""
MIN_RASTER = 0.02
"""Share of the figure that an embedded image covers to count for the effective resolution: icons don't."""


class ImageError(ValueError):
    """An image that can't be decoded or is too large; the message says why."""


def extract_features(
    image: bytes | Image.Image,
    *,
    caption: str | None = None,
    print_size_pt: tuple[float, float] | None = None,
    ocr: OcrEngine,
    printed: PrintedFigure | None = None,
) -> SidecarFeatures:
    """Features of an image and the overlap of its text with its caption.

    Args:
        image: Encoded image or an open one.
        caption: None or blank where the figure has none; the overlap is then None.
        print_size_pt: Printed width and height in PDF points, where known.
        ocr: What reads the text, from :func:`scifigqual_bench.features.ocr.ocr_engine`.
        printed: What the PDF tells of the figure, from :func:`scifigqual_bench.pdf.figure_text.read_figure`; OCR then
            reads only what the PDF does not tell.

    Raises:
        ImageError: The image can't be used.
        ValueError: A printed side is not a positive number.
    """
    features = image_features(image, print_size_pt=print_size_pt, ocr=ocr, printed=printed)
    boxes = None if features.ocr_engine == NoOcr.name else features.text_boxes
    overlap = caption_overlap(caption, boxes, features.panel_letters) if caption and caption.strip() else None
    return SidecarFeatures(image=features, caption=overlap)


def image_features(
    image: bytes | Image.Image,
    *,
    print_size_pt: tuple[float, float] | None = None,
    ocr: OcrEngine,
    printed: PrintedFigure | None = None,
) -> ImageFeatures:
    """What can be measured in the image alone; arguments and errors as for :func:`extract_features`."""
    if print_size_pt is not None and not all(math.isfinite(side) and side > 0 for side in print_size_pt):
        raise ValueError(f"printed width and height must be positive numbers of points, not {print_size_pt}")
    rgb = decode(image)
    height, width = rgb.shape[:2]
    reading = read_text(rgb, ocr, printed)
    boxes = [box.model_copy(update={"contrast": text_contrast(rgb, box.bbox)}) for box in reading_order(reading.boxes)]
    confidences = [box.confidence for box in boxes if box.source == "ocr" and box.confidence is not None]
    sizes = font_sizes_pt(boxes, print_size_pt[1] / height) if print_size_pt else []
    contrasts = _contrasts(boxes)
    letters = panel_letters(boxes, width, height)
    left = [axis for axis in left_axes(boxes) if not stands_right(rgb, axis)]
    bottom, standing, lying = bottom_axes(boxes), row_of_bars(rgb), lying_bars(rgb)
    bars = standing or lying
    axes = plot_axes(left, bottom, boxes, letters)
    ticks = {id(label) for axis in (*left, *bottom) for label in axis.labels}
    return ImageFeatures(
        **asdict(vision_statistics(rgb)),
        **vars(colour_statistics(rgb)),
        **_rasters(image, printed, (height, width)),
        ocr_engine=reading.engine,
        print_width_pt=float(print_size_pt[0]) if print_size_pt else None,
        print_height_pt=float(print_size_pt[1]) if print_size_pt else None,
        text_boxes=boxes,
        text_area_share=round(_covered_share([box.bbox for box in boxes], width, height), 4),
        ocr_confidence_mean=round(statistics.fmean(confidences), 4) if confidences else None,
        ocr_confidence_min=min(confidences, default=None),
        text_height_pt_min=round(sizes[0], 2) if sizes else None,
        text_height_pt_median=round(statistics.median(sizes), 2) if sizes else None,
        text_contrast_min=min(contrasts, default=None),
        text_contrast_median=round(statistics.median(contrasts), 2) if contrasts else None,
        overlapping_text=overlapping(boxes),
        rotated_text=sum(box.rotated for box in boxes),
        panel_letters=letters,
        axis_numbers=[list(axis.numbers) for axis in left],
        axes=axes,
        curves=curves(printed.strokes, axes, (height, width)) if printed else [],
        legend=legend_entries(rgb, [box for box in boxes if id(box) not in ticks]),
        standing_bars=standing.count if standing else 0,
        lying_bars=lying.count if lying else 0,
        bar_base=bar_base([*left, *bottom], bars) if bars else None,
    )


def _contrasts(boxes: list[TextBox]) -> list[float]:
    """Contrast of each piece of text; single characters, which may be a mere dash, where there is nothing else."""
    words = [box for box in boxes if sum(map(str.isalnum, box.text)) > 1] or boxes
    return [box.contrast for box in words if box.contrast is not None]


def _rasters(image: bytes | Image.Image, printed: PrintedFigure | None, size: tuple[int, int]) -> dict:
    """What the embedded images are like or, without the PDF, the image itself where it comes as JPEG."""
    height, width = size
    if printed is None:
        picture = Image.open(io.BytesIO(image)) if isinstance(image, bytes) else image
        return _jpeg(picture) if picture.format == "JPEG" else {}
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (raster.bbox for raster in printed.rasters)]
    large = [r for r, area in zip(printed.rasters, areas, strict=True) if area >= MIN_RASTER * width * height]
    jpegs = [(area, r.jpeg) for r, area in zip(printed.rasters, areas, strict=True) if r.jpeg is not None]
    largest = max(jpegs, key=lambda entry: entry[0])[1] if jpegs else None
    return {
        "raster_share": round(_covered_share([list(r.bbox) for r in printed.rasters], width, height), 4),
        "effective_dpi": min((r.dpi for r in large), default=None),
        **(_jpeg(largest) if largest else {}),
    }


def _jpeg(image: Image.Image | bytes) -> dict:
    """Blocks and quality of a JPEG as it is stored; nothing where it can't be decoded."""
    try:
        picture = Image.open(io.BytesIO(image)) if isinstance(image, bytes) else image
        _check_size(picture)
        blocks = jpeg_blockiness(np.asarray(picture.convert("L")))
        return {"jpeg_blockiness": blocks, "jpeg_quality": jpeg_quality(picture)}
    except (ImageError, OSError, SyntaxError):  # Pillow's errors on damaged data; the figure was rendered all the same
        return {}


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


def _covered_share(boxes: list[list[float]], width: int, height: int) -> float:
    """Share of the image that boxes cover; where they overlap, once."""
    covered = np.zeros((height, width), bool)
    for box in boxes:
        x0, y0, x1, y1 = (round(value) for value in box)
        covered[y0:y1, x0:x1] = True
    return float(covered.mean())

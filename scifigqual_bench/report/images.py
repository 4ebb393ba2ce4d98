"""Image bytes to what an HTML page can carry: scaled for a screen and written as a data URI.

Every image is decoded and encoded again, so that nothing but pixels reaches the page: no metadata, no second format
hidden in the file, no markup of an SVG.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field

from PIL import Image, ImageOps, UnidentifiedImageError

MAX_SIZE = (1200, 1600)
"""Largest width and height on the page, in pixels: twice the width of a card's image column."""
JPEG_QUALITY = 85


@dataclass(frozen=True)
class PageImage:
    """An image as the page shows it.

    Attributes:
        uri: ``data:image/png;base64,...`` or ``data:image/jpeg;base64,...``.
        width: Pixels on the page.
        height: Pixels on the page.
        original_width: Pixels of the given image.
        original_height: Pixels of the given image.
    """

    uri: str = field(repr=False)
    width: int
    height: int
    original_width: int
    original_height: int

    @property
    def scaled(self) -> bool:
        """Whether the page shows fewer pixels than the given image has."""
        return (self.width, self.height) != (self.original_width, self.original_height)


def page_image(data: bytes) -> PageImage:
    """Scale an image down to :data:`MAX_SIZE` and encode it as PNG or JPEG, whichever is smaller.

    Args:
        data: An encoded image of any format that Pillow reads.

    Returns:
        The image for the page, upright (EXIF orientation applied), transparency on white, never scaled up.

    Raises:
        ValueError: The bytes are no image, or the image is damaged or too large to decode safely.

    >>> buffer = io.BytesIO()
    >>> Image.new("RGB", (2400, 600), "white").save(buffer, "PNG")
    >>> shown = page_image(buffer.getvalue())
    >>> (shown.width, shown.height, shown.scaled, shown.uri[:22])
    (1200, 300, True, 'data:image/png;base64,')
    """
    try:
        with Image.open(io.BytesIO(data)) as opened:
            image = _flat(ImageOps.exif_transpose(opened))
    except UnidentifiedImageError:
        raise ValueError("the bytes are not an image that can be read") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:  # Pillow raises all of them
        raise ValueError(f"the image can't be decoded ({error})") from None
    original = image.size
    image.info = {}  # Pillow would write comments and profiles on
    image.thumbnail(MAX_SIZE, Image.Resampling.LANCZOS, reducing_gap=3.0)
    kind, encoded = min(_encodings(image).items(), key=lambda item: len(item[1]))
    uri = f"data:image/{kind};base64,{base64.b64encode(encoded).decode('ascii')}"
    return PageImage(uri, *image.size, *original)


def _flat(image: Image.Image) -> Image.Image:
    """The image in RGB or grey, 8 bits, with transparency on white."""
    if image.mode.startswith("I;16"):
        image = image.convert("I").point(lambda value: value / 256)
    if image.mode in ("1", "L", "I", "F"):
        return image.convert("L")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image.convert("RGB")


def _encodings(image: Image.Image) -> dict[str, bytes]:
    """The image as PNG (lossless) and as JPEG without colour subsampling, which would smear thin coloured lines."""
    png, jpeg = io.BytesIO(), io.BytesIO()
    image.save(png, "PNG")
    # Without optimize and progressive: with them Pillow fails on images too noisy for its fixed buffer.
    image.save(jpeg, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    return {"png": png.getvalue(), "jpeg": jpeg.getvalue()}

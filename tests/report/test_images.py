from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from scifigqual_bench.report.images import MAX_SIZE, PageImage, page_image


def encode(image: Image.Image, form: str = "PNG", **settings) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **settings)
    return buffer.getvalue()


def decode(shown: PageImage) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(shown.uri.split(",", 1)[1])))


def noise(size: tuple[int, int]) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))


def test_a_flat_drawing_becomes_png_and_a_photograph_jpeg():
    assert page_image(encode(Image.new("RGB", (300, 200), "white"))).uri.startswith("data:image/png;")
    assert page_image(encode(noise((300, 200)))).uri.startswith("data:image/jpeg;")


@pytest.mark.parametrize("size", [(2400, 1000), (900, 4000), (5000, 5000)])
def test_large_images_shrink_into_the_limits_and_keep_their_shape(size):
    shown = page_image(encode(Image.new("RGB", size, "white")))
    assert shown.scaled
    assert (shown.original_width, shown.original_height) == size
    assert shown.width <= MAX_SIZE[0] and shown.height <= MAX_SIZE[1]
    assert shown.width == MAX_SIZE[0] or shown.height == MAX_SIZE[1]
    assert shown.width / shown.height == pytest.approx(size[0] / size[1], rel=0.01)
    assert decode(shown).size == (shown.width, shown.height)


def test_small_images_are_never_scaled_up():
    shown = page_image(encode(Image.new("RGB", (60, 50), "white")))
    assert (shown.width, shown.height, shown.scaled) == (60, 50, False)


def test_transparency_is_shown_on_white():
    clear = Image.new("RGBA", (60, 60), (255, 0, 0, 0))
    assert decode(page_image(encode(clear))).convert("RGB").getpixel((30, 30)) == (255, 255, 255)


def test_a_transparent_palette_is_shown_on_white():
    image = Image.new("P", (60, 60), 0)
    image.putpalette([200, 0, 0, 0, 0, 200])
    assert decode(page_image(encode(image, transparency=0))).convert("RGB").getpixel((3, 3)) == (255, 255, 255)


def test_sixteen_bit_grey_keeps_its_shades():
    ramp = Image.fromarray(np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16))
    shades = np.asarray(decode(page_image(encode(ramp))).convert("L"))
    np.testing.assert_array_equal(shades.ravel(), np.arange(256))


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK"])
def test_other_colour_modes_are_shown(mode):
    image = Image.new("RGB", (60, 60), "white").convert(mode)
    shown = page_image(encode(image, "TIFF" if mode == "CMYK" else "PNG"))
    assert decode(shown).convert("L").getpixel((30, 30)) >= 254


def test_a_turned_photograph_is_set_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    shown = page_image(encode(noise((80, 60)), "JPEG", exif=exif))
    assert (shown.width, shown.height) == (60, 80)


def test_nothing_but_pixels_survives():
    secret = b"<script>alert(1)</script>"
    data = encode(noise((80, 60)), "JPEG", comment=secret) + secret
    assert secret in data
    assert secret not in base64.b64decode(page_image(data).uri.split(",", 1)[1])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not an image",
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"\x89PNG\r\n\x1a\n" + b"0" * 50,
        encode(noise((80, 60)))[:1000],
    ],
    ids=["empty", "text", "svg", "broken", "cut"],
)
def test_what_can_not_be_decoded_is_an_error_with_a_reason(data):
    with pytest.raises(ValueError, match="image"):
        page_image(data)


def test_an_image_too_large_to_decode_safely_is_an_error(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(ValueError, match="can't be decoded"):
        page_image(encode(Image.new("L", (100, 100))))

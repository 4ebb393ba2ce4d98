from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from scifigqual_bench.features import extract
from scifigqual_bench.features.extract import ImageError, decode, extract_features, image_features
from scifigqual_bench.features.ocr import ocr_engine
from scifigqual_bench.records import SidecarFeatures

NONE = ocr_engine("none")


def encoded(picture: Image.Image, kind: str = "PNG", **options) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format=kind, **options)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def features(engine, two_panels) -> SidecarFeatures:
    return extract_features(
        two_panels.png,
        caption="Figure 4: (a) Accuracy gain per training epoch. (b) Word count at 1,500 and 9,999 merges.",
        print_size_pt=two_panels.size_pt,
        ocr=engine,
    )


class TestWholeFigure:
    """A matplotlib figure whose content is known, read by the real engine."""

    def test_panels_and_axes(self, features, two_panels):
        assert features.image.panel_letters == ["a", "b"]
        assert features.image.axis_numbers == two_panels.y_ticks

    def test_text_height_is_the_font_size_at_print_size(self, features):
        assert features.image.text_height_pt_median == pytest.approx(9, rel=0.2)
        assert features.image.text_height_pt_min == pytest.approx(9, rel=0.35)

    def test_overlap_with_the_caption(self, features):
        # accuracy, gain, training, epoch, word, count, but not merge
        assert features.caption.word_share == pytest.approx(6 / 7, abs=1e-4)
        assert features.caption.number_share == 0.5
        assert features.caption.panels_named == ["a", "b"]

    def test_image_statistics(self, features, two_panels):
        image = features.image
        assert (image.height, image.width) == two_panels.rgb.shape[:2]
        assert image.megapixels == round(image.width * image.height / 1e6, 4)
        assert (image.print_width_pt, image.print_height_pt) == two_panels.size_pt
        assert image.whitespace_share > 0.8
        assert image.clipped_edges == []
        assert 0.02 < image.text_area_share < 0.3
        assert image.ocr_confidence_min <= image.ocr_confidence_mean <= 1

    def test_an_open_image_gives_the_same_as_its_bytes(self, engine, features, two_panels):
        opened = Image.open(io.BytesIO(two_panels.png))
        assert image_features(opened, print_size_pt=two_panels.size_pt, ocr=engine) == features.image

    def test_nothing_of_the_caption_is_in_the_image_features(self, engine, features, two_panels):
        other = extract_features(two_panels.png, caption="Unrelated", print_size_pt=two_panels.size_pt, ocr=engine)
        assert other.image == features.image

    def test_features_survive_json(self, features):
        assert SidecarFeatures.model_validate_json(features.model_dump_json()) == features


def test_unknown_is_none(two_panels):
    found = extract_features(two_panels.png, caption="Loss after 10 epochs of (a)", ocr=NONE)
    assert found.image.ocr_engine == "none"
    assert found.image.print_width_pt is None
    assert found.image.text_height_pt_min is None
    assert found.image.ocr_confidence_mean is None
    assert (found.caption.word_share, found.caption.number_share) == (None, None)
    assert found.caption.panels_named == ["a"]


@pytest.mark.parametrize("caption", [None, "", "  \n"])
def test_no_caption_no_overlap(two_panels, caption):
    assert extract_features(two_panels.png, caption=caption, ocr=NONE).caption is None


@pytest.mark.parametrize("size", [(0, 10), (10, -1), (float("nan"), 1), (float("inf"), 1)])
def test_a_print_size_that_is_none(two_panels, size):
    with pytest.raises(ValueError, match="positive numbers of points"):
        image_features(two_panels.png, print_size_pt=size, ocr=NONE)


def test_overlapping_boxes_are_counted_once():
    from scifigqual_bench.records import TextBox

    class Fixed:
        name = "fixed"

        def read(self, rgb):
            boxes = [[0, 0, 50, 40], [0, 0, 50, 40], [25, 0, 75, 40]]
            return [TextBox(text="ab", confidence=0.5, bbox=[float(x) for x in box]) for box in boxes]

    found = image_features(Image.new("RGB", (100, 40), "white"), ocr=Fixed())
    assert found.text_area_share == 0.75


# --- decoding -------------------------------------------------------------------------------------------------------


def half_red(mode: str = "RGB") -> Image.Image:
    """Left half white, right half red."""
    picture = Image.new("RGB", (40, 20), "white")
    ImageDraw.Draw(picture).rectangle((20, 0, 39, 19), fill=(255, 0, 0))
    return picture.convert(mode)


@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("PNG", "RGB", {}),
        ("PNG", "RGBA", {}),
        ("PNG", "P", {}),
        ("GIF", "P", {}),
        ("TIFF", "RGB", {}),
        ("BMP", "RGB", {}),
        ("WEBP", "RGB", {"lossless": True}),
        ("JPEG", "RGB", {"quality": 95}),
        ("JPEG", "CMYK", {"quality": 95}),
        ("TIFF", "CMYK", {}),
    ],
)
def test_colours_survive_every_format(kind, mode, options):
    rgb = decode(encoded(half_red(mode), kind, **options))
    assert rgb.shape == (20, 40, 3)
    assert rgb.dtype == np.uint8
    assert np.abs(rgb[:, :15].astype(int) - 255).max() <= 8
    assert np.abs(rgb[:, 25:].astype(int) - (255, 0, 0)).max() <= 8


@pytest.mark.parametrize("mode", ["1", "L"])
def test_grey_images(mode):
    picture = Image.new("L", (10, 10), 255)
    picture.putpixel((0, 0), 0)
    rgb = decode(encoded(picture.convert(mode)))
    assert rgb[0, 0].tolist() == [0, 0, 0]
    assert rgb[5, 5].tolist() == [255, 255, 255]


def test_transparency_is_white():
    clear = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    clear.putpixel((0, 0), (0, 0, 0, 128))
    rgb = decode(encoded(clear))
    assert rgb[2, 2].tolist() == [255, 255, 255]
    assert rgb[0, 0].tolist() == [127, 127, 127]
    assert decode(encoded(Image.new("LA", (4, 4), (0, 0))))[0, 0].tolist() == [255, 255, 255]
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([10, 20, 30, 200, 100, 0])
    palette.putpixel((1, 1), 1)
    rgb = decode(encoded(palette, transparency=0))
    assert rgb[0, 0].tolist() == [255, 255, 255]
    assert rgb[1, 1].tolist() == [200, 100, 0]


def test_sixteen_bits_are_scaled_not_cut_off():
    ramp = np.linspace(0, 65535, 256, dtype=np.uint16).reshape(16, 16)
    expected = np.repeat((ramp >> 8).astype(np.uint8)[..., None], 3, axis=2)
    assert np.array_equal(decode(encoded(Image.fromarray(ramp))), expected)
    assert np.array_equal(decode(encoded(Image.fromarray(ramp), "TIFF")), expected)


def test_exif_orientation_is_followed():
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    assert decode(encoded(half_red(), "JPEG", exif=exif)).shape == (40, 20, 3)


def test_first_frame_of_an_animation():
    frames = [half_red(), Image.new("RGB", (40, 20), "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert decode(data)[10, 5].tolist() == [255, 255, 255]


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"not an image", b"%PDF-1.4"])
def test_bytes_that_are_no_image(data):
    with pytest.raises(ImageError, match="can't be decoded"):
        decode(data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "GIF", "WEBP"])
def test_truncated_images(kind):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8))
    data = encoded(noise, kind)
    with pytest.raises(ImageError, match="can't be decoded"):
        decode(data[: len(data) // 2])


@given(st.data())
def test_damaged_bytes_give_pixels_or_an_image_error(data):
    """Never another error, whatever byte is wrong."""
    good = bytearray(encoded(half_red(data.draw(st.sampled_from(["RGB", "P", "RGBA"])))))
    for position in data.draw(st.lists(st.integers(0, len(good) - 1), max_size=4)):
        good[position] = data.draw(st.integers(0, 255))
    try:
        rgb = decode(bytes(good))
    except ImageError:
        return
    assert rgb.ndim == 3


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few dozen bytes that claims to be very large."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("size", [(9000, 9000), (11000, 9000), (60000, 60000)])
def test_a_huge_image_is_refused_before_it_is_unpacked(size):
    with pytest.raises(ImageError, match=r"over the limit of 64,000,000|too large to be unpacked"):
        decode(bomb(*size))


def test_the_limit_itself_is_allowed(monkeypatch):
    monkeypatch.setattr(extract, "MAX_PIXELS", 800)
    assert decode(half_red()).shape == (20, 40, 3)
    monkeypatch.setattr(extract, "MAX_PIXELS", 799)
    with pytest.raises(ImageError, match="40 x 20 pixels, over the limit of 799"):
        decode(half_red())


def test_empty_and_floating_point_images():
    with pytest.raises(ImageError, match="empty"):
        decode(Image.new("RGB", (0, 5)))
    with pytest.raises(ImageError, match="floating point"):
        decode(Image.fromarray(np.ones((4, 4), np.float32)))

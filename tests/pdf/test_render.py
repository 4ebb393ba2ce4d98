"""Crops: what they show, at which size, and that nothing else of the page is rendered."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from scifigqual_bench.pdf.render import MARGIN, render_region
from tests.pdf.made_pdf import picture


@pytest.fixture
def page() -> pymupdf.Page:
    """A page with a red square at (100, 100, 200, 200) and a black one far from it."""
    page = pymupdf.open().new_page(width=612, height=792)
    page.draw_rect((100, 100, 200, 200), color=None, fill=(1, 0, 0))
    page.draw_rect((400, 500, 500, 600), color=None, fill=(0, 0, 0))
    return page


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)))


def test_size_and_box_follow_the_resolution(page: pymupdf.Page) -> None:
    crop = render_region(page, (100, 100, 200, 200), dpi=144)
    assert crop.bbox == (100, 100, 200, 200)
    assert (crop.width, crop.height) == (200 + 2 * 2 * MARGIN, 200 + 2 * 2 * MARGIN)
    assert pixels(crop.png).shape == (crop.height, crop.width, 3)
    assert crop.dpi == 144


def test_margins_are_cut_to_the_ink_and_what_lies_beside_is_not_shown(page: pymupdf.Page) -> None:
    crop = render_region(page, (50, 40, 350, 420), dpi=72)
    assert crop.bbox == (100, 100, 200, 200)
    image = pixels(crop.png)
    assert image.shape == (102, 102, 3)
    assert (image[1:-1, 1:-1] == [255, 0, 0]).all()
    assert (image[0] == 255).all() and (image[:, -1] == 255).all()


def test_a_region_without_ink_stays_as_it_is(page: pymupdf.Page) -> None:
    crop = render_region(page, (300, 100, 380, 150), dpi=72)
    assert crop.bbox == (300, 100, 380, 150)
    assert (pixels(crop.png) == 255).all()


def test_ink_beside_the_region_does_not_widen_it(page: pymupdf.Page) -> None:
    """The margin shows what is there, but only the region decides where the ink ends."""
    page.draw_rect((205, 90, 210, 210), color=None, fill=(0, 0, 1))
    assert render_region(page, (90, 90, 205, 210), dpi=72).bbox == (100, 100, 200, 200)


def test_the_same_region_gives_the_same_bytes(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    picture(pdf.new_page(), (100, 100, 300, 250))
    pdf.save(tmp_path / "a.pdf")
    crops = [render_region(pymupdf.open(tmp_path / "a.pdf")[0], (90, 90, 310, 260)) for _ in range(2)]
    assert crops[0] == crops[1]
    assert crops[0].dpi == 300


def test_enormous_regions_are_rendered_at_a_lower_resolution() -> None:
    page = pymupdf.open().new_page(width=14400, height=7200)
    page.draw_rect((0, 0, 14400, 7200), color=None, fill=(0, 0, 0))
    crop = render_region(page, (0, 0, 14400, 7200), max_side=500)
    assert (crop.width, crop.height) == (500, 250)
    assert crop.dpi == pytest.approx(500 / 14400 * 72)


def test_a_hairline_of_enormous_length_still_gives_an_image() -> None:
    page = pymupdf.open().new_page(width=14400, height=100)
    crop = render_region(page, (0, 50, 14400, 51.5), max_side=500)
    assert crop.width == 500 and crop.height >= 1


@pytest.mark.parametrize("box", [(700, 100, 900, 200), (100, 100, 100, 100), (-50, -50, -10, -10)])
def test_a_region_off_the_page_is_told(page: pymupdf.Page, box: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError, match="no area on page 1"):
        render_region(page, box)


def test_a_region_over_the_edge_is_cut_at_it(page: pymupdf.Page) -> None:
    page.draw_rect((560, 0, 612, 50), color=None, fill=(0, 0, 0))
    crop = render_region(page, (550, -30, 700, 60), dpi=72)
    assert crop.bbox == (560, 0, 612, 50)


def test_the_image_is_given_as_pixels_too(page: pymupdf.Page) -> None:
    page.draw_rect((100, 180, 120, 200), color=None, fill=(0, 1, 0))
    crop = render_region(page, (90, 100, 200, 210), dpi=144)
    assert crop.pixels.shape == (crop.height, crop.width, 3)
    assert (crop.pixels == pixels(crop.png)).all()


@settings(max_examples=25, deadline=None)
@given(
    x=st.floats(0, 500),
    y=st.floats(0, 600),
    width=st.floats(2, 400),
    height=st.floats(2, 400),
    dpi=st.integers(36, 150),
)
def test_the_box_never_leaves_the_region(x: float, y: float, width: float, height: float, dpi: int) -> None:
    page = pymupdf.open().new_page(width=612, height=792)
    page.draw_rect((120, 130, 410, 520), color=None, fill=(0.2, 0.4, 0.6))
    crop = render_region(page, (x, y, x + width, y + height), dpi=dpi)
    pixel = 72 / dpi
    assert crop.bbox[0] >= x - pixel and crop.bbox[1] >= y - pixel
    assert crop.bbox[2] <= x + width + pixel and crop.bbox[3] <= y + height + pixel
    assert crop.bbox[0] < crop.bbox[2] and crop.bbox[1] < crop.bbox[3]

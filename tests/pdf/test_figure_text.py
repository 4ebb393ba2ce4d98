"""What a PDF tells of a figure, on pages that are made for it."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

pymupdf = pytest.importorskip("pymupdf")

from scifigqual_bench.features.ocr import ocr_engine  # noqa: E402
from scifigqual_bench.features.reading import read_text  # noqa: E402
from scifigqual_bench.pdf.document import read_document  # noqa: E402
from scifigqual_bench.pdf.extract import extract_paper  # noqa: E402
from scifigqual_bench.pdf.figure_text import PrintedFigure, Raster, read_figure  # noqa: E402
from scifigqual_bench.pdf.render import render_region  # noqa: E402
from scifigqual_bench.records import PaperMeta, TextBox  # noqa: E402

AREA = (50, 50, 350, 250)


@pytest.fixture
def page():
    """An empty page with the frame of a figure."""
    page = pymupdf.open().new_page(width=400, height=300)
    page.draw_rect(AREA, color=(0.5, 0.5, 0.5))
    return page


def picture(size=(60, 40), kind="PNG", **options) -> bytes:
    """Noise that no text is seen in."""
    noise = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, kind, **options)
    return buffer.getvalue()


def told(page, drawings=()) -> PrintedFigure:
    page = pymupdf.open("pdf", page.parent.tobytes())[0]  # what was written last is read as by anybody
    return read_figure(page, render_region(page, AREA), drawings)


class TestWords:
    def test_pieces_and_their_boxes(self, page):
        page.insert_text((60, 100), "Training loss  (log)", fontsize=10)
        page.insert_text((60, 130), "0.1", fontsize=8)
        page.insert_text((80, 130), "0.2", fontsize=8)
        loss, *others = told(page).words
        assert [box.text for box in (loss, *others)] == ["Training loss (log)", "0.1", "0.2"]
        assert loss.font_size_pt == 10 and loss.source == "pdf" and loss.confidence == 1
        scale = 300 / 72
        assert loss.bbox[0] == pytest.approx((60 - 49) * scale, abs=3)
        assert loss.bbox[3] == pytest.approx((102 - 49) * scale, abs=3)

    def test_the_box_holds_the_ink(self, page):
        page.insert_text((60, 100), "MMMM", fontsize=12)
        crop = render_region(page, AREA)
        (box,) = read_figure(page, crop).words
        dark = crop.pixels.max(axis=2) < 60
        rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
        x0, y0, x1, y1 = box.bbox
        assert x0 - 3 <= columns[0] and columns[-1] <= x1 + 3
        assert y0 - 3 <= rows[0] and rows[-1] <= y1 + 3
        assert y1 - y0 < 1.1 * 12 * 300 / 72

    def test_numbers_beside_each_other_are_pieces_of_their_own(self, page):
        page.insert_text((60, 100), "10 20 30", fontsize=8)
        assert [box.text for box in told(page).words] == ["10", "20", "30"]

    def test_superscripts_are_written_as_powers(self, page):
        page.insert_text((60, 100), "10", fontsize=10)
        page.insert_text((71.3, 96), "3", fontsize=7)
        assert [box.text for box in told(page).words] == ["10^3"]

    @pytest.mark.parametrize("turn", [90, 270])
    def test_turned_text(self, page, turn):
        page.insert_text((100, 200), "Accuracy", fontsize=10, rotate=turn)
        (box,) = told(page).words
        assert box.rotated and box.text == "Accuracy"
        assert box.bbox[3] - box.bbox[1] > 2 * (box.bbox[2] - box.bbox[0])

    def test_text_outside_of_the_figure_is_left_out(self, page):
        page.insert_text((60, 290), "Figure 1: A caption", fontsize=10)
        page.insert_text((60, 100), "inside", fontsize=10)
        assert [box.text for box in told(page).words] == ["inside"]


class TestUnseen:
    def test_invisible_text(self, page):
        page.insert_text((60, 100), "hidden", fontsize=10, render_mode=3)
        assert told(page).words == ()

    def test_white_on_white(self, page):
        page.insert_text((60, 100), "hidden", fontsize=10, color=(1, 1, 1))
        assert told(page).words == ()

    def test_white_on_a_dark_patch_is_seen(self, page):
        page.draw_rect((55, 85, 150, 110), fill=(0, 0, 0.5))
        page.insert_text((60, 100), "seen", fontsize=10, color=(1, 1, 1))
        assert [box.text for box in told(page).words] == ["seen"]

    def test_under_a_patch(self, page):
        page.insert_text((60, 100), "hidden", fontsize=10)
        page.draw_rect((55, 85, 150, 110), color=(1, 1, 1), fill=(1, 1, 1))
        assert told(page).words == ()

    def test_under_an_image(self, page):
        page.insert_text((60, 100), "hidden", fontsize=10)
        page.insert_image((55, 80, 150, 120), stream=picture(), keep_proportion=False)
        assert told(page).words == ()

    def test_over_an_image(self, page):
        page.insert_image((55, 80, 150, 120), stream=picture())
        page.insert_text((60, 100), "seen", fontsize=10, color=(1, 0, 0))
        assert [box.text for box in told(page).words] == ["seen"]


class TestImages:
    def test_resolution_in_print(self, page):
        page.insert_image((100, 100, 172, 148), stream=picture((60, 40)))
        (raster,) = told(page).rasters
        assert raster.dpi == pytest.approx(60, abs=0.5)
        assert raster.jpeg is None

    def test_the_coarser_axis_counts(self, page):
        page.insert_image((100, 100, 244, 148), stream=picture((60, 40)), keep_proportion=False)
        (raster,) = told(page).rasters
        assert raster.dpi == pytest.approx(30, abs=0.5)

    def test_jpegs_come_as_they_are(self, page):
        data = picture(kind="JPEG", quality=20)
        page.insert_image((100, 100, 172, 148), stream=data)
        (raster,) = told(page).rasters
        assert raster.jpeg == data

    def test_vector_art_has_none(self, page):
        assert told(page).rasters == ()


class Recorder:
    """An engine that reads one word in everything it is shown, and remembers the sizes."""

    name = "recorder"

    def __init__(self):
        self.seen = []

    def read(self, rgb):
        self.seen.append(rgb.shape[:2])
        return [TextBox(text="read", confidence=0.9, bbox=[1.0, 2.0, 21.0, 12.0])]


WORD = TextBox(text="told", confidence=1.0, bbox=[200.0, 10.0, 240.0, 24.0], source="pdf")
RGB = np.full((300, 400, 3), 255, np.uint8)


class TestReading:
    def test_vector_text_needs_no_ocr(self):
        engine = Recorder()
        assert read_text(RGB, engine, PrintedFigure(words=(WORD,))) == ([WORD], "pdf")
        assert engine.seen == []

    def test_without_a_pdf_everything_is_read(self):
        engine = Recorder()
        assert read_text(RGB, engine).engine == "recorder"
        assert engine.seen == [(300, 400)]

    def test_of_a_mixed_figure_the_images_are_read(self):
        engine = Recorder()
        printed = PrintedFigure(words=(WORD,), rasters=(Raster((100, 100, 200, 180), 72.0),))
        boxes, name = read_text(RGB, engine, printed)
        assert name == "pdf, recorder"
        assert engine.seen == [(88, 108)]
        assert [box.text for box in boxes] == ["told", "read"]
        assert boxes[1].bbox == [97, 98, 117, 108]

    def test_many_images_are_read_at_once(self):
        engine = Recorder()
        rasters = tuple(Raster((40 * k, 0, 40 * k + 20, 30), 72.0) for k in range(9))
        boxes, _ = read_text(RGB, engine, PrintedFigure(words=(WORD,), rasters=rasters))
        assert engine.seen == [(300, 400)]
        assert [box.text for box in boxes] == ["told", "read"]

    def test_what_the_pdf_tells_is_not_read_again(self):
        word = WORD.model_copy(update={"bbox": [0.0, 0.0, 22.0, 13.0]})
        boxes, _ = read_text(RGB, Recorder(), PrintedFigure(words=(word,), outlined=True))
        assert boxes == [word]

    def test_figures_without_words_are_read(self):
        assert read_text(RGB, Recorder(), PrintedFigure()).engine == "recorder"

    def test_nobody_looked(self):
        nobody = ocr_engine("none")
        assert read_text(RGB, nobody, PrintedFigure()) == ([], "none")
        assert read_text(RGB, nobody, PrintedFigure(words=(WORD,))) == ([WORD], "pdf")


def test_letters_drawn_as_shapes_are_told(page, tmp_path):
    """Text that a program turned into outlines: the PDF holds shapes alone."""
    textpath = pytest.importorskip("matplotlib.textpath")
    for polygon in textpath.TextPath((0, 0), "Outlined words", size=9).to_polygons():
        shape = page.new_shape()
        shape.draw_polyline([(60 + x, 100 - y) for x, y in polygon])
        shape.finish(fill=(0, 0, 0), color=None)
        shape.commit()
    file = tmp_path / "page.pdf"
    page.parent.save(file)
    drawings = read_document(file).pages[0].drawings
    assert told(page, drawings).outlined
    assert not told(page).outlined


@pytest.mark.shared
def test_real_vector_figures_tell_their_words(shared):
    pdf = shared / "papers" / "pdfs" / "ccat-icml20.pdf"
    figures = {f.figure.number: f for f in extract_paper(pdf, PaperMeta(paper_id="ccat")).figures}
    printed = figures["4"].printed
    assert printed.words and not printed.rasters and not printed.outlined
    height, width = figures["4"].figure.height, figures["4"].figure.width
    for box in printed.words:
        assert 0 <= box.bbox[0] < box.bbox[2] <= width
        assert 0 <= box.bbox[1] < box.bbox[3] <= height
    assert {"0.2", "0.4", "0.6"} <= {box.text for box in printed.words}

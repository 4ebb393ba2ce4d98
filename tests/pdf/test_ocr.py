"""Scanned pages: read by the real engine, told where there is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pymupdf
import pytest

from scifigqual_bench.features.ocr import NoOcr, OcrEngine, ocr_engine
from scifigqual_bench.pdf.captions import find_captions
from scifigqual_bench.pdf.document import Page, read_document
from scifigqual_bench.pdf.ocr import DPI, is_scan, read_scans
from scifigqual_bench.pdf.regions import Region, find_regions
from scifigqual_bench.records import TextBox
from tests.pdf.made_pdf import Paper, caption, iou, plot, rows_of_text

PLOT = (40.0, 30.0, 260.0, 150.0)
CAPTION = "Figure 1: Loss over steps of one run."


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    """A small page with a plot, a caption and a paragraph, then the same page as an image only."""
    paper = Paper(tmp_path / "paper.pdf")
    page = paper.page(width=300, height=260)
    plot(page, PLOT)
    caption(page, (40, 260), 158, CAPTION, size=10)
    rows = ("the loss falls with every step", "that is made until it rests.")
    rows_of_text(page, (40, 260), 200, [row.split() for row in rows])
    scanned = pymupdf.open()
    target = scanned.new_page(width=300, height=260)
    target.insert_image(target.rect, pixmap=page.get_pixmap(dpi=150))
    scanned.save(tmp_path / "scan.pdf")
    return tmp_path / "scan.pdf"


def test_what_counts_as_a_scan() -> None:
    whole, part = (0.0, 0.0, 600.0, 790.0), (100.0, 100.0, 300.0, 300.0)
    assert is_scan(Page(1, 612, 792, images=[whole]))
    assert not is_scan(Page(1, 612, 792, images=[part]))
    assert not is_scan(Page(1, 612, 792))


def test_pages_with_text_are_left_alone(tmp_path: Path) -> None:
    paper = Paper(tmp_path / "paper.pdf")
    caption(paper.page(), (54, 297), 100, "Figure 1: Text.")
    paper.pdf.save(paper.path)
    document = read_document(paper.path)
    assert read_scans(document, None) is document


@pytest.mark.parametrize("engine", [None, NoOcr()], ids=["none given", "the engine none"])
def test_a_scan_without_an_engine_is_told(scan: Path, engine: OcrEngine | None) -> None:
    document = read_scans(read_document(scan), engine)
    assert [(code, page) for code, _, page in document.problems] == [("scan-without-ocr", 1)]
    assert "scan.pdf" in document.problems[0][1] and "scifigqual-bench[ocr]" in document.problems[0][1]
    assert document.pages[0].lines == []


@pytest.mark.slow
def test_a_scanned_page_is_read_and_its_figure_found(scan: Path) -> None:
    document = read_scans(read_document(scan), ocr_engine("rapidocr"))
    (page,) = document.pages
    assert page.text_layer == "ocr"
    assert document.problems == []
    captions = find_captions(document)
    assert [(c.number, c.text) for c in captions] == [("1", CAPTION)]
    (region,) = find_regions(document, captions)
    assert isinstance(region, Region)
    assert iou(region.bbox, PLOT) > 0.85
    assert "thelossfallswitheverystep" in "".join(line.text for line in page.lines).replace(" ", "")


class Ruler:
    """Reads one word, where the test put it: what is left is drawn."""

    name = "ruler"

    def read(self, rgb: np.ndarray) -> list[TextBox]:
        scale = DPI / 72
        box = [v * scale for v in (100.0, 50.0, 160.0, 62.0)]
        return [TextBox(text="word", confidence=1.0, bbox=box)]


def test_ink_that_is_no_text_becomes_images_and_rules(tmp_path: Path) -> None:
    drawn = pymupdf.open().new_page(width=300, height=300)
    drawn.insert_text((100, 60), "mmmmmmmm", fontname="helv", fontsize=8)
    drawn.draw_rect((60, 100, 140, 180), color=None, fill=(0.2, 0.2, 0.2))
    drawn.draw_line((40, 220), (240, 220), width=0.8)
    drawn.draw_rect((200, 260, 202, 262), color=None, fill=(0, 0, 0))
    pdf = pymupdf.open()
    page = pdf.new_page(width=300, height=300)
    page.insert_image(page.rect, pixmap=drawn.get_pixmap(dpi=150))
    pdf.save(tmp_path / "drawn.pdf")
    (read,) = read_scans(read_document(tmp_path / "drawn.pdf"), Ruler()).pages
    assert [line.text for line in read.lines] == ["word"]
    assert len(read.images) == 1 and iou(read.images[0], (60, 100, 140, 180)) > 0.95
    assert len(read.drawings) == 1
    x0, y0, x1, y1 = read.drawings[0].bbox
    assert abs(x0 - 40) < 1.5 and abs(x1 - 240) < 1.5 and 218 < y0 < y1 < 222

"""Figures of real papers, cut from the PDFs with the true boxes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scifigqual_bench.features.extract import extract_features
from scifigqual_bench.features.overlap import content_words
from scifigqual_bench.features.vision import clipped_edges

pytestmark = pytest.mark.shared
MARGIN = 3


@pytest.fixture(scope="module")
def pages(shared):
    """Opens the page and the true box of a figure, with a margin in points."""
    pymupdf = pytest.importorskip("pymupdf")

    def open_figure(paper, number):
        truth = json.loads((shared / "papers" / "truth" / f"{paper}.json").read_text())
        (figure,) = (f for f in truth["figures"] if f["number"] == number)
        page = pymupdf.open(shared / "papers" / "pdfs" / f"{paper}.pdf")[figure["page"] - 1]
        x0, y0, x1, y1 = figure["bbox"]
        return page, pymupdf.Rect(x0 - MARGIN, y0 - MARGIN, x1 + MARGIN, y1 + MARGIN), figure

    return open_figure


@pytest.mark.parametrize(
    ("paper", "number", "letters", "axes"),
    [
        ("tomsmc-icml19", "3", ["a", "b", "c", "d"], []),
        ("relconv-tmlr24", "19", [], [[-20, 0, 20, 40]]),
        ("robust-neurips20", "4", [], [[1e-4, 1e-3, 1e-2, 0.1, 1, 10]]),
        ("ccat-icml20", "4", [], [[0, 0.2, 0.4, 0.6, 0.8, 1]] * 2 + [[0, 0.2, 0.4, 0.6]] * 2),
    ],
)
def test_letters_axes_and_words(pages, engine, paper, number, letters, axes):
    page, box, figure = pages(paper, number)
    png = page.get_pixmap(clip=box, dpi=300).tobytes("png")
    found = extract_features(png, caption=figure["caption"], print_size_pt=(box.width, box.height), ocr=engine).image
    assert found.panel_letters == letters
    assert found.axis_numbers == axes
    printed = content_words(page.get_text(clip=box))
    read = content_words(" ".join(text.text for text in found.text_boxes))
    assert len(printed & read) >= 0.85 * len(printed)


@pytest.mark.parametrize(
    ("paper", "number"),
    [
        ("relconv-tmlr24", "19"),
        ("robust-neurips20", "4"),
        ("tat-cvpr20", "3"),
        ("ccat-icml20", "3"),
        ("ilm-acl20", "4"),
    ],
)
def test_a_cut_through_the_labels_at_the_left_is_seen(pages, paper, number):
    page, box, _ = pages(paper, number)
    pixmap = page.get_pixmap(clip=box, dpi=300, alpha=False)
    rgb = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)
    assert clipped_edges(rgb) == []
    assert any("left" in clipped_edges(rgb[:, pixmap.width * percent // 100 :]) for percent in range(2, 15))

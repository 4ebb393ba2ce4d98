"""The second crop of flagged figures: better where the first was spoiled, and never worse."""

from __future__ import annotations

import json
from pathlib import Path

import pymupdf
import pytest

from scifigqual_bench.pdf.document import Rect
from scifigqual_bench.pdf.extract import Candidate, analyse_paper, extract_paper
from scifigqual_bench.pdf.layout import Layout
from scifigqual_bench.pdf.recrop import second_crop
from scifigqual_bench.pdf.regions import Region
from scifigqual_bench.records import PaperMeta

PROSE = "The quick brown fox jumps over the lazy dog and runs through the forest until it is night. " * 14
PLOT = (150.0, 330.0, 450.0, 480.0)


def made(path: Path, *, between: str = "") -> Path:
    """A page of text with a plot in its middle, a caption below it, and perhaps a word over the plot."""
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_textbox((72, 72, 540, 290), PROSE, fontsize=10)
        page.draw_rect(PLOT, color=(0, 0, 0))
        for k in range(8):
            page.draw_line((160 + 30 * k, 470), (190 + 30 * k, 350 + 10 * k), color=(0.8, 0, 0))
        if between:
            page.insert_text((260, 312), between, fontsize=9)
        page.insert_text((150, 500), "Figure 1: A line that rises in eight steps.", fontsize=10)
        page.insert_textbox((72, 530, 540, 760), PROSE, fontsize=10)
        document.save(path)
    return path


def one_figure(path: Path) -> tuple[Layout, Candidate]:
    analysis = analyse_paper(path, "made")
    (candidate,) = analysis.candidates
    assert isinstance(candidate.region, Region)
    return analysis.layout, candidate


def crop_again(path: Path, first: Rect) -> tuple[Rect | None, str]:
    layout, candidate = one_figure(path)
    box, mark = second_crop(layout.pages[0], candidate.caption, first)
    assert mark.stage == "S3" and f"{first[1]:.0f}" in mark.detail
    return box, mark.code


def test_text_that_was_cropped_too_is_left_out(tmp_path: Path) -> None:
    box, code = crop_again(made(tmp_path / "a.pdf"), (72, 200, 540, 482))
    assert code == "recropped"
    assert box == pytest.approx(PLOT, abs=2)


def test_a_good_crop_is_confirmed(tmp_path: Path) -> None:
    assert crop_again(made(tmp_path / "a.pdf"), PLOT) == (None, "recrop-agrees")


def test_what_may_be_a_label_is_not_cut_off(tmp_path: Path) -> None:
    box, code = crop_again(made(tmp_path / "a.pdf", between="a title"), (140, 300, 460, 482))
    assert (box, code) == (None, "recrop-refused")


def test_a_crop_that_holds_less_is_kept(tmp_path: Path) -> None:
    assert crop_again(made(tmp_path / "a.pdf"), (150, 330, 250, 400)) == (None, "recrop-refused")


def test_a_crop_without_graphics_is_kept(tmp_path: Path) -> None:
    assert crop_again(made(tmp_path / "a.pdf"), (72, 540, 540, 600)) == (None, "recrop-failed")


def test_a_spoiled_crop_becomes_a_row_with_both_boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With regions that reach far into the text above, as a misread column would make them."""
    from scifigqual_bench.pdf import extract

    def spoiled(*args: object) -> list:
        return [Region(r.page, (20.0, 72.0, 600.0, r.bbox[3]), *_rest(r)) for r in extract_regions(*args)]

    def _rest(region: Region) -> tuple:
        return tuple(getattr(region, name) for name in list(Region.__dataclass_fields__)[2:])

    extract_regions = extract.find_regions
    monkeypatch.setattr(extract, "find_regions", spoiled)
    monkeypatch.setattr(
        extract, "placement_marks", lambda placed, area: [[extract.Mark(stage="S2", code="large", detail="")]]
    )
    (found,) = extract_paper(made(tmp_path / "a.pdf"), PaperMeta(paper_id="made")).figures
    assert found.figure.curation_status == "recropped"
    assert found.figure.bbox == pytest.approx(PLOT, abs=2)
    assert [mark.code for mark in found.figure.curation_marks] == ["large", "recropped"]


@pytest.mark.shared
@pytest.mark.slow
def test_no_real_crop_becomes_worse(shared: Path) -> None:
    """A paper's crops as they are, and with 40 points more on every side."""
    name, better = "metaot-iclr23", 0
    truth = json.loads((shared / "papers" / "truth" / f"{name}.json").read_text())
    boxes = {(f["number"], f["page"]): f.get("bbox_with_subcaptions") or f["bbox"] for f in truth["figures"]}
    analysis = analyse_paper(shared / "papers" / "pdfs" / f"{name}.pdf", name)
    for candidate in analysis.candidates:
        page, own = analysis.layout.pages[candidate.region.page - 1], candidate.crop.bbox
        for margin in (0, 40):
            first = (own[0] - margin, own[1] - margin, own[2] + margin, own[3] + margin)
            box, _ = second_crop(page, candidate.caption, first)
            if box is not None:
                expected = boxes[candidate.caption.number, candidate.region.page]
                assert iou(box, expected) > iou(first, expected)
                better += 1
    assert better >= 3


def iou(one: Rect, two: Rect) -> float:
    across = max(0.0, min(one[2], two[2]) - max(one[0], two[0]))
    both = across * max(0.0, min(one[3], two[3]) - max(one[1], two[1]))
    areas = [(x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in (one, two)]
    return both / (sum(areas) - both)

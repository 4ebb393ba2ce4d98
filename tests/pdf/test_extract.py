"""The extraction of one paper: how its steps meet, and what becomes of each failure."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from scifigqual_bench.pdf import extract
from scifigqual_bench.pdf.document import PdfError, turned_box
from scifigqual_bench.pdf.extract import (
    Extraction,
    PaperAnalysis,
    analyse_paper,
    extract_paper,
    extraction_of,
    figure_indices,
    problem_of,
)
from scifigqual_bench.pdf.regions import Region
from scifigqual_bench.records import PaperMeta, Problem
from tests.pdf.hostile_pdf import bars, honest, rotated
from tests.pdf.made_pdf import FULL, Paper, caption, picture, plot, prose

META = PaperMeta(paper_id="paper")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A paper of two pages, each with a figure that is named on it."""
    target = tmp_path_factory.mktemp("paper") / "paper.pdf"
    target.write_bytes(honest(target))
    return target


@pytest.fixture(scope="module")
def analysis(path: Path) -> PaperAnalysis:
    return analyse_paper(path, "paper")


def codes(extraction: Extraction) -> list[str]:
    return [problem.code for problem in extraction.report.problems]


# --- the steps --------------------------------------------------------------------------------------------------------


def test_the_analysis_keeps_what_each_step_found(analysis: PaperAnalysis):
    assert [page.number for page in analysis.document.pages] == [1, 2]
    assert len(analysis.layout.pages) == 2
    assert [(c.kind, c.number, c.page) for c in analysis.captions] == [("figure", "1", 1), ("figure", "2", 2)]
    assert all(isinstance(region, Region) for region in analysis.regions)
    assert [candidate.caption for candidate in analysis.candidates] == list(analysis.captions)
    assert [candidate.region for candidate in analysis.candidates] == list(analysis.regions)
    assert [len(candidate.citations) for candidate in analysis.candidates] == [1, 1]
    assert (analysis.unusable, analysis.problems) == (None, ())


def test_no_line_is_both_caption_and_paragraph(analysis: PaperAnalysis):
    captioned = {(caption.page, index) for caption in analysis.captions for index in caption.lines}
    assert not captioned & {key for text in analysis.paragraphs for key in text.lines}


def test_extraction_is_the_rows_of_the_analysis(path: Path, analysis: PaperAnalysis):
    assert extract_paper(path, META) == extraction_of(analysis, META)


def test_rows_tell_where_they_come_from(path: Path, analysis: PaperAnalysis):
    for item, candidate in zip(extraction_of(analysis, META).figures, analysis.candidates, strict=True):
        figure = item.figure
        assert figure.provenance.pdf_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert figure.image_sha256 == hashlib.sha256(item.image).hexdigest()
        assert (figure.provenance.method, figure.provenance.confidence) == (
            candidate.region.method,
            candidate.region.confidence,
        )
        with Image.open(io.BytesIO(item.image)) as image:
            assert image.size == (figure.width, figure.height)
        printed = (figure.bbox[2] - figure.bbox[0]) * figure.provenance.dpi / 72
        assert figure.width == pytest.approx(printed, abs=10)  # and a margin


def test_what_is_known_of_the_paper_is_told_in_its_rows(analysis: PaperAnalysis):
    meta = PaperMeta(paper_id="0007_x", title="Known", venue="ACL", year=2024, topic="text")
    figure = extraction_of(analysis, meta).figures[0].figure
    assert (figure.paper_id, figure.paper_id_norm) == ("0007_x", "x")
    assert (figure.title, figure.venue, figure.year, figure.topic) == ("Known", "ACL", 2024, "text")


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_turned_pages_give_the_same_figures(path: Path, tmp_path: Path, turn: int):
    """However the PDF says that its pages are to be shown, images are upright and the text is read."""
    turned = tmp_path / "turned.pdf"
    turned.write_bytes(rotated(path.read_bytes(), turn))
    upright = extract_paper(path, META).figures
    for item, before in zip(extract_paper(turned, META).figures, upright, strict=True):
        figure, first = item.figure, before.figure
        assert (figure.caption, figure.citations) == (first.caption, first.citations)
        assert (figure.width, figure.height) == pytest.approx((first.width, first.height), abs=2)
        assert figure.print_size_pt == pytest.approx(first.print_size_pt, abs=0.5)
        assert figure.provenance.turn == (-turn // 90) % 4
        back = turned_box(tuple(first.bbox), turn // 90, 612, 792)
        assert figure.bbox == pytest.approx(back, abs=0.5)
        with Image.open(io.BytesIO(item.image)) as image, Image.open(io.BytesIO(before.image)) as wanted:
            one, two = (np.asarray(i.convert("L").resize((80, 60)), dtype=float) for i in (image, wanted))
        assert np.abs(one - two).mean() < 3


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_pages_drawn_turned_and_shown_upright_are_not_turned(path: Path, tmp_path: Path, turn: int):
    """As a scanner's or a converter's pages: the content runs sideways, and the page's rotation sets it right."""
    shown = tmp_path / "shown.pdf"
    with pymupdf.open(path) as pdf:
        for page in pdf:
            page.set_rotation(turn)
            page.remove_rotation()
            page.set_rotation(-turn % 360)
        pdf.save(shown)
    for item, before in zip(extract_paper(shown, META).figures, extract_paper(path, META).figures, strict=True):
        assert item.figure.provenance.turn == 0
        assert item.figure.caption == before.figure.caption
        assert item.figure.bbox == pytest.approx(before.figure.bbox, abs=0.5)


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_pdf_that_cannot_be_opened_is_a_failed_report(tmp_path: Path):
    missing = tmp_path / "no.pdf"
    extraction = extract_paper(missing, META)
    assert (extraction.report.status, codes(extraction)) == ("failed", ["pdf-missing"])
    assert (extraction.figures, extraction.dropped, extraction.report.file) == ((), (), "no.pdf")
    with pytest.raises(PdfError, match=r"no\.pdf"):
        analyse_paper(missing, "paper")


@pytest.mark.parametrize("step", ["find_captions", "find_regions", "paragraphs", "bind_citations", "paper_title"])
def test_a_fault_of_any_step_ends_one_paper_and_not_the_run(path: Path, monkeypatch: pytest.MonkeyPatch, step: str):
    def broken(*_):
        raise ZeroDivisionError("made to fail")

    monkeypatch.setattr(extract, step, broken)
    extraction = extract_paper(path, META)
    assert (extraction.report.status, codes(extraction)) == ("failed", ["extraction-failed"])
    assert "paper.pdf" in extraction.report.problems[0].message
    assert "made to fail" in extraction.report.problems[0].message


def test_problems_name_the_file(path: Path):
    assert problem_of(PdfError("pdf-empty", "x.pdf: empty"), path) == Problem(code="pdf-empty", message="x.pdf: empty")
    assert "paper.pdf" in problem_of(MemoryError(), path).message


def test_a_figure_that_cannot_be_rendered_costs_no_other(path: Path, monkeypatch: pytest.MonkeyPatch):
    render = extract.render_region

    def broken(page, bbox, **more):
        if page.number == 0:
            raise ValueError("made to fail")
        return render(page, bbox, **more)

    monkeypatch.setattr(extract, "render_region", broken)
    monkeypatch.setattr(extract, "paper_unusable", lambda found, deleted: None)
    extraction = extract_paper(path, META)
    assert (extraction.report.status, codes(extraction)) == ("partial", ["render-failed"])
    assert [item.figure.number for item in extraction.figures] == ["2"]
    (dropped,) = extraction.dropped
    assert (dropped.number, [mark.code for mark in dropped.marks]) == ("1", ["no-crop"])
    assert dropped.bbox is not None


def test_a_caption_without_a_graphic_is_dropped_with_its_reason(tmp_path: Path):
    paper = Paper(tmp_path / "paper.pdf")
    for number in range(1, 6):
        page = paper.page()
        top = prose(page, FULL, 60, 8, f"As Figure {number} shows,")
        if number < 5:
            bars(page, (150 - 10 * number, top + 20, 450, top + 200 + 20 * number))
            top += 210 + 20 * number
        prose(page, FULL, caption(page, FULL, top + 10, f"Figure {number}: In the words of a caption.") + 20, 12)
    paper.pdf.save(paper.path)
    extraction = extract_paper(paper.path, META)
    (dropped,) = extraction.dropped
    assert (dropped.number, dropped.bbox, [mark.code for mark in dropped.marks]) == ("5", None, ["no-crop"])
    assert len(dropped.citations) == 1
    assert (extraction.report.status, codes(extraction)) == ("partial", ["no-region"])
    assert (extraction.report.figures_found, extraction.report.figures_kept) == (5, 4)
    assert extraction.report.captions_without_region == 1


def test_a_paper_of_bad_figures_is_left_out_whole(tmp_path: Path):
    paper = Paper(tmp_path / "paper.pdf")
    for number in (1, 2):
        page = paper.page()
        top = prose(page, FULL, 60, 8)
        (picture if number == 1 else plot)(page, (100, top + 20, 500, top + 300))
        caption(page, FULL, top + 310, f"Figure {number}: In the words of a caption.")
    paper.pdf.save(paper.path)
    extraction = extract_paper(paper.path, META)
    # the second is a thin line on white: S1 takes it for blank, and half of the figures gone is too much
    assert (extraction.report.status, codes(extraction)) == ("dropped", ["paper-unusable"])
    assert [[mark.stage for mark in figure.marks][-1] for figure in extraction.dropped] == ["S5", "S5"]
    assert [any(mark.stage == "S1" for mark in figure.marks) for figure in extraction.dropped] == [False, True]


def test_where_numbers_begin_anew_the_nearer_figure_is_cited(tmp_path: Path):
    paper = Paper(tmp_path / "paper.pdf")
    for k in (1, 2):
        page = paper.page()
        top = prose(page, FULL, 60, 8, "As Figure 1 shows,")
        (bars if k == 1 else picture)(page, (150, top + 20, 450, top + 200))
        prose(page, FULL, caption(page, FULL, top + 210, "Figure 1: In the words of a caption.") + 20, 12)
    paper.pdf.save(paper.path)
    figures = [item.figure for item in extract_paper(paper.path, META).figures]
    assert [(f.figure_id, f.number, len(f.citations)) for f in figures] == [
        ("paper__fig0001", "1", 1),
        ("paper__fig0002", "1", 1),
    ]


# --- ids --------------------------------------------------------------------------------------------------------------

numbers = st.lists(st.one_of(st.integers(0, 30).map(str), st.sampled_from(["A1", "S2", "IV", "3.1", "٣", "007"])))


@given(numbers)
def test_ids_are_unique_and_plain_numbers_keep_theirs(printed: list[str]):
    indices = figure_indices(printed)
    assert len(set(indices)) == len(printed)
    seen: set[int] = set()
    for number, index in zip(printed, indices, strict=True):
        plain = int(number) if number.isascii() and number.isdecimal() else None
        assert (index == plain) == (plain is not None and plain not in seen)
        if plain is not None:
            seen.add(plain)


@given(numbers, st.sampled_from(["A9", "S9"]))
def test_one_figure_more_renames_none_of_the_plain(printed: list[str], more: str):
    with_one_more = figure_indices([more, *printed])[1:]
    for number, before, after in zip(printed, figure_indices(printed), with_one_more, strict=True):
        if number.isascii() and number.isdecimal() and before == int(number):
            assert after == before

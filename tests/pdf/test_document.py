"""Reading a PDF's pages: what is painted on them, in order and within bounds."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.pdf import document as module
from scifigqual_bench.pdf.document import Document, PdfError, Rect, open_pdf, read_document, shown_page, turned_box
from tests.pdf.hostile_pdf import assembled, honest, one_page, rotated, written


def read(tmp_path: Path, content: bytes, **more) -> Document:
    path = tmp_path / "p.pdf"
    path.write_bytes(one_page(content, **more))
    return read_document(path)


def test_a_shape_that_is_filled_and_stroked_is_one(tmp_path: Path):
    content = b"1 0 0 rg 0 0 1 RG 4 w 100 100 50 30 re B 0 1 0 rg 300 300 10 10 re f 300 400 10 10 re S"
    one, two, three = read(tmp_path, content).pages[0].drawings
    assert (one.fill, one.stroke, one.rect) == ((1, 0, 0), (0, 0, 1), True)
    assert one.bbox == pytest.approx((98, 792 - 132, 152, 792 - 98))
    assert (two.fill, two.stroke) == ((0, 1, 0), None)
    assert (three.fill, three.stroke) == (None, (0, 0, 1))


def test_only_what_its_clips_leave_of_a_path_is_there(tmp_path: Path):
    inner = b"q 0 0 200 792 re W n q 0 0 612 200 re W n 100 100 400 400 re f Q 100 300 400 50 re f Q 500 600 50 50 re f"
    boxes = [drawing.bbox for drawing in read(tmp_path, inner).pages[0].drawings]
    assert boxes == [pytest.approx(box) for box in ((100, 592, 200, 692), (100, 442, 200, 492), (500, 142, 550, 192))]


def test_paths_beyond_the_limit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_DRAWINGS", 5)
    document = read(tmp_path, b"".join(b"%d 9 3 3 re f " % (10 * k) for k in range(8)))
    assert [drawing.bbox[0] for drawing in document.pages[0].drawings] == [0, 10, 20, 30, 40]
    assert document.problems == [("paths-left-out", "p.pdf, page 1: 3 paths after the first 5 are left out", 1)]


def test_a_page_that_is_too_large_is_told_and_costs_no_other(tmp_path: Path):
    path = tmp_path / "p.pdf"
    with pymupdf.open(stream=honest(tmp_path / "h.pdf")) as pdf:
        pdf.xref_set_key(pdf.page_xref(0), "MediaBox", "[0 0 612 7201]")
        pdf.save(path)
    document = read_document(path)
    assert [(code, page) for code, _, page in document.problems] == [("page-unreadable", 1)]
    assert [bool(page.lines) for page in document.pages] == [False, True]


def test_control_characters_are_no_text(tmp_path: Path):
    (line,) = read(tmp_path, written("one\x07\x01two")).pages[0].lines
    assert line.text == "onetwo"


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_page_is_shown_as_it_is_displayed_and_read_upright(tmp_path: Path, turn: int):
    path, plain = tmp_path / "p.pdf", tmp_path / "plain.pdf"
    plain.write_bytes(honest(tmp_path / "h.pdf"))
    path.write_bytes(rotated(plain.read_bytes(), turn))
    with pymupdf.open(path) as pdf:
        shown = pdf[0].get_pixmap(dpi=36)
    with open_pdf(path) as pdf:
        flat = shown_page(pdf, 1)
        again = flat.get_pixmap(dpi=36)
        assert flat.rotation == 0
    assert (again.width, again.height, again.samples) == (shown.width, shown.height, shown.samples)
    page, upright = read_document(path).pages[0], read_document(plain).pages[0]
    assert (page.width, page.height, page.turn) == (612, 792, -turn // 90 % 4)
    assert [line.text for line in page.lines] == [line.text for line in upright.lines]
    assert page.lines[0].bbox == pytest.approx(upright.lines[0].bbox, abs=0.1)
    assert page.drawings[0].bbox == pytest.approx(upright.drawings[0].bbox, abs=0.1)
    assert page.displayed(page.lines[0].bbox) == pytest.approx(
        turned_box(upright.lines[0].bbox, turn // 90, 612, 792), abs=0.1
    )


@pytest.mark.parametrize(("x", "y", "rotate", "turn"), [(90, 700, 90, 1), (500, 90, 270, 3), (500, 700, 180, 2)])
def test_most_of_a_pages_text_decides_how_it_is_turned(tmp_path: Path, x: int, y: int, rotate: int, turn: int):
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        page.insert_text((72, 40), "a running head of a journal")
        for k in range(5):
            shift = {90: (12 * k, 0), 270: (-12 * k, 0), 180: (0, -12 * k)}[rotate]
            page.insert_text((x + shift[0], y + shift[1]), "a row of text that is long enough", rotate=rotate)
        page = pdf.new_page()
        page.insert_text((72, 90), "a row of text that is long enough")
        page.insert_text((40, 400), "loss", rotate=90)
        pdf.save(tmp_path / "p.pdf")
    assert [page.turn for page in read_document(tmp_path / "p.pdf").pages] == [turn, 0]


boxes = st.tuples(st.floats(0, 200), st.floats(0, 300), st.floats(200, 400), st.floats(300, 500))


@given(boxes, st.integers(0, 3))
def test_turning_back_gives_the_box_again(box: Rect, turn: int):
    width, height = (400, 500) if turn % 2 == 0 else (500, 400)
    there = turned_box(box, turn, 400, 500)
    assert 0 <= there[0] <= there[2] <= width and 0 <= there[1] <= there[3] <= height
    assert turned_box(there, -turn % 4, width, height) == pytest.approx(box)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, "pdf-missing"),
        (b"", "pdf-empty"),
        (b"GIF89a", "pdf-not-a-pdf"),
        (b"%PDF-1.7\nnothing", "pdf-damaged"),
        (assembled({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: b"<< /Type /Pages /Count 3 >>"}), "pdf-damaged"),
    ],
)
def test_a_file_that_cannot_be_opened_has_a_code_and_its_name(tmp_path: Path, data: bytes | None, code: str):
    path = tmp_path / "some.pdf"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(PdfError, match=r"some\.pdf") as error:
        read_document(path)
    assert error.value.code == code

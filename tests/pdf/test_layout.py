"""What pages share, and the role of every line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.pdf.document import read_document
from scifigqual_bench.pdf.layout import Layout, Role, analyse, rows_of
from tests.pdf.made_pdf import FULL, LEADING, LEFT, RIGHT, SIZE, Paper, plot, prose, two_columns


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    return Paper(tmp_path / "paper.pdf")


def layout_of(paper: Paper) -> Layout:
    paper.pdf.save(paper.path)
    return analyse(read_document(paper.path))


def texts(layout: Layout, page: int, role: Role) -> list[str]:
    lines = layout.pages[page - 1].page.lines
    return [line.text.strip() for line, own in zip(lines, layout.pages[page - 1].roles, strict=True) if own == role]


def test_type_and_columns_of_two_column_text(paper: Paper) -> None:
    two_columns(paper.page())
    prose(paper.page(), FULL, 54, 50)
    layout = layout_of(paper)
    assert layout.body_size == SIZE
    assert layout.leading == pytest.approx(LEADING * SIZE, abs=0.5)
    first, second = (page.columns for page in layout.pages)
    assert np.allclose(first, [LEFT, RIGHT, FULL], atol=1.5) or np.allclose(first, [RIGHT, LEFT, FULL], atol=1.5)
    assert np.allclose(second, [FULL], atol=1.5)
    assert layout.text_area == pytest.approx((FULL[1] - FULL[0], 50 * LEADING * SIZE), rel=0.15)


def test_running_heads_page_numbers_and_line_numbers_are_furniture(paper: Paper) -> None:
    for number, word in enumerate(("after", "because", "considering", "during"), start=1):
        page = paper.page()
        page.insert_text((220, 40), "A paper about losses", fontname="tiro", fontsize=9)
        page.insert_text((304, 770), str(number), fontname="tiro", fontsize=9)
        prose(page, LEFT, 54, 46, word)
        prose(page, RIGHT, 54, 46, word * 2)
        for k in range(50):
            page.insert_text((22, 62 + 12 * k), f"{50 * number + k:03d}", fontname="helv", fontsize=7)
    layout = layout_of(paper)
    for number in range(1, 5):
        furniture = texts(layout, number, Role.FURNITURE)
        assert len(furniture) == 52
        assert {"A paper about losses", str(number), f"{50 * number:03d}"} <= set(furniture)


def test_ticks_beyond_the_margins_are_no_line_numbers(paper: Paper) -> None:
    """Numbers that count, but side by side: the axis of a figure that is wider than the text."""
    page = paper.page()
    for row in range(3):
        for k in range(4):
            page.insert_text((564 + 10 * k, 100 + 40 * row), str(5 * k), fontname="helv", fontsize=6)
    two_columns(page)
    assert texts(layout_of(paper), 1, Role.FURNITURE) == []


def test_paragraphs_are_body_and_axis_labels_are_not(paper: Paper) -> None:
    page = paper.page()
    plot(page, (58, 60, 293, 190))
    page.insert_text((54, 216), "3", fontname="tibo", fontsize=12)
    page.insert_text((72, 216), "Method and materials", fontname="tibo", fontsize=12)
    prose(page, LEFT, 230, 20)
    prose(page, RIGHT, 54, 55)
    layout = layout_of(paper)
    assert texts(layout, 1, Role.HEADING) == ["3", "Method and materials"] or texts(layout, 1, Role.HEADING) == [
        "3 Method and materials"
    ]
    other = texts(layout, 1, Role.OTHER)
    assert "training steps" in other and "loss" in other
    body = layout.pages[0].boxes[layout.pages[0].roles == Role.BODY]
    assert len(body) >= 75 and body[:, 1].min() > 50


def test_an_empty_document_has_a_layout(paper: Paper) -> None:
    paper.page(width=200, height=300)
    layout = layout_of(paper)
    assert layout.pages[0].columns == ()
    assert layout.pages[0].column_of((20, 20, 60, 30)) == (0.0, 200.0)
    assert layout.text_area == (200.0, 300.0)


def test_the_running_head_of_a_page_set_sideways_is_furniture(paper: Paper) -> None:
    """It stands where it stands on every page, and so runs along the side of the page turned upright."""
    for number in range(1, 6):
        page = paper.page()
        page.insert_text((220, 40), "A paper about losses", fontname="tiro", fontsize=9)
        if number == 3:
            for k in range(6):
                row = "a long row of text that runs up the page"
                page.insert_text((100 + 12 * k, 700), row, fontname="tiro", rotate=90)
        else:
            two_columns(page)
    layout = layout_of(paper)
    assert [page.page.turn for page in layout.pages] == [0, 0, 1, 0, 0]
    assert texts(layout, 3, Role.FURNITURE) == ["A paper about losses"]
    assert layout.pages[2].level.sum() == 6


boxes = st.lists(st.tuples(st.floats(0, 500), st.integers(0, 40), st.floats(6, 14)), min_size=1, max_size=30)


@given(boxes)
def test_rows_hold_every_line_once(lines: list[tuple[float, int, float]]) -> None:
    box = np.array([(x, 18 * row, x + 30, 18 * row + height) for x, row, height in lines])
    rows = rows_of(box, np.arange(len(lines)))
    assert sorted(i for row in rows for i in row) == list(range(len(lines)))
    for row in rows:
        assert len({lines[i][1] for i in row}) == 1
        assert list(box[row, 0]) == sorted(box[row, 0])


@pytest.mark.parametrize("title", ["B. Wind", "3.2 Wind", "IV. RESULTS"])
def test_headings_of_journals_in_italics_and_small_type(paper: Paper, title: str) -> None:
    two_columns(paper.page())
    page = paper.page()
    prose(page, LEFT, 54, 20)
    font = "tibo" if title.startswith("IV") else "tiit"
    page.insert_text((LEFT[0], 320), title, fontname=font, fontsize=SIZE)
    plot(page, (58, 330, 290, 460))
    prose(page, RIGHT, 54, 50)
    assert "".join(texts(layout_of(paper), 2, Role.HEADING)).replace(" ", "") == title.replace(" ", "")

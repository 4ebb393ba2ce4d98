"""Captions of made pages: what is one, what only looks like one, and where it ends."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from scifigqual_bench.pdf.captions import Caption
from tests.pdf.made_pdf import (
    FONTS,
    FULL,
    LEADING,
    LEFT,
    RIGHT,
    SIZE,
    SMALL,
    WORDS,
    Paper,
    caption,
    iou,
    picture,
    plot,
    prose,
    rows_of_text,
    table,
    two_columns,
    wrapped,
    write,
)


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    return Paper(tmp_path / "paper.pdf")


def found(paper: Paper) -> list[Caption]:
    return paper.read()[0]


@pytest.mark.parametrize(
    ("text", "kind", "label", "number", "continued"),
    [
        ("Figure 3: Loss over steps.", "figure", "Figure 3", "3", False),
        ("Fig. 3. Loss over steps.", "figure", "Fig. 3", "3", False),
        ("FIGURE 3. Loss over steps.", "figure", "FIGURE 3", "3", False),
        ("Figure A1: Loss over steps.", "figure", "Figure A1", "A1", False),
        ("Figure S2 | Loss over steps.", "figure", "Figure S2", "S2", False),
        ("Figure B.4: Loss over steps.", "figure", "Figure B.4", "B.4", False),
        ("Figure 3 (continued): Loss over steps.", "figure", "Figure 3", "3", True),
        ("Extended Data Fig. 1 | Loss over steps.", "figure", "Extended Data Fig. 1", "Extended Data 1", False),
        ("Supplementary Figure 5: Loss over steps.", "figure", "Supplementary Figure 5", "Supplementary 5", False),
        ("Supplementary Figure S5: Loss over steps.", "figure", "Supplementary Figure S5", "S5", False),
        ("Abbildung 2: Verlust.", "figure", "Abbildung 2", "2", False),
        ("Figura 6. Pérdida.", "figure", "Figura 6", "6", False),
        ("F IGURE 8. Loss over steps.", "figure", "F IGURE 8", "8", False),
        ("Table 4: Scores.", "table", "Table 4", "4", False),
        ("TABLE II: Scores.", "table", "TABLE II", "II", False),
        ("Algorithm 1: Search.", "algorithm", "Algorithm 1", "1", False),
        ("Listing 7: A loop.", "listing", "Listing 7", "7", False),
    ],
)
def test_labels_as_printed(paper: Paper, text: str, kind: str, label: str, number: str, continued: bool) -> None:
    page = paper.page()
    picture(page, (80, 60, 270, 180))
    caption(page, LEFT, 190, text)
    two_columns(page, 230)
    (only,) = found(paper)
    assert (only.kind, only.label, only.number, only.continued) == (kind, label, number, continued)
    assert only.text == text
    assert only.page == 1


@pytest.mark.parametrize("text", ["图 3：训练损失", "图3 训练损失", "图 3. 训练损失"])
def test_chinese_labels(paper: Paper, text: str) -> None:
    page = paper.page()
    picture(page, (80, 60, 270, 180))
    page.insert_text((80, 200), text, fontname="china-s", fontsize=9)
    page.insert_text((54, 240), "图3所示的损失随训练步数下降", fontname="china-s", fontsize=10)
    two_columns(page, 260)
    (only,) = found(paper)
    assert (only.kind, only.number, only.text) == ("figure", "3", text)


def test_a_label_in_capitals_above_its_caption(paper: Paper) -> None:
    page = paper.page()
    bottom = caption(page, LEFT, 58, "TABLE II", size=8, centred=True)
    caption(page, LEFT, bottom, "SCORES OF ALL SYSTEMS", size=8, centred=True)
    table(page, (60, 84, 290, 150))
    two_columns(page, 180)
    (only,) = found(paper)
    assert (only.kind, only.number, only.text) == ("table", "II", "TABLE II SCORES OF ALL SYSTEMS")


@pytest.mark.parametrize("start", ["Figure 1 shows that", "Fig. 1 shows that", "Table 2 lists what"])
def test_a_paragraph_that_begins_with_a_mention_is_none(paper: Paper, start: str) -> None:
    page = paper.page()
    plot(page, (60, 60, 290, 180))
    caption(page, LEFT, 190, "Figure 1: Loss over steps.")
    prose(page, LEFT, 230, 4, start)
    two_columns(page, 300)
    assert [c.text for c in found(paper)] == ["Figure 1: Loss over steps."]


@pytest.mark.parametrize("style", ["Figure {}: Loss over steps.", "Figure {}. Loss over steps."])
def test_a_mention_at_the_start_of_a_row_is_none(paper: Paper, style: str) -> None:
    """A line break moved the end of "as shown in Figure 1." to the start of a row, where a full stop follows it."""
    for number in (1, 2):
        page = paper.page()
        plot(page, (60, 60, 290, 180))
        caption(page, LEFT, 190, style.format(number))
        rows = (
            "the loss falls with every step that is made, as shown in",
            "Figure 1. The other curves go on in the same way, which",
            "is what the proof in the appendix says about them.",
        )
        rows_of_text(page, LEFT, 230, [row.split() for row in rows])
        two_columns(page, 290)
    assert [c.text for c in found(paper)] == [style.format(1), style.format(2)]


def test_the_papers_own_style_decides(paper: Paper) -> None:
    """Labels without punctuation are captions where the paper sets them in bold, and its mentions are not."""
    for number in (1, 2, 3):
        page = paper.page()
        plot(page, (60, 60, 290, 180))
        page.insert_text((LEFT[0], 198), f"Figure {number}", fontname="tibo", fontsize=9)
        page.insert_text((LEFT[0] + 38, 198), "Loss over training steps", fontname="tiro", fontsize=9)
        prose(page, LEFT, 230, 3, f"Figure {number} shows that")
        two_columns(page, 290)
    assert [c.text for c in found(paper)] == [f"Figure {n} Loss over training steps" for n in (1, 2, 3)]


def test_two_captions_in_one_row(paper: Paper) -> None:
    page = paper.page()
    left, right = (54.0, 296.0), (316.0, 558.0)
    picture(page, (80, 60, 270, 180))
    picture(page, (340, 60, 530, 180))
    caption(
        page, left, 190, "Figure 1: The first of two that stand side by side, with a caption of several rows in it."
    )
    caption(page, right, 190, "Figure 2: The second of two that stand side by side, whose caption is as long as that.")
    prose(page, FULL, 250, 30)
    one, two = found(paper)
    assert one.text == "Figure 1: The first of two that stand side by side, with a caption of several rows in it."
    assert two.text == "Figure 2: The second of two that stand side by side, whose caption is as long as that."
    assert one.bbox[2] < two.bbox[0]


def test_a_caption_ends_where_the_text_goes_on(paper: Paper) -> None:
    """Same size, a gap of less than a row: the distance of the rows tells them apart."""
    page = paper.page()
    plot(page, (60, 60, 290, 180))
    bottom = caption(
        page, LEFT, 190, "Figure 1: A caption that is long enough to take two rows or three of its column.", size=SIZE
    )
    prose(page, LEFT, bottom + 8, 5)
    two_columns(page, 330)
    (only,) = found(paper)
    assert only.text == "Figure 1: A caption that is long enough to take two rows or three of its column."


def test_a_centred_caption_whose_second_row_is_shorter(paper: Paper) -> None:
    page = paper.page()
    plot(page, (160, 60, 450, 180))
    text = "Figure 1: A caption that is set in the middle of the page, and whose second row has only some words of it."
    caption(page, (150, 460), 190, text, centred=True)
    prose(page, FULL, 250, 30)
    assert [c.text for c in found(paper)] == [text]


def test_a_caption_beside_wrapped_text(paper: Paper) -> None:
    page = paper.page()
    prose(page, FULL, 54, 4)
    plot(page, (350, 110, 550, 220))
    text = "Figure 1: A figure that the text flows around, with a caption of some rows under it."
    caption(page, (345, 558), 226, text)
    prose(page, (54, 333), 102, 14)
    prose(page, FULL, 280, 25)
    assert [c.text for c in found(paper)] == [text]


def test_a_caption_of_one_row_with_text_right_beside_it(paper: Paper) -> None:
    page = paper.page()
    prose(page, FULL, 54, 4)
    plot(page, (54, 110, 250, 220))
    caption(page, (54, 255), 226, "Figure 1: A figure at the left that the text flows around.")
    prose(page, (270, 558), 102, 14)
    prose(page, FULL, 280, 25)
    assert [c.text for c in found(paper)] == ["Figure 1: A figure at the left that the text flows around."]


def test_a_page_shown_in_a_figure_gives_no_captions(paper: Paper) -> None:
    page = paper.page()
    page.draw_rect((54, 54, 297, 260), width=0.5)
    prose(page, (60, 200), 60, 3)
    caption(page, (60, 180), 120, "Figure 7: The caption of the page that is shown.", size=4)
    caption(page, LEFT, 270, "Figure 1: A page of another paper.")
    two_columns(page, 300)
    page = paper.page()
    plot(page, (60, 60, 290, 180))
    caption(page, LEFT, 190, "Figure 2: Loss over steps.")
    two_columns(page, 230)
    assert [c.number for c in found(paper)] == ["1", "2"]


def test_line_numbers_are_no_part_of_a_caption(paper: Paper) -> None:
    page = paper.page()
    plot(page, (60, 60, 290, 180))
    text = "Figure 1: A caption of a review version, beside which the rows of the page are counted."
    caption(page, LEFT, 190, text)
    two_columns(page, 230)
    for k in range(55):
        page.insert_text((22, 60 + 12.6 * k), f"{k:03d}", fontname="helv", fontsize=7)
    assert [c.text for c in found(paper)] == [text]


def test_an_algorithms_body_is_not_its_caption(paper: Paper) -> None:
    page = paper.page()
    for y in (60, 76, 130):
        page.draw_line((54, y), (297, y), width=0.8)
    page.insert_text((54, 71), "Algorithm 1", fontname="tibo", fontsize=SIZE)
    page.insert_text((112, 71), "Search by halves", fontname="tiro", fontsize=SIZE)
    for k, step in enumerate(("while low < high do", "    halve the range", "end while")):
        page.insert_text((60, 88 + 12 * k), step, fontname="tiro", fontsize=SIZE)
    two_columns(page, 150)
    assert [(c.kind, c.text) for c in found(paper)] == [("algorithm", "Algorithm 1 Search by halves")]


@pytest.mark.parametrize(("rotate", "x", "y", "step"), [(90, 480, 700, 12), (270, 130, 90, -12)])
def test_a_page_printed_sideways(paper: Paper, rotate: int, x: int, y: int, step: int) -> None:
    page = paper.page()
    rows = ["Figure 1: A figure that is so wide that its page", "is printed sideways, with its caption below it."]
    for k, row in enumerate(rows):
        page.insert_text((x + step * k, y), row, fontname="tiro", fontsize=SIZE, rotate=rotate)
    picture(page, (150, 200, 460, 700))
    two_columns(paper.page())
    (only,) = found(paper)
    assert only.text == " ".join(rows)
    assert only.bbox[2] - only.bbox[0] > 180 > 30 > only.bbox[3] - only.bbox[1]


def test_a_document_without_text_has_none(paper: Paper) -> None:
    paper.page()
    assert found(paper) == []


def test_figures_of_two_series_have_numbers_of_their_own(paper: Paper) -> None:
    for label in ("Figure 1", "Extended Data Fig. 1", "Supplementary Figure 1", "Appendix Figure 1", "Figure S1"):
        page = paper.page()
        plot(page, (60, 60, 290, 180))
        caption(page, LEFT, 190, f"{label}: Loss over steps.")
        two_columns(page, 230)
    numbers = [c.number for c in found(paper)]
    assert numbers == ["1", "Extended Data 1", "Supplementary 1", "Appendix 1", "S1"]


LONG = (
    "Figure 1: A caption that is so long that its column has no room for all of its rows, and so it goes on at the "
    "head of the column that is read next, where nothing but the size of its type shows that it is still the caption "
    "and not the text of the paper, which begins below it after some white space."
)


def long_caption(page: pymupdf.Page, foot: float, goal: pymupdf.Page, goal_edges: tuple[float, float]) -> float:
    """The long caption, its first two rows at the foot of the left column; returns where its end ends."""
    rows = wrapped(LONG.split(), LEFT[1] - LEFT[0], FONTS["roman"], SMALL)
    write(page, [*rows[:2], []], LEFT, foot - 2 * LEADING * SMALL, FONTS["roman"], SMALL)
    write(goal, rows[2:], goal_edges, 54, FONTS["roman"], SMALL)
    return 54 + (len(rows) - 2) * LEADING * SMALL


def test_a_caption_that_goes_on_in_the_next_column(paper: Paper) -> None:
    page = paper.page()
    prose(page, LEFT, 54, 45)
    plot(page, (60, 600, 290, 705))
    bottom = long_caption(page, 734, page, RIGHT)
    prose(page, RIGHT, bottom + 14, 40)
    two_columns(paper.page())
    captions, regions = paper.read()
    assert [c.text for c in captions] == [LONG]
    assert {number for number, _ in captions[0].overflow} == {1}
    assert captions[0].bbox[2] < RIGHT[0]
    assert iou(regions[0].bbox, (60, 600, 290, 705)) > 0.95


def test_a_caption_that_goes_on_on_the_next_page(paper: Paper) -> None:
    page = paper.page()
    prose(page, FULL, 54, 45)
    plot(page, (60, 600, 550, 705))
    rows = wrapped(f"{LONG} {LONG[10:]}".split(), FULL[1] - FULL[0], FONTS["roman"], SMALL)
    write(page, [*rows[:2], []], FULL, 712, FONTS["roman"], SMALL)
    page = paper.page()
    write(page, rows[2:], FULL, 54, FONTS["roman"], SMALL)
    prose(page, FULL, 54 + (len(rows) - 2) * LEADING * SMALL + 14, 40)
    (only,) = found(paper)
    assert only.text == f"{LONG} {LONG[10:]}"
    assert {number for number, _ in only.overflow} == {2}


def test_a_caption_at_the_foot_of_a_column_that_ends_there(paper: Paper) -> None:
    """Its sentence ends, or the next column begins in the type of the body."""
    for text in (
        "Figure 1: Loss over the steps of the two seeds.",
        "Figure 2: Loss over the steps of all the seeds and",
    ):
        page = paper.page()
        prose(page, LEFT, 54, 45)
        plot(page, (60, 600, 290, 710))
        caption(page, LEFT, 716, text)
        prose(page, RIGHT, 54, 55)
    assert [c.overflow for c in found(paper)] == [(), ()]


def test_a_caption_of_two_paragraphs(paper: Paper) -> None:
    page = paper.page()
    plot(page, (60, 60, 290, 180))
    first = "Figure 1: A caption whose first paragraph tells what is drawn, and which takes more than one row for it."
    second = (
        "The second paragraph tells how it was measured, on which machine, and how often each of them was run then."
    )
    bottom = caption(page, LEFT, 190, first)
    bottom = caption(page, LEFT, bottom + 6, second)
    prose(page, LEFT, bottom + 12, 30)
    prose(page, RIGHT, 54, 55)
    assert [c.text for c in found(paper)] == [f"{first} {second}"]


def test_words_of_a_caption_that_line_ends_cut_are_whole(paper: Paper) -> None:
    """The paper's own words tell a soft hyphen from one that belongs to the word."""
    page = paper.page()
    plot(page, (60, 60, 290, 180))
    for k, row in enumerate(("Figure 1: The first evalua-", "tion on all of the data of few-", "shot models")):
        page.insert_text((54, 198 + 11 * k), row, fontname="tiro", fontsize=SMALL)
    prose(page, LEFT, 240, 4, "an evaluation of few-shot models")
    two_columns(page, 300)
    (only,) = found(paper)
    assert only.text == "Figure 1: The first evaluation on all of the data of few-shot models"


def test_accents_printed_apart_are_composed(paper: Paper) -> None:
    page = paper.page()
    plot(page, (60, 60, 290, 180))
    page.insert_text((54, 198), "Figure 1: The loss in Saarbr\u00a8ucken.", fontname="tiro", fontsize=SMALL)
    two_columns(page, 230)
    assert [c.text for c in found(paper)] == ["Figure 1: The loss in Saarbrücken."]


# --- labels and rows torn apart ---------------------------------------------------------------------------------------


def torn(page: pymupdf.Page, rows: list[str], top: float, *, left: float = LEFT[0], gap: float = 9.0) -> None:
    """Rows whose words stand so far apart, as in stretched text, that a PDF reader takes each for a line."""
    for k, row in enumerate(rows):
        x = left
        for word in row.split():
            page.insert_text((x, top + 11 * k), word, fontname="tiro", fontsize=SMALL)
            x += pymupdf.get_text_length(word, fontname="tiro", fontsize=SMALL) + gap


def test_a_label_torn_apart_by_stretched_text(paper: Paper) -> None:
    page = paper.page()
    picture(page, (54, 60, 180, 160))
    torn(page, ["Figure 3: Deep teacher", "and its students"], 176)
    two_columns(page, 230)
    assert [(c.number, c.text) for c in found(paper)] == [("3", "Figure 3: Deep teacher and its students")]


def test_a_stretched_row_that_begins_with_a_mention_is_none(paper: Paper) -> None:
    page = paper.page()
    bottom = prose(page, LEFT, 54, 20)
    prose(page, LEFT, bottom - LEADING * SIZE, 1, WORDS)
    torn(page, ["Figure 3 shows the loss"], bottom + 8)
    prose(page, LEFT, bottom + 12, 20)
    prose(page, RIGHT, 54, 55)
    assert found(paper) == []


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("size", [SMALL, SIZE])
def test_a_label_set_off_by_white_alone(paper: Paper, rows: int, size: float) -> None:
    """Over both columns: of the label alone a reader could think that the caption keeps to its column."""
    page = paper.page()
    plot(page, (100, 60, 500, 180))
    start = FULL[0] + pymupdf.get_text_length("Figure 4", fontname="tiro", fontsize=size) + size
    page.insert_text((FULL[0], 190 + 0.96 * size), "Figure 4", fontname="tiro", fontsize=size)
    words = wrapped(f"{WORDS} {WORDS}".split(), FULL[1] - start, FONTS["roman"], size)[0]
    write(page, [words, ["x"]][: min(rows, 1)], (start, FULL[1]), 190, FONTS["roman"], size)
    text = wrapped(f"{WORDS} {WORDS}".split(), FULL[1] - FULL[0], FONTS["roman"], size)[: rows - 1]
    write(page, text, FULL, 190 + LEADING * size, FONTS["roman"], size)
    two_columns(page, 260)
    (only,) = found(paper)
    assert (only.number, only.text) == ("4", " ".join(["Figure 4", *words, *(w for row in text for w in row)]))


def test_a_label_on_a_row_of_its_own_over_a_wide_caption(paper: Paper) -> None:
    page = paper.page()
    plot(page, (100, 60, 500, 180))
    bottom = caption(page, FULL, 190, "FIGURE 2", font="bold")
    caption(page, FULL, bottom, f"{WORDS}.")
    two_columns(page, 260)
    assert [c.text for c in found(paper)] == [f"FIGURE 2 {WORDS}."]


def test_rows_that_hang_below_the_text_after_the_label(paper: Paper) -> None:
    page = paper.page()
    plot(page, (60, 60, 220, 160))
    page.insert_text((60, 176), "Figure 5: Each of the heads", fontname="tiro", fontsize=SMALL)
    for k, row in enumerate(("copies what it has", "seen before and", "nothing else")):
        page.insert_text((97, 187 + 11 * k), row, fontname="tiro", fontsize=SMALL)
    two_columns(page, 260)
    assert [c.text for c in found(paper)] == [
        "Figure 5: Each of the heads copies what it has seen before and nothing else"
    ]


def test_the_last_row_of_a_neighbours_caption_is_its_own(paper: Paper) -> None:
    """Two figures side by side whose captions end, not begin, in one row."""
    page = paper.page()
    plot(page, (54, 60, 290, 180))
    plot(page, (310, 60, 558, 158))
    page.insert_text(
        (54, 208), "Figure 1: The loss of the model over all of the many steps", fontname="tiro", fontsize=10
    )
    for k, row in enumerate(
        ("Figure 2: The same for", "a model of half its size that was", "trained for twice as long.")
    ):
        page.insert_text((300, 186 + 11 * k), row, fontname="tiro", fontsize=10)
    for k in range(12):
        prose(page, FULL, 240 + 24 * k, 2)
    first, second = found(paper)
    assert first.text == "Figure 1: The loss of the model over all of the many steps"
    assert second.text == "Figure 2: The same for a model of half its size that was trained for twice as long."


# --- captions set like the text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("skip", [0.0, 4.0])
@pytest.mark.parametrize(
    "text", ["Figure 1. The loss over the steps.", "Figure 1. The loss over the steps of a model which " + WORDS + "."]
)
def test_a_caption_in_the_texts_own_type_ends_at_the_next_paragraph(paper: Paper, text: str, skip: float) -> None:
    page = paper.page()
    plot(page, (100, 60, 500, 180))
    bottom = caption(page, FULL, 190, text, size=SIZE)
    for _ in range(8):
        bottom = prose(page, FULL, bottom + skip, 4, "Surprisingly")
    assert [c.text for c in found(paper)] == [text]


def test_a_caption_with_double_space_between_its_rows(paper: Paper) -> None:
    page = paper.page()
    plot(page, (100, 60, 500, 180))
    rows = wrapped(f"Figure 1. It shows that {WORDS}.".split(), FULL[1] - FULL[0], FONTS["roman"], SMALL)
    for k, row in enumerate(rows):
        write(page, [row, ["x"]][:1], FULL, 190 + 20 * k, FONTS["roman"], SMALL)
    for k in range(16):
        prose(page, FULL, 190 + 20 * len(rows) + 24 * k, 1, WORDS)
    assert [c.text for c in found(paper)] == [f"Figure 1. It shows that {WORDS}."]

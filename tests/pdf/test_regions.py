"""Regions of made pages, and measured levels on sample papers and on real ones."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pymupdf
import pytest

from scifigqual_bench.pdf.captions import find_captions
from scifigqual_bench.pdf.document import Rect, open_pdf, read_document
from scifigqual_bench.pdf.layout import analyse
from scifigqual_bench.pdf.regions import Region, find_regions
from scifigqual_bench.pdf.render import render_region
from scifigqual_bench.records import Problem
from scifigqual_bench.samples.make import SampleSet
from tests.pdf.made_pdf import (
    FONTS,
    FULL,
    LEFT,
    RIGHT,
    SIZE,
    WORDS,
    Paper,
    caption,
    iou,
    picture,
    plot,
    prose,
    table,
    two_columns,
    write,
)


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    return Paper(tmp_path / "paper.pdf")


def box_of(found: Region | Problem) -> Rect:
    assert isinstance(found, Region), found
    return found.bbox


@pytest.mark.parametrize("draw", [plot, picture])
def test_a_figure_at_the_top_of_a_column(paper: Paper, draw: Callable[..., Rect]) -> None:
    page = paper.page()
    box = draw(page, (58, 60, 293, 190))
    caption(page, LEFT, 196, "Figure 1: Loss over steps, for the two seeds that were run.")
    prose(page, LEFT, 230, 40)
    prose(page, RIGHT, 54, 55)
    found = paper.regions()["1"]
    assert iou(box_of(found), box) > 0.95
    assert found.method == "graphics-above-caption"
    assert 0 < found.confidence <= 1


def test_a_figure_in_the_middle_of_a_column_of_text(paper: Paper) -> None:
    page = paper.page()
    prose(page, LEFT, 54, 15)
    box = plot(page, (58, 250, 293, 380))
    caption(page, LEFT, 386, "Figure 1: Loss over steps, for the two seeds that were run.")
    prose(page, LEFT, 420, 20)
    prose(page, RIGHT, 54, 55)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_text_that_is_not_justified_has_columns_too(paper: Paper) -> None:
    page = paper.page()
    for edges in ((54.0, 250.0), (315.0, 520.0)):
        for k in range(60):
            if edges[0] > 300 or not 10 <= k <= 24:
                row = WORDS[17 * k % 90 :][: 34 + 7 * k % 11]
                page.insert_text((edges[0], 64 + 11.5 * k), row, fontname="helv", fontsize=9)
    box = plot(page, (58, 182, 260, 310))
    caption(page, (54, 290), 320, "Figure 1: Loss over steps, in a paper with ragged edges.")
    assert iou(box_of(paper.regions()["1"]), box) > 0.9


def test_a_figure_over_both_columns(paper: Paper) -> None:
    page = paper.page()
    box = plot(page, (60, 60, 550, 190))
    caption(page, FULL, 196, "Figure 1: Loss over steps.", centred=True)
    two_columns(page, 240)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_captions_above_their_figures(paper: Paper) -> None:
    boxes = {}
    for number in ("1", "2"):
        page = paper.page()
        caption(page, LEFT, 54, f"Figure {number}: Loss over steps, with the caption on top.")
        boxes[number] = plot(page, (58, 84, 293, 210))
        prose(page, LEFT, 240, 40)
        prose(page, RIGHT, 54, 55)
    found = paper.regions()
    assert all(iou(box_of(found[number]), boxes[number]) > 0.95 for number in boxes)
    assert found["1"].method == "graphics-below-caption"


@pytest.mark.parametrize("gap", [3.0, 30.0], ids=["touching", "apart"])
def test_two_figures_side_by_side(paper: Paper, gap: float) -> None:
    """Each takes its own half, also where the plots almost touch."""
    page = paper.page()
    middle = (FULL[0] + FULL[1]) / 2
    halves = {"1": (FULL[0], middle - 8), "2": (middle + 8, FULL[1])}
    boxes = {
        "1": plot(page, (FULL[0], 60, middle - gap / 2, 190), labels=False),
        "2": plot(page, (middle + gap / 2, 60, FULL[1], 190), labels=False),
    }
    for number, edges in halves.items():
        caption(page, edges, 200, f"Figure {number}: One of two figures that stand side by side in one row.")
    prose(page, FULL, 250, 40)
    found = paper.regions()
    assert all(iou(box_of(found[number]), boxes[number]) > 0.9 for number in boxes)


def test_a_figure_that_text_flows_around(paper: Paper) -> None:
    page = paper.page()
    prose(page, FULL, 54, 4)
    box = plot(page, (350, 110, 556, 220))
    caption(page, (347, 558), 226, "Figure 1: A figure that the text flows around, with some rows of caption.")
    prose(page, (54, 335), 102, 14)
    prose(page, FULL, 280, 25)
    assert iou(box_of(paper.regions()["1"]), box) > 0.9


def test_a_figure_at_the_left_that_text_flows_around(paper: Paper) -> None:
    page = paper.page()
    prose(page, FULL, 54, 4)
    box = plot(page, (54, 110, 250, 220))
    caption(page, (54, 255), 226, "Figure 1: A figure at the left that the text flows around.")
    prose(page, (270, 558), 102, 14)
    prose(page, FULL, 280, 25)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_an_equation_right_above_a_figure_is_no_part_of_it(paper: Paper) -> None:
    page = paper.page()
    prose(page, LEFT, 54, 10)
    page.insert_text((130, 195), "E = m c + f ( x )", fontname="tiit", fontsize=SIZE)
    page.insert_text((285.4, 195), "(1)", fontname="tiro", fontsize=SIZE)
    box = plot(page, (58, 215, 293, 330))
    caption(page, LEFT, 336, "Figure 1: Loss over the steps, right below an equation.")
    prose(page, LEFT, 370, 25)
    prose(page, RIGHT, 54, 55)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


@pytest.mark.parametrize("above", [False, True], ids=["captions below", "captions above"])
def test_figures_that_follow_each_other_in_a_column(paper: Paper, above: bool) -> None:
    page = paper.page()
    boxes = {}
    for k in range(3):
        top, text = 54 + 200 * k, f"Figure {k + 1}: Loss over the steps of one of the runs that were made, in two rows."
        boxes[str(k + 1)] = plot(page, (58, top + 28 * above, 293, top + 130 + 28 * above))
        caption(page, LEFT, top if above else top + 136, text)
    prose(page, RIGHT, 54, 55)
    found = paper.regions()
    assert all(iou(box_of(found[number]), boxes[number]) > 0.95 for number in boxes)


def test_a_caption_beside_its_picture(paper: Paper) -> None:
    page = paper.page()
    box = picture(page, (54, 54, 360, 220))
    caption(page, (375, 558), 60, "Figure 1: A picture whose caption stands to its right, in several short rows.")
    prose(page, FULL, 250, 40)
    found = paper.regions()["1"]
    assert iou(box_of(found), box) > 0.95
    assert found.method == "graphics-beside-caption"


def test_a_caption_in_one_column_beside_its_graphic_in_the_other(paper: Paper) -> None:
    """A figure over both columns whose caption stands beside it, right above a figure of one column."""
    page = paper.page()
    box = plot(page, (280, 54, 558, 200))
    caption(page, (54, 264), 100, "Figure 1: Loss over steps, for the two seeds that were run until the end of it.")
    below = plot(page, (58, 222, 293, 340))
    caption(page, LEFT, 346, "Figure 2: Loss over steps, for the two seeds that were run.")
    prose(page, LEFT, 390, 28)
    prose(page, RIGHT, 222, 42)
    found = paper.regions()
    assert iou(box_of(found["1"]), box) > 0.95
    assert found["1"].method == "graphics-beside-caption"
    assert iou(box_of(found["2"]), below) > 0.95


def test_thousands_of_paths_are_one_figure(paper: Paper) -> None:
    page = paper.page()
    box = plot(page, (58, 60, 293, 190), points=5000)
    caption(page, LEFT, 196, "Figure 1: Loss over steps, five thousand of them.")
    prose(page, LEFT, 230, 40)
    prose(page, RIGHT, 54, 55)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_panels_with_subcaptions_are_one_figure(paper: Paper) -> None:
    page = paper.page()
    for k in range(4):
        x, y = 60 + 245 * (k % 2), 60 + 130 * (k // 2)
        plot(page, (x, y, x + 225, y + 95))
        page.insert_text((x + 80, y + 108), f"({'abcd'[k]}) a panel", fontname="tiro", fontsize=8)
    caption(page, FULL, 308, "Figure 1: Four panels, each with a caption of its own, and one for all of them below.")
    prose(page, FULL, 360, 30)
    found = paper.regions()["1"]
    assert iou(box_of(found), (60, 60, 530, 300)) > 0.95
    assert found.subcaptions


def test_a_figure_made_of_text_in_a_frame(paper: Paper) -> None:
    page = paper.page()
    page.draw_rect((56, 60, 295, 170), width=0.6)
    for k, row in enumerate(
        ("Question: what falls?", "Answer: the loss.", "Question: when?", "Answer: at every step.")
    ):
        page.insert_text((64, 80 + 24 * k), row, fontname="cour", fontsize=9)
    caption(page, LEFT, 178, "Figure 1: A prompt, and what was answered.")
    prose(page, LEFT, 220, 40)
    prose(page, RIGHT, 54, 55)
    assert iou(box_of(paper.regions()["1"]), (56, 60, 295, 170)) > 0.95


def test_a_figure_made_of_text_like_the_papers_own_between_rules(paper: Paper) -> None:
    page = paper.page()
    prose(page, LEFT, 54, 10)
    for y in (190, 258):
        page.draw_line((54, y), (297, y), width=0.6)
    prose(page, LEFT, 194, 5)
    caption(page, LEFT, 266, "Figure 1: An example, set in the type of the paper.")
    prose(page, LEFT, 300, 35)
    prose(page, RIGHT, 54, 55)
    assert iou(box_of(paper.regions()["1"]), (54, 190, 297, 258)) > 0.95


def test_a_figure_made_of_words_alone(paper: Paper) -> None:
    page = paper.page()
    for k, row in enumerate(
        ("Question: what falls?", "Answer: the loss.", "Question: when?", "Answer: at every step.")
    ):
        page.insert_text((90, 70 + 12 * k), row, fontname="cour", fontsize=9)
    caption(page, LEFT, 122, "Figure 1: A prompt, and what was answered.")
    prose(page, LEFT, 160, 40)
    prose(page, RIGHT, 54, 55)
    found = paper.regions()["1"]
    x0, y0, x1, y1 = box_of(found)
    assert 89 < x0 < 91 and 60 < y0 < 70 and 205 < x1 < 225 and 104 < y1 < 112
    assert found.method == "text-above-caption"


def test_a_table_and_a_figure_that_share_a_column(paper: Paper) -> None:
    """The table of the caption above and the figure of the caption below stand in one strip."""
    page = paper.page()
    caption(page, LEFT, 54, "Table 1: Scores of the four systems that were compared.")
    tabular = table(page, (60, 80, 290, 150))
    box = plot(page, (58, 172, 293, 290))
    caption(page, LEFT, 298, "Figure 1: Loss over steps, for the two seeds that were run.")
    prose(page, LEFT, 335, 30)
    prose(page, RIGHT, 54, 55)
    captions, regions = paper.read()
    found = {c.kind: box_of(r) for c, r in zip(captions, regions, strict=True)}
    assert iou(found["figure"], box) > 0.95
    assert iou(found["table"], tabular) > 0.9


def test_a_table_within_a_figure(paper: Paper) -> None:
    page = paper.page()
    tabular = table(page, (60, 60, 290, 150))
    caption(page, LEFT, 160, "Figure 1: Scores, set as a table but numbered as a figure.")
    prose(page, LEFT, 200, 40)
    prose(page, RIGHT, 54, 55)
    found = paper.regions()["1"]
    assert iou(box_of(found), tabular) > 0.9
    assert found.method == "rules-above-caption"


def test_white_backgrounds_and_the_page_are_no_part(paper: Paper) -> None:
    page = paper.page()
    page.draw_rect(page.rect, color=None, fill=(1, 1, 1))
    page.draw_rect((40, 20, 300, 195), color=None, fill=(1, 1, 1))
    box = plot(page, (58, 60, 293, 190))
    caption(page, LEFT, 197, "Figure 1: Loss over steps, for the two seeds that were run.")
    prose(page, LEFT, 230, 40)
    prose(page, RIGHT, 54, 55)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_what_a_clip_hides_is_no_part(paper: Paper, tmp_path: Path) -> None:
    """The author cropped a drawing; the paths that were cut away still lie in the file, over the text."""
    source = pymupdf.open()
    plot(source.new_page(width=400, height=600), (0, 0, 400, 600), labels=False)
    page = paper.page()
    page.show_pdf_page(pymupdf.Rect(80, 60, 270, 190), source, 0, clip=pymupdf.Rect(100, 200, 290, 330))
    caption(page, LEFT, 196, "Figure 1: A part of a larger drawing.")
    prose(page, LEFT, 230, 40)
    prose(page, RIGHT, 54, 55)
    x0, y0, x1, y1 = box_of(paper.regions()["1"])
    assert x0 >= 79 and y0 >= 59 and x1 <= 271 and y1 <= 191


def test_a_picture_with_a_white_border_over_its_caption(paper: Paper) -> None:
    """The box of the picture overlaps text; the region ends before it, and the crop shows the ink alone."""
    page = paper.page()
    picture(page, (54, 40, 297, 222), margin=0.12)
    caption(page, LEFT, 206, "Figure 1: A picture whose white border reaches into its caption.")
    prose(page, LEFT, 245, 40)
    prose(page, RIGHT, 54, 55)
    found = box_of(paper.regions()["1"])
    assert found[3] < 206
    crop = render_region(paper.pdf[0], found, dpi=144)
    assert iou(crop.bbox, (54 + 0.12 * 243, 40 + 0.12 * 182, 297 - 0.12 * 243, 222 - 0.12 * 182)) > 0.95


def test_rules_under_running_heads_are_no_figures(paper: Paper) -> None:
    """A caption right under a page's head has nothing above it, whatever is drawn there on every page."""
    for number in range(1, 5):
        page = paper.page()
        page.insert_text((200, 40), "A paper about losses", fontname="tiro", fontsize=9)
        page.draw_line((54, 46), (558, 46), width=0.8)
        if number == 2:
            caption(page, LEFT, 52, "Figure 1: A figure that the author forgot to put here.")
            prose(page, LEFT, 80, 50)
            prose(page, RIGHT, 54, 55)
        else:
            two_columns(page)
    problem = paper.regions()["1"]
    assert isinstance(problem, Problem)
    assert (problem.code, problem.page) == ("no-region", 2)
    assert "Figure 1, page 2" in problem.message


def test_boxed_notes_and_underlined_text_are_no_figures(paper: Paper) -> None:
    page = paper.page()
    prose(page, LEFT, 54, 20)
    page.draw_rect((52, 100, 299, 128), color=None, fill=(1, 0.95, 0.6), overlay=False)
    page.draw_line((54, 200.5), (250, 200.5), width=0.5)
    caption(page, LEFT, 300, "Figure 1: A figure that the author forgot to put here.")
    prose(page, LEFT, 340, 30)
    prose(page, RIGHT, 54, 55)
    assert isinstance(paper.regions()["1"], Problem)


def test_a_figure_alone_on_its_page(paper: Paper) -> None:
    """No text shows where the columns are."""
    page = paper.page()
    box = picture(page, (100, 200, 500, 500))
    caption(page, FULL, 510, "Figure 1: A figure alone on its page.", centred=True)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_a_page_printed_sideways(paper: Paper) -> None:
    page = paper.page()
    box = picture(page, (150, 200, 460, 700))
    for k, row in enumerate(
        ("Figure 1: A figure that is so wide that its page", "is printed sideways, with its caption below it.")
    ):
        page.insert_text((480 + 12 * k, 700), row, fontname="tiro", fontsize=SIZE, rotate=90)
    two_columns(paper.page())
    found = paper.regions()["1"]
    first = read_document(paper.path).pages[0]
    assert first.turn == 1
    assert iou(first.displayed(box_of(found)), box) > 0.95


def test_a_short_caption_under_the_left_end_of_a_wide_graphic(paper: Paper) -> None:
    """It is indented, so that its own middle is far from that of the graphic."""
    page = paper.page()
    box = plot(page, (60, 60, 552, 190))
    page.insert_text((70, 204), "Figure 1: Loss.", fontname="tiro", fontsize=9)
    prose(page, FULL, 230, 40)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_a_short_caption_in_one_column_under_a_graphic_over_both(paper: Paper) -> None:
    page = paper.page()
    box = picture(page, (60, 60, 552, 190))
    page.insert_text((54, 204), "Figure 1: Loss.", fontname="tiro", fontsize=9)
    two_columns(page, 230)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_a_figure_over_both_columns_at_the_foot_of_a_page(paper: Paper) -> None:
    page = paper.page()
    for edges in (LEFT, RIGHT):
        prose(page, edges, 54, 40)
    box = plot(page, (60, 560, 550, 690))
    caption(
        page, FULL, 698, "Figure 1: Loss over steps, at the foot of the page and as wide as both of its columns are."
    )
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_a_figure_on_the_page_before_its_caption(paper: Paper) -> None:
    """The figure fills a page of its own, and its caption stands at the head of the next one."""
    two_columns(paper.page())
    page = paper.page()
    box = plot(page, (60, 60, 550, 720))
    page = paper.page()
    caption(page, FULL, 54, "Figure 1: (previous page) Loss over steps, for all of the seeds that were run.")
    two_columns(page, 90)
    found = paper.regions()["1"]
    assert (found.page, found.method) == (2, "graphics-previous-page")
    assert iou(found.bbox, box) > 0.95
    assert found.confidence < 0.6


def test_a_page_of_text_is_not_searched_for_another_pages_figure(paper: Paper) -> None:
    page = paper.page()
    plot(page, (60, 60, 290, 180))
    prose(page, LEFT, 200, 40)
    prose(page, RIGHT, 54, 55)
    page = paper.page()
    caption(page, LEFT, 54, "Figure 1: A figure that the author forgot to put here.")
    two_columns(page, 90)
    assert isinstance(paper.regions()["1"], Problem)


def test_tables_above_their_captions_with_a_footnote_below(paper: Paper) -> None:
    """One table lies between two captions, and the rule over the footnote is none: each has its own above it."""
    page = paper.page()
    prose(page, FULL, 54, 20)
    boxes = {"1": table(page, (150, 320, 460, 390)), "2": table(page, (150, 440, 460, 510))}
    caption(page, FULL, 400, "Table 1: Scores of the first system.", centred=True)
    caption(page, FULL, 520, "Table 2: Scores of the second system.", centred=True)
    page.draw_line((54, 690), (160, 690), width=0.4)
    caption(
        page,
        FULL,
        694,
        "1 A footnote of the page, which is set in a smaller type than all of the text over it is.",
        size=8,
    )
    found = paper.regions("table")
    assert all(iou(box_of(found[number]), boxes[number]) > 0.9 for number in boxes)


def test_algorithms_side_by_side_and_one_below_the_other(paper: Paper) -> None:
    page = paper.page()
    places = {"1": (54.0, 60.0, 300.0), "2": (312.0, 60.0, 558.0), "3": (312.0, 128.0, 558.0)}
    for number, (left, top, right) in places.items():
        rows = 8 if number == "1" else 3
        for y in (top, top + 16, top + 20 + 12 * rows):
            page.draw_line((left, y), (right, y), width=0.8)
        page.insert_text((left, top + 12), f"Algorithm {number}", fontname="tibo", fontsize=SIZE)
        page.insert_text((left + 60, top + 12), "Search by halves", fontname="tiro", fontsize=SIZE)
        for k in range(rows):
            page.insert_text((left + 6, top + 29 + 12 * k), "halve the range", fontname="tiro", fontsize=SIZE)
    prose(page, FULL, 220, 40)
    found = paper.regions("algorithm")
    for number, (left, top, right) in places.items():
        rows = 8 if number == "1" else 3
        assert iou(box_of(found[number]), (left, top + 16, right, top + 20 + 12 * rows)) > 0.95


def test_a_run_in_heading_beside_a_figure_of_words(paper: Paper) -> None:
    page = paper.page()
    prose(page, FULL, 54, 8)
    page.insert_text((54, 170), "4.2", fontname="tibo", fontsize=SIZE)
    page.insert_text((76, 170), "Datasets", fontname="tibo", fontsize=SIZE)
    page.insert_text((54, 184), "Arithmetic", fontname="tibo", fontsize=SIZE)
    page.insert_text(
        (110, 184), "The data set of sums is a list of sums of two numbers", fontname="tiro", fontsize=SIZE
    )
    prose(page, (54, 370), 188, 12)
    for k, row in enumerate(("Input:", "6 2 4 + 2 5 9", "Target:", "C: 0 , 2 + 5", "8 8 3")):
        page.insert_text((384, 172 + 12 * k), row, fontname="cour", fontsize=9)
    caption(page, (384, 558), 232, "Figure 1: A sum that is worked out with a scratchpad, in several rows.")
    prose(page, FULL, 350, 25)
    x0, y0, x1, y1 = box_of(paper.regions()["1"])
    assert x0 == pytest.approx(384, abs=2) and y0 < 168 and y1 > 215 and x1 < 470


def test_a_figure_made_of_many_pictures(paper: Paper) -> None:
    page = paper.page()
    for row in range(6):
        for column in range(10):
            picture(page, (60 + 49 * column, 60 + 30 * row, 60 + 49 * column + 44, 60 + 30 * row + 26))
    caption(page, FULL, 248, "Figure 1: Sixty pictures, each of its own, and all of them one figure.")
    two_columns(page, 280)
    assert iou(box_of(paper.regions()["1"]), (60, 60, 545, 236)) > 0.95


def test_a_diagram_of_boxes_with_text(paper: Paper) -> None:
    """Boxes, arrows and words apart from each other, as TikZ draws them."""
    page = paper.page()
    for k, word in enumerate(("Encoder", "Attention", "Decoder", "Output")):
        x = 64 + 58 * k
        page.draw_rect((x, 90, x + 46, 130), width=0.6, radius=0.1)
        page.insert_text((x + 4, 112), word, fontname="helv", fontsize=8)
        if k:
            page.draw_line((x - 12, 110), (x, 110), width=0.6)
    page.insert_text((64, 80), "Input: a sentence", fontname="helv", fontsize=8)
    page.insert_text((200, 146), "Loss", fontname="helv", fontsize=8)
    caption(page, LEFT, 156, "Figure 1: The parts of the model and how they hang together.")
    prose(page, LEFT, 190, 40)
    prose(page, RIGHT, 54, 55)
    assert iou(box_of(paper.regions()["1"]), (64, 72, 284, 148)) > 0.9


@pytest.mark.parametrize("ground", [(1, 1, 1), (0.99, 0.99, 0.98), (0.93, 0.95, 1.0)], ids=["white", "paper", "tinted"])
def test_backgrounds_of_the_page_are_no_part(paper: Paper, ground: tuple[float, float, float]) -> None:
    page = paper.page()
    page.draw_rect(page.rect, color=None, fill=ground)
    box = plot(page, (58, 60, 293, 190))
    caption(page, LEFT, 197, "Figure 1: Loss over steps, for the two seeds that were run.")
    prose(page, LEFT, 230, 40)
    prose(page, RIGHT, 54, 55)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_a_review_version_with_numbered_rows(paper: Paper) -> None:
    page = paper.page()
    box = plot(page, (58, 60, 293, 190))
    caption(page, LEFT, 197, "Figure 1: Loss over steps, for the two seeds that were run.")
    prose(page, LEFT, 230, 40)
    prose(page, RIGHT, 54, 55)
    for k in range(56):
        for x in (24, 572):
            page.insert_text((x, 62 + 12 * k), f"{k:03d}", fontname="helv", fontsize=7)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95


def test_a_listing_is_no_figure_and_bounds_one(paper: Paper) -> None:
    page = paper.page()
    caption(page, LEFT, 54, "Listing 1: A loop over the steps.")
    for y in (70, 110):
        page.draw_line((54, y), (297, y), width=0.6)
    for k, row in enumerate(("for step in range(10):", "    loss = train(step)")):
        page.insert_text((58, 84 + 12 * k), row, fontname="cour", fontsize=8)
    box = plot(page, (58, 140, 293, 260))
    caption(page, LEFT, 268, "Figure 1: Loss over steps, for the two seeds that were run.")
    prose(page, LEFT, 300, 35)
    prose(page, RIGHT, 54, 55)
    assert iou(box_of(paper.regions()["1"]), box) > 0.95
    assert iou(box_of(paper.regions("listing")["1"]), (54, 70, 297, 110)) > 0.8


def test_every_region_lies_on_its_page(samples: SampleSet) -> None:
    for truth in samples.papers:
        document = read_document(samples.pdf_folder / f"{truth.paper_id}.pdf")
        for region in find_regions(document, find_captions(document)):
            x0, y0, x1, y1 = box_of(region)
            page = document.pages[region.page - 1]
            assert 0 <= x0 < x1 <= page.width and 0 <= y0 < y1 <= page.height


def test_sample_papers_are_cut_exactly(samples: SampleSet) -> None:
    """Every box of the sample papers is known to a tenth of a point."""
    worst = 1.0
    for truth in samples.papers:
        path = samples.pdf_folder / f"{truth.paper_id}.pdf"
        document = read_document(path)
        layout = analyse(document)
        captions = find_captions(document, layout)
        regions = find_regions(document, captions, layout)
        found = {c.number: (c, r) for c, r in zip(captions, regions, strict=True) if c.kind == "figure"}
        assert set(found) == {figure.number for figure in truth.figures}
        with open_pdf(path) as pdf:
            for figure in truth.figures:
                c, region = found[figure.number]
                assert (c.page, c.text) == (figure.page, figure.caption)
                crop = render_region(pdf[c.page - 1], box_of(region), dpi=144)
                worst = min(worst, iou(crop.bbox, figure.bbox))
    assert worst > 0.93


# --- real papers ------------------------------------------------------------------------------------------------------


def score_module(folder: Path) -> ModuleType:
    """The shared folder's own measure, so that nothing is measured by what is tested."""
    spec = importlib.util.spec_from_file_location("shared_score", folder / "score.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def measured(shared: Path) -> dict[str, float]:
    """Ratios of the shared measure over the papers whose truth is known and that have a text layer."""
    papers = shared / "papers"
    score = score_module(papers)
    total: dict[str, int] = {}
    for file in sorted((papers / "truth").glob("*.json")):
        truth = json.loads(file.read_text(encoding="utf-8"))
        path = papers / "pdfs" / f"{truth['id']}.pdf"
        document = read_document(path)
        if not any(page.lines for page in document.pages):
            continue
        counts = score.score_paper(truth, _figures(document, path), [])
        total = {key: total.get(key, 0) + value for key, value in counts.items()}
    return {name: total[a] / total[b] for name, (a, b) in score.RATIOS.items() if total[b]}


def _figures(document: object, path: Path) -> list[dict]:
    layout = analyse(document)
    captions = find_captions(document, layout)
    regions = find_regions(document, captions, layout)
    rows = []
    with open_pdf(path) as pdf:
        for c, region in zip(captions, regions, strict=True):
            if c.kind == "figure":
                found = isinstance(region, Region)
                box = render_region(pdf[region.page - 1], region.bbox, dpi=150).bbox if found else None
                rows.append({"number": c.number, "page": c.page, "bbox": box, "caption": c.text, "citing": None})
    return rows


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "level"),
    [
        ("figure recall", 1.0),
        ("figure precision", 1.0),
        ("caption sim>=0.95", 1.0),
        # the four misses are figures whose given box lies beside the printed graphic or cuts it
        ("region IoU>=0.8", 0.965),
    ],
)
def test_measured_levels_on_real_papers(measured: dict[str, float], ratio: str, level: float) -> None:
    assert measured[ratio] >= level


@pytest.mark.shared
@pytest.mark.slow
def test_papers_without_truth_give_the_figures_that_were_counted(shared: Path) -> None:
    """Every figure has a region. One paper's count includes the caption on a page that its Figure 3 shows."""
    papers = shared / "papers"
    with (papers / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        counted = {row["id"]: int(row["figures"]) for row in csv.DictReader(file, delimiter="\t")}
    counted["papermage-emnlp23"] = 3
    for name, count in counted.items():
        if not (papers / "truth" / f"{name}.json").exists():
            document = read_document(papers / "pdfs" / f"{name}.pdf")
            captions = find_captions(document)
            regions = find_regions(document, captions)
            figures = [r for c, r in zip(captions, regions, strict=True) if c.kind == "figure"]
            assert (name, len(figures)) == (name, count)
            assert [r for r in figures if not isinstance(r, Region)] == []


@pytest.mark.shared
def test_papers_without_figures_give_none(shared: Path) -> None:
    for name in ("inlp-22", "novelty-acl22", "distillation-neuripsw14"):
        captions = find_captions(read_document(shared / "papers" / "pdfs" / f"{name}.pdf"))
        assert [c.label for c in captions if c.kind == "figure"] == []
        assert captions


def test_a_row_of_a_figure_that_looks_like_text_does_not_hide_the_figure(paper: Paper) -> None:
    """Its last row is set in the body's type and begins at the column's edge, right over the caption."""
    two_columns(paper.page(), 54)
    page = paper.page()
    box = picture(page, (75, 60, 270, 150))
    rows = [(62, "ILM In the end the band went on stage"), (LEFT[0], "Human As soon as they got on it was loud")]
    for k, (left, row) in enumerate(rows):
        write(page, [row.split()], (left, LEFT[1]), 156 + 12 * k, FONTS["roman"], SIZE)
    caption(page, LEFT, 185, "Figure 1: Examples of sentences by different models.")
    prose(page, RIGHT, 54, 55)
    found = box_of(paper.regions()["1"])
    assert iou(found, (LEFT[0], box[1], box[2], 179)) > 0.85

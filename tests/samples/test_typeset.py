"""The typesetter: what goes in is what PyMuPDF reads back, and it is where the layout says."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pymupdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure as MplFigure

from scifigqual_bench.samples.typeset import (
    Abstract,
    Equation,
    FigureBlock,
    Graphic,
    Heading,
    Layout,
    NewPage,
    Paragraph,
    Reference,
    Style,
    TableBlock,
    Title,
    plain,
    typeset,
)

PROSE = (
    "Because measurement is noisy, each configuration is evaluated five times, independently of the others, and the "
    "low-rank variant is no exception. Differences between experiments are small."
)


def graphic(width: float = 200, height: float = 100) -> Graphic:
    figure = MplFigure(figsize=(width / 72, height / 72))
    figure.subplots().plot([1, 2])
    buffer = io.BytesIO()
    figure.savefig(buffer, format="pdf", metadata={"CreationDate": None})  # else two of them differ after a second
    return Graphic(buffer.getvalue(), "pdf", width, height)


def figure_block(number: int, **options: object) -> FigureBlock:
    return FigureBlock(graphic(), f"Figure {number}: Something against something else.", str(number), **options)


def letters(text: str) -> str:
    return re.sub(r"[\s\-\u2013]", "", text)


def read(path: Path) -> str:
    with pymupdf.open(path) as document:
        return "\n".join(page.get_text() for page in document)


@pytest.mark.parametrize("columns", [1, 2])
def test_text_comes_back_complete_and_in_reading_order(tmp_path: Path, columns: int) -> None:
    texts = [f"Paragraph {k} begins here. {PROSE}" for k in range(40)]
    layout = typeset(texts, tmp_path / "a.pdf", columns=columns, page_numbers=False)
    assert layout.pages > 1
    assert letters(read(tmp_path / "a.pdf")) == letters("".join(texts))
    assert [placed.block.text for placed in layout.paragraphs] == texts


words = st.lists(
    st.sampled_from(
        ["a", "measurement", "low-rank", "is", "(comparisons)", "experiments,", "of", "Fig. 2(a)", "x" * 30]
    ),
    min_size=1,
    max_size=120,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=words, columns=st.sampled_from([1, 2]))
def test_any_words_stay_inside_their_column_and_none_is_lost(tmp_path: Path, words: list[str], columns: int) -> None:
    style = Style(columns=columns, page_numbers=False)
    typeset([" ".join(words)], tmp_path / "a.pdf", style)
    with pymupdf.open(tmp_path / "a.pdf") as document:
        printed = document[0].get_text("words")
    assert letters("".join(word[4] for word in printed)) == letters("".join(words))
    for x0, _, x1, *_ in printed:
        assert style.margin_x - 1 <= x0
        assert x1 <= style.margin_x + style.column_width + 1


def test_lines_are_justified_and_hyphenated_words_are_listed_syllables(tmp_path: Path) -> None:
    typeset([PROSE * 4], tmp_path / "a.pdf", page_numbers=False)
    with pymupdf.open(tmp_path / "a.pdf") as document:
        lines = [line for block in document[0].get_text("dict")["blocks"] for line in block["lines"]]
    right = [line["bbox"][2] for line in lines]
    assert len(lines) > 8
    assert max(right[:-1]) - min(right[:-1]) < 1.0
    ends = [line["spans"][-1]["text"].split()[-1] for line in lines]
    assert any(end.endswith("-") for end in ends)


def test_floats_keep_their_order_and_touch_nothing(tmp_path: Path) -> None:
    blocks: list = [Title("A Title", "Somebody"), Abstract(PROSE, wide=True), Heading("1 Introduction")]
    for k in range(1, 7):
        blocks += [Paragraph(PROSE * 4), figure_block(k, wide=k == 3, here=k == 5)]
    layout = typeset(blocks, tmp_path / "a.pdf")
    assert [figure.block.number for figure in layout.figures] == list("123456")
    assert [figure.page for figure in layout.figures] == sorted(figure.page for figure in layout.figures)
    assert all(figure.section == "1 Introduction" for figure in layout.figures)
    boxes = [
        (figure.page, pymupdf.Rect(box)) for figure in layout.figures for box in (figure.bbox, figure.caption_bbox)
    ]
    for k, (page, box) in enumerate(boxes):
        assert not any(other == page and box.intersects(rest) for other, rest in boxes[k + 1 :])
    for figure in layout.figures:
        assert figure.caption_bbox[1] > figure.bbox[3]


def test_a_wide_figure_tops_a_page_and_a_figure_called_here_stays_in_the_text(tmp_path: Path) -> None:
    style = Style()
    blocks = [PROSE, figure_block(1, here=True), PROSE, figure_block(2, wide=True), *[PROSE] * 40]
    here, wide = typeset(blocks, tmp_path / "a.pdf", style).figures
    assert here.page == 1
    assert here.bbox[1] > style.margin_top + style.leading
    assert (wide.page, wide.bbox[1]) == (2, style.margin_top)
    assert wide.caption_bbox[2] - wide.caption_bbox[0] == style.text_width


def test_table_caption_stands_above_and_cells_are_printed(tmp_path: Path) -> None:
    rows = (("Method", "LAS"), ("Ours", "<b>91.2</b>"), ("Other", "88.0"))
    layout = typeset([TableBlock(rows, "Table 1: Scores.", "1")], tmp_path / "a.pdf")
    (table,) = layout.tables
    assert table.caption_bbox[3] < table.bbox[1]
    with pymupdf.open(tmp_path / "a.pdf") as document:
        inside = document[0].get_text(clip=pymupdf.Rect(table.bbox))
    assert inside.split() == ["Method", "LAS", "Ours", "91.2", "Other", "88.0"]


def test_a_paragraph_across_a_column_break_names_both_columns(tmp_path: Path) -> None:
    layout = typeset([Paragraph(PROSE * 25)], tmp_path / "a.pdf")
    assert layout.paragraphs[0].columns == ((1, 0), (1, 1))
    assert layout.paragraphs[0].page == 1


def test_a_heading_is_never_the_last_line_of_a_column(tmp_path: Path) -> None:
    for lines in range(40, 60):
        text = " ".join(["word"] * 9 * lines)
        typeset([text, Heading("2 Method"), PROSE], tmp_path / "a.pdf", page_numbers=False)
        with pymupdf.open(tmp_path / "a.pdf") as document:
            spots = document[0].search_for("2 Method") + document[0].search_for("Because measurement")
        heading, first = spots[0], spots[1]
        assert abs(heading.x0 - first.x0) < 20
        assert first.y0 > heading.y0


def test_footnote_stands_under_a_rule_at_the_foot_of_the_marked_column(tmp_path: Path) -> None:
    style = Style()
    typeset([Paragraph("Text.", footnote="A note."), PROSE], tmp_path / "a.pdf", style)
    with pymupdf.open(tmp_path / "a.pdf") as document:
        (note,) = (pymupdf.Rect(word[:4]) for word in document[0].get_text("words") if word[4] == "note.")
        rules = [drawing["rect"] for drawing in document[0].get_drawings()]
    assert style.height - style.margin_bottom - 20 < note.y0 < style.height - style.margin_bottom
    assert any(rule.y0 < note.y0 < rule.y0 + 15 for rule in rules)


def test_review_style_numbers_every_line_outside_the_columns(tmp_path: Path) -> None:
    style = Style(line_numbers=True)
    typeset([PROSE * 40], tmp_path / "a.pdf", style)
    with pymupdf.open(tmp_path / "a.pdf") as document:
        numbers = [word for word in document[0].get_text("words") if re.fullmatch(r"\d{3}", word[4])]
    assert [int(word[4]) for word in numbers] == list(range(len(numbers)))
    assert len(numbers) > 100
    assert all(word[2] < style.margin_x or word[0] > style.width - style.margin_x for word in numbers)


def test_markup_sets_the_font_and_is_not_printed(tmp_path: Path) -> None:
    typeset([Paragraph("An <i>italic</i> word and x<sub>t</sub>.", head="Setup.")], tmp_path / "a.pdf")
    with pymupdf.open(tmp_path / "a.pdf") as document:
        lines = document[0].get_text("dict")["blocks"][0]["lines"]
    fonts = {span["text"].strip(): span["font"] for line in lines for span in line["spans"]}
    assert "Bold" in fonts["Setup."]
    assert "Italic" in fonts["italic"]
    assert "<" not in read(tmp_path / "a.pdf")


def test_ligatures_are_printed_as_one_glyph(tmp_path: Path) -> None:
    typeset(["the first flow"], tmp_path / "a.pdf", ligatures=True, page_numbers=False)
    with pymupdf.open(tmp_path / "a.pdf") as document:
        assert document[0].get_text("words")[1][4] == "\ufb01rst"


def test_every_kind_of_block_is_printed(tmp_path: Path) -> None:
    blocks = [Title("T1"), Abstract("A1"), Heading("H1"), Equation("E1", "(1)"), Reference("R1"), NewPage(), "P1"]
    layout = typeset(blocks, tmp_path / "a.pdf", notice="N1", running_head="Head")
    text = read(tmp_path / "a.pdf").split()
    assert layout.pages == 2
    assert {"T1", "A1", "H1", "E1", "(1)", "R1", "P1", "N1", "Head"} <= set(text)


def test_wide_graphics_are_scaled_down_and_never_up(tmp_path: Path) -> None:
    blocks = [FigureBlock(graphic(width, 100), f"Figure {n}: x.", str(n)) for n, width in ((1, 480), (2, 100))]
    large, small = typeset(blocks, tmp_path / "a.pdf").figures
    assert large.bbox[2] - large.bbox[0] == pytest.approx(Style().column_width)
    assert large.bbox[3] - large.bbox[1] == pytest.approx(100 * Style().column_width / 480)
    assert small.bbox[2] - small.bbox[0] == pytest.approx(100)


def test_equal_blocks_give_equal_bytes_without_dates_or_ids(tmp_path: Path) -> None:
    layouts: list[Layout] = []
    for name in ("a.pdf", "b.pdf"):
        layouts.append(typeset([Title("T"), PROSE, figure_block(1)], tmp_path / name))
    first, second = ((tmp_path / name).read_bytes() for name in ("a.pdf", "b.pdf"))
    assert layouts[0] == layouts[1]
    assert first == second
    assert not re.search(rb"/(CreationDate|ModDate|ID)\b", first)


def test_what_cannot_be_set_is_an_error(tmp_path: Path) -> None:
    tall = FigureBlock(graphic(200, 900), "Figure 1: Too tall.", "1")
    with pytest.raises(ValueError, match=r"Figure 1: Too tall\..*does not fit on a page"):
        typeset([tall], tmp_path / "a.pdf")
    with pytest.raises(TypeError, match="can't typeset a int"):
        typeset([3], tmp_path / "a.pdf")
    with pytest.raises(TypeError, match="colums"):
        typeset(["x"], tmp_path / "a.pdf", colums=1)
    assert not (tmp_path / "a.pdf").exists()


def test_plain_drops_markup_and_footnote_marks() -> None:
    assert plain("<b>Speed.</b> A < B<sup>1</sup> and <i>x</i><sub>t</sub>") == "Speed. A < B and xt"
    assert Paragraph("text", head="Head.").plain == "Head. text"

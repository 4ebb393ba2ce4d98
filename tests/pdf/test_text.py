"""Reading order, paragraphs, words across line ends, the title."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.pdf.document import Document, Line, read_document
from scifigqual_bench.pdf.reading import body_metrics, furniture, line_text
from scifigqual_bench.pdf.text import Paragraph, paper_title, paragraphs
from scifigqual_bench.pdf.words import clean_text, join_all, join_rows, vocabulary

from .typeset import FILLER, LEFT, RIGHT, SECOND, column, document, joined, line, span

INTRO = ["#1 Introduction", ""]


def read(paper: Document, **left_out) -> list[Paragraph]:
    return paragraphs(paper, left_out.get("excluded", {}), left_out.get("regions", {}))


def texts(paper: Document, kind: str = "body", **left_out) -> list[str]:
    return [p.text for p in read(paper, **left_out) if p.kind == kind]


def filler(top: float, edges=(LEFT, RIGHT), times: int = 8) -> list[Line]:
    """Paragraphs with white between them, to fill a page."""
    return column([*FILLER, ""] * times, top, edges=edges)


# --- reading order --------------------------------------------------------------------------------------------------


def test_a_page_of_two_columns_is_read_column_by_column_below_its_title():
    title = line("A title that runs over both of the columns of this page", 100, 60, 500, size=14, bold=True)
    left = column(
        [*INTRO, "Alpha begins the text of this paper and runs on to", "the end of alpha.$", "", *FILLER], 100
    )
    right = column(
        ["Beta is what the second column begins with and runs", "to the end of beta.$", "", *FILLER], 100, edges=SECOND
    )
    # the PDF's own order is row by row
    mixed = sorted([title, *left, *right], key=lambda made: made.bbox[3])
    found = texts(document(mixed))
    assert [text.split()[0] for text in found] == ["Alpha", "The", "Beta", "The"]


def test_a_paragraph_goes_on_in_the_next_column_and_on_the_next_page():
    left = [*filler(80, times=4), *column(["This sentence begins at the foot of the first column and"], 640)]
    right = [
        *column(["goes on at the head of the second one.$", ""], 80, edges=SECOND),
        *filler(116, SECOND, times=4),
        *column(["Another one is cut by the end of the page in the mid-"], 640, edges=SECOND),
    ]
    second = [*column(["dle of a word.$", ""], 80), *filler(116, times=4), *filler(80, SECOND, times=4)]
    found = texts(document([*column(INTRO, 60), *left, *right], second))
    assert "This sentence begins at the foot of the first column and goes on at the head of the second one." in found
    assert "Another one is cut by the end of the page in the middle of a word." in found
    across = next(
        p for p in read(document([*column(INTRO, 60), *left, *right], second)) if p.text.startswith("Another")
    )
    assert (across.page, across.pages) == (1, (1, 2))
    assert across.bbox == pytest.approx((SECOND[0], 630, SECOND[1], 640))


def test_a_float_in_a_column_divides_no_paragraph():
    above = column([*INTRO, "The text above the float does not end with the last"], 80)
    inside = column(["80", "60", "Epoch"], 150)
    caption = column(["Figure 1: A caption between two halves of a sentence.$"], 200)
    below = [*column(["row above it but below it.$", ""], 230), *filler(266)]
    lines = [*above, *inside, *caption, *below, *filler(80, SECOND, times=10)]
    at = lines.index(caption[0])
    found = texts(document(lines), excluded={1: {at}}, regions={1: [(LEFT, 130, RIGHT, 186)]})
    assert found[0] == "The text above the float does not end with the last row above it but below it."
    assert not any("Epoch" in text or "Figure 1" in text for text in found)


def test_text_wrapped_around_a_table_does_not_mix_with_its_cells():
    wrapped = ["We report the scores of all of", "the models in the table that", "stands beside this text here.$"]
    edges = (LEFT, 170.0)
    rows = [
        *column(INTRO, 60),
        *filler(90, times=3),
        *column(wrapped, 240, edges=edges, block=1),
        *filler(290, times=4),
    ]
    cells = [
        line(f"{name} {value}", 190, 236 + 11 * k, 280, size=8, block=2)
        for k, (name, value) in enumerate([("Model", "Score"), ("small", "81.2"), ("large", "93.5"), ("huge", "94.1")])
    ]
    found = texts(document([*rows, *cells, *filler(60, SECOND, times=10)]))
    assert "We report the scores of all of the models in the table that stands beside this text here." in found


@pytest.mark.parametrize("place", ["margins", "between the columns"])
def test_line_numbers_of_a_review_version_are_no_text(place):
    x = {"margins": (27, 560), "between the columns": (295, 27)}[place]
    numbers = [line(f"{k:03d}", at, 80 + 12 * k, at + 12, size=8) for at in x for k in range(40)]
    body = [*column(INTRO, 60), *filler(90, times=10), *filler(80, SECOND, times=10)]
    plain, numbered = read(document(body)), read(document([*numbers, *body]))
    assert [p.text for p in plain] == [p.text for p in numbered]


def test_running_heads_page_numbers_footers_and_stamps_are_no_text():
    pages = []
    for number in range(1, 5):
        lines = [*filler(100, times=11), *filler(100, SECOND, times=11)]
        lines.append(line("A Running Head That Names The Paper", 200, 50, size=9))
        lines.append(line(str(number), 300, 770))
        pages.append(lines)
    pages[0] += column(INTRO, 80)
    pages[0].append(line("Proceedings of the Meeting, pages 12-24, 2020.", 150, 755, size=9))
    stamp = line("arXiv:2001.00001v1 [cs.CL] 1 Jan 2020", 20, 500, 36, size=20)
    pages[0].append(Line(0, 0, 0, stamp.bbox, stamp.spans, direction=(0.0, -1.0)))
    paper = document(*pages)
    everything = " ".join(p.text for p in read(paper))
    assert not any(word in everything for word in ("Running", "Proceedings", "arXiv", "1 2"))
    assert everything.count("The method reads") == 88
    gone = furniture(paper, body_metrics(paper))
    assert len(gone) == 4 + 4 + 2


def test_what_is_left_out_is_in_no_paragraph_and_no_line_is_in_two():
    lines = [*column([*INTRO, *FILLER, "", "> A first row is set in.$", "* starred$"], 80), *filler(200)]
    excluded = {1: {3, 4}}
    used = [key for p in read(document(lines), excluded=excluded) for key in p.lines]
    assert len(used) == len(set(used)) == len(lines) - 2
    assert not {(1, 3), (1, 4)} & set(used)


def test_a_paper_without_text_has_no_paragraphs_and_no_title():
    assert read(document([])) == []
    assert paper_title(document([])) is None


# --- where paragraphs begin -----------------------------------------------------------------------------------------


def test_indents_part_paragraphs_where_there_is_no_white_between_them():
    rows = [
        "Alpha is a paragraph that fills its last row up to here.",
        "> Beta is one that begins with an indent, and",
        "ends.$",
    ]
    tail = ["> Gamma is one more and it also begins with an indent", "and goes on and on until it ends.$"]
    found = texts(document([*column([*INTRO, *rows, *tail, *tail, *tail], 80)]))
    assert [text.split()[0] for text in found] == ["Alpha", "Beta", "Gamma", "Gamma", "Gamma"]


def test_a_paragraph_goes_on_after_a_formula_unless_it_is_set_in():
    rows = [
        "We minimise the following loss over all of the data:",
        "",
        "=L = x + y",
        "",
        "Note that this loss is convex.$",
    ]
    indented = ["The second one is defined over all of the pairs as", "", "=M = a + b", "", "> Here begins a new one.$"]
    found = texts(document(column([*INTRO, *rows, "", *FILLER, "", *indented, "", *FILLER], 80)))
    assert "We minimise the following loss over all of the data: L = x + y Note that this loss is convex." in found
    assert "Here begins a new one." in found


def test_list_items_are_paragraphs_of_their_own():
    items = ["We make these contributions:$", "> • a first thing that is new.$", "> • a second thing, see Figure 2.$"]
    numbered = ["> 1. The first step is to look.$", "> 2. The second step is to count.$"]
    paper = document(column([*INTRO, *FILLER, "", *items, "", *numbered, "", *FILLER], 80))
    assert [text.split()[1] for text in texts(paper, "list")] == ["a", "a", "The", "The"]


def test_bold_run_in_heads_begin_paragraphs_and_stay_in_their_text():
    head = joined([span("Datasets.", LEFT, 160, 100, bold=True), span(" We use two sets of", 100, 160, RIGHT)])
    rows = [*column([*INTRO, *FILLER], 80), head, *column(["images.$", "", *FILLER], 172)]
    assert "Datasets. We use two sets of images." in texts(document(rows))


def test_footnotes_are_not_body_text():
    note = joined(
        [span("1", LEFT + 10, 690, LEFT + 13, size=6), span("Code is in Figure 9.", LEFT + 13, 694, 200, size=8)]
    )
    last = column(["The last row of the column does not end its sentence"], 660)
    right = [*column(["but the next column does.$", ""], 80, edges=SECOND), *filler(116, SECOND, times=10)]
    paper = document(
        [*column(INTRO, 60), *filler(90, times=10), *last, note, *right], rules=[(LEFT, 680, LEFT + 90, 680.5)]
    )
    assert texts(paper, "footnote") == ["¹Code is in Figure 9."]
    assert "The last row of the column does not end its sentence but the next column does." in texts(paper)


def test_an_algorithm_between_its_rules_is_not_body_text():
    code = ["Algorithm 1 How it works$", "", "for all pages do$", "read the page as in Figure 2$", "end for$"]
    rows = [*column([*INTRO, *FILLER], 80), *column(code, 180), *filler(270)]
    rules = [(LEFT, 166, RIGHT, 167), (LEFT, 184, RIGHT, 185), (LEFT, 240, RIGHT, 241)]
    paper = document(rows, rules=rules)
    assert "Figure 2" in " ".join(texts(paper, "algorithm"))
    assert not any("Figure 2" in text for text in texts(paper))


def test_a_caption_that_the_caller_missed_is_not_body_text():
    rows = column([*INTRO, *FILLER, "", "Table 1: Results of all of the models on the test set.$", "", *FILLER], 80)
    paper = document(rows)
    assert texts(paper, "caption") == ["Table 1: Results of all of the models on the test set."]
    # a row that happens to begin with a label is none
    flowing = column(
        [*INTRO, "The architecture of all of our models is given in", "Table 1. It is small.$", "", *FILLER], 80
    )
    assert "The architecture of all of our models is given in Table 1. It is small." in texts(document(flowing))


# --- sections -------------------------------------------------------------------------------------------------------


def test_paragraphs_know_their_section_and_what_they_are():
    rows = [
        "#Abstract", "", *FILLER, "",
        "#1 Introduction", "", *FILLER, "",
        "#1.1 A First Subsection", "", *FILLER, "",
        "#References", "", "A. Author. 2020. A paper about figures. In Journal.$", "",
        "#A Details", "", *FILLER,
    ]  # fmt: skip
    found = [(p.kind, p.section) for p in read(document(column(rows, 80))) if p.kind != "heading"]
    assert found == [
        ("abstract", "Abstract"),
        ("body", "1 Introduction"),
        ("body", "1.1 A First Subsection"),
        ("reference", "References"),
        ("body", "A Details"),
    ]


def test_a_heading_of_two_rows_is_one_heading():
    rows = ["#1 Introduction", "", *FILLER, "", "#2 A heading that needs", "#two rows", "", *FILLER]
    assert [p.text for p in read(document(column(rows, 80))) if p.kind == "heading"][
        -1
    ] == "2 A heading that needs two rows"


def test_an_abstract_is_known_without_a_heading():
    run_in = column(
        ["Abstract—We read the pages of papers and say what is", "on them.$", "", "#1 Introduction", "", *FILLER], 80
    )
    assert texts(document(run_in), "abstract") == ["Abstract—We read the pages of papers and say what is on them."]
    long = ["We read the pages of papers and we say what is on them"] * 5
    bare = document(column([*long, "all.$", "", "#1 Introduction", "", *FILLER], 80))
    assert len(texts(bare, "abstract")) == 1


# --- characters and words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "words", "whole"),
    [
        ("the infor-", "mation", {"information": 1}, "the information"),
        ("the n-", "gram", {}, "the n-gram"),
        ("state-of-the-", "art", {"state-of-the-art": 2}, "state-of-the-art"),
        ("pre-", "training", {"pre-training": 3, "pretraining": 1}, "pre-training"),
        ("pre-", "training", {"pre-training": 1, "pretraining": 4}, "pretraining"),
        ("sentence-", "level", {"sentence": 2, "level": 5}, "sentence-level"),
        ("multi-dimen-", "sional", {"dimensional": 1}, "multi-dimensional"),
        ("GPT-", "based", {}, "GPT-based"),
        ("Seq-", "LSTM", {}, "Seq-LSTM"),
        ("2019-", "2020", {}, "2019-2020"),
        ("unknow-", "able", {}, "unknowable"),
        ("soft\u00ad", "ware", {"software": 1}, "software"),
        ("as in Fig-", "ure 3", {"figure": 1}, "as in Figure 3"),
        ("no hyphen", "here", {}, "no hyphen here"),
        ("https://a.org/", "b", {}, "https://a.org/b"),
    ],
)
def test_words_cut_at_line_ends(first, second, words, whole):
    assert join_rows(first, second, words) == whole


@given(
    st.lists(st.sampled_from(["alpha", "beta-gamma", "delta", "Epsilon", "zeta"]), min_size=2, max_size=40), st.data()
)
def test_cutting_words_and_joining_them_gives_the_text_back(words, data):
    text = " ".join(words)
    rows, rest = [], text
    for word in words[1:]:
        head, _, rest = rest.partition(" ")
        if "-" not in word and word.islower() and data.draw(st.booleans()):
            rows.append(f"{head} {word[:2]}-")
            rest = word[2:] + rest[len(word) :]
        else:
            rows.append(head)
    rows.append(rest)
    assert join_all([row for row in rows if row], vocabulary([text])) == text


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("Saarbr¨ucken", "Saarbrücken"),
        ("Tram`er", "Tramèr"),
        ("Schr ¨odinger", "Schrödinger"),
        ("´Etienne", "Étienne"),
        ("na¨ıve", "naïve"),
        ("Franc¸ois", "François"),
        ("ﬁnal eﬀort", "final effort"),
        ("label ˜y", "label ỹ"),
        ("x ˜> 0", "x ˜> 0"),
        ("bell\x07 and \ue000 gone", "bell and  gone"),
    ],
)
def test_accents_and_ligatures(printed, meant):
    assert clean_text(printed) == meant


@given(st.text())
def test_clean_text_is_idempotent_and_safe_under_nfkc(text):
    once = clean_text(text)
    assert clean_text(once) == once
    plain = "".join(
        c for c in text if unicodedata.category(c) not in ("Cc", "Co") and c not in "`´ˆ˜¯˘˙¨˚˝ˇ¸˛\ufffd\u200b\ufeff"
    )
    assert unicodedata.normalize("NFKC", clean_text(plain)) == unicodedata.normalize("NFKC", plain)


def test_a_footnote_mark_stays_apart_from_the_number_before_it():
    made = joined([span("see Figure 1", 50, 100, 110), span("2", 110, 96, 114, size=7), span(" and", 114, 100, 130)])
    assert line_text(made) == "see Figure 1² and"


# --- title ----------------------------------------------------------------------------------------------------------


def test_the_title_is_the_largest_text_unless_the_metadata_say_it_better():
    lines = [
        line("A LARGE TITLE OF", 150, 80, size=17, bold=True),
        line("TWO ROWS∗", 200, 100, size=17, bold=True),
        line("Some Author", 250, 130),
        *column([*INTRO, *FILLER], 170),
    ]
    assert paper_title(document(lines)) == "A LARGE TITLE OF TWO ROWS"
    assert paper_title(document(lines, title="A Large Title of Two Rows")) == "A Large Title of Two Rows"
    assert paper_title(document(lines, title="Microsoft Word - draft7.docx")) == "A LARGE TITLE OF TWO ROWS"
    assert paper_title(document(lines, title="Another paper altogether")) == "A LARGE TITLE OF TWO ROWS"
    assert paper_title(document(filler(80))) is None


# --- real pages -----------------------------------------------------------------------------------------------------


def test_a_typeset_page_of_two_columns(tmp_path: Path):
    left = "The loss falls as the number of steps grows, as Figure 1 shows. " * 6
    right = "Unlike the first column, the second one speaks of nothing in particular, and at length. " * 6
    pdf = pymupdf.open()
    page = pdf.new_page(width=612, height=792)
    page.insert_text((150, 60), "On Columns and Figures", fontsize=18)
    page.insert_text((54, 110), "1 Introduction", fontsize=13, fontname="hebo")
    assert page.insert_textbox((54, 120, 296, 700), left, fontsize=10, align=pymupdf.TEXT_ALIGN_JUSTIFY) > 0
    assert page.insert_textbox((316, 105, 558, 700), right, fontsize=10, align=pymupdf.TEXT_ALIGN_JUSTIFY) > 0
    pdf.save(tmp_path / "two.pdf")
    paper = read_document(tmp_path / "two.pdf")
    assert texts(paper) == [left.strip(), right.strip()]
    assert paper_title(paper) == "On Columns and Figures"
    assert {p.section for p in read(paper) if p.kind == "body"} == {"1 Introduction"}

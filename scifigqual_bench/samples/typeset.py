"""A small typesetter: blocks in, a PDF with known boxes out.

Text is broken into justified lines over whole paragraphs and poured into columns; figures and tables float to the top
of a column or page as they do in a conference paper; vector graphics stay vector. The result says exactly where each
figure, caption and paragraph landed, which makes its PDFs ground truth for everything that reads PDFs.

Only fonts that come with PyMuPDF are used and no date or id is written: equal blocks give equal bytes with equal
library versions. All lengths are PDF points, all boxes count from the top left corner of the page, pages from 1.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pymupdf

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1."""

# --- what can be typeset --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Graphic:
    """A picture with its printed size.

    Attributes:
        data: A one-page PDF (embedded as vector graphics) or a PNG or JPEG file (embedded as pixels).
        media: Which of the two.
        width: Printed width in points; scaled down, never up, where the column is narrower.
        height: Printed height in points.
    """

    data: bytes = field(repr=False)
    media: Literal["pdf", "image"]
    width: float
    height: float


@dataclass(frozen=True)
class Title:
    """The paper's title with its authors, over the full width of the first page."""

    text: str
    authors: str = ""


@dataclass(frozen=True)
class Abstract:
    """The abstract under its own heading: ``wide`` spans the page, otherwise it opens the first column."""

    text: str
    wide: bool = False


@dataclass(frozen=True)
class Heading:
    """A section heading, printed as given (number included); level 1 or 2."""

    text: str
    level: int = 1


@dataclass(frozen=True)
class Paragraph:
    """Running text, with ``<b>``, ``<i>``, ``<sup>`` and ``<sub>`` as its only markup.

    Attributes:
        head: Run-in bold head, printed before the text.
        cites: Figures that the text references, as pairs of a number and the reference as printed; not printed
            again, only handed on to whoever reads the layout.
        footnote: Text of a footnote whose mark ends the paragraph.
        continues: The paragraph goes on after a display (no indent).
    """

    text: str
    head: str = ""
    cites: tuple[tuple[str, str], ...] = ()
    footnote: str = ""
    continues: bool = False

    @property
    def plain(self) -> str:
        """The text as a reader sees it: head included, markup and footnote mark left out."""
        return plain(f"{self.head} {self.text}".strip())


@dataclass(frozen=True)
class Equation:
    """A centred display with a number at the right margin."""

    text: str
    number: str = ""


@dataclass(frozen=True)
class FigureBlock:
    """A figure with its caption below; it floats in order with the other floats.

    Attributes:
        caption: Printed as given, label included (``"Figure 3: ..."``).
        number: The number in the label, for the layout.
        wide: Spans all columns, at the top of a page.
        here: Stands where it is called if it fits there, instead of floating to the top of a column.
    """

    graphic: Graphic
    caption: str
    number: str = ""
    wide: bool = False
    here: bool = False


@dataclass(frozen=True)
class TableBlock:
    """A table with its caption above; the first row is the header. Floats like a figure."""

    rows: tuple[tuple[str, ...], ...]
    caption: str
    number: str = ""
    wide: bool = False
    here: bool = False


@dataclass(frozen=True)
class Reference:
    """An entry of the reference list: smaller type, hanging indent."""

    text: str


@dataclass(frozen=True)
class NewPage:
    """Places what still floats and starts a page, as before an appendix."""


Block = Title | Abstract | Heading | Paragraph | Equation | FigureBlock | TableBlock | Reference | NewPage


@dataclass(frozen=True)
class Style:
    """How a venue's papers look; the defaults are a two-column letter page.

    Attributes:
        width: Page width.
        height: Page height.
        margin_x: Left and right margin.
        margin_top: From the page's edge to the text.
        margin_bottom: From the text to the page's edge.
        columns: 1 or 2.
        gap: Between the columns.
        size: Body type.
        leading: Baseline to baseline.
        indent: First line of a paragraph; 0 separates paragraphs by ``skip`` alone.
        skip: Between paragraphs.
        title_rules: Rules above and below the title.
        centred_headings: First-level headings are centred instead of flush left.
        running_head: Text over a rule at the top of every page but the first.
        page_numbers: Centred at the foot.
        line_numbers: Number every line in the outer margins, as a manuscript under review.
        ligatures: Print fi and fl as single glyphs.
        notice: Unmarked footnote of the first page.
    """

    width: float = 612
    height: float = 792
    margin_x: float = 54
    margin_top: float = 72
    margin_bottom: float = 72
    columns: int = 2
    gap: float = 18
    size: float = 10
    leading: float = 11.5
    indent: float = 10
    skip: float = 0
    title_rules: bool = False
    centred_headings: bool = False
    running_head: str = ""
    page_numbers: bool = True
    line_numbers: bool = False
    ligatures: bool = False
    notice: str = ""

    @property
    def text_width(self) -> float:
        """From margin to margin."""
        return self.width - 2 * self.margin_x

    @property
    def column_width(self) -> float:
        """Width of one column."""
        return (self.text_width - self.gap * (self.columns - 1)) / self.columns


@dataclass(frozen=True)
class PlacedFloat:
    """Where a figure or table landed; ``bbox`` is the graphic or the table's body, without the caption."""

    block: FigureBlock | TableBlock
    section: str | None
    page: int
    bbox: Box
    caption_bbox: Box


@dataclass(frozen=True)
class PlacedParagraph:
    """Where a paragraph landed: the columns that hold lines of it, as (page, column from 0), in reading order."""

    block: Paragraph
    section: str | None
    columns: tuple[tuple[int, int], ...]

    @property
    def page(self) -> int:
        """Page on which the paragraph begins."""
        return self.columns[0][0]


@dataclass(frozen=True)
class Layout:
    """What was typeset, in reading order."""

    pages: int
    figures: tuple[PlacedFloat, ...]
    tables: tuple[PlacedFloat, ...]
    paragraphs: tuple[PlacedParagraph, ...]


# --- words and lines ------------------------------------------------------------------------------------------------

_TAG = re.compile(r"(</?(?:b|i|sup|sub)>)")
_FACES = {"": "tiro", "b": "tibo", "i": "tiit", "bi": "tibi"}

# Words are hyphenated where this list says and nowhere else, as a typesetter's exception list does.
_HYPHENATION = """
    ab-la-tion ac-cord-ing ac-cu-ra-cy adap-ta-tion ad-di-tion-al af-ter-noon af-ter-wards agree-ment al-go-rithm
    al-ter-na-tive an-no-ta-tion an-no-ta-tor an-no-ta-tors an-oth-er an-swers ap-pen-dix ap-prox-i-mate
    ar-ti-fi-cial as-sessed as-sump-tion at-tach-ment at-ten-tion au-to-mat-ic av-er-age base-line base-lines
    be-cause be-fore be-hav-iour be-tween bound-a-ries bound-ary bright-ness cal-i-bra-tion cap-tions cat-e-go-ries
    cau-tious choos-ing col-lec-tion com-bi-na-tion com-pared com-par-ing com-par-i-son com-par-i-sons com-plete
    com-pli-cat-ed com-po-nent com-po-nents com-pu-ta-tion com-put-ing con-clu-sion con-clu-sions con-di-tion
    con-di-tions con-fi-dence con-fig-u-ra-tion con-fu-sion con-sis-tent con-trast con-tri-bu-tion con-tri-bu-tions
    cor-re-la-tion cor-re-spond-ing dan-ger-ous de-crease de-pend-ing de-riv-a-tives de-scribe de-scrip-tions
    de-sir-able de-tails de-vel-op-ment de-vi-a-tion di-ag-o-nal di-am-e-ter dif-fer-ence dif-fer-ences dif-fer-ent
    dif-fi-cult dis-agree-ment dis-cuss dis-tance dis-tanc-es dis-tri-bu-tion dis-tur-bance doc-u-ment doc-u-ments
    dom-i-nat-ed eval-u-ate eval-u-at-ed eval-u-a-tion ev-i-dence ex-am-ple ex-am-ples ex-cep-tion ex-clude
    ex-pect-ed ex-pen-sive ex-per-i-ment ex-per-i-ments ex-pla-na-tion fa-mil-iar find-ings fol-low-ing for-mal-i-ty
    fre-quen-cies fre-quen-cy fre-quent gen-er-al-i-sa-tion gen-er-at-ed gen-er-a-tor gra-di-ent gra-di-ents
    hun-dred hy-poth-e-sis im-ple-men-ta-tion im-ple-men-ta-tions im-por-tance im-por-tant im-prove-ment
    im-prove-ments in-clud-ed in-clud-ing in-de-pen-dent in-de-pen-dent-ly in-flu-ence in-for-ma-tion in-spect-ed
    in-ter-pre-ta-tion in-ter-val in-ter-vals in-tro-duc-tion knowl-edge la-belled lan-guage lan-guages learn-ing
    lim-it-ed ma-te-ri-al mea-sure mea-sured mea-sure-ment mea-sure-ments mea-sur-ing me-di-ans meth-od meth-ods
    mi-cro-graph mi-cro-graphs mi-cro-phone mi-cro-phones min-utes mis-takes mono-lin-gual nei-ther no-ticed num-ber
    ob-jec-tion ob-ser-va-tion ob-ser-va-tions op-po-site op-ti-miser op-tions or-di-nary or-thog-o-nal pa-ram-e-ter
    pa-ram-e-ters par-tial par-tic-i-pant par-tic-i-pants per-for-mance per-mu-ta-tion per-mu-ta-tions pho-to-graph
    pho-to-graphs pos-si-ble prac-tice pre-dict-ed pre-dic-tion pre-dic-tions pre-lim-i-nary prep-a-ra-tion
    pre-pro-cess-ing pre-vi-ous prin-ci-ples prob-a-bil-i-ty prob-lem pro-ce-dure pro-duc-tion pro-pos-al pro-to-col
    pur-pos-es qual-i-ty quan-ti-ty ques-tion ques-tions ran-dom-ly rank-ings re-ac-tions re-as-sur-ing rec-og-nised
    re-cord-ing re-cord-ings re-cur-ring ref-er-ence re-gion re-gions re-la-tion re-li-able re-main-der re-mov-ing
    re-peat-ed re-port-ed rep-re-sen-ta-tion rep-re-sen-ta-tions re-pro-duce re-search re-sult re-sults ro-ta-tion
    sam-ple sam-ples sec-tion seg-men-ta-tion seg-ments se-lec-tion sen-si-tive sen-tence sen-tences sep-a-rate
    sep-a-rat-ed set-ting set-tings shore-birds sig-nif-i-cance sig-nif-i-cant sim-i-lar sim-pler some-thing
    spec-tro-gram sta-bil-i-ty stan-dard sta-tis-ti-cal sta-tis-tics stead-i-ly straight-for-ward struc-ture
    stud-ies suf-fix-es sum-ma-ries sum-maris-er sum-ma-ry sup-port-ed sup-ports sur-prised syn-thet-ic sys-tem
    sys-tem-at-ic tem-per-a-ture tem-plate thou-sand thresh-old to-geth-er train-ing trans-form tree-bank tree-banks
    un-cer-tain un-cer-tain-ty un-changed un-der-stand un-sup-port-ed val-i-da-tion vari-a-tion vo-cab-u-lary
    weight-ed weight-ing with-in with-out work-sta-tion
"""
_SYLLABLES = {word.replace("-", ""): word.split("-") for word in _HYPHENATION.split()}
_SPACE, _STRETCH, _SHRINK = 0.25, 0.16, 0.07  # of the type size: natural width of a space and how far it gives
_HYPHEN_COST = 25.0


def plain(text: str) -> str:
    """Text without markup; footnote marks and other superscripts are left out.

    >>> plain("as <i>shown</i> before.<sup>1</sup>")
    'as shown before.'
    """
    return _TAG.sub("", re.sub(r"<sup>.*?</sup>", "", text))


@cache
def _font(face: str) -> pymupdf.Font:
    return pymupdf.Font(face)


@cache
def _unit_width(face: str, text: str) -> float:
    return _font(face).text_length(text, fontsize=1)


@dataclass(frozen=True)
class _Fragment:
    """Letters in one font; ``rise`` lifts them over the baseline."""

    text: str
    face: str
    size: float
    rise: float = 0.0

    @property
    def width(self) -> float:
        return _unit_width(self.face, self.text) * self.size


@dataclass(frozen=True)
class _Piece:
    """What a line break can't split: a syllable or an unhyphenated word.

    Attributes:
        after: What follows when the line goes on: a space, nothing, or (at a break only) a hyphen.
    """

    fragments: tuple[_Fragment, ...]
    after: Literal["space", "soft", "hard"]

    @property
    def width(self) -> float:
        return sum(fragment.width for fragment in self.fragments)


@dataclass(frozen=True)
class _Line:
    """A set line: fragments with their x offset from the column's left edge."""

    parts: tuple[tuple[float, _Fragment], ...]
    footnote: str = ""


def _fragments(text: str, size: float, face: str = "") -> Iterator[list[_Fragment]]:
    """Words of marked-up text, each as the fragments of its fonts."""
    on: set[str] = set(face)
    word: list[_Fragment] = []
    for token in _TAG.split(text):
        if _TAG.fullmatch(token):
            (on.discard if token[1] == "/" else on.add)(token.strip("</>"))
            continue
        raised = "sup" in on or "sub" in on
        rise = size * (0.33 if "sup" in on else -0.15 if "sub" in on else 0.0)
        font = _FACES["".join(sorted(on & {"b", "i"}))]
        for index, letters in enumerate(token.split(" ")):
            if index and word:
                yield word
                word = []
            if letters:
                word.append(_Fragment(letters, font, size * 0.7 if raised else size, rise))
    if word:
        yield word


def _syllables(word: str) -> list[tuple[str, Literal["soft", "hard"]]]:
    """Where a word may break: after its own hyphens and dashes, and between listed syllables.

    >>> _syllables("low-rank"), [part for part, _ in _syllables("(Comparisons)")]
    ([('low-', 'hard'), ('rank', 'hard')], ['(Com', 'par', 'i', 'sons)'])
    """
    parts = re.findall(r"[^-–—/]+[-–—/]*|[-–—/]+", word)
    if len(parts) > 1:
        return [(part, "hard") for part in parts]
    core = re.search(r"[A-Za-z]+", word)
    listed = _SYLLABLES.get(core[0].lower()) if core else None
    if core is None or listed is None:
        return [(word, "hard")]
    cuts = [core.start() + sum(map(len, listed[:k])) for k in range(1, len(listed))]
    return [(word[a:b], "soft") for a, b in pairwise([0, *cuts, len(word)])]


def _pieces(text: str, size: float, face: str = "", ligatures: bool = False) -> list[_Piece]:
    pieces: list[_Piece] = []
    for word in _fragments(text, size, face):
        if len(word) == 1:
            parts = [((replace(word[0], text=part),), after) for part, after in _syllables(word[0].text)]
        else:
            parts = [(tuple(word), "hard")]
        pieces += [_Piece(fragments, after) for fragments, after in parts[:-1]]
        pieces.append(_Piece(parts[-1][0], "space"))
    if ligatures:
        pieces = [
            replace(
                piece,
                fragments=tuple(
                    replace(f, text=f.text.replace("fi", "\ufb01").replace("fl", "\ufb02")) for f in piece.fragments
                ),
            )
            for piece in pieces
        ]
    return pieces


def _break(
    text: str,
    width: float,
    size: float,
    *,
    face: str = "",
    align: Literal["justify", "left", "center"] = "justify",
    indent: float = 0.0,
    hang: float = 0.0,
    ligatures: bool = False,
) -> list[_Line]:
    """Break marked-up text into lines of least total badness (Knuth and Plass's total fit, without their glue model).

    Args:
        text: The text.
        width: Of the column.
        size: Of the type.
        face: ``""``, ``"b"``, ``"i"`` or ``"bi"``.
        align: Alignment; the last line of justified text is flush left.
        indent: Of the first line.
        hang: Of the other lines.
        ligatures: Print fi and fl as one glyph.

    Returns:
        The lines, empty for empty text. A word wider than the column stands alone in an overfull line.
    """
    pieces = _pieces(text, size, face, ligatures)
    hyphen = _unit_width(_FACES[face], "-") * size
    count = len(pieces)
    widths = [piece.width for piece in pieces]
    best = [0.0] + [float("inf")] * count
    came_from = [0] * (count + 1)
    for start in range(count):
        if best[start] == float("inf"):
            continue
        room = width - (indent if start == 0 else hang)
        natural, spaces = 0.0, 0
        for end in range(start + 1, count + 1):
            piece = pieces[end - 1]
            natural += widths[end - 1]
            broken = piece.after == "soft" and end < count
            slack = room - natural - (hyphen if broken else 0.0) - spaces * _SPACE * size
            fits = slack >= -spaces * _SHRINK * size - 1e-6
            if not fits and end > start + 1 and natural > room:
                break
            if fits or end == start + 1:
                if end == count and slack >= 0:
                    cost = 0.0
                else:
                    give = max(spaces, 0.3) * size * (_STRETCH if slack > 0 else _SHRINK)
                    cost = (1.0 + 10.0 * min(abs(slack) / give, 50.0) ** 3) + (_HYPHEN_COST if broken else 0.0)
                if best[start] + cost < best[end]:
                    best[end], came_from[end] = best[start] + cost, start
            spaces += piece.after == "space"
    cuts = [count]
    while cuts[-1] > 0:
        cuts.append(came_from[cuts[-1]])
    return [
        _set_line(pieces[a:b], width, size, align, hang if a else indent, hyphen_face=_FACES[face], last=b == count)
        for a, b in pairwise(reversed(cuts))
    ]


def _set_line(
    pieces: Sequence[_Piece], width: float, size: float, align: str, indent: float, hyphen_face: str, last: bool
) -> _Line:
    spaces = sum(piece.after == "space" for piece in pieces[:-1])
    fragments = [(fragment, piece) for piece in pieces for fragment in piece.fragments]
    if pieces[-1].after == "soft" and not last:
        tail = fragments[-1][0]
        fragments[-1] = (replace(tail, text=tail.text + "-"), pieces[-1])
    natural = sum(fragment.width for fragment, _ in fragments)
    space = _SPACE * size
    if align == "justify" and spaces and not last:
        space = (width - indent - natural) / spaces
    elif spaces:
        space = min(space, (width - indent - natural) / spaces)
    x = (width - natural - space * spaces) / 2 if align == "center" else indent
    parts: list[tuple[float, _Fragment]] = []
    for fragment, piece in fragments:
        parts.append((x, fragment))
        x += fragment.width + (space if piece.after == "space" and fragment is piece.fragments[-1] else 0.0)
    return _Line(tuple(parts))


# --- pages ----------------------------------------------------------------------------------------------------------

_GAP_FLOAT = 12.0  # between a float and the text, and between floats
_GAP_CAPTION = 6.0  # between a graphic and its caption
_CAPTION_SIZE = 0.9  # of the body type
_FOOT_SIZE = 0.8
_INK, _GREY = (0.0, 0.0, 0.0), (0.55, 0.55, 0.55)


class _Composer:
    """Pours blocks into pages. One instance a document."""

    def __init__(self, style: Style):
        self.style = style
        self.doc = pymupdf.open()
        self.figures: list[PlacedFloat] = []
        self.tables: list[PlacedFloat] = []
        self.paragraphs: list[PlacedParagraph] = []
        self.section: str | None = None
        self.waiting: deque[tuple[FigureBlock | TableBlock, str | None]] = deque()
        self.numbered_lines = 0
        self.footnotes = 0
        self.after_heading = True
        self._new_page()
        if style.notice:
            self.notes += self._note_lines(style.notice)

    # drawing

    def _draw(self, lines: Sequence[_Line], x: float, y: float, leading: float) -> float:
        """Draw lines from the top at ``y``; return the y below them."""
        for line in lines:
            baseline = y + 0.79 * leading
            for offset, fragment in line.parts:
                self.ink.append(
                    (x + offset, baseline - fragment.rise),
                    fragment.text,
                    font=_font(fragment.face),
                    fontsize=fragment.size,
                )
            y += leading
        return y

    def _rule(self, x0: float, x1: float, y: float, width: float = 0.5) -> None:
        self.page.draw_line((x0, y), (x1, y), color=_INK, width=width)

    # pages and columns

    def _new_page(self) -> None:
        style = self.style
        if self.doc.page_count:
            self._finish_page()
        self.page = self.doc.new_page(width=style.width, height=style.height)
        self.ink = pymupdf.TextWriter(self.page.rect, color=_INK)
        self.grey = pymupdf.TextWriter(self.page.rect, color=_GREY)
        self.top = style.margin_top
        self.bottom = style.height - style.margin_bottom
        self.column = 0
        self.notes: list[_Line] = []
        if style.running_head and self.doc.page_count > 1:
            head = _break(style.running_head, style.text_width, 0.9 * style.size, face="i", align="center")
            self._draw(head, style.margin_x, self.top - 28, style.leading)
            self._rule(style.margin_x, style.width - style.margin_x, self.top - 14)
        while self.waiting and self._wide(self.waiting[0][0]):
            if self.top + self._float_height(self.waiting[0][0]) > self.bottom and self.top > style.margin_top:
                break
            self.top = self._place_float(*self.waiting.popleft(), style.margin_x, self.top)
        self._start_column()

    def _start_column(self) -> None:
        self.y = self.top
        while self.waiting and not self._wide(self.waiting[0][0]):
            if self._float_height(self.waiting[0][0]) > self._room() and self.y > self.top:
                break
            self.y = self._place_float(*self.waiting.popleft(), self._x(), self.y)

    def _next_column(self) -> None:
        self._finish_column()
        if self.column + 1 < self.style.columns:
            self.column += 1
            self._start_column()
        else:
            self._new_page()

    def _finish_column(self) -> None:
        if self.notes:
            y = self.bottom - self._notes_height()
            self._rule(self._x(), self._x() + 0.4 * self.style.column_width, y + 4)
            self._draw(self.notes, self._x(), y + 6, self._note_leading())
            self.notes = []
        if self.style.line_numbers:
            self._number_lines()

    def _finish_page(self) -> None:
        style = self.style
        if style.page_numbers:
            number = _break(str(self.doc.page_count), style.text_width, 0.9 * style.size, align="center")
            self._draw(number, style.margin_x, style.height - style.margin_bottom + 22, style.leading)
        self.ink.write_text(self.page)
        if style.line_numbers:
            self.grey.write_text(self.page)

    def _number_lines(self) -> None:
        style = self.style
        outside_right = self.column == 1
        x = style.width - style.margin_x + 12 if outside_right else style.margin_x - 24
        for row in range(int((self.bottom - style.margin_top) / style.leading)):
            y = style.margin_top + row * style.leading + 0.79 * style.leading
            self.grey.append((x, y), f"{self.numbered_lines:03d}", font=_font("helv"), fontsize=6.5)
            self.numbered_lines += 1

    def _x(self) -> float:
        return self.style.margin_x + self.column * (self.style.column_width + self.style.gap)

    def _room(self) -> float:
        return self.bottom - self.y - self._notes_height()

    def _at_top(self) -> bool:
        return self.y == self.top

    def _note_leading(self) -> float:
        return self.style.leading * _FOOT_SIZE

    def _notes_height(self, more: int = 0) -> float:
        count = len(self.notes) + more
        return count * self._note_leading() + 8 if count else 0.0

    def _note_lines(self, text: str) -> list[_Line]:
        return _break(text, self.style.column_width, _FOOT_SIZE * self.style.size, indent=8)

    # floats

    def _wide(self, block: FigureBlock | TableBlock) -> bool:
        return block.wide and self.style.columns > 1

    def _measure(self, block: FigureBlock | TableBlock) -> float:
        return self.style.text_width if self._wide(block) else self.style.column_width

    def _caption(self, block: FigureBlock | TableBlock) -> list[_Line]:
        size, width = _CAPTION_SIZE * self.style.size, self._measure(block)
        lines = _break(block.caption, width, size, ligatures=self.style.ligatures)
        return lines if len(lines) > 1 else _break(block.caption, width, size, align="center")

    def _body_size(self, block: FigureBlock | TableBlock) -> tuple[float, float]:
        if isinstance(block, TableBlock):
            widths, row = self._table_grid(block)
            return sum(widths), row * len(block.rows) + 6
        scale = min(1.0, self._measure(block) / block.graphic.width)
        return block.graphic.width * scale, block.graphic.height * scale

    def _float_height(self, block: FigureBlock | TableBlock) -> float:
        caption = len(self._caption(block)) * self.style.leading * _CAPTION_SIZE
        return self._body_size(block)[1] + _GAP_CAPTION + caption + _GAP_FLOAT

    def _place_float(self, block: FigureBlock | TableBlock, section: str | None, x: float, y: float) -> float:
        """Draw a float whose top is at ``y``; return where the text below it starts."""
        width, height = self._body_size(block)
        if y + self._float_height(block) - _GAP_FLOAT > self.bottom + 1e-6:
            raise ValueError(f"{block.caption[:40]!r}: {height:.0f} pt high, does not fit on a page")
        caption, leading = self._caption(block), self.style.leading * _CAPTION_SIZE
        caption_height = len(caption) * leading
        left = x + (self._measure(block) - width) / 2
        table = isinstance(block, TableBlock)
        body_y, caption_y = (y + caption_height + _GAP_CAPTION, y) if table else (y, y + height + _GAP_CAPTION)
        bbox = (left, body_y, left + width, body_y + height)
        self._draw(caption, x, caption_y, leading)
        if table:
            self._draw_table(block, left, body_y)
        elif block.graphic.media == "pdf":
            with pymupdf.open(stream=block.graphic.data, filetype="pdf") as source:
                self.page.show_pdf_page(pymupdf.Rect(bbox), source, 0, keep_proportion=False)
        else:
            self.page.insert_image(pymupdf.Rect(bbox), stream=block.graphic.data, keep_proportion=False)
        caption_box = (x, caption_y, x + self._measure(block), caption_y + caption_height)
        placed = PlacedFloat(block, section, self.doc.page_count, bbox, caption_box)
        (self.tables if table else self.figures).append(placed)
        return y + height + _GAP_CAPTION + caption_height + _GAP_FLOAT

    def _table_grid(self, block: TableBlock) -> tuple[list[float], float]:
        """Column widths and row height of a table."""
        size, pad = _CAPTION_SIZE * self.style.size, 12.0
        columns = list(zip(*block.rows, strict=True))
        widths = [max(_unit_width("tibo", plain(cell)) for cell in column) * size + pad for column in columns]
        return widths, self.style.leading * 1.08

    def _draw_table(self, block: TableBlock, x: float, y: float) -> None:
        widths, row_height = self._table_grid(block)
        size, right = _CAPTION_SIZE * self.style.size, x + sum(widths)
        self._rule(x, right, y, 0.8)
        for index, row in enumerate(block.rows):
            left, top = x, y + 2 + index * row_height + (2 if index else 0)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True)):
                align = "center" if position else "left"
                self._draw(_break(cell, width - 6, size, align=align), left + 3, top, row_height)
                left += width
            if index == 0:
                self._rule(x, right, top + row_height + 1, 0.5)
        self._rule(x, right, y + row_height * len(block.rows) + 6, 0.8)

    # blocks

    def _pour(self, lines: Sequence[_Line], leading: float) -> tuple[tuple[int, int], ...]:
        """Pour the lines of one paragraph into columns, without widows and orphans; return the columns used."""
        used: list[tuple[int, int]] = []
        left = list(lines)
        while left:
            taken, height, notes = 0, 0.0, 0
            for line in left:
                extra = len(self._note_lines(line.footnote)) if line.footnote else 0
                room = self.bottom - self.y - self._notes_height(notes + extra)
                if height + leading > room + 1e-6:
                    break
                taken, height, notes = taken + 1, height + leading, notes + extra
            if taken < len(left) and not self._at_top():
                if len(left) - taken == 1:
                    taken -= 1
                if taken == 1 and not used:
                    taken = 0
            if taken:
                self.y = self._draw(left[:taken], self._x(), self.y, leading)
                for line in left[:taken]:
                    self.notes += self._note_lines(line.footnote) if line.footnote else []
                used.append((self.doc.page_count, self.column))
                left = left[taken:]
            if left:
                self._next_column()
        return tuple(used)

    def _need(self, height: float) -> None:
        """Go to the next column unless ``height`` is left in this one."""
        if self._room() < height and not self._at_top():
            self._next_column()

    def _set_title(self, block: Title) -> None:
        style, x = self.style, self.style.margin_x
        y = self.top
        if style.title_rules:
            self._rule(x, style.width - x, y, 2.0)
            y += 14
        size = 1.5 * style.size
        y = self._draw(_break(block.text, style.text_width, size, face="b", align="center"), x, y, 1.2 * size)
        if style.title_rules:
            self._rule(x, style.width - x, y + 10, 0.8)
            y += 12
        if block.authors:
            for row in block.authors.split("\n"):
                lines = _break(row, style.text_width, 1.05 * style.size, align="center")
                y = self._draw(lines, x, y + 6, 1.2 * style.size)
        self.top = self.y = y + 16
        self.doc.set_metadata({"title": plain(block.text)})

    def _set_abstract(self, block: Abstract) -> None:
        style = self.style
        wide = block.wide or style.columns == 1
        inset = 36.0 if wide else 12.0
        width = style.text_width if wide else style.column_width
        head = _break("Abstract", width, 1.15 * style.size, face="b", align="center")
        size, leading = (0.95 * style.size, 0.97 * style.leading)
        lines = _break(block.text, width - 2 * inset, size, ligatures=style.ligatures)
        self.y = self._draw(head, self._x(), self.y, 1.5 * style.size) + 2
        self.y = self._draw(lines, self._x() + inset, self.y, leading) + 12
        if wide:
            self.top = self.y

    def _set_heading(self, block: Heading) -> None:
        style = self.style
        size = style.size * (1.15 if block.level == 1 else 1.0)
        centred = style.centred_headings and block.level == 1
        face = "i" if style.centred_headings and block.level > 1 else "b"
        align = "center" if centred else "left"
        lines = _break(block.text, style.column_width, size, face=face, align=align)
        before, after = (9.0, 4.0) if block.level == 1 else (6.0, 3.0)
        self._need(before + len(lines) * 1.2 * size + after + 2 * style.leading)
        if not self._at_top():
            self.y += before
        self.y = self._draw(lines, self._x(), self.y, 1.2 * size) + after
        self.section = block.text
        self.after_heading = True

    def _set_paragraph(self, block: Paragraph) -> None:
        style = self.style
        text = f"<b>{block.head}</b> {block.text}" if block.head else block.text
        if block.footnote:
            self.footnotes += 1
            text += f"<sup>{self.footnotes}</sup>"
        flush = block.continues or block.head or self.after_heading
        lines = _break(
            text, style.column_width, style.size, indent=0.0 if flush else style.indent, ligatures=style.ligatures
        )
        if block.footnote:
            note = f"<sup>{self.footnotes}</sup>{block.footnote}"
            lines[-1] = replace(lines[-1], footnote=note)
        if block.head and not self.after_heading and not self._at_top():
            self.y += 3
        columns = self._pour(lines, style.leading)
        self.paragraphs.append(PlacedParagraph(block, self.section, columns))
        self.y += style.skip

    def _set_equation(self, block: Equation) -> None:
        style = self.style
        line = _break(block.text, style.column_width, style.size, align="center")
        self._need(2.2 * style.leading)
        y = self._draw(line, self._x(), self.y + 0.5 * style.leading, style.leading)
        if block.number:
            width = _unit_width("tiro", block.number) * style.size
            number = _break(block.number, width, style.size)
            self._draw(number, self._x() + style.column_width - width, y - style.leading, style.leading)
        self.y = y + 0.6 * style.leading

    def _set_float(self, block: FigureBlock | TableBlock) -> None:
        fits = not self._wide(block) and self._float_height(block) <= self._room()
        if not self.waiting and fits and (block.here or self._at_top()):
            gap = 0.0 if self._at_top() else _GAP_FLOAT / 2
            self.y = self._place_float(block, self.section, self._x(), self.y + gap)
        else:
            self.waiting.append((block, self.section))

    def _set_reference(self, block: Reference) -> None:
        size, leading = 0.9 * self.style.size, 0.92 * self.style.leading
        lines = _break(block.text, self.style.column_width, size, hang=10.0, ligatures=self.style.ligatures)
        self._pour(lines, leading)
        self.y += 2.5

    def _flush(self) -> None:
        while self.waiting:
            self._next_column()

    def compose(self, blocks: Sequence[Block | str]) -> Layout:
        for block in blocks:
            match block:
                case str():
                    self._set_paragraph(Paragraph(block))
                case Title():
                    self._set_title(block)
                case Abstract():
                    self._set_abstract(block)
                case Heading():
                    self._set_heading(block)
                case Paragraph():
                    self._set_paragraph(block)
                case Equation():
                    self._set_equation(block)
                case FigureBlock() | TableBlock():
                    self._set_float(block)
                case Reference():
                    self._set_reference(block)
                case NewPage():
                    self._flush()
                    self._finish_column()
                    self._new_page()
                case _:
                    raise TypeError(f"can't typeset a {type(block).__name__}")
            if not isinstance(block, Heading | Title | Abstract | FigureBlock | TableBlock):
                self.after_heading = False
        self._flush()
        self._finish_column()
        self._finish_page()
        return Layout(self.doc.page_count, tuple(self.figures), tuple(self.tables), tuple(self.paragraphs))


def typeset(blocks: Sequence[Block | str], path: Path, style: Style | None = None, **changes: object) -> Layout:
    """Typeset blocks and write the PDF.

    Args:
        blocks: What to print, in order; a bare string is a paragraph.
        path: The PDF to write.
        style: The look, :class:`Style` by default.
        **changes: Fields of the style to change, for example ``columns=1`` or ``line_numbers=True``.

    Returns:
        Where everything landed.

    Raises:
        ValueError: A float is higher than a page.
        TypeError: A block of an unknown kind, or an unknown style field.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     layout = typeset([Heading("1 Setup"), "We see this in Figure 1."], Path(folder) / "a.pdf", columns=1)
    >>> layout.pages, layout.paragraphs[0].section, layout.paragraphs[0].page
    (1, '1 Setup', 1)
    """
    composer = _Composer(replace(style or Style(), **changes))
    layout = composer.compose(blocks)
    document = composer.doc
    document.subset_fonts()
    path.write_bytes(document.tobytes(garbage=4, deflate=True, no_new_id=True))
    document.close()
    return layout

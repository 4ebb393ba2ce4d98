"""Paragraphs: rows in reading order -> the paragraphs of a paper, each with its section and what it is.

A paragraph goes on across line breaks, columns, pages, floats and display equations. Whether a row begins a new one is
told by what typesetting leaves in print: the gap above it, its indent, whether the row before it was filled, and how
the text around the break reads. Nothing is guessed from a paper's content beyond that.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

from scifigqual_bench.pdf.document import Document, Line, Page, Rect
from scifigqual_bench.pdf.reading import LineKey, Metrics, Row, body_metrics, is_raised, line_text, reading_rows
from scifigqual_bench.pdf.words import clean_text, join_all, vocabulary

Kind = Literal["title", "abstract", "heading", "body", "list", "algorithm", "caption", "footnote", "reference", "other"]
"""What a paragraph is. ``title``: title, authors, affiliations, keywords. ``list``: an item of a list. ``caption``: a
caption that the caller did not exclude. ``other``: rows of an unmarked table, labels, formulas that stand alone."""

ABSTRACT_MAX_CHARS = 4000
"""An abstract that goes on for longer is the paper itself, whose first heading was not recognised."""
FRONT_PAGES = 2
"""Title block and abstract end on this page at the latest."""
FRONT_TEXT_CHARS = 250
"""Shortest block of the title page that is text and not names and addresses."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, whole.

    Attributes:
        text: Its text in one line, hyphenation undone.
        page: Page on which it begins, from 1.
        section: Heading that it stands under, as printed; None before the first heading.
        kind: See :data:`Kind`.
        lines: The document's lines it is made of, as (page, index), in reading order.
        bbox: Box of its first piece, up to the first column or page break, in points.
    """

    text: str
    page: int
    section: str | None
    kind: Kind
    lines: tuple[LineKey, ...]
    bbox: Rect

    @property
    def pages(self) -> tuple[int, ...]:
        """The pages that it touches, in order."""
        return tuple(dict.fromkeys(page for page, _ in self.lines))


def paragraphs(
    document: Document,
    excluded: Mapping[int, Collection[int]],
    regions: Mapping[int, Sequence[Rect]],
) -> list[Paragraph]:
    """The paragraphs of a paper in reading order.

    Args:
        document: The paper.
        excluded: Page number -> indices of the lines that are captions.
        regions: Page number -> boxes of figures and tables, in points; their inner lines are not body text.

    Returns:
        All paragraphs, headings and notes included. Empty for a paper without text.
    """
    rows, metrics = reading_rows(document, excluded, regions)
    words = vocabulary(row.text for row in rows)
    drafts = _Reader(rows, metrics, {page.number: _rules(page) for page in document.pages}).read()
    _name_front(drafts)
    return [_finished(draft, words) for draft in drafts]


# --- what a text is -------------------------------------------------------------------------------------------------

_NUMBERED = re.compile(
    r"^(?:(?:Appendix |Supplementary )?(?:\d{1,2}|[A-Z])(?:\.\d{1,2})*[.:]?|[IVX]{1,5}\.|Appendix:?) +\S"
)
_FIRST_NUMBERED = re.compile(r"^[1IA]\.? ")
_KNOWN = re.compile(
    r"^(?:\W*(?:\d{1,2}|[A-Z]|[IVX]+)\.? +)?"
    r"(?:abstract|(?P<introduction>introduction)|background|related works?|methods?|experiments?|results?|discussion|"
    r"(?P<references>references|bibliography|literature cited|works cited)|conclusions?|acknowledge?ments?|limitations|"
    r"ethics statement|ethical considerations|broader impacts?|appendix|appendices|supplementary materials?)[.:]?$",
    re.I,
)
_ABSTRACT_HEAD = re.compile(r"^a ?b ?s ?t ?r ?a ?c ?t\W*$", re.I)
_ABSTRACT_RUN_IN = re.compile(r"^abstract\b *(?:[—–.:-]|(?=[A-Z]))", re.I)
_APPENDIX = re.compile(r"^(?:appendi|supplement)", re.I)
_FRONT_MATTER = re.compile(
    r"^(?:key ?words|index terms|ccs concepts|acm reference format|categories and subject)\b", re.I
)
_CAPTION = re.compile(
    r"^(?:(?:extended data |supplementary )?(?:fig(?:ure|\.)?|table|tab\.|algorithm|listing)) ?"
    r"[A-Z]{0,2}\.?\d+(?:\.\d+)?(?:[.:|]| ?[—–](?= )|$)",
    re.I,
)
_ALGORITHM = re.compile(r"^algorithm \d+\b", re.I)
_BULLET = re.compile(r"^[•●▪■◦‣►✓○◆] ?(?=\S)")
_ITEM = re.compile(
    r"^(?:\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|(?:\d{1,2}|[A-Z])\.(?:\d\.?)*|\[\d{1,3}\]|[QRHC]\d[.:]"
    r"|[-–—*∗⋆·](?= [^\W\d_])) +\S"
)
_BRACKETED = re.compile(r"^\[\w{1,12}\] ")
_TERMINAL = re.compile(r"[.!?:;…][\"'”’)\]\s⁰¹²³⁴⁵⁶⁷⁸⁹∗*†‡]*$")
_ABBREVIATED = re.compile(
    r"\b(?:al|cf|e\.g|i\.e|vs|etc|resp|w\.r\.t|figs?|eqs?|secs?|tab|app|alg|no|refs?|dr|prof)\.$", re.I
)
_EQUATION_NUMBER = re.compile(r"\(\w{1,5}(?:\.\d+)?\)")
_MATH = re.compile(r"[=<>≤≥∈∑∏∫√∞∂∇∥→←↔∀∃∼≈≡∝⊂⊆∪∩λθσμµπαβγδϵεφϕψωΣΠΘΦΨΩ≜×]")
_NUMBERED_FORMULA = re.compile(r"[=<>≤≥∈→≈].*\s\([A-Z]?\.?\d{1,3}[a-z]?\)$")
_GREEK = re.compile("[\u0370-\u03ffµ]")


def _word_share(text: str) -> float:
    """Share of a text's characters that are letters of words; "lσl" is no word."""
    solid = sum(not c.isspace() for c in text)
    words = (w for w in re.findall(r"[^\W\d_]{2,}", text) if len(w) > 3 or not _GREEK.search(w))
    return sum(map(len, words)) / solid if solid else 0.0


def _is_formula(text: str) -> bool:
    """Whether a row reads as a formula or as a formula's number."""
    if _EQUATION_NUMBER.fullmatch(text):
        return True
    share = _word_share(text)
    return (share < 0.4 and bool(_MATH.search(text))) or (share < 0.75 and bool(_NUMBERED_FORMULA.search(text)))


def _in_capitals(text: str) -> bool:
    letters = [c for c in _NUMBERED_PREFIX.sub("", text) if c.isalpha()]
    return len(letters) >= 4 and all(c.isupper() for c in letters)


_NUMBERED_PREFIX = re.compile(r"^[\dA-ZIVX.]+ ")


def _ends_sentence(text: str) -> bool:
    return bool(_TERMINAL.search(text)) and not _ABBREVIATED.search(text)


def _starts_lower(text: str) -> bool:
    return next((c for c in text if c.isalnum()), "").islower()


# --- what a row is --------------------------------------------------------------------------------------------------


def _indent(row: Row) -> float:
    return row.bbox[0] - row.left


def _is_item(row: Row) -> bool:
    """Whether a row begins with the mark of a list item."""
    return bool(_BULLET.match(row.text) or _ITEM.match(row.text))


def _runs_in(row: Row) -> bool:
    """Whether a row begins with a bold head and goes on in the text's weight."""
    spans = [span for line in row.lines for span in line.spans if any(c.isalpha() for c in span.text)]
    return len(spans) > 1 and spans[0].bold and len(spans[0].text.strip()) > 2 and not spans[-1].bold


def _is_tabular(row: Row) -> bool:
    """Whether a row is set in cells; a formula's number at the right edge is no cell, nor is a heading's number."""
    lines = row.lines
    if re.fullmatch(r"\W*[\dA-Z][\d.A-Z]{0,6}", lines[0].text.strip()):
        lines = lines[1:]
    if lines and _EQUATION_NUMBER.fullmatch(lines[-1].text.strip()):
        lines = lines[:-1]
    gaps = [(b.bbox[0] - a.bbox[2]) / row.size for a, b in pairwise(lines)]
    stretched = abs(row.bbox[0] - row.left) < row.size and row.bbox[2] > row.right - row.size
    if stretched and max(gaps, default=0) < 3.5 and _word_share(row.text) > 0.75:
        return False  # a row of few words, pulled to the column's width
    return sum(gap > 1.8 for gap in gaps) >= 2 or any(gap > 3 for gap in gaps)


def _is_loose(row: Row, metrics: Metrics) -> bool:
    """Whether a row is a formula, tiny, or set in far from its column without filling it."""
    if _is_formula(row.text) or row.size < 0.75 * metrics.size or not any(c.isalnum() for c in row.text):
        return True
    lines = row.lines[:-1] if _EQUATION_NUMBER.fullmatch(row.lines[-1].text.strip()) else row.lines
    fills = max((line.bbox[2] for line in lines), default=row.left) > row.right - metrics.size
    return _indent(row) > 2.8 * metrics.size and not fills and not _is_item(row) and not row.narrowed


def _formula_rows(rows: Sequence[Row], metrics: Metrics) -> set[int]:
    """Rows of formulas set apart from the text: runs of rows that don't stand as text does, a formula among them."""
    found: set[int] = set()
    run: list[int] = []
    for k, row in enumerate([*rows, None]):
        loose = row is not None and _is_loose(row, metrics)
        if loose and (not run or rows[run[-1]].column == row.column):
            run.append(k)
            continue
        cells = sum(_is_tabular(rows[j]) and not _MATH.search(rows[j].text) and len(rows[j].text) > 3 for j in run)
        tiny = all(rows[j].size < 0.75 * metrics.size for j in run)
        if (tiny or any(_is_formula(rows[j].text) for j in run)) and cells <= max(2, 0.5 * len(run)):
            found.update(run)
        run = [k] if loose else []
    return found


def _footnote_rows(rows: Sequence[Row], metrics: Metrics, rules: Mapping[int, Sequence[Rect]]) -> set[int]:
    """Rows of small print at the foot of a column, from a raised mark or a short rule on."""
    found: set[int] = set()
    columns: dict[int, list[int]] = {}
    for k, row in enumerate(rows):
        columns.setdefault(row.column, []).append(k)
    for members in columns.values():
        last = next((i for i, k in enumerate(reversed(members)) if rows[k].size > metrics.size - 0.6), len(members))
        small = members[len(members) - last :]
        first = next((k for k in small if _has_mark(rows[k]) or _under_rule(rows[k], rules[rows[k].page])), None)
        if first is not None:
            found.update(k for k in small if k >= first)
    return found


def _has_mark(row: Row) -> bool:
    """Whether a row begins with the mark of a footnote."""
    spans = [span for line in row.lines[:2] for span in line.spans if span.text.strip()]
    if len(spans) < 2:
        return False
    mark = spans[0].text.strip()
    return len(mark) <= 3 and (is_raised(spans[0], spans[1]) or mark in "∗*†‡§¶")


def _rules(page: Page) -> list[Rect]:
    """The horizontal rules of a page, from top to bottom."""
    boxes = (drawing.bbox for drawing in page.drawings)
    return sorted((b for b in boxes if b[3] - b[1] < 2.5 and b[2] - b[0] > 20), key=lambda b: b[1])


def _under_rule(row: Row, rules: Sequence[Rect]) -> bool:
    """Whether the short rule that parts notes from text stands right above a row."""
    top = row.baseline - row.size
    return any(
        x1 - x0 < 0.62 * (row.right - row.left) and abs(x0 - row.left) < 4 and -2 < top - y1 < 1.2 * row.size
        for x0, _, x1, y1 in rules
    )


def _algorithm_rows(rows: Sequence[Row], rules: Mapping[int, Sequence[Rect]]) -> set[int]:
    """Rows of algorithm floats: from a rule above "Algorithm 1" to the last rule of its width before text goes on."""
    found: set[int] = set()
    for k, row in enumerate(rows):
        if k in found or not _ALGORITHM.match(row.text):
            continue
        top = next((b for b in rules[row.page] if _is_above(b, row)), None)
        if top is None:
            continue
        alike = [b for b in rules[row.page] if abs(b[0] - top[0]) < 3 and abs(b[2] - top[2]) < 3]
        below = [b[3] for b in alike if b[1] > row.baseline - 2]
        for number, (upper, lower) in enumerate(pairwise([row.baseline - 1, *below])):
            between = [
                j
                for j, r in enumerate(rows)
                if r.page == row.page
                and upper < r.baseline < lower + 2
                and top[0] - 5 < r.bbox[0] < r.bbox[2] < top[2] + 5
            ]
            filled = sum(rows[j].bbox[2] > top[2] - 1.5 * row.size for j in between)
            if number >= 2 and filled > 0.5 * len(between):
                break  # the rules further down are another float's
            found.update(between)
    return found


def _is_above(rule: Rect, row: Row) -> bool:
    """Whether a rule stands right above a row and is at least as wide."""
    wide = rule[0] < row.bbox[0] + 12 and rule[2] > row.bbox[2] - 12
    return wide and abs(rule[3] - row.baseline + row.size) < 8


def _is_justified(rows: Sequence[Row], metrics: Metrics) -> bool:
    """Whether most long rows end at the right edge of their column."""
    long = [row for row in rows if row.bbox[2] - row.bbox[0] > 0.7 * (row.right - row.left)]
    return 2 * sum(abs(row.bbox[2] - row.right) < 0.4 * metrics.size for row in long) > len(long)


def _paragraph_gap(rows: Sequence[Row], metrics: Metrics) -> float:
    """Least distance of two rows that parts paragraphs, in usual line distances.

    It lies between the usual distance and the one after rows that end a paragraph, nearer to the latter since tall
    symbols push rows apart too.
    """
    gaps = [
        (below.baseline - above.baseline) / metrics.leading
        for above, below in pairwise(rows)
        if above.column == below.column
        and max(abs(above.size - metrics.size), abs(below.size - metrics.size)) < 0.6
        and above.bbox[2] < above.right - 2 * above.size
        and _ends_sentence(above.text)
        and not _starts_lower(below.text)
    ]
    near = [gap for gap in gaps if 0.8 < gap < 2]
    return max(1.15, 1 + 0.65 * (statistics.median(near) - 1)) if near else 1.25


# --- rows to paragraphs ---------------------------------------------------------------------------------------------

Layer = Literal["text", "notes", "aside"]
"""Where a row stands: in the running text, in the footnotes, or in small print and cells between."""


@dataclass
class _Draft:
    """A paragraph in the making.

    Attributes:
        rows: All its rows.
        prose: Those that are not formulas.
    """

    kind: Kind
    section: str | None
    rows: list[Row] = field(default_factory=list)
    prose: list[Row] = field(default_factory=list)

    def add(self, row: Row, *, formula: bool = False) -> None:
        self.rows.append(row)
        if not formula:
            self.prose.append(row)

    @property
    def text(self) -> str:
        return join_all([row.text for row in self.rows], {})


@dataclass(frozen=True)
class _Break:
    """What is known about the place between a paragraph's last row of prose and the next row.

    Attributes:
        ended: The row above ends a sentence.
        lower: The row below begins with a lower-case letter.
        short: The row above leaves room that its paragraph would have used, had it gone on.
        room: That room, in ems.
        gap: Distance of the baselines, in usual line distances.
    """

    above: Row
    below: Row
    ended: bool
    lower: bool
    short: bool
    room: float
    gap: float


class _Reader:
    """Takes rows one after the other and puts them into paragraphs."""

    def __init__(self, rows: Sequence[Row], metrics: Metrics, rules: Mapping[int, Sequence[Rect]]):
        self.rows = rows
        self.metrics = metrics
        self.notes = _footnote_rows(rows, metrics, rules)
        self.algorithms = _algorithm_rows(rows, rules)
        self.formulas = _formula_rows(rows, metrics)
        self.justified = _is_justified(rows, metrics)
        self.paragraph_gap = _paragraph_gap(rows, metrics)
        self.drafts: list[_Draft] = []
        self.part: Literal["front", "abstract", "main", "references"] = "front"
        self.section: str | None = None
        self.open: dict[Layer, _Draft] = {}
        self.last: dict[Layer | Literal["heading"], int] = {}

    def read(self) -> list[_Draft]:
        for k, row in enumerate(self.rows):
            if self.part in ("front", "abstract") and row.page > FRONT_PAGES:
                self.part = "main"
            if k in self.notes:
                self._take(k, "notes", "footnote")
            elif k in self.algorithms:
                self._take(k, "aside", "algorithm")
            elif row.beside:
                self._take(k, "aside", "other")
            elif self._is_heading(k):
                self._take_heading(k)
            elif self.part != "front" and k in self.formulas:
                self._take_formula(k)
            elif _is_tabular(row) and self.part != "references":
                self._take(k, "aside", "title" if self.part == "front" else "other")
            else:
                self._take(k, "aside" if self._is_small_print(k) else "text")
        return self.drafts

    # the ways in which a row is taken

    def _take(self, k: int, layer: Layer, kind: Kind | None = None) -> None:
        """Add a row to its layer's open paragraph, or begin one: of the given kind, or of the kind that it shows."""
        row, draft = self.rows[k], self.open.get(layer)
        if draft is None or (kind is not None and draft.kind != kind) or self._begins(draft, k, layer):
            draft = _Draft(kind or self._kind_of(row), self.section)
            self.drafts.append(draft)
            self.open[layer] = draft
        draft.add(row)
        self.last[layer] = k

    def _take_formula(self, k: int) -> None:
        """Formulas belong to the paragraph that they interrupt."""
        row, draft = self.rows[k], self.open.get("text")
        if draft is not None:
            above = draft.rows[-1]
            near = above.column == row.column and self._gap(above, row) < 5
            if near or (above.column != row.column and not _ends_sentence(draft.prose[-1].text.rstrip(":"))):
                draft.add(row, formula=True)
                self.last["text"] = k
                return
        self._take(k, "aside", "other")

    def _take_heading(self, k: int) -> None:
        row = self.rows[k]
        if self.last.get("heading") == k - 1 and self._continues_heading(self.rows[k - 1], row):
            heading = self.drafts[-1]
        else:
            heading = _Draft("heading", None)
            self.drafts.append(heading)
        heading.add(row)
        heading.section = self.section = heading.text
        self.last["heading"] = k
        self.open = {}
        known = _KNOWN.match(self.section)
        if _ABSTRACT_HEAD.match(self.section):
            self.part = "abstract"
        else:
            self.part = "references" if known and known["references"] else "main"

    def _is_small_print(self, k: int) -> bool:
        """Whether a row is of a smaller font than the text, and not only a row of code within a paragraph."""
        row, draft = self.rows[k], self.open.get("text")
        if row.size > self.metrics.size - 0.6 or self.part != "main":
            return False
        if draft is None or self.last.get("text") != k - 1 or draft.rows[-1].column != row.column:
            return True
        place = self._break(draft, row)
        aligned = abs(row.bbox[0] - place.above.bbox[0]) < 0.6 * row.size
        return place.ended or place.short or not aligned or place.gap > 1.2

    def _kind_of(self, row: Row) -> Kind:
        if self.part == "front" and _ABSTRACT_RUN_IN.match(row.text):
            self.part = "abstract"
        elif self.part == "abstract" and len("".join(d.text for d in self.drafts if d.kind == "abstract")) > (
            ABSTRACT_MAX_CHARS
        ):
            self.part = "main"
        if self.part == "front" or (self.part == "abstract" and _FRONT_MATTER.match(row.text)):
            return "title"
        if self.part == "references":
            return "reference"
        if _CAPTION.match(row.text):
            return "caption"
        if self.part == "abstract":
            return "abstract"
        return "list" if _is_item(row) else "body"

    # where paragraphs begin

    def _gap(self, above: Row, row: Row) -> float:
        """Distance of two rows' baselines, in usual line distances at their size."""
        usual = self.metrics.leading * max(above.size, row.size, 1) / max(self.metrics.size, 1)
        return (row.baseline - above.baseline) / usual

    def _room(self, row: Row) -> float:
        """What a row leaves free before its column's right edge, in ems; at least 0."""
        # text keeps a distance from what stands beside it
        right = row.right - 1.5 * row.size if row.narrowed else row.right
        return max(right - row.bbox[2], 0.0) / row.size

    def _break(self, draft: _Draft, row: Row) -> _Break:
        above = (draft.prose or draft.rows)[-1]
        room = self._room(above)
        # justified text is filled to a point; in ragged text a quarter of the row may stay free
        filled = 0.25 if self.justified and not above.narrowed else 0.25 * (above.right - above.left) / above.size
        return _Break(
            above=above,
            below=row,
            ended=_ends_sentence(above.text),
            lower=_starts_lower(row.text),
            short=room > filled,
            room=room,
            gap=self._gap(above, row),
        )

    def _begins(self, draft: _Draft, k: int, layer: Layer) -> bool:
        """Whether row k begins a new paragraph instead of going on with the open one."""
        row = self.rows[k]
        place = self._break(draft, row)
        follows = self.last.get(layer) == k - 1
        if draft.rows[-1] is not place.above and follows:
            return self._begins_after_formula(draft, place)
        if row.column != draft.rows[-1].column or not follows:
            return self._begins_after_break(draft, place)
        if draft.kind == "reference" and _BRACKETED.match(row.text):
            return True
        if _has_mark(row) if layer == "notes" else _BULLET.match(row.text):
            return True
        parted = place.gap > self.paragraph_gap
        if (place.ended or parted) and (_CAPTION.match(row.text) or abs(row.size - place.above.size) > 0.6):
            return True
        if place.gap > 1.9:
            return place.ended or not place.lower
        if parted and (place.ended or (place.room > 1.2 and not place.lower)):
            return True
        if place.ended and _runs_in(row) and (place.short or place.gap > 1.1):
            return True
        if (
            place.ended
            and _ITEM.match(row.text)
            and (place.short or self._indented(draft, row) or draft.kind == "list")
        ):
            return True
        return self._begins_by_edge(draft, place)

    def _begins_after_formula(self, draft: _Draft, place: _Break) -> bool:
        """The same after a formula: a paragraph goes on, unless print says otherwise."""
        row = place.below
        if place.lower:
            return False
        if self._indented(draft, row) or _runs_in(row) or (_is_item(row) and draft.kind == "list"):
            return True
        # below a formula of one row the distance is even enough to show the skip between paragraphs
        one_row = len(draft.rows) > 1 and draft.rows[-2] is place.above
        return one_row and self.paragraph_gap > 1.2 and self._gap(draft.rows[-1], row) > 1.95

    def _begins_after_break(self, draft: _Draft, place: _Break) -> bool:
        """The same after a column's or page's end, or after something that stands between."""
        row = place.below
        if draft.kind == "reference":
            return place.ended and not place.lower
        if place.above.text.endswith(("-", "‐")):
            return False
        if place.lower:
            return place.ended and place.room > 1.2 and not place.above.text.endswith(":")
        if not place.ended:
            return place.room > 1.2 or bool(_BULLET.match(row.text))
        return place.short or _is_item(row) or _runs_in(row) or self._indented(draft, row)

    def _begins_by_edge(self, draft: _Draft, place: _Break) -> bool:
        """The same for a row at the usual distance: whether its left edge says so."""
        above, row = place.above, place.below
        shift = (row.bbox[0] - above.bbox[0]) / row.size
        first = len(draft.prose) == 1
        finished = place.ended and place.short
        if abs(shift) < 0.6:
            # two paragraphs of one row each, or a block that is set in
            return finished and not place.lower and (first or draft.kind == "reference")
        if row.narrowed != above.narrowed and abs(shift) > 4:
            return finished
        if shift > 0:
            hanging = first and not place.short and (not place.ended or draft.kind in ("list", "reference"))
            return not hanging and (place.ended or (place.short and not place.lower))
        if first:  # back from the indent of a first row
            return finished and (_is_item(above) or abs(shift) > 4)
        if draft.kind in ("list", "reference"):
            return place.ended or not place.lower
        return finished

    def _indented(self, draft: _Draft, row: Row) -> bool:
        """Whether a row is set in from its column as the first row of a paragraph is."""
        if row.narrowed and _indent(row) < 2.5 * row.size:
            return False  # it may only keep its distance
        if draft.kind == "list" and len(draft.prose) > 1:
            return False
        return 0.6 * row.size < _indent(row) < 4 * row.size

    # headings

    def _is_heading(self, k: int) -> bool:
        row = self.rows[k]
        text = row.text
        if not 2 < len(text) < 140 or row.size < self.metrics.size - 2.5 or _CAPTION.match(text) or _is_tabular(row):
            return False
        if _ABSTRACT_HEAD.match(text):
            return self.part == "front"
        style = _HeadingStyle(row, self.metrics)
        above = self.rows[k - 1] if k and self.rows[k - 1].column == row.column else None
        below = self.rows[k + 1] if k + 1 < len(self.rows) and self.rows[k + 1].column == row.column else None
        gap = self._gap(above, row) if above is not None else 9.0
        if above is not None and self.last.get("heading") == k - 1:
            return self._continues_heading(above, row) or (style.numbered and style.set_off)
        known = _KNOWN.match(text)
        if known and (style.heavy or gap > 1.2) and (below is None or self._gap(row, below) > 0.9):
            return self.part != "front" or row.page > 1 or not known["references"]
        if self.part == "front":
            return style.numbered and style.set_off and bool(_FIRST_NUMBERED.match(text))
        if text.endswith((",", ";")) or gap < 1.15:
            return False
        if style.numbered and (style.heavy or (style.set_off and gap > 1.3)):
            return not text.endswith(".") or style.bold or style.large
        return self._is_unnumbered_heading(row, style, gap, below)

    def _is_unnumbered_heading(self, row: Row, style: _HeadingStyle, gap: float, below: Row | None) -> bool:
        text = row.text
        title_like = not _starts_lower(text) and not text.endswith((".", ":")) and _word_share(text) >= 0.5
        if not style.heavy or not title_like or not re.search(r"[^\W\d_]{4}", text):
            return False  # the last: heads of a table's columns
        if self.part == "references":
            return (style.large and style.bold) or bool(_APPENDIX.match(text))
        if style.large:
            return True
        if below is not None and below.bold_share == 1.0 and self._gap(row, below) < 1.3:
            return False  # a bold paragraph
        return (style.bold and gap > 1.25 and self._room(row) > 0.5) or (style.capitals and gap > 1.4)

    def _continues_heading(self, above: Row, row: Row) -> bool:
        """Whether a row below a heading is its second row."""
        one, two = _HeadingStyle(above, self.metrics), _HeadingStyle(row, self.metrics)
        alike = abs(above.size - row.size) < 0.6 and one.mostly_bold == two.mostly_bold and one.capitals == two.capitals
        new = two.numbered or _BULLET.match(row.text)
        return above.column == row.column and alike and two.heavy and not new and self._gap(above, row) < 1.45


@dataclass(frozen=True)
class _HeadingStyle:
    """How a row would stand out as a heading."""

    row: Row
    metrics: Metrics

    @cached_property
    def numbered(self) -> bool:
        return bool(_NUMBERED.match(self.row.text)) and _word_share(self.row.text) > 0.4

    @cached_property
    def bold(self) -> bool:
        return self.row.bold_share == 1.0

    @cached_property
    def mostly_bold(self) -> bool:
        return self.row.bold_share > 0.8

    @cached_property
    def large(self) -> bool:
        return self.row.size > self.metrics.size + 0.8

    @cached_property
    def capitals(self) -> bool:
        return _in_capitals(self.row.text)

    @property
    def heavy(self) -> bool:
        return self.bold or self.large or self.capitals

    @property
    def set_off(self) -> bool:
        """Whether it differs from text at all; a symbol in a numbered heading may be upright or light."""
        return self.heavy or self.mostly_bold or self.row.italic_share > 0.8


def _name_front(drafts: Sequence[_Draft]) -> None:
    """Tell the abstract, or the text, from the title block where no heading "Abstract" does."""
    first = next((draft for draft in drafts if draft.kind == "heading"), None)
    if first is not None and _ABSTRACT_HEAD.match(first.text):
        return
    before_introduction = first is not None and bool(re.match(r"(?:[1I]\.? )?introduction", first.text, re.I))
    for draft in drafts:
        if draft is first:
            return
        if draft.kind == "title" and len(draft.text) > FRONT_TEXT_CHARS:
            draft.kind = "abstract" if before_introduction else "body"


def _finished(draft: _Draft, words: Mapping[str, int]) -> Paragraph:
    first = [row for row in draft.rows if row.column == draft.rows[0].column]
    text = join_all([row.text for row in draft.rows if row.text], words)
    # labels and numbers of an unmarked figure
    wordless = draft.kind == "body" and len(re.findall(r"[^\W\d_]{2,}", text)) < 2
    return Paragraph(
        text=text,
        page=draft.rows[0].page,
        section=draft.section,
        kind="other" if wordless else draft.kind,
        lines=tuple(key for row in draft.rows for key in row.keys),
        bbox=(
            min(row.bbox[0] for row in first),
            min(row.bbox[1] for row in first),
            max(row.bbox[2] for row in first),
            max(row.bbox[3] for row in first),
        ),
    )


# --- the title ------------------------------------------------------------------------------------------------------

_NO_TITLE = re.compile(
    r"^(?:untitled|microsoft word\b.*|.*\.(?:dvi|docx?|pdf|tex|indd|qxd|rtf)|paper ?\w{0,4}|arxiv:.*|title)$", re.I
)


def paper_title(document: Document) -> str | None:
    """The title of a paper: the largest text at the head of its first page, or what its metadata say.

    The metadata are believed where their words stand on the first page: they are free of line ends and small capitals.

    Args:
        document: The paper.

    Returns:
        The title in one line; None where neither source is clear.
    """
    if not document.pages:
        return None
    lines = [line for line in document.pages[0].lines if line.horizontal]
    meta = " ".join(clean_text(document.metadata_title or "").split())
    if " " in meta and not _NO_TITLE.match(meta):
        words = re.findall(r"\w+", meta.lower())
        there = set(re.findall(r"\w+", clean_text(" ".join(line.text for line in lines)).lower()))
        if words and sum(word in there for word in words) >= 0.8 * len(words):
            return meta
    return _largest_text(lines, document)


def _largest_text(lines: Sequence[Line], document: Document) -> str | None:
    """The rows of the largest type in the upper part of the first page; None where no type stands out."""
    head = [line for line in lines if line.bbox[1] < 0.6 * document.pages[0].height]
    # small capitals are set in two sizes; a line is as large as its capitals
    sizes = {line.index: max(span.size for span in line.spans if span.text.strip()) for line in head}
    body = body_metrics(document).size
    for size in sorted(set(sizes.values()), reverse=True):
        if size < body + 1:
            break
        rows = sorted((line for line in head if sizes[line.index] > 0.93 * size), key=lambda line: line.bbox[3])
        block = rows[:1]
        for line in rows[1:]:
            if line.bbox[3] - block[-1].bbox[3] < 2.2 * size:
                block.append(line)
        block.sort(key=lambda line: (round(line.bbox[3] / size), line.bbox[0]))
        title = re.sub(r"[\s∗*†‡¹²³]+$", "", join_all([clean_text(line_text(line)).strip() for line in block], {}))
        if len(title.split()) > 1:
            return " ".join(title.split())
    return None

"""What the pages of a paper share: its text size, its columns, its running heads, and the role of every line.

Captions and regions are found against this background. A line's role says what it can't be: body text is never part
of a figure, and a running head or a line number is part of nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from scifigqual_bench.pdf.document import Document, Drawing, Line, Page, Rect, turned_box
from scifigqual_bench.pdf.reading import body_metrics, line_numbers

Column = tuple[float, float]
"""Left and right edge of a text column, in points."""

EDGE = 3.0
"""Points by which the ends of justified lines differ within one column."""
GUTTER = 11.0
"""Points between two columns, at the least; the words of a line stand closer."""
WORD_GAP = 7.0
"""Points; lines further apart than this within a row are not one sentence, if the row does not fill its column."""
RULE = 2.5
"""Points; a path that is no thicker is a rule."""
MIN_COLUMN_FILL = 0.25
"""On some page the lines of a column must fill this share of the page's height."""
MIN_COLUMN_LINES = 3
"""In a paper whose columns are never that full, so many lines with the same ends make one."""
WRAPPED_ROWS = 3
"""So many rows that fill the rest of a column are text that flows around a float."""
RECURRING = 0.15
"""What stands at one place on this share of the pages is part of the paper's form, not of its content."""
PAGE_EDGE = 0.14
"""Running heads and feet stand within this share of the page's height from its top or bottom."""

_HEADING = re.compile(r"^(?:(?:\d{1,2}|[A-Z])(?:\.\d{1,2})*\.?|[IVX]+\.)\s+\S")
_EQUATION_NUMBER = re.compile(r"\s*\((?:[A-Z]\.?)?\d{1,3}[a-z]?\)\s*")
_SUBSECTION = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){1,3}\.?|[A-Z]\.)\s+\S")


class Role(IntEnum):
    """What a line of text is. OTHER is everything that may belong to a figure, a table or a caption."""

    OTHER = 0
    BODY = 1
    HEADING = 2
    FURNITURE = 3
    NOTE = 4


@dataclass(frozen=True)
class PageLayout:
    """One page as it is read, its lines also as arrays in the order of ``Page.lines``.

    Attributes:
        boxes: (n, 4) boxes in points.
        floors: (n,) lower edge of each line's longest span, which superscripts and tall symbols don't move.
        sizes: (n,) font size of most characters.
        level: (n,) whether the line runs from left to right.
        roles: (n,) :class:`Role`.
        columns: Text columns of this page, widest last.
        drawings: The page's paths without the ornaments that pages share, such as the rule under a running head, and
            without the rules over footnotes.
    """

    page: Page
    boxes: np.ndarray
    floors: np.ndarray
    sizes: np.ndarray
    level: np.ndarray
    roles: np.ndarray
    columns: tuple[Column, ...]
    drawings: tuple[Drawing, ...]

    def rules_between(self, left: float, right: float) -> list[Rect]:
        """The horizontal rules that run under (nearly) all of an interval, from top to bottom."""
        rules = [
            (x0, y0, x1, y1)
            for x0, y0, x1, y1 in (drawing.bbox for drawing in self.drawings)
            if y1 - y0 < RULE and x1 - x0 > 20 and min(x1, right) - max(x0, left) > 0.8 * (right - left)
        ]
        return sorted(rules, key=lambda rule: rule[1])

    def column_of(self, box: Rect) -> Column:
        """The narrowest column that holds a box, else the widest one stretched over it; the page if it has no text."""
        for left, right in self.columns:
            if left - 2 * EDGE <= box[0] and box[2] <= right + 2 * EDGE:
                return left, right
        edges = [edge for column in self.columns for edge in column] or [0.0, self.page.width]
        return min([box[0], *edges]), max([box[2], *edges])


@dataclass(frozen=True)
class Layout:
    """The layout of a paper.

    Attributes:
        body_size: Font size of the running text, in points; 0.0 for a paper without text.
        leading: Distance of its baselines, in points.
        pages: One layout a page.
    """

    body_size: float
    leading: float
    pages: tuple[PageLayout, ...]

    @property
    def text_area(self) -> tuple[float, float]:
        """Width of the paper's text and height of its fullest page, in points; the page's own where it has no text."""
        widths = [page.columns[-1][1] - page.columns[-1][0] for page in self.pages if page.columns]
        texts = [page.boxes[page.roles == Role.BODY] for page in self.pages]
        heights = [float(box[:, 3].max() - box[:, 1].min()) for box in texts if len(box)]
        if not widths or not heights:
            sizes = [(page.page.width, page.page.height) for page in self.pages]
            return max((w for w, _ in sizes), default=0.0), max((h for _, h in sizes), default=0.0)
        return max(widths), max(heights)


class _Text:
    """The lines of a page as arrays."""

    def __init__(self, page: Page):
        main = [max(line.spans, key=lambda span: len(span.text)) for line in page.lines]
        self.page = page
        self.lines = page.lines
        self.boxes = np.array([line.bbox for line in page.lines], dtype=float).reshape(-1, 4)
        self.floors = np.array([span.bbox[3] for span in main], dtype=float)
        self.sizes = np.array([line.size for line in page.lines], dtype=float)
        self.fonts = np.array([span.font for span in main], dtype=object)
        self.letters = np.array([len(line.text) for line in page.lines], dtype=int)
        self.level = np.array([line.horizontal for line in page.lines], dtype=bool)


def analyse(document: Document) -> Layout:
    """Find the paper's text size and columns, and the role of every line.

    Args:
        document: The paper.

    Returns:
        Its layout. A paper without text has no columns.
    """
    texts = [_Text(page) for page in document.pages]
    usual = _usual_turn(texts)
    columns = _columns([text for text in texts if text.page.turn == usual])
    furniture = _furniture(texts, columns, usual)
    ornaments = _ornaments(document.pages, usual)
    body_size, leading = body_metrics(document)
    body_font = _body_font(texts, body_size)
    pages = []
    for text, marked in zip(texts, furniture, strict=True):
        here = _page_columns(text, columns) if text.page.turn == usual else _columns([text])
        roles = np.where(marked, Role.FURNITURE, Role.OTHER)
        _mark_body(text, roles, here, body_size, body_font)
        _mark_headings(text, roles, here, body_size)
        over_notes = _mark_notes(text, roles, here, body_size)
        pages.append(
            PageLayout(
                page=text.page,
                boxes=text.boxes,
                floors=text.floors,
                sizes=text.sizes,
                level=text.level,
                roles=roles,
                columns=here,
                drawings=tuple(
                    path
                    for path in text.page.drawings
                    if path.bbox not in over_notes and _place(path.bbox, text.page, usual) not in ornaments
                ),
            )
        )
    return Layout(body_size, leading, tuple(pages))


def _usual_turn(pages: Sequence[_Text]) -> int:
    """How most of the paper was turned: on a single page that was turned otherwise, the running head was not."""
    weight: Counter[int] = Counter()
    for text in pages:
        weight[text.page.turn] += int(text.letters.sum())
    return max(weight, key=lambda turn: (weight[turn], -turn), default=0)


def _as_usual(box: Rect, page: Page, usual: int) -> Rect:
    """A box of a page, on that page turned as most of the paper is."""
    return turned_box(box, (usual - page.turn) % 4, page.width, page.height)


# --- type and columns -------------------------------------------------------------------------------------------------


def _body_font(pages: Sequence[_Text], body_size: float) -> str:
    """The font of most of the characters that are as large as the body."""
    weight: Counter[str] = Counter()
    for text in pages:
        for size, font, count in zip(text.sizes, text.fonts, text.letters, strict=True):
            if abs(size - body_size) < 0.5:
                weight[font] += int(count)
    return max(weight, key=lambda font: (weight[font], font), default="")


def _columns(pages: Sequence[_Text]) -> tuple[Column, ...]:
    """The text columns of pages, narrowest first.

    Intervals that the long lines of some page fill from end to end over much of its height; where there is none, as in
    text that is not justified, the strips to the right of the edges at which many lines begin; at last the intervals
    of a few lines.
    """
    candidates = [column for text in pages for column in _intervals(text, MIN_COLUMN_FILL)]
    candidates = candidates or [column for text in pages for column in _strips(text)]
    candidates = candidates or [column for text in pages for column in _intervals(text, 0.0)]
    found: list[Column] = []
    for left, right in candidates:
        if all(abs(left - a) + abs(right - b) > 3 * EDGE for a, b in found):
            found.append((left, right))
    return tuple(sorted(found, key=lambda column: column[1] - column[0]))


def _intervals(text: _Text, share: float) -> Iterator[Column]:
    """Ends that long lines have in common, over this share of the page's height."""
    long = text.boxes[text.level & (text.letters > 25)]
    for (low, high), _ in Counter(map(tuple, np.round(long[:, [0, 2]] / EDGE).astype(int))).most_common(8):
        near = (np.abs(long[:, 0] - low * EDGE) < EDGE) & (np.abs(long[:, 2] - high * EDGE) < EDGE)
        height = (long[near, 3] - long[near, 1]).sum()
        if near.sum() >= MIN_COLUMN_LINES and height >= share * text.page.height:
            yield float(np.median(long[near, 0])), float(np.median(long[near, 2]))


def _strips(text: _Text) -> Iterator[Column]:
    """Edges at which long lines begin over much of the page's height, with how far most of these lines reach."""
    long = text.boxes[text.level & (text.letters > 25)]
    for low, _ in Counter(np.round(long[:, 0] / EDGE).astype(int).tolist()).most_common(4):
        near = np.abs(long[:, 0] - low * EDGE) < EDGE
        if (long[near, 3] - long[near, 1]).sum() >= MIN_COLUMN_FILL * text.page.height:
            yield float(np.median(long[near, 0])), float(np.percentile(long[near, 2], 95))


def _page_columns(text: _Text, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The paper's columns that a page uses, and the span of all of them as the last and widest."""
    ends = text.boxes[text.level & (text.letters > 20)]
    used = [
        (left, right)
        for left, right in columns
        if ((np.abs(ends[:, 0] - left) < EDGE) & (np.abs(ends[:, 2] - right) < EDGE)).sum() >= 2
    ]
    # an indented list or a quotation is an interval within a column, not a column
    used = [c for c in used if not any(_nested(c, other) for other in used if other != c)] or list(columns)
    if not used:
        return ()
    whole = (min(left for left, _ in columns), max(right for _, right in columns))
    return tuple(used) if whole in used else (*used, whole)


def _nested(inner: Column, outer: Column) -> bool:
    inside = outer[0] - EDGE <= inner[0] and inner[1] <= outer[1] + EDGE
    return inside and inner[1] - inner[0] > 0.62 * (outer[1] - outer[0])


# --- what pages share -------------------------------------------------------------------------------------------------


def _furniture(pages: Sequence[_Text], columns: tuple[Column, ...], usual: int) -> list[np.ndarray]:
    """Running heads, page numbers and line numbers: what recurs at one place, and counting numbers in the margins."""
    often = max(2, round(RECURRING * len(pages)))
    keys = [_edge_lines(text, usual) for text in pages]
    seen = Counter(key for row in keys for key in row.values())
    left = min((a for a, _ in columns), default=0.0)
    right = max((b for _, b in columns), default=float("inf"))
    marks = []
    for text, row in zip(pages, keys, strict=True):
        marked = np.zeros(len(text.lines), dtype=bool)
        marked[[index for index, key in row.items() if seen[key] >= often]] = True
        for margin in (
            [line for line in text.lines if line.bbox[2] < left],
            [line for line in text.lines if line.bbox[0] > right],
        ):
            marked[list(line_numbers(margin))] = True
            marked[[line.index for line in margin if line.text.startswith("arXiv:")]] = True
        marks.append(marked)
    return marks


def _edge_lines(text: _Text, usual: int) -> dict[int, tuple[str, int, int]]:
    """The two topmost and two bottommost rows of a page: line index -> text without its digits, and place."""
    page = text.page
    height = page.height if (usual - page.turn) % 2 == 0 else page.width
    inner = (PAGE_EDGE * height, (1 - PAGE_EDGE) * height)
    boxes = [_as_usual(line.bbox, page, usual) for line in text.lines]
    along = [line.direction[0] if (usual - page.turn) % 2 == 0 else line.direction[1] for line in text.lines]
    rows = Counter(round(box[3] / 4) for box, cos in zip(boxes, along, strict=True) if abs(cos) > 0.99)
    heights = sorted(rows)
    # a row of more than two pieces is the head of a table, which pages may share as well
    outer = {y for y in heights[:2] + heights[-2:] if not inner[0] < 4 * y < inner[1] and rows[y] <= 2}
    found = {}
    for line, box in zip(text.lines, boxes, strict=True):
        height = round(box[3] / 4)
        if height in outer:
            middle = round((box[0] + box[2]) / 20)
            found[line.index] = (re.sub(r"\d+", "#", line.text.strip()), height, middle)
    return found


def _place(box: Rect, page: Page, usual: int) -> tuple[int, ...]:
    return tuple(round(v / 2) for v in _as_usual(box, page, usual))


def _ornaments(pages: Sequence[Page], usual: int) -> set[tuple[int, ...]]:
    """Places of the rules and boxes that pages share at their top or bottom: lines under running heads, logos."""
    often = max(2, round(RECURRING * len(pages)))
    seen: Counter[tuple[int, ...]] = Counter()
    for page in pages:
        if page.turn == usual:
            top, bottom = PAGE_EDGE * page.height, (1 - PAGE_EDGE) * page.height
            edge = [drawing.bbox for drawing in page.drawings if drawing.bbox[3] < top or drawing.bbox[1] > bottom]
            seen.update({_place(box, page, usual) for box in edge if box[2] - box[0] > 0.25 * page.width})
    return {place for place, count in seen.items() if count >= often}


# --- roles ------------------------------------------------------------------------------------------------------------


def rows_of(boxes: np.ndarray, members: np.ndarray) -> list[np.ndarray]:
    """Group lines into printed rows: lines whose heights overlap by more than half of the smaller one.

    Args:
        boxes: (n, 4) boxes.
        members: Indices of the lines to group.

    Returns:
        Index arrays from top to bottom, each from left to right.
    """
    order = members[np.argsort((boxes[members, 1] + boxes[members, 3]) / 2, kind="stable")]
    rows: list[list[int]] = []
    top = bottom = 0.0
    for index in order:
        y0, y1 = boxes[index, 1], boxes[index, 3]
        if rows and min(bottom, y1) - max(top, y0) > 0.5 * min(bottom - top, y1 - y0):
            rows[-1].append(int(index))
            # keep the band of the tallest line, so that a row of subscripts does not drift into the next row
            if y1 - y0 > bottom - top:
                top, bottom = y0, y1
        else:
            rows.append([int(index)])
            top, bottom = y0, y1
    return [np.array(sorted(row, key=lambda i: boxes[i, 0])) for row in rows]


def _mark_body(text: _Text, roles: np.ndarray, columns: tuple[Column, ...], body_size: float, body_font: str) -> None:
    """Mark the rows of running text, column by column.

    Sure are rows in the body's font that fill the column from edge to edge, and rows of the body's font and size that
    begin at its left edge. From these the mark spreads to the first and last rows of their paragraphs.
    """
    box, size = text.boxes, text.sizes
    own_font = text.fonts == body_font
    plain = own_font & (np.abs(size - body_size) < 0.4)
    for left, right in columns:
        inside = text.level & (roles == Role.OTHER) & (box[:, 0] > left - 2 * EDGE) & (box[:, 2] < right + 2 * EDGE)
        printed = rows_of(box, np.flatnonzero(inside))
        rows = [_piece(box, row, left, right) for row in printed]
        whole = [len(piece) == len(row) for piece, row in zip(rows, printed, strict=True)]
        width = right - left
        starts = [float(box[row, 0].min()) for row in rows]
        ends = [float(box[row, 2].max()) for row in rows]
        floors = [float(box[row, 3].max()) for row in rows]
        height = [float(size[row].max()) for row in rows]
        letters = [int(text.letters[row].max()) for row in rows]
        main = [row[np.argmax(box[row, 2] - box[row, 0])] for row in rows]
        near = _neighbours(starts, ends, floors, height)
        # a row of text has a neighbour that begins where it does, or a little further in, or has none that is near; a
        # row of a figure or a table may begin at the edge by chance
        begins = [abs(a - left) < EDGE for a in starts]
        paired = [any(begins[j] for j in near[k]) for k in range(len(rows))]
        fitting = [not near[k] or any(starts[j] < left + 2 * height[k] for j in near[k]) for k in range(len(rows))]
        body = [
            (begins[k] and paired[k] and abs(ends[k] - right) < EDGE and own_font[main[k]] and letters[k] > 2)
            or (abs(starts[k] - left) < EDGE / 2 and fitting[k] and plain[main[k]] and letters[k] > 15)
            for k in range(len(rows))
        ]
        # first and last rows, list items: rows of the same size at the usual distance from a body row
        for step in (1, -1):
            for k in range(len(rows))[::step]:
                for there in near[k] if body[k] else ():
                    if (there - k) * step < 0 or letters[there] <= 2 or abs(height[there] - height[k]) >= 0.6:
                        continue
                    indent = (0.25 if whole[there] else 0.02) * width
                    begins_well = left - EDGE < starts[there] < left + indent
                    body[there] |= begins_well and (step == 1 or ends[there] > right - EDGE)
        for row, is_body in zip(rows, body, strict=True):
            if is_body:
                roles[row] = Role.BODY
        for row in (
            *_beside_a_float(text, printed, plain, left, right),
            *_equations(text, printed, own_font, left, right),
        ):
            roles[row] = Role.BODY


def _beside_a_float(
    text: _Text, rows: Sequence[np.ndarray], plain: np.ndarray, left: float, right: float
) -> list[np.ndarray]:
    """Rows of text to the right of what it flows around: below each other, they begin alike and end at the edge."""
    box = text.boxes
    ends = [_end_piece(box, row) for row in rows]
    starts = np.array([box[row, 0].min() for row in ends])
    floors = np.array([box[row, 3].max() for row in ends])
    kept: list[list[int]] = []
    for k, row in enumerate(ends):
        main = row[np.argmax(box[row, 2] - box[row, 0])]
        if not plain[main] or starts[k] < left + 4 * EDGE or text.letters[row].sum() <= 15:
            continue
        above = kept[-1][-1] if kept else None
        if (
            above is not None
            and abs(starts[k] - starts[above]) < EDGE
            and floors[k] - floors[above] < 1.45 * text.sizes[main]
        ):
            kept[-1].append(k)
        else:
            kept.append([k])
    filled = [abs(box[row, 2].max() - right) < EDGE for row in ends]
    # the cells of a table may look like it, but for the cells to their left
    cells = [abs(box[row[0], 0] - left) < 2 * EDGE and plain[row[0]] for row in rows]
    return [
        ends[k]
        for run in kept
        if sum(filled[k] for k in run) >= WRAPPED_ROWS
        and sum(cells[k] for k in run) < 0.3 * len(run)
        and np.median([text.letters[ends[k]].sum() for k in run]) > 20
        for k in run
    ]


def _end_piece(box: np.ndarray, row: np.ndarray) -> np.ndarray:
    """A row without what stands apart from its end."""
    gaps = box[row[1:], 0] - np.maximum.accumulate(box[row, 2])[:-1]
    wide = np.flatnonzero(gaps > GUTTER)
    return row[wide[-1] + 1 :] if len(wide) else row


def _equations(
    text: _Text, rows: Sequence[np.ndarray], own_font: np.ndarray, left: float, right: float
) -> list[np.ndarray]:
    """Rows of numbered formulas: set in other type than the body, away from the left edge, the number at the right."""
    box = text.boxes
    return [
        row
        for row in rows
        if len(row) > 1
        and abs(box[row[-1], 2] - right) < EDGE
        and box[row[0], 0] > left + 4 * EDGE
        and box[row[-1], 0] - box[row[:-1], 2].max() > text.sizes[row[-1]]
        and _EQUATION_NUMBER.fullmatch(text.lines[row[-1]].text)
        and not own_font[row[:-1]].all()
    ]


def _neighbours(
    starts: Sequence[float], ends: Sequence[float], floors: Sequence[float], height: Sequence[float]
) -> list[list[int]]:
    """For every row the next one above and below it, where they are as near as the rows of a paragraph.

    What stands beside a row, as text beside a wrapped figure, lies between its neighbours in the order of the rows.
    """
    near = []
    for k in range(len(floors)):
        found = []
        for others in (range(k - 1, max(-1, k - 4), -1), range(k + 1, min(len(floors), k + 4))):
            below = [j for j in others if min(ends[j], ends[k]) > max(starts[j], starts[k])]
            if below and abs(floors[below[0]] - floors[k]) < 1.45 * height[k]:
                found.append(below[0])
        near.append(found)
    return near


def _piece(box: np.ndarray, row: np.ndarray, left: float, right: float) -> np.ndarray:
    """A row without what stands apart from its beginning, unless it runs from edge to edge of its column."""
    gaps = box[row[1:], 0] - np.maximum.accumulate(box[row, 2])[:-1]
    fills = abs(box[row, 0].min() - left) < EDGE and abs(box[row, 2].max() - right) < EDGE
    wide = np.flatnonzero(gaps > (GUTTER if fills else WORD_GAP))
    return row[: wide[0] + 1] if len(wide) else row


def _mark_headings(text: _Text, roles: np.ndarray, columns: tuple[Column, ...], body_size: float) -> None:
    """Mark the rows that begin at a column's left edge, numbered or large, and set apart from text by their type."""
    box, size = text.boxes, text.sizes
    for left, right in columns:
        inside = text.level & (roles == Role.OTHER) & (box[:, 0] > left - EDGE) & (box[:, 2] < right + EDGE)
        above: Line | None = None
        for row in rows_of(box, np.flatnonzero(inside)):
            # the number stands apart from the title; what stands further apart is not of the heading
            gaps = box[row[1:], 0] - box[row[:-1], 2]
            row = row[: int(np.argmax(np.append(gaps, np.inf) > 2 * size[row[0]])) + 1]
            first = text.lines[row[0]]
            words = " ".join(text.lines[i].text for i in row)
            large = size[row[0]] > body_size + 0.8 and (first.bold or size[row[0]] > body_size + 2)
            numbered = (first.bold and _HEADING.match(words)) or (first.italic and _SUBSECTION.match(words))
            begins = abs(box[row[0], 0] - left) < EDGE and (large or numbered)
            whole = all(text.lines[i].bold == first.bold for i in row)
            if begins or (above is not None and whole and _same_heading(above, first)):
                roles[row] = Role.HEADING
                above = first
            else:
                above = None


def _same_heading(above: Line, line: Line) -> bool:
    """Whether a line is the next row of a heading."""
    alike = abs(above.size - line.size) < 0.3 and (above.bold, above.italic) == (line.bold, line.italic)
    below = abs(line.bbox[0] - above.bbox[0]) < 4 * line.size and line.bbox[3] - above.bbox[3] < 1.4 * line.size
    return alike and below


def _mark_notes(text: _Text, roles: np.ndarray, columns: tuple[Column, ...], body_size: float) -> set[Rect]:
    """Mark the footnotes: what is smaller than the body, under a short rule, down to the foot of its column.

    Returns:
        The rules over them.
    """
    box, found = text.boxes, set()
    rules = [d.bbox for d in text.page.drawings if d.bbox[3] - d.bbox[1] < RULE and d.bbox[2] - d.bbox[0] > 4 * RULE]
    for left, right in columns:
        short = [
            rule
            for rule in rules
            if abs(rule[0] - left) < EDGE and rule[2] < left + 0.6 * (right - left) and rule[1] > 0.4 * text.page.height
        ]
        for rule in short:
            inside = (box[:, 0] > left - 2 * EDGE) & (box[:, 2] < right + 2 * EDGE) & (roles != Role.FURNITURE)
            below = inside & text.level & (box[:, 3] > rule[3] + 0.5 * body_size)
            others = [r for r in rules if r[1] > rule[3] + RULE and r[0] < right and r[2] > left]
            if below.any() and not others and (text.sizes[below] < body_size - 0.4).all():
                roles[below] = Role.NOTE
                found.add(rule)
    return found

"""What the pages of a paper share: its text size, its columns, its running heads, and the role of every line.

Captions and regions are found against this background. A line's role says what it can't be: body text is never part
of a figure, and a running head or a line number is part of nothing.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from scifigqual_bench.pdf.document import Document, Drawing, Line, Page, Rect, Span

Column = tuple[float, float]
"""Left and right edge of a text column, in points."""

EDGE = 3.0
"""Points by which the ends of justified lines differ within one column."""
MIN_COLUMN_FILL = 0.25
"""On some page the lines of a column must fill this share of the page's height."""
GUTTER = 11.0
"""Points between two columns, at the least; the words of a line stand closer."""
WORD_GAP = 7.0
"""Points; lines further apart than this within a row are not one sentence, if the row does not fill its column."""
RULE = 2.5
"""Points; a path that is no thicker is a rule."""
_HEADING_NUMBER = re.compile(r"^(?:(?:\d{1,2}|[A-Z])(?:\.\d{1,2})*\.?|[IVX]+\.)\s+\S")

_SUBSECTION = re.compile(r"^\d{1,2}(?:\.\d{1,2}){1,3}\.?\s+\S")


class Role(IntEnum):
    """What a line of text is. OTHER is everything that may belong to a figure, a table or a caption."""

    OTHER = 0
    BODY = 1
    HEADING = 2
    FURNITURE = 3


@dataclass(frozen=True)
class PageLayout:
    """One page's lines as arrays, in the order of ``Page.lines``.

    Attributes:
        boxes: (n, 4) boxes in points.
        floors: (n,) lower edge of each line's longest span, which superscripts and tall symbols don't move.
        sizes: (n,) font size of most characters.
        roles: (n,) :class:`Role`.
        columns: Text columns seen on this page, widest last.
        drawings: The page's paths without the ornaments that pages share, such as the rule under a running head.
    """

    page: Page
    boxes: np.ndarray
    floors: np.ndarray
    sizes: np.ndarray
    roles: np.ndarray
    columns: tuple[Column, ...]
    drawings: tuple[Drawing, ...]

    def rules_between(self, left: float, right: float) -> list[float]:
        """Heights of the horizontal rules that run under (nearly) all of an interval."""
        return [
            (y0 + y1) / 2
            for x0, y0, x1, y1 in (drawing.bbox for drawing in self.drawings)
            if y1 - y0 < RULE and x1 - x0 > 20 and min(x1, right) - max(x0, left) > 0.8 * (right - left)
        ]

    def column_of(self, box: Rect) -> Column:
        """The narrowest column that holds a box, else the widest one stretched over it."""
        for left, right in self.columns:
            if left - 2 * EDGE <= box[0] and box[2] <= right + 2 * EDGE:
                return left, right
        edges = [edge for column in self.columns for edge in column]
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


def analyse(document: Document) -> Layout:
    """Find the paper's text size and columns, and the role of every line.

    Args:
        document: The paper.

    Returns:
        Its layout. A paper without text has no columns, and all its lines (none) are OTHER.
    """
    boxes = [np.array([line.bbox for line in page.lines], dtype=float).reshape(-1, 4) for page in document.pages]
    sizes = [np.array([line.size for line in page.lines], dtype=float) for page in document.pages]
    flat = [np.array([line.horizontal for line in page.lines], dtype=bool) for page in document.pages]
    fonts = [np.array([_main_span(line).font for line in page.lines], dtype=object) for page in document.pages]
    letters = [np.array([len(line.text) for line in page.lines], dtype=int) for page in document.pages]
    body_size, body_font = _body_type(sizes, fonts, letters, flat)
    leading = _leading(boxes, sizes, flat, body_size)
    columns = _columns(document.pages, boxes, letters, flat)
    furniture = _furniture(document, columns)
    ornaments = _ornaments(document.pages)
    pages = []
    for k, page in enumerate(document.pages):
        roles = np.where(furniture[k], Role.FURNITURE, Role.OTHER)
        here = _page_columns(boxes[k], flat[k] & (letters[k] > 20), columns)
        plain = (fonts[k] == body_font) & (np.abs(sizes[k] - body_size) < 0.4)
        _mark_body(page.lines, boxes[k], sizes[k], flat[k] & ~furniture[k], fonts[k] == body_font, plain, roles, here)
        _mark_headings(page.lines, boxes[k], sizes[k], flat[k], roles, here, body_size)
        paths = tuple(drawing for drawing in page.drawings if _place(drawing.bbox) not in ornaments)
        pages.append(PageLayout(page, boxes[k], _floors(page), sizes[k], roles, here, paths))
    return Layout(body_size, leading, tuple(pages))


def _main_span(line: Line) -> Span:
    return max(line.spans, key=lambda span: len(span.text))


def _floors(page: Page) -> np.ndarray:
    return np.array([_main_span(line).bbox[3] for line in page.lines], dtype=float)


def _body_type(
    sizes: list[np.ndarray], fonts: list[np.ndarray], letters: list[np.ndarray], flat: list[np.ndarray]
) -> tuple[float, str]:
    """Size and font of most of the paper's characters."""
    weight: Counter[tuple[float, str]] = Counter()
    for size, font, count, level in zip(sizes, fonts, letters, flat, strict=True):
        for value, name, number in zip(size[level], font[level], count[level], strict=True):
            weight[round(float(value) * 2) / 2, name] += int(number)
    return max(weight, key=lambda kind: (weight[kind], kind)) if weight else (0.0, "")


def _leading(boxes: list[np.ndarray], sizes: list[np.ndarray], flat: list[np.ndarray], body_size: float) -> float:
    steps: Counter[float] = Counter()
    for box, size, level in zip(boxes, sizes, flat, strict=True):
        chosen = box[level & (np.abs(size - body_size) < 0.6)]
        below = chosen[1:, 3] - chosen[:-1, 3]
        same = np.abs(chosen[1:, 0] - chosen[:-1, 0]) < EDGE
        for step in below[same & (below > 0.9 * body_size) & (below < 2 * body_size)]:
            steps[round(float(step) * 2) / 2] += 1
    return max(steps, key=lambda step: (steps[step], -step)) if steps else 1.2 * body_size


def _columns(
    pages: list[Page], boxes: list[np.ndarray], letters: list[np.ndarray], flat: list[np.ndarray]
) -> tuple[Column, ...]:
    """Intervals that the long lines of some page fill from end to end over much of its height, narrowest first."""
    found: list[Column] = []
    loose: list[tuple[int, Column]] = []
    for page, box, count, level in zip(pages, boxes, letters, flat, strict=True):
        long = box[level & (count > 25)]
        for (low, high), _ in Counter(map(tuple, np.round(long[:, [0, 2]] / EDGE).astype(int))).most_common(8):
            near = (np.abs(long[:, 0] - low * EDGE) < EDGE) & (np.abs(long[:, 2] - high * EDGE) < EDGE)
            column = (float(np.median(long[near, 0])), float(np.median(long[near, 2])))
            loose.append((int(near.sum()), column))
            if (long[near, 3] - long[near, 1]).sum() >= MIN_COLUMN_FILL * page.height and _is_new(column, found):
                found.append(column)
    if not found and loose:
        found = [max(loose)[1]]
    return tuple(sorted(found, key=lambda column: column[1] - column[0]))


def _is_new(column: Column, known: list[Column]) -> bool:
    return all(abs(column[0] - a) + abs(column[1] - b) > 3 * EDGE for a, b in known)


def _page_columns(box: np.ndarray, wide: np.ndarray, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The paper's columns that this page uses, and their common span as the last and widest."""
    ends = box[wide]
    used = []
    for left, right in columns:
        lines = (np.abs(ends[:, 0] - left) < EDGE) & (np.abs(ends[:, 2] - right) < EDGE)
        if lines.sum() >= 2:
            used.append((left, right))
    # an indented list or a quotation is an interval within a column, not a column
    used = [c for c in used if not any(_nested(c, other) for other in used if other != c)] or list(columns)
    if not used:
        return ()
    whole = (min(left for left, _ in columns), max(right for _, right in columns))
    return tuple(used) if whole in used else (*used, whole)


def _nested(inner: Column, outer: Column) -> bool:
    width = inner[1] - inner[0]
    inside = outer[0] - EDGE <= inner[0] and inner[1] <= outer[1] + EDGE
    return inside and 0.62 * (outer[1] - outer[0]) < width


def _furniture(document: Document, columns: tuple[Column, ...]) -> list[np.ndarray]:
    """Running heads, page numbers and line numbers: what recurs at one place, and bare numbers in the margins."""
    often = max(2, round(0.15 * len(document.pages)))
    keys = [_edge_lines(page) for page in document.pages]
    seen = Counter(key for row in keys for key in row.values())
    left = min((a for a, _ in columns), default=0.0)
    right = max((b for _, b in columns), default=float("inf"))
    marks = []
    for page, row in zip(document.pages, keys, strict=True):
        marked = np.zeros(len(page.lines), dtype=bool)
        marked[[index for index, key in row.items() if seen[key] >= often]] = True
        outside = [line for line in page.lines if line.bbox[2] < left or line.bbox[0] > right]
        marked[_line_numbers(outside, left, right)] = True
        marked[[line.index for line in outside if line.text.startswith("arXiv:")]] = True
        marks.append(marked)
    return marks


def _line_numbers(outside: list[Line], left: float, right: float) -> list[int]:
    """Indices of the numbers that count the rows of a review version: in a margin, one below the other, by 1 or 5."""
    numbers = [line for line in outside if re.fullmatch(r"\d{1,4}", line.text.strip())]
    found = []
    for margin in ([n for n in numbers if n.bbox[2] < left], [n for n in numbers if n.bbox[0] > right]):
        margin.sort(key=lambda line: line.bbox[3])
        steps = [int(b.text) - int(a.text) for a, b in itertools.pairwise(margin)]
        if len(margin) >= 5 and max(steps.count(1), steps.count(5)) >= 0.8 * len(steps):
            found += [line.index for line in margin]
    return found


def _edge_lines(page: Page) -> dict[int, tuple[str, int, int]]:
    """The two topmost and two bottommost rows of a page: line index -> text without its digits, and place."""
    inner = (0.14 * page.height, 0.86 * page.height)
    heights = sorted({round(line.bbox[3] / 4) for line in page.lines if line.horizontal})
    outer = {height for height in heights[:2] + heights[-2:] if not inner[0] < 4 * height < inner[1]}
    found = {}
    for line in page.lines:
        height = round(line.bbox[3] / 4)
        if height in outer:
            middle = round((line.bbox[0] + line.bbox[2]) / 20)
            found[line.index] = (re.sub(r"\d+", "#", line.text.strip()), height, middle)
    return found


def _place(box: Rect) -> tuple[int, ...]:
    return tuple(round(v / 2) for v in box)


def _ornaments(pages: list[Page]) -> set[tuple[int, ...]]:
    """Places of the rules and boxes that pages share at their top or bottom: lines under running heads, logos."""
    often = max(2, round(0.15 * len(pages)))
    seen: Counter[tuple[int, ...]] = Counter()
    for page in pages:
        edge = [d.bbox for d in page.drawings if d.bbox[3] < 0.14 * page.height or d.bbox[1] > 0.86 * page.height]
        seen.update({_place(box) for box in edge if box[2] - box[0] > 0.25 * page.width})
    return {place for place, count in seen.items() if count >= often}


def _mark_body(
    lines: list[Line],
    box: np.ndarray,
    size: np.ndarray,
    usable: np.ndarray,
    own_font: np.ndarray,
    plain: np.ndarray,
    roles: np.ndarray,
    columns: tuple[Column, ...],
) -> None:
    """Rows of running text, column by column.

    Sure are rows in the body's font that fill the column from edge to edge, and rows of the body's font and size that
    begin at its left edge; runs of rows that keep to one edge of the column and end together are text beside a
    wrapped figure. From these the marks spread to the first and last rows of their paragraphs.
    """
    for left, right in columns:
        inside = usable & (box[:, 0] > left - 2 * EDGE) & (box[:, 2] < right + 2 * EDGE) & (roles == Role.OTHER)
        printed = rows_of(box, np.flatnonzero(inside))
        rows = [_piece(box, row, left, right) for row in printed]
        whole = [len(piece) == len(row) for piece, row in zip(rows, printed, strict=True)]
        width = right - left
        starts = [float(box[row, 0].min()) for row in rows]
        ends = [float(box[row, 2].max()) for row in rows]
        floors = [float(box[row, 3].max()) for row in rows]
        height = [float(size[row].max()) for row in rows]
        text = [max(len(lines[i].text) for i in row) for row in rows]
        main = [row[np.argmax(box[row, 2] - box[row, 0])] for row in rows]
        body = [
            (abs(a - left) < EDGE and abs(b - right) < EDGE and own_font[m] and t > 2)
            or (abs(a - left) < EDGE / 2 and plain[m] and t > 15)
            for a, b, m, t in zip(starts, ends, main, text, strict=True)
        ]
        # first and last rows, list items: rows of the same size at the usual distance from a body row
        for step in (1, -1):
            for k in range(len(rows))[::step]:
                near = k + step
                if not body[k] or not 0 <= near < len(rows) or body[near] or text[near] <= 2:
                    continue
                alike = abs(height[near] - height[k]) < 0.6 and abs(floors[near] - floors[k]) < 1.45 * height[k]
                begins = left - EDGE < starts[near] < left + (0.25 if whole[near] else 0.02) * width
                if alike and begins and (step == 1 or ends[near] > right - EDGE):
                    body[near] = True
        for row, is_body in zip(rows, body, strict=True):
            if is_body:
                roles[row] = Role.BODY


def _piece(box: np.ndarray, row: np.ndarray, left: float, right: float) -> np.ndarray:
    """A row without what stands apart from its beginning, unless it runs from edge to edge of its column."""
    gaps = box[row[1:], 0] - np.maximum.accumulate(box[row, 2])[:-1]
    fills = abs(box[row, 0].min() - left) < EDGE and abs(box[row, 2].max() - right) < EDGE
    wide = np.flatnonzero(gaps > (GUTTER if fills else WORD_GAP))
    return row[: wide[0] + 1] if len(wide) else row


def rows_of(box: np.ndarray, members: np.ndarray) -> list[np.ndarray]:
    """Group lines into printed rows: lines whose heights overlap by more than half of the smaller one.

    Args:
        box: (n, 4) boxes.
        members: Indices of the lines to group.

    Returns:
        Index arrays from top to bottom, each from left to right.
    """
    if len(members) == 0:
        return []
    order = members[np.argsort((box[members, 1] + box[members, 3]) / 2, kind="stable")]
    rows: list[list[int]] = []
    top = bottom = 0.0
    for index in order:
        y0, y1 = box[index, 1], box[index, 3]
        if rows and min(bottom, y1) - max(top, y0) > 0.5 * min(bottom - top, y1 - y0):
            rows[-1].append(int(index))
            # keep the band of the tallest line, so that a row of subscripts does not drift into the next row
            if y1 - y0 > bottom - top:
                top, bottom = y0, y1
        else:
            rows.append([int(index)])
            top, bottom = y0, y1
    return [np.array(sorted(row, key=lambda i: box[i, 0])) for row in rows]


def _mark_headings(
    lines: list[Line],
    box: np.ndarray,
    size: np.ndarray,
    level: np.ndarray,
    roles: np.ndarray,
    columns: tuple[Column, ...],
    body_size: float,
) -> None:
    """Rows that begin at a column's left edge, numbered or large, and set apart from text by their type."""
    for left, right in columns:
        inside = level & (roles == Role.OTHER) & (box[:, 0] > left - EDGE) & (box[:, 2] < right + EDGE)
        above = None
        for row in rows_of(box, np.flatnonzero(inside)):
            # the number stands apart from the title; what stands further apart is not of the heading
            gaps = box[row[1:], 0] - box[row[:-1], 2]
            row = row[: int(np.argmax(np.append(gaps, np.inf) > 2 * size[row[0]])) + 1]
            first = lines[row[0]]
            large = size[row[0]] > body_size + 0.8
            words = " ".join(lines[i].text for i in row)
            numbered = (first.bold and _HEADING_NUMBER.match(words)) or (first.italic and _SUBSECTION.match(words))
            goes_on = above is not None and _same_heading(lines[above[0]], first)
            if (abs(box[row[0], 0] - left) < EDGE and (large or numbered)) or goes_on:
                roles[row] = Role.HEADING
                above = row
            else:
                above = None


def _same_heading(above: Line, line: Line) -> bool:
    """Whether a line is the next row of a heading."""
    alike = abs(above.size - line.size) < 0.3 and (above.bold, above.italic) == (line.bold, line.italic)
    return alike and line.bbox[3] - above.bbox[3] < 1.4 * line.size

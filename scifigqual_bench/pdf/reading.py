"""Reading order: a paper's pages -> its printed rows, as a person reads them, without the furniture of the page.

A row is a printed line of one column: the fragments that share a baseline. Running heads, page numbers, footers of
proceedings, side stamps and the line numbers of review versions are set aside; captions and the insides of figures
and tables are left out as the caller says. On a page of two columns, rows across both divide it into bands, and a band
is read column by column; a float that was left out divides nothing, so text flows around it.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import NamedTuple

from scifigqual_bench.pdf.document import Document, Line, Page, Rect, Span
from scifigqual_bench.pdf.words import clean_text

LineKey = tuple[int, int]
"""Page number from 1, index of the line on that page."""


class Metrics(NamedTuple):
    """What a paper's running text measures, in points."""

    size: float
    leading: float


@dataclass(frozen=True)
class Row:
    """A printed line of one column.

    Attributes:
        lines: The PDF's fragments of it, from left to right.
        text: Their text, raised digits as Unicode superscripts (see :func:`line_text`).
        baseline: y of its lower edge, measured at its main font, so that tall symbols don't move it.
        size: Font size of most of its characters.
        column: Counts the stretches of a column through the paper; rows of one stretch follow each other downwards.
        left: Where its column begins, at this height: after a figure that stands beside it.
        right: Where its column ends, at this height.
        narrowed: Whether something left out stands beside it in the column.
        beside: Whether it stands beside the column's text itself, as the cells of a table that text is wrapped around.
    """

    page: int
    lines: tuple[Line, ...]
    text: str
    bbox: Rect
    baseline: float
    size: float
    column: int
    left: float
    right: float
    narrowed: bool = False
    beside: bool = False

    @property
    def keys(self) -> tuple[LineKey, ...]:
        """The lines it is made of, as (page, index)."""
        return tuple((self.page, line.index) for line in self.lines)

    @property
    def bold_share(self) -> float:
        """Share of its letters and digits that are bold, 0..1."""
        return self._share("bold")

    @property
    def italic_share(self) -> float:
        """Share of its letters and digits that are italic, 0..1."""
        return self._share("italic")

    def _share(self, style: str) -> float:
        spans = [(getattr(span, style), _solid(span.text)) for line in self.lines for span in line.spans]
        total = sum(count for _, count in spans)
        return sum(count for styled, count in spans if styled) / total if total else 0.0


def _solid(text: str) -> int:
    return sum(c.isalnum() for c in text)


# --- lines -----------------------------------------------------------------------------------------------------------

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def line_text(line: Line) -> str:
    """A line's text, its raised digits as Unicode superscripts: a footnote mark after a number stays apart from it.

    "Figure 1" with the footnote mark 2 reads "Figure 1²", never "Figure 12".
    """
    return "".join(span.text.translate(_RAISED) if is_raised(span, line.main) else span.text for span in line.spans)


def is_raised(span: Span, main: Span) -> bool:
    """Whether a span stands above the baseline of a larger one."""
    return span.size < 0.87 * main.size and span.bbox[3] < main.bbox[3] - 0.1 * main.size


def _base(line: Line) -> float:
    """Lower edge of a line's main span."""
    return line.main.bbox[3]


def begins_with_mark(line: Line) -> bool:
    """Whether a line begins with the raised mark of a footnote."""
    spans = [span for span in line.spans if span.text.strip()]
    return len(spans) > 1 and len(spans[0].text.strip()) <= 3 and is_raised(spans[0], spans[1])


# --- the page's furniture -------------------------------------------------------------------------------------------


def body_metrics(document: Document) -> Metrics:
    """Font size and line distance of most of a paper's text; (0, 0) for a paper without text."""
    weight: Counter[float] = Counter()
    for page in document.pages:
        for line in page.lines:
            if line.horizontal:
                weight[round(line.size * 2) / 2] += sum(c.isalpha() for c in line.text)
    if not weight or not max(weight.values()):
        return Metrics(0.0, 0.0)
    size = max(weight, key=lambda s: (weight[s], s))
    steps: Counter[float] = Counter()
    for page in document.pages:
        chosen = [
            line for line in page.lines if line.horizontal and abs(line.size - size) < 0.6 and len(line.text) > 25
        ]
        for above, below in pairwise(chosen):
            step = _base(below) - _base(above)
            if 0.9 * size < step < 2.2 * size and abs(above.bbox[0] - below.bbox[0]) < size:
                steps[round(step * 2) / 2] += 1
    return Metrics(size, max(steps, key=lambda s: (steps[s], -s)) if steps else 1.2 * size)


def furniture(document: Document, metrics: Metrics, skip: Collection[LineKey] = ()) -> set[LineKey]:
    """Lines that belong to the page and not to the text.

    Running heads, footers and page numbers recur at one height, apart from the text; what stands outside the box that
    the running text fills is a footer of the proceedings, a margin note or a line number; columns of rising numbers
    are line numbers wherever they stand; text that does not run from left to right is a stamp or an axis.

    Args:
        document: The paper.
        metrics: Its :func:`body_metrics`.
        skip: Lines that are already left out.

    Returns:
        The lines, as (page, index).
    """
    found: set[LineKey] = set()
    live: dict[int, list[Line]] = {}
    for page in document.pages:
        lines = [line for line in page.lines if (page.number, line.index) not in skip]
        numbers = line_numbers(lines)
        found |= {(page.number, line.index) for line in lines if not line.horizontal or line.index in numbers}
        live[page.number] = [line for line in lines if line.horizontal and line.index not in numbers]
    for _ in range(3):  # a footer may stand below a page number
        gone = _recurring(document.pages, live, metrics)
        if not gone:
            break
        found |= gone
        live = {n: [line for line in lines if (n, line.index) not in gone] for n, lines in live.items()}
    box = _text_box(live, metrics)
    for page in document.pages:
        note = float("-inf")  # lower edge of the footnote above
        for line in sorted(live[page.number], key=_base):
            if box and (begins_with_mark(line) or _base(line) - note < 1.3 * metrics.leading):
                note = _base(line) if _base(line) > box[3] else note
            elif (box and _outside(line, box, metrics)) or _is_page_number(line, page):
                found.add((page.number, line.index))
    return found


def line_numbers(lines: Sequence[Line]) -> set[int]:
    """Indices of bare numbers that stand above each other and count upwards, at least five of them."""
    strips: defaultdict[int, list[Line]] = defaultdict(list)
    for line in lines:
        if re.fullmatch(r"\d{1,4}", line.text.strip()):
            strips[round(line.bbox[2] / 3)].append(line)
    found: set[int] = set()
    for strip in list(strips):
        column = sorted(strips[strip] + strips.get(strip + 1, []), key=lambda line: line.bbox[3])
        values = [int(line.text) for line in column]
        steps = Counter(b - a for a, b in pairwise(values))
        step, count = steps.most_common(1)[0] if steps else (0, 0)
        if len(column) >= 5 and step in (1, 5) and count >= 0.8 * (len(column) - 1):
            found |= {line.index for line in column}
    return found


def _recurring(pages: Sequence[Page], live: Mapping[int, list[Line]], metrics: Metrics) -> set[LineKey]:
    """The first or the last row of a page, where it stands at one height on many pages and apart from the text."""
    found: set[LineKey] = set()
    for sign in (1, -1):
        slots: Counter[int] = Counter()
        apart: Counter[int] = Counter()
        edges: dict[int, tuple[int, list[Line]]] = {}
        for page in pages:
            lines = sorted(live[page.number], key=lambda line: sign * line.bbox[3])
            if not lines:
                continue
            edge = lines[0].bbox[3]
            row = [line for line in lines if abs(line.bbox[3] - edge) < 3]
            rest = [line for line in lines if abs(line.bbox[3] - edge) >= 3]
            in_margin = edge < 0.13 * page.height if sign == 1 else edge > 0.87 * page.height
            if not in_margin:
                continue
            slot = round(edge / 3)
            edges[page.number] = slot, row
            slots[slot] += 1
            if not rest or abs(rest[0].bbox[3] - edge) > 1.6 * metrics.leading:
                apart[slot] += 1
        for number, (slot, row) in edges.items():
            near = (slot - 1, slot, slot + 1)
            count, alone = sum(slots[s] for s in near), sum(apart[s] for s in near)
            if count >= 2 and count >= 0.25 * len(pages) and alone >= 0.5 * count:
                found |= {(number, line.index) for line in row}
    return found


def _text_box(live: Mapping[int, list[Line]], metrics: Metrics) -> Rect | None:
    """The box that the running text of all pages fills; None for a paper with too little text to tell."""
    long = [
        line
        for lines in live.values()
        for line in lines
        if abs(line.size - metrics.size) < 0.6 and sum(c.isalpha() for c in line.text) >= 30
    ]
    if len(long) < 20:
        return None
    lefts = sorted(line.bbox[0] for line in long)
    rights = sorted(line.bbox[2] for line in long)
    few = len(long) // 50
    bases = [_base(line) for line in long]
    return lefts[few], min(bases) - metrics.size, rights[-1 - few], max(bases)


def _outside(line: Line, box: Rect, metrics: Metrics) -> bool:
    base = _base(line)
    centre = (line.bbox[0] + line.bbox[2]) / 2
    if base > box[3] + 0.9 * metrics.leading or not box[0] - 3 < centre < box[2] + 3:
        return True
    # above the text stand running heads, but also the title
    return base < box[1] - 0.9 * metrics.leading and line.page > 1


def _is_page_number(line: Line, page: Page) -> bool:
    in_margin = line.bbox[1] > 0.92 * page.height or line.bbox[3] < 0.06 * page.height
    return in_margin and bool(re.fullmatch(r"(?:page )?\d{1,4}(?: ?(?:/|of) ?\d{1,4})?", line.text.strip(), re.I))


# --- columns and rows -----------------------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """A fragment of a row, with what is asked of it again and again."""

    line: Line
    base: float
    letters: int
    words: int

    @property
    def x0(self) -> float:
        return self.line.bbox[0]

    @property
    def x1(self) -> float:
        return self.line.bbox[2]


class _Stretch(NamedTuple):
    """Pieces that are read downwards.

    Attributes:
        side: ``"left"`` or ``"right"`` column, ``"across"`` both, or ``"single"`` column of the page.
    """

    page: int
    side: str
    pieces: list[_Piece]


def reading_rows(
    document: Document,
    excluded: Mapping[int, Collection[int]],
    regions: Mapping[int, Sequence[Rect]],
) -> tuple[list[Row], Metrics]:
    """All rows of a paper's text in reading order.

    Args:
        document: The paper.
        excluded: Page number -> indices of lines that are captions.
        regions: Page number -> boxes of figures and tables, in points; lines whose centre lies in one are left out.

    Returns:
        The rows, and what the running text measures.
    """
    skip = {(number, index) for number, indices in excluded.items() for index in indices}
    for page in document.pages:
        boxes = regions.get(page.number, ())
        skip |= {(page.number, line.index) for line in page.lines if any(_holds(box, line.bbox) for box in boxes)}
    metrics = body_metrics(document)
    gone = skip | furniture(document, metrics, skip)
    pieces = {
        page.number: [_piece(line) for line in page.lines if (page.number, line.index) not in gone]
        for page in document.pages
    }
    gutters = _gutters(pieces)
    stretches: list[_Stretch] = []
    left_out: dict[int, list[Rect]] = {}
    for page in document.pages:
        stretches += _stretches(page.number, pieces[page.number], gutters[page.number], metrics)
        captions = (line.bbox for line in page.lines if line.index in excluded.get(page.number, ()))
        left_out[page.number] = [*regions.get(page.number, ()), *captions]
    frames = _frames(stretches)
    rows: list[Row] = []
    column = 0
    for stretch in stretches:
        frame = frames[stretch.page, stretch.side]
        text, beside = _part_beside(stretch.pieces, frame, metrics)
        obstacles = [*left_out[stretch.page], *(piece.line.bbox for piece in beside)]
        rows += _rows(stretch.page, text, column, frame, obstacles, metrics)
        if beside:
            own = min(piece.x0 for piece in beside), max(piece.x1 for piece in beside)
            # a column of prose is text all the same, if one whose gutter was not seen
            prose = 2 * sum(piece.words >= 5 for piece in beside) > len(beside) > 5
            rows += [
                replace(row, beside=not prose) for row in _rows(stretch.page, beside, column + 1, own, (), metrics)
            ]
        column += 2
    return rows, metrics


def _holds(box: Rect, inner: Rect) -> bool:
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _piece(line: Line) -> _Piece:
    words = re.findall(r"[^\W\d_]{2,}", line.text)
    return _Piece(line, _base(line), sum(map(len, words)), len(words))


def _stretches(page: int, pieces: Sequence[_Piece], gutter: float | None, metrics: Metrics) -> list[_Stretch]:
    """The page's pieces as stretches of its columns, in reading order."""
    if gutter is None:
        return [_Stretch(page, "single", list(pieces))] if pieces else []
    reach = 1.2 * metrics.size
    sides: dict[str, list[_Piece]] = {"left": [], "right": [], "across": []}
    for piece in pieces:
        if piece.x0 < gutter - reach and piece.x1 > gutter + reach:
            sides["across"].append(piece)
        else:
            sides["left" if (piece.x0 + piece.x1) / 2 < gutter else "right"].append(piece)
    stretches = []
    across: list[_Piece] = []
    top = float("-inf")
    # rows across both columns divide the page into bands, each read column by column
    for row in [*sorted(sides["across"], key=lambda piece: piece.base), None]:
        bottom = row.base - 1 if row else float("inf")
        band = {side: [p for p in sides[side] if top <= p.base < bottom] for side in ("left", "right")}
        if any(band.values()):
            stretches += [_Stretch(page, "across", across)] if across else []
            across = []
            stretches += [_Stretch(page, side, found) for side, found in band.items() if found]
        across += [row] if row else []
        top = bottom
    return stretches + ([_Stretch(page, "across", across)] if across else [])


def _gutters(pieces: Mapping[int, Sequence[_Piece]]) -> dict[int, float | None]:
    """Where two columns of text part on every page; None on pages of one column.

    In a paper of one column, a page whose text seems to leave a strip free shows labels of a figure or cells of a
    table; only a strip that nothing crosses makes it a page of two columns.
    """
    found = {number: _gutter(here) for number, here in pieces.items()}
    letters = {number: sum(piece.letters for piece in here) for number, here in pieces.items()}
    two = sum(letters[number] for number, strip in found.items() if strip is not None)
    strict = 2 * two < sum(letters.values())
    return {n: None if strip is None or (strict and strip[1] > 0.02) else strip[0] for n, strip in found.items()}


def _gutter(pieces: Sequence[_Piece]) -> tuple[float, float] | None:
    """The middle of the widest strip near the middle of a page that the least text crosses, and the share that does."""
    texts = [(p.x0, p.x1, len(p.line.text)) for p in pieces if len(p.line.text) >= 15]
    total = sum(weight for *_, weight in texts)
    if not total:
        return None
    left, width = min(x0 for x0, *_ in texts), max(x1 for _, x1, _ in texts) - min(x0 for x0, *_ in texts)
    places = range(int(left + 0.35 * width), int(left + 0.65 * width) + 1, 2)
    crossing = [sum(weight for x0, x1, weight in texts if x0 < x < x1) / total for x in places]
    least = min(crossing, default=1.0)
    strips = [
        [x for x, _ in strip]
        for free, strip in groupby(zip(places, crossing, strict=True), key=lambda place: place[1] <= least + 0.005)
        if free
    ]
    if not strips or least >= 0.5:
        return None
    widest = max(strips, key=len)
    gutter = (widest[0] + widest[-1]) / 2
    before = sum(weight for _, x1, weight in texts if x1 <= gutter) / total
    after = sum(weight for x0, _, weight in texts if x0 >= gutter) / total
    return (gutter, least) if min(before, after) >= 0.12 or least < 0.1 else None


def _frames(stretches: Sequence[_Stretch]) -> dict[tuple[int, str], tuple[float, float]]:
    """Left and right edge of every page's columns: where most of the paper's long lines begin and end.

    A page that does not keep to the paper's edges (odd and even pages may differ) has its own.
    """
    lefts: defaultdict[tuple[int, str], list[float]] = defaultdict(list)
    rights: defaultdict[tuple[int, str], list[float]] = defaultdict(list)
    for stretch in stretches:
        longest = max(piece.x1 - piece.x0 for piece in stretch.pieces)
        long = [p for p in stretch.pieces if p.letters > 15 and p.x1 - p.x0 > 0.6 * longest] or stretch.pieces
        lefts[stretch.page, stretch.side] += [piece.x0 for piece in long]
        rights[stretch.page, stretch.side] += [piece.x1 for piece in long]
    edges = []
    for values in (lefts, rights):
        pooled = {side: _commonest([v for (_, s), vs in values.items() if s == side for v in vs]) for _, side in values}
        edges.append({key: _edge(vs, pooled[key[1]]) for key, vs in values.items()})
    return {key: (edges[0][key], edges[1][key]) for key in lefts}


def _edge(values: Sequence[float], usual: float) -> float:
    kept = sum(abs(value - usual) < 2 for value in values)
    return usual if kept >= min(3, len(values)) else _commonest(values)


def _commonest(values: Sequence[float]) -> float:
    """The median of the values that lie nearest to each other."""
    bins = Counter(round(value / 2) for value in values)
    best = max(bins, key=lambda b: bins[b - 1] + bins[b] + bins[b + 1])
    return statistics.median([value for value in values if abs(value / 2 - best) <= 1.5])


def _part_beside(
    pieces: Sequence[_Piece], frame: tuple[float, float], metrics: Metrics
) -> tuple[list[_Piece], list[_Piece]]:
    """Part the column's text from what stands beside it: a table or a figure that text is wrapped around."""
    left, right = frame
    text = [
        p
        for p in pieces
        if p.words >= (1 if p.line.bold else 3) and p.x0 < left + 3 * metrics.size and p.x1 < right - 4 * metrics.size
    ]
    beside = [
        piece
        for piece in pieces
        if piece.x0 > left + 6 * metrics.size
        and _blank_before(piece, pieces) > 0.6 * metrics.size
        and any(
            other.x1 < piece.x0
            and abs(other.base - piece.base) < 0.6 * metrics.leading
            and (piece.line.block != other.line.block or abs(piece.line.size - other.line.size) > 0.6)
            for other in text
        )
    ]
    blocks = {piece.line.block for piece in beside}
    ids = {p.line.index for p in pieces if p.line.block in blocks and p.x0 > left + 6 * metrics.size}
    beside = [piece for piece in pieces if piece.line.index in ids]
    return [piece for piece in pieces if piece.line.index not in ids], beside


def _blank_before(piece: _Piece, pieces: Sequence[_Piece]) -> float:
    """Width of the blank to the left of a piece, in points."""
    top, bottom = piece.line.bbox[1], piece.line.bbox[3]
    ends = (p.x1 for p in pieces if p.x0 < piece.x0 and p.line.bbox[1] < bottom and p.line.bbox[3] > top)
    return piece.x0 - max(ends, default=float("-inf"))


def _rows(
    page: int,
    pieces: Sequence[_Piece],
    column: int,
    frame: tuple[float, float],
    obstacles: Sequence[Rect],
    metrics: Metrics,
) -> list[Row]:
    groups: list[list[_Piece]] = []
    for piece in sorted(pieces, key=lambda piece: (piece.base, piece.x0)):
        if groups and piece.base - groups[-1][0].base < 0.3 * metrics.leading and not _covers(groups[-1], piece):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [
        _row(page, sorted(group, key=lambda p: p.x0), column, frame, obstacles, metrics)
        for group in _adopt_scripts(groups, metrics)
    ]


def _covers(group: Sequence[_Piece], piece: _Piece) -> bool:
    """Whether a piece lies over one of a row's pieces, and so is of another row."""
    for other in group:
        shared = min(other.x1, piece.x1) - max(other.x0, piece.x0)
        if shared > 0.5 * min(other.x1 - other.x0, piece.x1 - piece.x0):
            return True
    return False


def _adopt_scripts(groups: Sequence[list[_Piece]], metrics: Metrics) -> list[list[_Piece]]:
    """Give pieces that are only scripts or symbols of a row of text to that row."""
    kept: list[list[_Piece]] = []
    waiting: list[list[_Piece]] = []
    for group in groups:
        symbols = not any(c.isalnum() for piece in group for c in piece.line.text)
        small = max(piece.line.size for piece in group) < 0.85 * metrics.size
        if symbols or (small and not any(piece.words for piece in group)):
            near = kept and group[0].base - kept[-1][0].base < 0.35 * metrics.leading
            if near and _is_text(kept[-1]):
                kept[-1] += group
            else:
                waiting.append(group)
            continue
        if _is_text(group):
            scripts = [other for other in waiting if group[0].base - other[0].base < 0.75 * metrics.leading]
            waiting = [other for other in waiting if other not in scripts]
            group = [*group, *(piece for other in scripts for piece in other)]
        kept += [*waiting, group]
        waiting = []
    return kept + waiting


def _is_text(group: Sequence[_Piece]) -> bool:
    return sum(piece.letters for piece in group) >= 10


def _row(
    page: int,
    pieces: Sequence[_Piece],
    column: int,
    frame: tuple[float, float],
    obstacles: Sequence[Rect],
    metrics: Metrics,
) -> Row:
    lines = tuple(piece.line for piece in pieces)
    main = max(pieces, key=lambda piece: piece.letters)
    x0, y0 = min(line.bbox[0] for line in lines), min(line.bbox[1] for line in lines)
    x1, y1 = max(line.bbox[2] for line in lines), max(line.bbox[3] for line in lines)
    left, right = frame
    for box in obstacles:
        # text stays narrow for a row or so above and below what it is wrapped around
        beside = box[1] - metrics.leading < main.base and box[3] + metrics.leading > main.base - metrics.size
        if beside and box[2] > frame[0] and box[0] < frame[1]:
            if box[0] >= x1 - 3:
                right = min(right, box[0])
            elif box[2] <= x0 + 3:
                left = max(left, box[2])
    return Row(
        page=page,
        lines=lines,
        text=row_text(lines),
        bbox=(x0, y0, x1, y1),
        baseline=main.base,
        size=_row_size(lines),
        column=column,
        left=left,
        right=right,
        narrowed=(left, right) != frame,
    )


def _row_size(lines: Iterable[Line]) -> float:
    weight: Counter[float] = Counter()
    for line in lines:
        for span in line.spans:
            weight[round(span.size, 1)] += len(span.text.strip())
    return max(weight, key=lambda size: (weight[size], size))


def row_text(lines: Sequence[Line]) -> str:
    """The text of a row from its fragments, left to right: a blank where they stand apart, characters composed."""
    text = ""
    edge: float | None = None
    for line in lines:
        part = line_text(line)
        apart = edge is not None and line.bbox[0] - edge > 0.12 * line.size
        if apart and not text.endswith(" ") and not part.startswith(" "):
            text += " "
        text += part
        edge = line.bbox[2]
    return re.sub(r"\s+", " ", clean_text(text)).strip()

"""Made pages: rows of text put where a typesetter puts them, as the PDF reader would hand them on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scifigqual_bench.pdf.document import Document, Drawing, Line, Page, Rect, Span

SIZE = 10.0
LEADING = 12.0
LEFT, RIGHT = 54.0, 290.0
"""The left column of a page of two; the right one begins at 308."""
SECOND = 308.0, 544.0


def span(text: str, x0: float, base: float, x1: float, *, size: float = SIZE, bold: bool = False) -> Span:
    """A run of text whose lower edge is at ``base``."""
    return Span(text, (x0, base - size, x1, base), size, "Times-Bold" if bold else "Times", bold, False, False)


def line(
    text: str,
    x0: float,
    base: float,
    x1: float | None = None,
    *,
    size: float = SIZE,
    bold: bool = False,
    block: int = 0,
) -> Line:
    """A line of one font; half an em a letter where its end is not given."""
    end = x0 + 0.5 * size * len(text) if x1 is None else x1
    return joined([span(text, x0, base, end, size=size, bold=bold)], block=block)


def joined(spans: Sequence[Span], *, block: int = 0) -> Line:
    """A line of several fonts."""
    boxes = [s.bbox for s in spans]
    bbox = (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))
    return Line(page=0, index=0, block=block, bbox=bbox, spans=tuple(spans))


def column(
    rows: Sequence[str], top: float, *, edges: tuple[float, float] = (LEFT, RIGHT), block: int = 0
) -> list[Line]:
    """Rows of one column, the first with its lower edge at ``top``.

    A row fills the column; with "$" at its end it stops short. ">" at its start is a paragraph's indent, "=" a formula
    in the middle of the column, "#" a heading. An empty row is half a line of white.
    """
    lines = []
    base = top
    for row in rows:
        if not row:
            base += LEADING / 2
            continue
        text = row.lstrip(">=#").rstrip("$").strip()
        x0, x1 = edges[0], edges[0] + 90 if row.endswith("$") else edges[1]
        if row.startswith("="):
            x0, x1 = edges[0] + 80, edges[0] + 150
        elif row.startswith(">"):
            x0 += SIZE
        if row.startswith("#"):
            lines.append(line(text, x0, base, size=12, bold=True, block=block))
        else:
            lines.append(line(text, x0, base, x1, block=block))
        base += LEADING
    return lines


def document(*pages: Sequence[Line], rules: Sequence[Rect] = (), title: str | None = None) -> Document:
    """A paper of made pages; the rules stand on the first."""
    made = []
    for number, lines in enumerate(pages, start=1):
        numbered = [
            Line(page=number, index=index, block=old.block, bbox=old.bbox, spans=old.spans, direction=old.direction)
            for index, old in enumerate(lines)
        ]
        made.append(Page(number=number, width=612, height=792, lines=numbered))
    made[0].drawings += [Drawing(bbox=box, fill=(0, 0, 0), stroke=None, rect=True) for box in rules]
    return Document(path=Path("made.pdf"), sha256="0" * 64, pages=made, metadata_title=title)


FILLER = [
    "The method reads every page of the paper from its top",
    "to its bottom and keeps what belongs together apart from",
    "what does not, so that nothing of the text is lost here.$",
]
"""A paragraph, so that a page has enough text to show its columns and its edges."""

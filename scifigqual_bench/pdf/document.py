"""Open a PDF and read what is on its pages: lines of text, images, vector graphics.

Pages are read upright: as displayed, and turned once more where most of their text runs sideways or upside down
(:attr:`Page.turn`). All coordinates are PDF points from the top left corner of the page that is upright so; pages
count from 1. Bad files end in a :class:`PdfError` with a stable code, never in a traceback of the PDF library.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Rect = tuple[float, float, float, float]
"""x0, y0, x1, y1."""

WHITE = 0.98
"""A colour with no channel below this is paper."""
SCAN_SHARE = 0.5
"""A page is a picture of itself if images cover more than this share of it."""
MAX_SIDE = 7_200.0
"""Points: a page with a longer side, 100 inches, is no page of a paper, and rasters of it would fill the memory."""
MAX_DRAWINGS = 300_000
"""Paths of one page that are kept; a plot of as many points has none that would be missed."""
MIN_PIECES, MAX_POINTS = 3, 200
"""Pieces of a stroke whose points are kept, and points that are kept of it."""
LONG = 25
"""Characters; lines that are longer tell which way a page's text runs. Labels of axes are short, and do not."""
_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
"""What no printed text holds, and what files and databases can't: glyphs whose character the PDF does not tell."""
_UNKNOWN = "\ufffd"
"""Stands for them where they are all that a span holds: left out, the labels of many a plot would have no place."""


class PdfError(Exception):
    """A PDF that can't be read.

    Attributes:
        code: ``pdf-missing``, ``pdf-empty``, ``pdf-not-a-pdf``, ``pdf-damaged``, ``pdf-encrypted``, ``pdf-no-pages``.
    """

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Span:
    """A run of text in one font."""

    text: str
    bbox: Rect
    size: float
    font: str
    bold: bool
    italic: bool
    superscript: bool


@dataclass(frozen=True)
class Line:
    """A printed line: spans that share a baseline within one column.

    Attributes:
        index: Position within the page in the PDF's own order.
        block: The PDF library's block number on the page.
        direction: Writing direction (cos, sin); (1, 0) is horizontal.
    """

    page: int
    index: int
    block: int
    bbox: Rect
    spans: tuple[Span, ...]
    direction: tuple[float, float] = (1.0, 0.0)

    @cached_property
    def text(self) -> str:
        """Text of the line, spans joined as printed."""
        return "".join(span.text for span in self.spans)

    @cached_property
    def size(self) -> float:
        """Font size of most of the line's characters, in points."""
        sizes: dict[float, int] = {}
        for span in self.spans:
            size = round(span.size, 1)
            sizes[size] = sizes.get(size, 0) + len(span.text.strip())
        return max(sizes, key=lambda s: (sizes[s], s)) if sizes else 0.0

    @cached_property
    def bold(self) -> bool:
        """Whether most of the line's characters are bold."""
        heavy = sum(len(span.text.strip()) for span in self.spans if span.bold)
        return heavy * 2 > sum(len(span.text.strip()) for span in self.spans)

    @cached_property
    def italic(self) -> bool:
        """Whether most of the line's characters are italic."""
        slanted = sum(len(span.text.strip()) for span in self.spans if span.italic)
        return slanted * 2 > sum(len(span.text.strip()) for span in self.spans)

    @cached_property
    def main(self) -> Span:
        """The span that tells where the line stands: the longest of its main size."""
        return max(
            self.spans,
            key=lambda span: (abs(span.size - self.size) < 0.6, sum(c.isalnum() for c in span.text), len(span.text)),
        )

    @property
    def horizontal(self) -> bool:
        """Whether the line runs from left to right."""
        return self.direction[0] > 0.99


@dataclass(frozen=True)
class Drawing:
    """The visible part of a vector path: its box within the clip it is drawn under, and its colour.

    Attributes:
        fill: Fill colour as RGB in 0..1, None when not filled.
        stroke: Stroke colour as RGB in 0..1, None when not stroked.
        rect: Whether it is a plain rectangle.
        points: Of a line without filling that is one stroke of at least :data:`MIN_PIECES`, in points of the page,
            about :data:`MAX_POINTS` at most, clipped or not; empty for everything else.
    """

    bbox: Rect
    fill: tuple[float, float, float] | None
    stroke: tuple[float, float, float] | None
    rect: bool
    points: tuple[tuple[float, float], ...] = ()

    @property
    def shows(self) -> bool:
        """Whether it is more than white on white."""
        return any(colour is not None and min(colour) < WHITE for colour in (self.fill, self.stroke))


@dataclass
class Page:
    """What is on one page.

    Attributes:
        width: Of the page turned upright, in points; ``height`` likewise.
        text_layer: ``"native"``: the page shows its text; ``"ocr"``: it shows a picture of it, and the text was read
            from that, by us or by whoever made the PDF.
        turn: Quarter turns clockwise, 0..3, that brought the page as displayed upright.
    """

    number: int
    width: float
    height: float
    lines: list[Line] = field(default_factory=list)
    images: list[Rect] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    text_layer: str = "native"
    turn: int = 0

    def displayed(self, box: Rect) -> Rect:
        """A box of the upright page, in points of the page as displayed.

        >>> Page(number=1, width=792, height=612, turn=1).displayed((0, 0, 100, 10))
        (0, 692, 10, 792)
        """
        return turned_box(box, -self.turn % 4, self.width, self.height)

    @property
    def pictured(self) -> bool:
        """Whether images cover most of it, as on a scan."""
        covered = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.images)
        return covered > SCAN_SHARE * self.width * self.height


@dataclass
class Document:
    """A PDF that has been read.

    Attributes:
        path: The file.
        sha256: Hash of its bytes.
        pages: All pages, in order.
        problems: Faults that did not stop reading, as (code, message, page).
    """

    path: Path
    sha256: str
    pages: list[Page]
    metadata_title: str | None = None
    problems: list[tuple[str, str, int | None]] = field(default_factory=list)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@contextmanager
def open_pdf(path: Path) -> Iterator[object]:
    """Open a PDF with PyMuPDF and close it again.

    Raises:
        PdfError: The file is missing, empty, no PDF, damaged, encrypted or without pages.
    """
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    if not path.is_file():
        raise PdfError("pdf-missing", f"{path.name}: no such file")
    if path.stat().st_size == 0:
        raise PdfError("pdf-empty", f"{path.name}: the file is empty (0 bytes)")
    with path.open("rb") as handle:
        if b"%PDF-" not in handle.read(1024):
            raise PdfError("pdf-not-a-pdf", f"{path.name}: not a PDF (no %PDF- header in the first 1,024 bytes)")
    try:
        document = pymupdf.open(path, filetype="pdf")
    except Exception as error:  # PyMuPDF raises several types, some of them bare RuntimeError
        raise PdfError("pdf-damaged", f"{path.name}: can't be opened as a PDF ({error})") from None
    try:
        if document.needs_pass:
            raise PdfError("pdf-encrypted", f"{path.name}: needs a password; decrypt it first")
        try:
            count = document.page_count
        except Exception as error:
            raise PdfError("pdf-damaged", f"{path.name}: its tree of pages can't be followed ({error})") from None
        if count == 0 and document.is_repaired:
            raise PdfError("pdf-damaged", f"{path.name}: cut short or damaged; no page can be recovered")
        if count == 0:
            raise PdfError("pdf-no-pages", f"{path.name}: has no pages")
        yield document
    finally:
        document.close()


def shown_page(pdf: object, number: int, turn: int = 0) -> object:
    """A page of an open PDF as it is displayed and then turned: both are made part of its content.

    Args:
        pdf: The open file (``pymupdf.Document``), whose page is changed: ask once for a page that is to be turned.
        number: The page, from 1.
        turn: Quarter turns clockwise after the rotation that the PDF asks for (:attr:`Page.turn`).
    """
    page = pdf[number - 1]
    if turn:
        page.set_rotation((page.rotation + 90 * turn) % 360)
    if page.rotation:
        page.remove_rotation()
    return page


def turned_box(box: Rect, turn: int, width: float, height: float) -> Rect:
    """A box of a page of this size after quarter turns clockwise of the page.

    >>> turned_box((10, 20, 30, 60), 1, 600, 800), turned_box((10, 20, 30, 60), 2, 600, 800)
    ((740, 10, 780, 30), (570, 740, 590, 780))
    """
    x0, y0, x1, y1 = box
    if turn == 1:
        return height - y1, x0, height - y0, x1
    if turn == 2:
        return width - x1, height - y1, width - x0, height - y0
    if turn == 3:
        return y0, width - x1, y1, width - x0
    return box


def read_document(path: Path) -> Document:
    """Read every page of a PDF.

    A page that can't be read becomes an empty page and a problem; the others are read all the same.

    Args:
        path: The PDF file.

    Returns:
        The pages with their lines, image boxes and vector paths.

    Raises:
        PdfError: The file can't be opened at all (see :func:`open_pdf`).
    """
    with open_pdf(path) as pdf:
        document = Document(path=path, sha256=sha256_of(path), pages=[])
        title = (pdf.metadata or {}).get("title") or ""
        document.metadata_title = title.strip() or None
        if pdf.is_repaired:
            message = f"{path.name}: damaged, read as far as it could be repaired ({pdf.page_count} pages)"
            document.problems.append(("pdf-repaired", message, None))
        for number in range(1, pdf.page_count + 1):
            try:
                page = _read_page(pdf, document, number)
            except Exception as error:  # PyMuPDF: several types; one bad page must not cost the others
                page = Page(number=number, width=0.0, height=0.0)
                message = f"{path.name}, page {number}: can't be read ({error})"
                document.problems.append(("page-unreadable", message, number))
            document.pages.append(page)
    return document


def _read_page(pdf: object, document: Document, number: int) -> Page:
    """Read one page; what had to be left out of it is told among the document's problems."""
    import pymupdf

    page = shown_page(pdf, number)
    if max(page.rect.width, page.rect.height) > MAX_SIDE:
        raise ValueError(f"it is {page.rect.width:.0f} by {page.rect.height:.0f} points large, over {MAX_SIDE:.0f}")
    # CLIP: what a clip hides (the part of a figure that its author cropped away) is not on the page
    text = (
        pymupdf.TEXT_PRESERVE_WHITESPACE
        | pymupdf.TEXT_MEDIABOX_CLIP
        | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
        | pymupdf.TEXT_CLIP
    )
    blocks = page.get_text("dict", flags=text)["blocks"]
    turn = _turn(line for block in blocks for line in block.get("lines", ()))
    if turn:
        page = shown_page(pdf, number, turn)
        blocks = page.get_text("dict", flags=text)["blocks"]
    frame = tuple(page.rect)
    result = Page(number=number, width=page.rect.width, height=page.rect.height, turn=turn)
    where = f"{document.path.name}, page {number}"
    pictures = page.get_textpage(flags=pymupdf.TEXT_PRESERVE_IMAGES | pymupdf.TEXT_CLIP)
    for info in pictures.extractIMGINFO():
        box = _within(info["bbox"], frame)
        if box is not None:
            result.images.append(box)
    lines = [(block["number"], line) for block in blocks for line in block.get("lines", ())]
    hidden, shown = _letters(lines, hidden=True), _letters(lines, hidden=False)
    if hidden > shown and result.pictured:
        result.text_layer = "ocr"
    elif hidden:
        message = f"{where}: {hidden} invisible characters are left out; only over a scan do they tell what it shows"
        document.problems.append(("text-hidden", message, number))
    for block, line in lines:
        spans = tuple(_span(s) for s in line["spans"] if s["text"] and (result.text_layer == "ocr" or _shows(s)))
        if any(span.text.strip() for span in spans):
            result.lines.append(
                Line(
                    page=number,
                    index=len(result.lines),
                    block=block,
                    bbox=tuple(line["bbox"]),
                    spans=spans,
                    direction=tuple(line["dir"]),
                )
            )
    drawings = _Drawings(frame)
    page.get_cdrawings(extended=True, callback=drawings.take)
    drawings.finish()
    result.drawings = drawings.found
    if drawings.left_out:
        message = f"{where}: {drawings.left_out:,} paths after the first {MAX_DRAWINGS:,} are left out"
        document.problems.append(("paths-left-out", message, number))
    return result


def _turn(lines: Iterable[dict]) -> int:
    """Quarter turns clockwise that bring most of a page's text upright.

    Long lines tell; on a page without any, short ones do where none of them is upright.
    """
    long: Counter[int] = Counter()
    short: Counter[int] = Counter()
    for line in lines:
        cos, sin = line["dir"]
        if max(abs(cos), abs(sin)) > 0.99:
            turn = 0 if cos > 0.99 else 2 if cos < -0.99 else 1 if sin < 0 else 3
            count = sum(len(span["text"].strip()) for span in line["spans"])
            (long if count > LONG else short)[turn] += count
    weight = long or ({} if short[0] else short)
    return max(weight, key=lambda turn: (weight[turn], -turn), default=0)


def _shows(span: dict) -> bool:
    """Whether a span's text is painted at all."""
    return span["alpha"] > 0


def _letters(lines: Iterable[tuple[int, dict]], *, hidden: bool) -> int:
    """How many characters are painted, or how many are not."""
    return sum(len(s["text"].strip()) for _, line in lines for s in line["spans"] if _shows(s) is not hidden)


class _Drawings:
    """Takes a page's paths one at a time, for all at once would fill the memory, and keeps their visible parts.

    Attributes:
        found: The paths so far.
        left_out: How many came after :data:`MAX_DRAWINGS`.
    """

    def __init__(self, frame: Rect):
        self.found: list[Drawing] = []
        self.left_out = 0
        self._frame = frame
        self._clips: dict[int, Rect] = {}
        self._waiting: dict | None = None

    def take(self, path: dict) -> None:
        """Take the next path, clip or group; a clip comes, with its depth, before what it holds."""
        before = self._waiting
        if before and path["type"] == "s" and before["type"] == "f" and path["items"] == before["items"]:
            self._waiting = path | before  # one shape, filled and then stroked
        else:
            self.finish()
            self._waiting = path

    def finish(self) -> None:
        """Keep the path that waits for its stroke."""
        if self._waiting:
            self._keep(self._waiting)
        self._waiting = None

    def _keep(self, path: dict) -> None:
        depth = path["level"]
        self._clips = {level: clip for level, clip in self._clips.items() if level < depth}
        if path["type"] == "clip":
            self._clips[depth] = path["scissor"]
        if path["type"] in ("clip", "group"):
            return
        fill = path.get("fill") if path.get("fill_opacity", 1.0) else None
        stroke = path.get("color") if path.get("stroke_opacity", 1.0) else None
        if fill is None and stroke is None:
            return
        x0, y0, x1, y1 = path["rect"]
        half = (path.get("width") or 0.0) / 2 if stroke else 0.0
        box: Rect | None = (x0 - half, y0 - half, x1 + half, y1 + half)
        for bound in (self._frame, *self._clips.values()):
            box = box and _within(box, bound)
        if box is None:
            return
        if len(self.found) == MAX_DRAWINGS:
            self.left_out += 1
            return
        items = path["items"]
        rect = len(items) == 1 and items[0][0] == "re"
        points = _points(items) if fill is None and len(items) >= MIN_PIECES else ()
        self.found.append(Drawing(bbox=box, fill=fill, stroke=stroke, rect=rect, points=points))


def _points(items: Sequence[tuple]) -> tuple[tuple[float, float], ...]:
    """The ends of the pieces of one stroke, evenly thinned out; empty where a piece does not go on from the last."""
    points: list[tuple[float, float]] = []
    for kind, *corners in items:
        if kind not in ("l", "c") or (points and tuple(corners[0]) != points[-1]):
            return ()
        points += [tuple(corners[0])] if not points else []
        points.append(tuple(corners[-1]))
    step = -(-len(points) // MAX_POINTS)
    return (*points[:-1:step], points[-1])


def _within(box: Rect, frame: Rect) -> Rect | None:
    """The part of a box inside a frame; None where nothing of it is. Rules have no height, and stay."""
    x0, y0, x1, y1 = max(box[0], frame[0]), max(box[1], frame[1]), min(box[2], frame[2]), min(box[3], frame[3])
    return (x0, y0, x1, y1) if x0 <= x1 and y0 <= y1 and (x0 < x1 or y0 < y1) else None


def _span(span: dict) -> Span:
    flags = span["flags"]
    text = _CONTROLS.sub("", span["text"])
    return Span(
        text=text if text.strip() else _CONTROLS.sub(_UNKNOWN, span["text"]),
        bbox=tuple(span["bbox"]),
        size=span["size"],
        font=span["font"],
        bold=bool(flags & 16) or "bold" in span["font"].lower(),
        italic=bool(flags & 2),
        superscript=bool(flags & 1),
    )

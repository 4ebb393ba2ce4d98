"""Open a PDF and read what is on its pages: lines of text, images, vector graphics.

All coordinates are PDF points from the top left corner of the page as displayed (rotation applied); pages count
from 1. Bad files end in a :class:`PdfError` with a stable code, never in a traceback of the PDF library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

Rect = tuple[float, float, float, float]
"""x0, y0, x1, y1."""


VECTOR_BLOCK = 3
"""The PDF library's number for a block that is a vector path."""


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

    @property
    def text(self) -> str:
        """Text of the line, spans joined as printed."""
        return "".join(span.text for span in self.spans)

    @property
    def size(self) -> float:
        """Font size of most of the line's characters, in points."""
        sizes: dict[float, int] = {}
        for span in self.spans:
            size = round(span.size, 1)
            sizes[size] = sizes.get(size, 0) + len(span.text.strip())
        return max(sizes, key=lambda s: (sizes[s], s)) if sizes else 0.0

    @property
    def bold(self) -> bool:
        """Whether most of the line's characters are bold."""
        heavy = sum(len(span.text.strip()) for span in self.spans if span.bold)
        return heavy * 2 > sum(len(span.text.strip()) for span in self.spans)

    @property
    def italic(self) -> bool:
        """Whether most of the line's characters are italic."""
        slanted = sum(len(span.text.strip()) for span in self.spans if span.italic)
        return slanted * 2 > sum(len(span.text.strip()) for span in self.spans)

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
    """

    bbox: Rect
    fill: tuple[float, float, float] | None
    stroke: tuple[float, float, float] | None
    rect: bool


@dataclass
class Page:
    """What is on one page."""

    number: int
    width: float
    height: float
    lines: list[Line] = field(default_factory=list)
    images: list[Rect] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    text_layer: str = "native"


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
        if document.page_count == 0 and document.is_repaired:
            raise PdfError(
                "pdf-damaged", f"{path.name}: cut short or damaged; no page can be recovered"
            )
        if document.page_count == 0:
            raise PdfError("pdf-no-pages", f"{path.name}: has no pages")
        yield document
    finally:
        document.close()


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
        for index in range(pdf.page_count):
            try:
                page = _read_page(pdf[index], index + 1)
            except Exception as error:  # PyMuPDF: several types; one bad page must not cost the others
                page = Page(number=index + 1, width=0.0, height=0.0)
                message = f"{path.name}, page {index + 1}: can't be read ({error})"
                document.problems.append(("page-unreadable", message, index + 1))
            document.pages.append(page)
    return document


def _read_page(page: object, number: int) -> Page:
    import pymupdf

    if page.rotation:
        page.remove_rotation()
    # CLIP: what a clip hides (the part of a figure that its author cropped away) is not on the page
    text = (
        pymupdf.TEXT_PRESERVE_WHITESPACE
        | pymupdf.TEXT_MEDIABOX_CLIP
        | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
        | pymupdf.TEXT_CLIP
    )
    frame = tuple(page.rect)
    result = Page(number=number, width=page.rect.width, height=page.rect.height)
    for block in page.get_text("dict", flags=text)["blocks"]:
        for line in block.get("lines", ()):
            spans = tuple(_span(span) for span in line["spans"] if span["text"])
            if any(span.text.strip() for span in spans):
                result.lines.append(
                    Line(
                        page=number,
                        index=len(result.lines),
                        block=block["number"],
                        bbox=tuple(line["bbox"]),
                        spans=spans,
                        direction=tuple(line["dir"]),
                    )
                )
    pictures = page.get_textpage(flags=pymupdf.TEXT_PRESERVE_IMAGES | pymupdf.TEXT_CLIP)
    for info in pictures.extractIMGINFO():
        box = _within(info["bbox"], frame)
        if box is not None:
            result.images.append(box)
    # in a pass of its own: paths collected along with the text would break its lines and blocks; as blocks they
    # come clipped, and many times faster than from get_drawings
    for block in page.get_text("dict", flags=pymupdf.TEXT_COLLECT_VECTORS | pymupdf.TEXT_CLIP)["blocks"]:
        if block["type"] != VECTOR_BLOCK or block["alpha"] == 0:
            continue
        box = _within(block["bbox"], frame)
        if box is not None:
            colour = _rgb(block["color"])
            result.drawings.append(
                Drawing(
                    bbox=box,
                    fill=None if block["stroked"] else colour,
                    stroke=colour if block["stroked"] else None,
                    rect=block["isrect"],
                )
            )
    return result


def _within(box: Rect, frame: Rect) -> Rect | None:
    """The part of a box inside a frame; None where nothing of it is. Rules have no height, and stay."""
    x0, y0, x1, y1 = max(box[0], frame[0]), max(box[1], frame[1]), min(box[2], frame[2]), min(box[3], frame[3])
    return (x0, y0, x1, y1) if x0 <= x1 and y0 <= y1 and (x0 < x1 or y0 < y1) else None


def _rgb(colour: int) -> tuple[float, float, float]:
    return (colour >> 16 & 255) / 255, (colour >> 8 & 255) / 255, (colour & 255) / 255


def _span(span: dict) -> Span:
    flags = span["flags"]
    return Span(
        text=span["text"],
        bbox=tuple(span["bbox"]),
        size=span["size"],
        font=span["font"],
        bold=bool(flags & 16) or "bold" in span["font"].lower(),
        italic=bool(flags & 2),
        superscript=bool(flags & 1),
    )

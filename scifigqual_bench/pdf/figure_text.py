"""What a PDF itself tells of one of its figures: the words, the images it embeds, and what it draws as mere shapes.

Vector art holds its text: exact, and faster than any OCR. What is not seen in print is left out: invisible text, text
under an image, text that a clip or its colour hides. What an image shows is not here, and a figure may print letters as
shapes; so the result says which parts have to be read from the pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scifigqual_bench.features.curves import Stroke
from scifigqual_bench.pdf.document import Drawing, Rect
from scifigqual_bench.pdf.render import Crop
from scifigqual_bench.pdf.words import clean_text
from scifigqual_bench.records import TextBox

ASCENT, DESCENT = 0.75, 0.2
"""Extent of a word's box above and below its baseline, in font sizes; what fonts say of themselves differs wildly."""
WORD_GAP = 0.15
"""Font sizes between two characters from which they belong to two words."""
PIECE_GAP = 0.75
"""Font sizes between two words from which they belong to two pieces of text. A space is about 0.3 wide."""
SAME_LINE = 0.2
"""Font sizes that the baselines of two words of one piece may lie apart; more is a sub- or superscript."""
SCRIPT = 0.85
"""Size, over that of the text before it, up to which raised or lowered characters are a sub- or superscript."""
SLANT = 0.17
"""Sine of the angle, ten degrees, from which text is neither level nor upright."""
MIN_INK = 0.01
"""Share of a word's box that shows its colour, from which it counts as seen."""
MIN_GROUND = 0.03
"""Share of a word's box that shows anything else."""
LETTER_HEIGHTS = (2.5, 14.0)
"""Points: heights of the letters of a figure."""
MIN_OUTLINES = 12
"""Shapes of a letter's size in rows, from which a figure may print text as shapes."""
COVERED = 0.9
"""Share of a span that a later image covers, from which nothing of it is seen."""


@dataclass(frozen=True)
class Raster:
    """An image that is embedded in the figure.

    Attributes:
        bbox: Its visible box, in pixels of the crop.
        dpi: Its own pixels an inch in print, along the axis that has fewer.
        jpeg: Its bytes, where it is stored as JPEG.
    """

    bbox: Rect
    dpi: float
    jpeg: bytes | None = None


@dataclass(frozen=True)
class PrintedFigure:
    """What the PDF tells of a figure.

    Attributes:
        words: Pieces of text (words that stand together), boxes in pixels of the crop.
        rasters: The embedded images.
        unread: Boxes, in pixels of the crop, of characters that the PDF does not name.
        outlined: Whether shapes of the size of letters stand in rows: text may be drawn instead of written.
        strokes: Lines that are drawn in one go, of several pieces.
    """

    words: tuple[TextBox, ...] = ()
    rasters: tuple[Raster, ...] = ()
    unread: tuple[Rect, ...] = ()
    outlined: bool = False
    strokes: tuple[Stroke, ...] = ()

    @property
    def without_text(self) -> PrintedFigure:
        """Its images and lines alone."""
        return PrintedFigure(rasters=self.rasters, strokes=self.strokes)


@dataclass(frozen=True)
class _Word:
    """A word on its baseline: ``start`` and ``end`` along the writing direction, ``base`` across it, in points."""

    text: str
    start: float
    end: float
    base: float
    size: float
    direction: tuple[float, float]
    colour: int

    @property
    def box(self) -> Rect:
        """In points of the page."""
        cos, sin = self.direction
        corners = [
            (along * cos - (self.base + across) * sin, along * sin + (self.base + across) * cos)
            for along in (self.start, self.end)
            for across in (-ASCENT * self.size, DESCENT * self.size)
        ]
        xs, ys = zip(*corners, strict=True)
        return min(xs), min(ys), max(xs), max(ys)


def read_figure(page: object, crop: Crop, drawings: Sequence[Drawing] = ()) -> PrintedFigure:
    """What the PDF tells of a figure.

    Args:
        page: The open page (``pymupdf.Page``), upright.
        crop: The figure as it was rendered from that page; its pixels decide what is seen.
        drawings: The page's vector paths.
    """
    place = _Placement(crop)
    rasters = tuple(_rasters(page, place))
    covered = _covered(page, rasters, place) if rasters else []
    words, unread = [], []
    for word in _words(page, crop.frame):
        box = place.box(word.box)
        if box is None or any(_inside(box, other) for other in covered):
            continue
        if "\ufffd" in word.text:
            unread.append(box)
        elif _seen(crop.pixels, box, word.colour):
            words.append((word, box))
    return PrintedFigure(
        words=tuple(_piece(part, place) for part in _pieces(words)),
        rasters=rasters,
        unread=tuple(unread),
        outlined=_outlined(drawings, crop.frame, [word.box for word, _ in words]),
        strokes=tuple(_strokes(drawings, place)),
    )


class _Placement:
    """From points of the page to pixels of the crop."""

    def __init__(self, crop: Crop):
        self.frame = crop.frame
        self.scale = crop.dpi / 72.0
        self.width, self.height = crop.width, crop.height

    def box(self, rect: Rect) -> Rect | None:
        """A box in pixels, cut to the crop; None where less than half of it is inside."""
        x0, y0, x1, y1 = self.raw(rect)
        cut = max(x0, 0.0), max(y0, 0.0), min(x1, float(self.width)), min(y1, float(self.height))
        if cut[0] >= cut[2] or cut[1] >= cut[3] or _area(cut) < 0.5 * _area((x0, y0, x1, y1)):
            return None
        return cut

    def raw(self, rect: Rect) -> Rect:
        """A box in pixels, wherever it lies."""
        x0, y0 = ((rect[k] - self.frame[k]) * self.scale for k in (0, 1))
        x1, y1 = ((rect[k + 2] - self.frame[k]) * self.scale for k in (0, 1))
        return x0, y0, x1, y1


def _strokes(drawings: Sequence[Drawing], place: _Placement) -> Iterator[Stroke]:
    """Lines of several pieces whose visible part lies in the figure."""
    for drawing in drawings:
        if drawing.points and drawing.stroke and place.box(drawing.bbox) is not None:
            points = tuple((round(x, 1), round(y, 1)) for x, y, *_ in (place.raw((*p, *p)) for p in drawing.points))
            yield Stroke(points, "#" + "".join(f"{round(255 * part):02x}" for part in drawing.stroke))


# --- words ----------------------------------------------------------------------------------------------------------


def _words(page: object, frame: Rect) -> Iterator[_Word]:
    """Words that touch a frame, in the PDF's order; invisible ones are left out."""
    import pymupdf

    flags = (
        pymupdf.TEXT_PRESERVE_WHITESPACE
        | pymupdf.TEXT_MEDIABOX_CLIP
        | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
        | pymupdf.TEXT_CLIP
    )
    for block in page.get_text("rawdict", flags=flags, clip=pymupdf.Rect(frame))["blocks"]:
        for line in block.get("lines", ()):
            yield from _words_of(line)


def _words_of(line: dict) -> Iterator[_Word]:
    cos, sin = line["dir"]
    letters: list[_Word] = []
    for span in line["spans"]:
        if span["alpha"] == 0:
            continue
        height = span["size"] * (span["ascender"] - span["descender"])
        for char in span["chars"]:
            x, y = char["origin"]
            start = cos * x + sin * y
            letter = _Word(
                text=char["c"],
                start=start,
                end=start + _advance(char["bbox"], (cos, sin), height),
                base=cos * y - sin * x,
                size=span["size"],
                direction=(cos, sin),
                colour=span["color"],
            )
            if letters and (letter.text.isspace() or _apart(letters[-1], letter)):
                yield from _joined(letters)
                letters = []
            if not letter.text.isspace():
                letters.append(letter)
    yield from _joined(letters)


def _advance(box: Rect, direction: tuple[float, float], height: float) -> float:
    """Width of a character along its line, of which only the upright box around it is known."""
    (x0, y0, x1, y1), (cos, sin) = box, map(abs, direction)
    width = (x1 - x0 - height * sin) / cos if cos >= sin else (y1 - y0 - height * cos) / sin
    return max(0.0, width)


def _apart(before: _Word, after: _Word) -> bool:
    """Whether a character begins a word of its own."""
    return not -before.size < after.start - before.end <= WORD_GAP * before.size


def _joined(letters: Sequence[_Word]) -> Iterator[_Word]:
    """One word of its letters; a superscript is written with ``^``, so that 10^2 is not 102."""
    if not letters:
        return
    main = max(letters, key=lambda letter: letter.size)
    text, raised = "", False
    for letter in letters:
        up = letter.size < SCRIPT * main.size and letter.base < main.base - SAME_LINE * main.size
        text += ("^" if up and not raised and text else "") + letter.text
        raised = up
    # characters without a name are private or controls; clean_text drops them
    cleaned = clean_text(text)
    yield _Word(
        text=cleaned if len(cleaned) else "\ufffd",
        start=min(letter.start for letter in letters),
        end=max(letter.end for letter in letters),
        base=main.base,
        size=main.size,
        direction=main.direction,
        colour=main.colour,
    )


def _pieces(words: Iterable[tuple[_Word, Rect]]) -> Iterator[list[_Word]]:
    """Words of one line that stand together. Two numbers are two tick labels, whatever is between them."""
    piece: list[_Word] = []
    for word, _ in words:
        if piece and not _continues(piece[-1], word):
            yield piece
            piece = []
        piece.append(word)
    if piece:
        yield piece


def _continues(before: _Word, after: _Word) -> bool:
    return (
        before.direction == after.direction
        and abs(before.base - after.base) <= SAME_LINE * before.size
        and -0.5 * before.size < after.start - before.end <= PIECE_GAP * before.size
        and not (_is_number(before.text) and _is_number(after.text))
    )


def _is_number(text: str) -> bool:
    return any(char.isdigit() for char in text) and not any(char.isalpha() for char in text)


def _piece(words: Sequence[_Word], place: _Placement) -> TextBox:
    boxes = [box for word in words if (box := place.box(word.box)) is not None]
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    size = max(word.size for word in words)
    return TextBox(
        text=" ".join(word.text for word in words),
        confidence=1.0,
        bbox=[round(float(v), 1) for v in (min(x0), min(y0), max(x1), max(y1))],
        rotated=abs(words[0].direction[1]) > abs(words[0].direction[0]),
        slanted=min(map(abs, words[0].direction)) > SLANT,
        source="pdf",
        font_size_pt=round(size, 2),
    )


# --- what is seen ---------------------------------------------------------------------------------------------------


def _seen(pixels: np.ndarray, box: Rect, colour: int) -> bool:
    """Whether a word's box shows its colour on another."""
    x0, y0, x1, y1 = math.floor(box[0]), math.floor(box[1]), math.ceil(box[2]), math.ceil(box[3])
    part = pixels[y0:y1, x0:x1].reshape(-1, 3).astype(np.int16)
    own = np.array([colour >> 16 & 255, colour >> 8 & 255, colour & 255], np.int16)
    distance = np.abs(part - own).max(axis=1)
    ground = float(np.percentile(distance, 100 * (1 - MIN_GROUND)))  # how far the rest of the box is from the colour
    return ground > 16 and float((distance <= 0.6 * ground).mean()) >= MIN_INK


def _covered(page: object, rasters: Sequence[Raster], place: _Placement) -> list[Rect]:
    """Boxes, in pixels, of text over which an image without transparency is painted later."""
    opaque = [info["bbox"] for info in page.get_image_info() if not info.get("has-mask")]
    order = page.get_bboxlog()
    images = [(k, box) for k, (kind, box) in enumerate(order) if kind == "fill-image" and _among(box, opaque)]
    hidden = []
    for span in page.get_texttrace() if images else ():
        if any(k > span["seqno"] and _inside(span["bbox"], box) for k, box in images):
            hidden.append(place.raw(span["bbox"]))
    return hidden


def _among(box: Rect, boxes: Sequence[Rect]) -> bool:
    return any(all(abs(a - b) < 2.0 for a, b in zip(box, other, strict=True)) for other in boxes)


def _inside(box: Rect, outer: Rect) -> bool:
    """Whether nearly all of a box lies in another."""
    common = max(0.0, min(box[2], outer[2]) - max(box[0], outer[0])) * max(
        0.0, min(box[3], outer[3]) - max(box[1], outer[1])
    )
    return common >= COVERED * _area(box) > 0


def _area(box: Rect) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


# --- images and shapes ----------------------------------------------------------------------------------------------


def _rasters(page: object, place: _Placement) -> Iterator[Raster]:
    """The embedded images that the crop shows; the parts that a clip hides are taken off."""
    import pymupdf

    shown = page.get_textpage(flags=pymupdf.TEXT_PRESERVE_IMAGES | pymupdf.TEXT_CLIP).extractIMGINFO()
    references = page.get_image_info(xrefs=True)
    for info in shown:
        x0, y0, x1, y1 = place.raw(info["bbox"])
        box = max(x0, 0.0), max(y0, 0.0), min(x1, float(place.width)), min(y1, float(place.height))
        if box[0] >= box[2] or box[1] >= box[3]:
            continue
        a, b, c, d = info["transform"][:4]
        sides = math.hypot(a, b), math.hypot(c, d)
        if min(sides) == 0:
            continue
        dpi = min(info["width"] / sides[0], info["height"] / sides[1]) * 72.0
        yield Raster(tuple(round(v, 1) for v in box), round(dpi, 1), _jpeg(page, info, references))


def _jpeg(page: object, info: dict, references: Sequence[dict]) -> bytes | None:
    """The bytes of an image that is stored as JPEG."""
    for other in references:
        same = other["transform"] == info["transform"] and other["width"] == info["width"]
        if same and other.get("xref") and "DCTDecode" in page.parent.xref_get_key(other["xref"], "Filter")[1]:
            return page.parent.xref_stream_raw(other["xref"])
    return None


def _outlined(drawings: Sequence[Drawing], frame: Rect, words: Sequence[Rect]) -> bool:
    """Whether filled shapes of the size of letters stand in a row of at least :data:`MIN_OUTLINES`, apart from words.

    Markers of a scatter plot are of one size; letters differ in width and height.
    """
    low, high = LETTER_HEIGHTS
    rows: dict[int, list[Rect]] = {}
    for drawing in drawings:
        x0, y0, x1, y1 = drawing.bbox
        width, height = x1 - x0, y1 - y0
        if drawing.fill is None or drawing.rect or not (frame[0] <= x0 and x1 <= frame[2]):
            continue
        if frame[1] <= y0 and y1 <= frame[3] and low / 2 <= height <= high and 0.3 <= width <= 1.5 * high:
            rows.setdefault(round(y1), []).append(drawing.bbox)
    letters = 0
    for row in rows.values():
        sizes = {(round(2 * (box[2] - box[0])), round(2 * (box[3] - box[1]))) for box in row}
        if len(sizes) >= 3:
            top, foot = min(box[1] for box in row), max(box[3] for box in row)
            beside = [word for word in words if word[1] < foot and word[3] > top]
            letters += sum(not any(_inside(box, word) for word in beside) for box in row)
    return letters >= MIN_OUTLINES

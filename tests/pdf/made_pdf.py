"""Small real PDFs for the tests: body text in columns, captions, plots made of paths, and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pymupdf

from scifigqual_bench.pdf.captions import Caption, find_captions
from scifigqual_bench.pdf.document import Rect, read_document
from scifigqual_bench.pdf.layout import analyse
from scifigqual_bench.pdf.regions import Region, find_regions
from scifigqual_bench.records import Problem

WIDTH, HEIGHT = 612, 792
LEFT, RIGHT, FULL = (54.0, 297.0), (315.0, 558.0), (54.0, 558.0)
SIZE, SMALL = 10.0, 9.0
LEADING = 1.2
WORDS = (
    "the reading of a page begins at its top and ends at its foot while every word keeps the place that the author "
    "gave it so that nothing which stands in a column is taken for a part of what stands beside it"
)
FONTS = {"roman": "tiro", "bold": "tibo", "italic": "tiit", "sans": "helv"}


class Paper:
    """A paper that is typeset while the test goes on."""

    def __init__(self, path: Path):
        self.path = path
        self.pdf = pymupdf.open()

    def page(self, width: float = WIDTH, height: float = HEIGHT) -> pymupdf.Page:
        """A new page."""
        return self.pdf.new_page(width=width, height=height)

    def read(self) -> tuple[list[Caption], list[Region | Problem]]:
        """Write the file, read it, and find its captions and their regions."""
        self.pdf.save(self.path)
        document = read_document(self.path)
        layout = analyse(document)
        captions = find_captions(document, layout)
        return captions, find_regions(document, captions, layout)

    def regions(self, kind: str = "figure") -> dict[str, Region | Problem]:
        """The regions of one kind of float by printed number."""
        captions, regions = self.read()
        return {c.number: r for c, r in zip(captions, regions, strict=True) if c.kind == kind}


def prose(page: pymupdf.Page, edges: tuple[float, float], top: float, rows: int, start: str = "") -> float:
    """A justified paragraph of so many rows, its last one short; returns its lower edge."""
    words = f"{start} {' '.join([WORDS] * (rows // 2 + 2))}".split()
    return rows_of_text(page, edges, top, wrapped(words, edges[1] - edges[0], FONTS["roman"], SIZE)[:rows])


def rows_of_text(page: pymupdf.Page, edges: tuple[float, float], top: float, rows: list[list[str]]) -> float:
    """A paragraph of the rows given as words, the last one not justified; returns its lower edge."""
    write(page, rows, edges, top, FONTS["roman"], SIZE)
    return top + len(rows) * LEADING * SIZE


def caption(
    page: pymupdf.Page,
    edges: tuple[float, float],
    top: float,
    text: str,
    *,
    size: float = SMALL,
    centred: bool = False,
    font: str = "roman",
) -> float:
    """A caption over the given width; returns its lower edge."""
    lines = wrapped(text.split(), edges[1] - edges[0], FONTS[font], size)
    write(page, lines, edges, top, FONTS[font], size, centred=centred)
    return top + len(lines) * LEADING * size


def wrapped(words: list[str], width: float, font: str, size: float) -> list[list[str]]:
    """Words in rows that fit a width."""
    lines: list[list[str]] = [[]]
    for word in words:
        if pymupdf.get_text_length(" ".join([*lines[-1], word]), fontname=font, fontsize=size) > width:
            lines.append([])
        lines[-1].append(word)
    return lines


def write(
    page: pymupdf.Page,
    rows: list[list[str]],
    edges: tuple[float, float],
    top: float,
    font: str,
    size: float,
    *,
    centred: bool = False,
) -> None:
    """Rows that fill their column by wide spaces, as TeX sets them, the last one excepted; or rows in its middle."""
    writer, face = pymupdf.TextWriter(page.rect), pymupdf.Font(font)
    for k, words in enumerate(rows):
        natural = sum(face.text_length(word, fontsize=size) for word in words)
        space = face.text_length(" ", fontsize=size)
        rest = edges[1] - edges[0] - natural
        x = edges[0] + (rest - space * (len(words) - 1)) / 2 if centred else edges[0]
        if not centred and k < len(rows) - 1 and len(words) > 1:
            space = rest / (len(words) - 1)
        for word in words:
            writer.append((x, top + (k + 0.8) * LEADING * size), word, font=face, fontsize=size)
            x += face.text_length(word, fontsize=size) + space
    writer.write_text(page)


def plot(page: pymupdf.Page, box: Rect, points: int = 40, *, labels: bool = True) -> Rect:
    """A plot made of paths, with tick labels and axis titles as text; returns the box of all its ink."""
    x0, y0, x1, y1 = box
    inner = pymupdf.Rect(x0 + 24, y0 + 2, x1 - 2, y1 - 22) if labels else pymupdf.Rect(box)
    shape = page.new_shape()
    shape.draw_rect(inner)
    xs = np.linspace(inner.x0 + 2, inner.x1 - 2, points)
    ys = inner.y0 + inner.height * (0.5 + 0.4 * np.sin(np.linspace(0, 9, points)))
    for a, b, c, d in zip(xs, ys, xs[1:], ys[1:], strict=False):
        shape.draw_line((a, b), (c, d))
        shape.finish(color=(0.8, 0.1, 0.1), width=0.7)
    shape.draw_rect(inner)
    shape.finish(color=(0, 0, 0), width=0.5)
    shape.commit()
    if labels:
        for k in range(4):
            page.insert_text((inner.x0 + k * inner.width / 4, inner.y1 + 8), f"{k * 5}", fontname="helv", fontsize=6)
            page.insert_text((inner.x0 - 10, inner.y1 - k * inner.height / 4), f"{k}", fontname="helv", fontsize=6)
        page.insert_text((inner.x0 + inner.width / 3, y1 - 4), "training steps", fontname="helv", fontsize=7)
        page.insert_text((x0 + 7, y1 - 30), "loss", fontname="helv", fontsize=7, rotate=90)
    return box


def picture(page: pymupdf.Page, box: Rect, *, margin: float = 0.0) -> Rect:
    """A noisy picture; with a margin, a share of its side that is white on every side."""
    rng = np.random.default_rng(7)
    pixels = rng.integers(0, 200, (120, 160, 3), dtype=np.uint8)
    if margin:
        cut = int(120 * margin), int(160 * margin)
        white = np.full_like(pixels, 255)
        white[cut[0] : -cut[0], cut[1] : -cut[1]] = pixels[cut[0] : -cut[0], cut[1] : -cut[1]]
        pixels = white
    pixmap = pymupdf.Pixmap(pymupdf.csRGB, 160, 120, pixels.tobytes(), False)
    page.insert_image(pymupdf.Rect(box), pixmap=pixmap, keep_proportion=False)
    return box


def table(page: pymupdf.Page, box: Rect, rows: int = 4) -> Rect:
    """A table between rules; returns its box."""
    x0, y0, x1, y1 = box
    step = (y1 - y0) / (rows + 1)
    for y in (y0, y0 + step, y1):
        page.draw_line((x0, y), (x1, y), width=0.6)
    for row in range(rows + 1):
        for column in range(4):
            text = f"{row}.{column}7" if row else f"name {column}"
            page.insert_text(
                (x0 + 6 + column * (x1 - x0) / 4, y0 + (row + 0.75) * step), text, fontname="tiro", fontsize=SMALL
            )
    return box


def two_columns(page: pymupdf.Page, top: float = 54.0) -> None:
    """Both columns full of text from a height down."""
    rows = int((HEIGHT - 54 - top) / (LEADING * SIZE))
    for edges in (LEFT, RIGHT):
        prose(page, edges, top, rows)


def iou(one: Rect, two: Rect) -> float:
    """Intersection over union."""
    a, b = pymupdf.Rect(one), pymupdf.Rect(two)
    common = (a & b).get_area() if a.intersects(b) else 0.0
    return common / (a.get_area() + b.get_area() - common)

"""The page for authors: each figure with what to mend in it, the heaviest first, and where it is to be seen."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw

from scifigqual_bench.pdf.document import open_pdf
from scifigqual_bench.records import BBox
from scifigqual_bench.report import view
from scifigqual_bench.report.checked import BEST, CheckedFigure, CheckFinding, CheckRule, PaperCheck
from scifigqual_bench.report.images import PageImage, page_image
from scifigqual_bench.report.pages import inline_parts, page_path, template_environment, write_page
from scifigqual_bench.rubric import SHORT_NAMES

CONTEXT = 0.3
"""Least share of a figure's width and height that a close-up shows."""
OUTLINE = (190, 50, 0)
STRIP_DPI = 130.0
STRIP_MARGIN = 6.0
"""Points around a piece of a page."""
STRIP_HEIGHT = 130.0
"""Points of a piece of a page at most: of a long paragraph its beginning is enough."""


@dataclass(frozen=True)
class Shown:
    """A finding as the page shows it.

    Attributes:
        number: What its box in the figure is marked with; None without one.
        image: Close-up of its place; None where the whole figure is the place.
    """

    finding: CheckFinding
    rule: CheckRule
    number: int | None = None
    image: PageImage | None = None


@dataclass(frozen=True)
class FigureView:
    """A figure as the page shows it; ``image`` is None where there is no graphic that can be shown."""

    anchor: str
    figure: CheckedFigure
    image: PageImage | None
    findings: list[Shown]

    @property
    def marks(self) -> list[tuple[BBox, str]]:
        """The boxes that are drawn over the figure, each with the numbers of the findings that it belongs to."""
        numbers: dict[tuple[float, ...], list[str]] = {}
        for shown in self.findings:
            if shown.number:
                numbers.setdefault(tuple(shown.finding.image_bbox), []).append(str(shown.number))
        return [(list(box), ", ".join(some)) for box, some in numbers.items()]

    @property
    def mark_size(self) -> float:
        """Height of these numbers, in pixels of the figure's image."""
        return max(self.image.original_width / 28, 14.0) if self.image else 14.0


def write_check(
    out: str | os.PathLike[str], check: PaperCheck, images: Sequence[bytes | None], *, show_held: bool = False
) -> None:
    """Write one self-contained HTML page.

    Args:
        out: The page; its folder is made where it is missing.
        check: What was found.
        images: The figures' images, in the order of ``check.figures``.
        show_held: Whether findings that are held back are shown unfolded.

    Raises:
        IsADirectoryError: ``out`` is a folder.
    """
    environment = template_environment()
    environment.globals.update(count=view.count_text, best=BEST, short=SHORT_NAMES)
    strips = _Strips(Path(check.path))
    rules = check.rule_of
    parts = environment.get_template("check.html.j2").generate(
        check=check,
        general=[Shown(f, rules[f.rule], image=strips.at(f)) for f in check.findings],
        figures=_figures(check, images, strips),
        show_held=show_held,
        **inline_parts(["page.css", "check.css"]),
    )
    write_page(page_path(out), parts)


def _figures(check: PaperCheck, images: Sequence[bytes | None], strips: _Strips) -> Iterator[FigureView]:
    """The figures one after the other, so that only the images of one are held at a time."""
    rules = check.rule_of
    for index, (figure, data) in enumerate(zip(check.figures, images, strict=True), start=1):
        marked = [f for f in figure.findings if f.image_bbox and f.state == "open"]
        numbers = {finding.id: number for number, finding in enumerate(marked, start=1)}
        picture = None if data is None else Image.open(io.BytesIO(data)).convert("RGB")
        shown = []
        for finding in figure.findings:
            if finding.image_bbox and picture:
                image = close_up(picture, finding.image_bbox)
            else:
                image = None if finding.bbox == figure.bbox else strips.at(finding)
            shown.append(Shown(finding, rules[finding.rule], numbers.get(finding.id), image))
        yield FigureView(f"figure-{index}", figure, None if data is None else page_image(data), shown)


def close_up(picture: Image.Image, box: BBox) -> PageImage:
    """The surroundings of a place in a figure, with the place outlined.

    Args:
        picture: The figure.
        box: The place, in its pixels.

    >>> shown = close_up(Image.new("RGB", (1000, 400), "white"), [480, 190, 520, 210])
    >>> (shown.width, shown.height)
    (300, 120)
    """
    sides = []
    for low, high, full in ((box[0], box[2], picture.width), (box[1], box[3], picture.height)):
        length = min(full, max(CONTEXT * full, 1.5 * (high - low)))
        start = min(max((low + high - length) / 2, 0), full - length)
        sides.append((round(start), round(start + length)))
    (x0, x1), (y0, y1) = sides
    part = picture.crop((x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)))
    pen = max(2, round(max(part.size) / 250))
    frame = [box[0] - x0 - pen, box[1] - y0 - pen, box[2] - x0 + pen, box[3] - y0 + pen]
    left, top = max(frame[0], 0), max(frame[1], 0)
    right, bottom = min(frame[2], part.width - 1), min(frame[3], part.height - 1)
    ImageDraw.Draw(part).rectangle((left, top, max(right, left), max(bottom, top)), outline=OUTLINE, width=pen)
    return _encoded(part)


def _encoded(picture: Image.Image) -> PageImage:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return page_image(buffer.getvalue())


class _Strips:
    """Pieces of the pages; each is rendered once."""

    def __init__(self, pdf: Path):
        self._pdf = pdf
        self._known: dict[tuple[int, tuple[float, ...]], PageImage | None] = {}

    def at(self, finding: CheckFinding) -> PageImage | None:
        """The place of a finding on its page; None where it has none, or where the page can't be rendered."""
        if finding.page is None or finding.bbox is None:
            return None
        key = (finding.page, tuple(finding.bbox))
        if key not in self._known:
            self._known[key] = self._rendered(finding.page, finding.bbox)
        return self._known[key]

    def _rendered(self, page: int, bbox: BBox) -> PageImage | None:
        import pymupdf

        x0, y0, x1, y1 = bbox
        margin = (-STRIP_MARGIN, -STRIP_MARGIN, STRIP_MARGIN, STRIP_MARGIN)
        place = pymupdf.Rect(x0, y0, x1, min(y1, y0 + STRIP_HEIGHT)) + margin
        try:
            with open_pdf(self._pdf) as pdf:
                pixmap = pdf[page - 1].get_pixmap(dpi=round(STRIP_DPI), clip=place, alpha=False)
            return page_image(pixmap.tobytes("png"))
        except Exception:  # PyMuPDF raises several types; the finding is told without its picture
            return None

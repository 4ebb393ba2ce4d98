"""One paper explained: every page as an image, with what each step of the extraction found on it drawn over it.

The page answers one question at once: why is this figure missing, or cut like that? So it shows what was found and
what was left out, beside the decision on each figure. It runs no script; layers are switched by plain check boxes.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scifigqual_bench.pdf.citations import CITING_KINDS, bind_citations, find_mentions
from scifigqual_bench.pdf.document import Line, Page, Rect, open_pdf, shown_page
from scifigqual_bench.pdf.extract import Candidate, PaperAnalysis, analyse_paper, extraction_of, problem_of
from scifigqual_bench.pdf.reading import LineKey, body_metrics, furniture
from scifigqual_bench.pdf.regions import Region
from scifigqual_bench.pdf.text import Paragraph, paper_title
from scifigqual_bench.records import PaperMeta, PaperReport, Problem
from scifigqual_bench.report import view
from scifigqual_bench.report.images import PageImage, page_image
from scifigqual_bench.report.pages import inline_parts, page_path, template_environment, write_page

if TYPE_CHECKING:
    from scifigqual_bench.features.ocr import OcrEngine

DPI = 100.0
MAX_PIXELS = 1600
"""Pixels of a page's longer side; larger pages are shown at a lower resolution."""
MIN_SIDE = 1.0
"""Points: a page that is smaller can't be shown."""
LAYERS = {
    "text": "Paragraphs that can cite a figure",
    "aside": "Other text: headings, notes, references and so on",
    "caption": "Captions",
    "region": "Regions of figures",
    "table": "Regions of tables, algorithms and listings",
    "link": "Mentions, each linked to its figure",
    "dangling": "Mentions of a figure that was not found",
    "label": "Lines that begin like a caption and were not taken for one",
    "furniture": "Left out: running heads, page and line numbers, stamps",
    "loose": "Left out: lines that no step took",
}
"""What is drawn, in the order of drawing, with what the legend says of it."""


@dataclass(frozen=True)
class Shape:
    """Something drawn over a page.

    Attributes:
        layer: One of :data:`LAYERS`.
        outline: Path data of SVG, in points.
        at: Its upper left corner.
        note: What is to be told of it where a reader points at it.
        label: Short text above the corner; empty for none.
        place: Place in the reading order, shown in the margin; None for none.
        target: Id of the panel that it links to; None for none.
    """

    layer: str
    outline: str
    at: tuple[float, float]
    note: str
    label: str = ""
    place: int | None = None
    target: str | None = None


@dataclass(frozen=True)
class FigurePanel:
    """What became of one captioned figure.

    Attributes:
        anchor: Id of the panel on the page.
        state: ``kept``, ``flagged`` or ``dropped``.
        verdict: Why, in a sentence; empty for a figure that is kept without a doubt.
        region: Where its graphic is; None where none was found.
        turn: Quarter turns clockwise that brought its page upright.
        image: The crop; None where there is none, or where it can't be shown.
    """

    anchor: str
    candidate: Candidate
    state: str
    verdict: str
    region: Region | None
    turn: int
    image: PageImage | None


@dataclass(frozen=True)
class PageView:
    """One page of the PDF as it is shown.

    Attributes:
        image: None where it can't be rendered, ``fault`` says why.
        shapes: What is drawn over it, by layer.
        figures: The figures whose caption stands on it.
        texts: Place in the reading order, and paragraph, of those that begin on it.
    """

    number: int
    width: float
    height: float
    image: PageImage | None
    fault: str | None
    shapes: list[Shape]
    figures: list[FigurePanel]
    texts: list[tuple[int, Paragraph]]
    problems: list[Problem]


def explain(path: Path, out: str | os.PathLike[str], *, ocr: OcrEngine | None = None) -> None:
    """Write one self-contained HTML page that shows what the extraction did with a paper, and why.

    Args:
        path: The PDF. One that can't be read gives a page that says why.
        out: The page; its folder is made where it is missing.
        ocr: Reads scanned pages; None leaves them unread.

    Raises:
        IsADirectoryError: ``out`` is a folder.
    """
    out = page_path(out)
    try:
        analysis = analyse_paper(path, path.stem, ocr=ocr)
        report = extraction_of(analysis, PaperMeta(paper_id=path.stem)).report
    except Exception as error:  # whatever ended the extraction of this paper is what the page has to tell
        problem = problem_of(error, path)
        report = PaperReport(paper_id=path.stem, file=path.name, status="failed", problems=[problem])
        write_page(out, _rendered(report, None, [], [], Counter()))
        return
    panels = [_panel(candidate, analysis) for candidate in analysis.candidates]
    overlay = Overlay(analysis)
    title = paper_title(analysis.document)
    counts = Counter(shape.layer for shapes in overlay.shapes.values() for shape in shapes)
    write_page(out, _rendered(report, title, panels, _pages(path, analysis, overlay, panels), counts))


def _rendered(
    report: PaperReport,
    title: str | None,
    panels: Sequence[FigurePanel],
    pages: Iterable[PageView],
    counts: Counter[str],
) -> Iterator[str]:
    environment = template_environment()
    environment.globals.update(count=view.count_text, highlight=view.highlight)
    return environment.get_template("explain.html.j2").generate(
        report=report,
        title=title,
        panels=panels,
        pages=pages,
        layers=[(name, meaning, counts[name]) for name, meaning in LAYERS.items()],
        citing=CITING_KINDS,
        **inline_parts(["page.css", "explain.css"]),
    )


def _pages(path: Path, analysis: PaperAnalysis, overlay: Overlay, panels: Sequence[FigurePanel]) -> Iterator[PageView]:
    """The pages one after the other, so that only one image is held at a time."""
    texts = list(enumerate(analysis.paragraphs, start=1))
    with open_pdf(path) as pdf:
        for page in analysis.document.pages:
            image, fault = _page_image(pdf, page)
            yield PageView(
                number=page.number,
                width=page.width,
                height=page.height,
                image=image,
                fault=fault,
                shapes=overlay.shapes[page.number],
                figures=[panel for panel in panels if panel.candidate.caption.page == page.number],
                texts=[(place, text) for place, text in texts if text.page == page.number],
                problems=[problem for problem in analysis.problems if problem.page == page.number],
            )


def _page_image(pdf: object, page: Page) -> tuple[PageImage | None, str | None]:
    """A page's image, or why there is none."""
    import pymupdf

    if min(page.width, page.height) < MIN_SIDE:
        return None, "the page could not be read, or has no size"
    scale = min(DPI / 72, MAX_PIXELS / max(page.width, page.height))
    try:
        pixmap = shown_page(pdf, page.number, page.turn).get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
        return page_image(pixmap.tobytes("png")), None
    except Exception as error:  # PyMuPDF raises several types; the other pages are still to come
        return None, f"the page can't be rendered ({error})"


def _anchor(candidate: Candidate) -> str:
    return f"figure-{candidate.fig_index}"


def _panel(candidate: Candidate, analysis: PaperAnalysis) -> FigurePanel:
    region = candidate.region
    doubts = [mark for mark in candidate.marks if mark.stage == "S2"]
    deleting = [mark for mark in candidate.marks if mark.stage == "S1"]
    if isinstance(region, Problem):
        state, verdict = "dropped", region.message
    elif deleting:
        state, verdict = "dropped", "; ".join(mark.detail for mark in deleting)
    elif analysis.unusable is not None:
        state, verdict = "dropped", f"the whole paper is left out: {analysis.unusable.detail}"
    else:
        state, verdict = "flagged" if doubts else "kept", "; ".join(mark.detail for mark in doubts)
    return FigurePanel(
        anchor=_anchor(candidate),
        candidate=candidate,
        state=state,
        verdict=verdict,
        region=region if isinstance(region, Region) else None,
        turn=analysis.document.pages[candidate.caption.page - 1].turn,
        image=page_image(candidate.crop.png) if candidate.crop else None,
    )


# --- what is drawn ----------------------------------------------------------------------------------------------------


@dataclass
class Overlay:
    """What is drawn over each page.

    Attributes:
        shapes: By page number, in the order of :data:`LAYERS`.
    """

    analysis: PaperAnalysis
    shapes: dict[int, list[Shape]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shapes = {page.number: [] for page in self.analysis.document.pages}
        self._draw_text()
        self._draw_floats()
        self._draw_mentions()
        self._draw_left_out()
        order = list(LAYERS)
        for shapes in self.shapes.values():
            shapes.sort(key=lambda shape: order.index(shape.layer))

    @cached_property
    def _lines(self) -> dict[LineKey, Line]:
        return {(page.number, line.index): line for page in self.analysis.document.pages for line in page.lines}

    def _add(self, layer: str, page: int, box: Rect, note: str, *, goal: Rect | None = None, **more) -> None:
        """Draw a box, and a line to its goal where it has one; a box without numbers can't be drawn."""
        if all(map(math.isfinite, (*box, *(goal or ())))):
            outline = _outline(box) + (_line_between(box, goal) if goal else "")
            self.shapes[page].append(Shape(layer, outline, (round(box[0], 1), round(box[1], 1)), note, **more))

    def _draw_text(self) -> None:
        before = None
        for place, text in enumerate(self.analysis.paragraphs, start=1):
            layer = "text" if text.kind in CITING_KINDS else "aside"
            label = text.kind if text.kind not in ("body", before) else ""
            note = f"{place}. {text.kind}, {_under(text)}: {_short(text.text)}"
            for page, box in _pieces([(page, self._lines[page, index].bbox) for page, index in text.lines]):
                self._add(layer, page, box, note, label=label, place=place)
                label = ""
            before = text.kind

    def _draw_floats(self) -> None:
        figures = {(c.caption.page, c.caption.lines): c for c in self.analysis.candidates}
        for caption, region in zip(self.analysis.captions, self.analysis.regions, strict=True):
            candidate = figures.get((caption.page, caption.lines)) if caption.kind == "figure" else None
            target = _anchor(candidate) if candidate else None
            lost = f": no region ({region.message})" if isinstance(region, Problem) else ""
            label = f"{caption.kind} {caption.number}{', no region' if lost else ''}"
            note = f"{caption.label}{lost}. {caption.text}"
            self._add("caption", caption.page, caption.bbox, note, label=label, target=target)
            if isinstance(region, Region):
                trust = f"{region.method}, {region.confidence:.2f}"
                cited = f", cited {len(candidate.citations)} times" if candidate else ""
                layer = "region" if caption.kind == "figure" else "table"
                label = f"{caption.label}: {trust}"
                self._add(layer, region.page, region.bbox, label + cited, label=label, target=target)

    def _draw_mentions(self) -> None:
        candidates = self.analysis.candidates
        captions = [candidate.caption for candidate in candidates]
        for text in self.analysis.paragraphs:
            if text.kind not in CITING_KINDS:
                continue
            claims: Counter[str] = Counter()
            for candidate, citations in zip(candidates, bind_citations([text], captions).citations, strict=True):
                for citation in citations:
                    mentions = list(dict.fromkeys(citation.mentions))
                    claims.update(mentions)
                    for mention in mentions:
                        self._draw_link(text, mention, candidate, citation.kind or "")
            for mention, names in {m.text: len(m.numbers) for m in find_mentions(text.text)}.items():
                if claims[mention] < names:
                    page, box = self._place_of(text, mention)
                    note = f"{mention}: no figure of this number was found"
                    self._add("dangling", page, box, note, label=f"{mention}?")

    def _draw_link(self, text: Paragraph, mention: str, candidate: Candidate, kind: str) -> None:
        page, box = self._place_of(text, mention)
        region, label = candidate.region, candidate.caption.label
        place = region if isinstance(region, Region) else candidate.caption
        goal = place.bbox if place.page == page else None
        arrow = f"→ {label}" if goal else f"→ {label}, p. {place.page}"
        note = f"{mention}: {kind} of {label}"
        self._add("link", page, box, note, goal=goal, label=arrow, target=_anchor(candidate))

    def _place_of(self, text: Paragraph, mention: str) -> tuple[int, Rect]:
        """Where a mention is printed; the paragraph's first piece where that can't be told."""
        pieces, ends, length = [], [], 0
        for key in text.lines:
            pieces.append(self._lines[key].text.strip())
            length += len(pieces[-1]) + 1
            ends.append(length)
        pattern = r"[\s-]*".join(re.escape(part) for part in re.findall(r"\w+|[^\w\s]", mention))
        found = re.search(rf"{pattern}(?!\w)", " ".join(pieces))
        if found is None:
            return text.page, text.bbox
        at = next(k for k, end in enumerate(ends) if found.start() < end)
        line, begin = self._lines[text.lines[at]], ends[at] - len(pieces[at]) - 1
        x0, y0, x1, y1 = line.bbox
        if line.horizontal:
            step = (x1 - x0) / max(len(pieces[at]), 1)
            x0, x1 = x0 + step * (found.start() - begin), min(x0 + step * (found.end() - begin), x1)
        return text.lines[at][0], (x0, y0, x1, y1)

    def _draw_left_out(self) -> None:
        document = self.analysis.document
        captions = self.analysis.captions
        captioned = {(c.page, index) for c in captions for index in c.lines} | {k for c in captions for k in c.overflow}
        boxes = [(r.page, r.bbox) for r in self.analysis.regions if isinstance(r, Region)]
        floating = {k for k, line in self._lines.items() if any(k[0] == p and _holds(b, line.bbox) for p, b in boxes)}
        read = {key for text in self.analysis.paragraphs for key in text.lines}
        taken = captioned | floating | read
        page_own = furniture(document, body_metrics(document), captioned | floating) - read
        for key, line in self._lines.items():
            note = _short(line.text)
            if key not in captioned and (begun := find_mentions(line.text.strip())) and begun[0].start == 0:
                self._add("label", key[0], line.bbox, f"not taken for a caption: {note}")
            if key in page_own:
                self._add("furniture", key[0], line.bbox, f"of the page, not of the text: {note}")
            elif key not in taken:
                self._add("loose", key[0], line.bbox, f"taken by no step: {note}")


def _pieces(lines: Sequence[tuple[int, Rect]]) -> list[tuple[int, Rect]]:
    """A paragraph's boxes, one a stretch of column: a line above the one before it begins another."""
    pieces: list[tuple[int, Rect]] = []
    last: Rect | None = None
    for page, box in lines:
        if last is not None and pieces[-1][0] == page and box[3] > last[1]:
            whole = pieces[-1][1]
            box_of_all = (*map(min, whole[:2], box[:2]), *map(max, whole[2:], box[2:]))
            pieces[-1] = page, box_of_all
        else:
            pieces.append((page, box))
        last = box
    return pieces


def _holds(box: Rect, inner: Rect) -> bool:
    """Whether the centre of one box lies in another."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _outline(box: Rect) -> str:
    """The box as path data.

    >>> _outline((1, 2, 30, 40.25))
    'M1.0 2.0H30.0V40.2H1.0Z'
    """
    x0, y0, x1, y1 = (f"{v:.1f}" for v in box)
    return f"M{x0} {y0}H{x1}V{y1}H{x0}Z"


def _line_between(box: Rect, goal: Rect) -> str:
    """Path data of a line from a box's middle to the nearest point of another box."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return f"M{x:.1f} {y:.1f}L{min(max(x, goal[0]), goal[2]):.1f} {min(max(y, goal[1]), goal[3]):.1f}"


def _under(text: Paragraph) -> str:
    return f"under “{text.section}”" if text.section else "before the first heading"


def _short(text: str, limit: int = 160) -> str:
    """A text's beginning, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 2] + " …"

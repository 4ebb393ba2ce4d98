"""One PDF -> its figures: the steps of this room in their order.

document -> captions -> regions -> paragraphs -> citations -> crops -> curation. Each step is a function of its own;
here they meet in one record that keeps what each of them found (:class:`PaperAnalysis`), and what one of them could
not do becomes a problem, a mark or a dropped figure.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scifigqual_bench import __version__, gating
from scifigqual_bench.pdf.captions import Caption, find_captions
from scifigqual_bench.pdf.citations import bind_citations
from scifigqual_bench.pdf.curation import (
    Look,
    Placed,
    crop_marks,
    duplicate_marks,
    paper_unusable,
    placement_marks,
)
from scifigqual_bench.pdf.document import Document, PdfError, Rect, open_pdf, read_document, shown_page
from scifigqual_bench.pdf.engines import Engine, EngineError, Findings
from scifigqual_bench.pdf.figure_text import PrintedFigure, read_figure
from scifigqual_bench.pdf.layout import Layout, analyse
from scifigqual_bench.pdf.layout_model import CONFIRMS, agreements
from scifigqual_bench.pdf.ocr import read_scans
from scifigqual_bench.pdf.recrop import second_crop
from scifigqual_bench.pdf.regions import Region, find_regions
from scifigqual_bench.pdf.render import Crop, render_region
from scifigqual_bench.pdf.text import Paragraph, paper_title, paragraphs
from scifigqual_bench.records import (
    Citation,
    DroppedFigure,
    Figure,
    Mark,
    PaperMeta,
    PaperReport,
    Problem,
    Provenance,
    figure_id,
    normalised_paper_id,
)

if TYPE_CHECKING:
    from scifigqual_bench.features.ocr import OcrEngine

DPI = 300
ENGINE = f"scifigqual-bench/{__version__}"
PARTIAL = ("page-unreadable", "pdf-repaired", "scan-without-ocr", "no-region", "paths-left-out", "render-failed")
"""Problems by which a paper counts as read in part."""


@dataclass(frozen=True)
class ExtractedFigure:
    """A figure that is kept.

    Attributes:
        image: PNG bytes.
        look: What it is compared by with the figures of other papers; None where it is not to be compared.
        printed: What the PDF tells of its text and images; None where that can't be read.
    """

    figure: Figure
    image: bytes
    look: Look | None = None
    printed: PrintedFigure | None = None


@dataclass(frozen=True)
class Extraction:
    """What one PDF gave."""

    report: PaperReport
    figures: tuple[ExtractedFigure, ...] = ()
    dropped: tuple[DroppedFigure, ...] = ()


def failed(path: Path, paper_id: str, problem: Problem) -> Extraction:
    """The extraction of a PDF that could not be read."""
    return Extraction(PaperReport(paper_id=paper_id, file=path.name, status="failed", problems=[problem]))


def figure_indices(numbers: Sequence[str]) -> list[int]:
    """Indices for the ids of one paper's figures, given their printed numbers in reading order.

    A plain number that comes for the first time is its own index; all others take the next free numbers after the
    largest plain one. So an id survives when extraction finds one figure more.

    >>> figure_indices(["1", "2", "A1", "2"])
    [1, 2, 3, 4]
    >>> figure_indices(["2", "S1", "5"])
    [2, 6, 5]
    """
    taken: set[int] = set()
    own: list[int | None] = []
    for number in numbers:
        plain = int(number) if number.isascii() and number.isdecimal() and int(number) not in taken else None
        own.append(plain)
        if plain is not None:
            taken.add(plain)
    following = max(taken, default=0)
    indices = []
    for plain in own:
        if plain is None:
            following += 1
        indices.append(following if plain is None else plain)
    return indices


@dataclass(frozen=True)
class Candidate:
    """A captioned figure on its way to a row.

    Attributes:
        region: Where its graphic is, or why it has none.
        crop: Its rendered region; None where there is none.
        printed: What the PDF tells of its text and images; None without a crop, or where that can't be read.
        look: What it is compared by with other figures; None without a crop.
        marks: Every decision of curation on it alone.
        citations: The paragraphs that name it.
    """

    figure_id: str
    fig_index: int
    caption: Caption
    region: Region | Problem
    citations: tuple[Citation, ...] = ()
    crop: Crop | None = None
    printed: PrintedFigure | None = None
    look: Look | None = None
    marks: tuple[Mark, ...] = ()

    @property
    def deleted(self) -> bool:
        """Whether a mark deletes it (S1)."""
        return any(mark.stage == "S1" for mark in self.marks)


@dataclass(frozen=True)
class PaperAnalysis:
    """What each step found in one PDF, from its lines of text to the decisions on its figures.

    Attributes:
        document: The pages as read, scanned ones too where an OCR engine was at hand.
        captions: Of figures, tables, algorithms and listings.
        regions: One entry a caption: where its graphic is, or why it has none.
        paragraphs: All text that is neither caption nor float nor furniture, in reading order.
        candidates: The captioned figures, in the order of their captions.
        unusable: Why the whole paper is left out (S5); None where it is not.
        problems: What went wrong on the way.
        engine: What found captions, regions and paragraphs.
    """

    document: Document
    layout: Layout
    captions: tuple[Caption, ...]
    regions: tuple[Region | Problem, ...]
    paragraphs: tuple[Paragraph, ...]
    candidates: tuple[Candidate, ...]
    unusable: Mark | None
    problems: tuple[Problem, ...]
    engine: str = ENGINE


def extract_paper(
    path: Path,
    meta: PaperMeta,
    *,
    ocr: OcrEngine | None = None,
    layout_model: bool = False,
    engine: Engine | None = None,
) -> Extraction:
    """Extract the figures of one paper.

    Args:
        path: The PDF.
        meta: Its id and what else is known of it.
        ocr: Reads scanned pages; None leaves them unread, and the report says so.
        layout_model: Whether PyMuPDF's layout model gives a second opinion on the regions.
        engine: Finds captions, regions and paragraphs instead of the steps of this room.

    Returns:
        Figures, dropped figures and a report. Nothing is raised for a fault of the PDF: it is the report's status.
    """
    try:
        analysis = analyse_paper(path, meta.paper_id, ocr=ocr, layout_model=layout_model, engine=engine)
        return extraction_of(analysis, meta)
    except Exception as error:  # a fault in one paper, ours or the PDF library's, must not end a corpus run
        return failed(path, meta.paper_id, problem_of(error, path))


def problem_of(error: Exception, path: Path) -> Problem:
    """What ended the analysis of a PDF, as a problem: one of the PDF's own, or else ``extraction-failed``."""
    if isinstance(error, PdfError):
        return Problem(code=error.code, message=str(error))
    if isinstance(error, EngineError):
        return Problem(code="engine-failed", message=str(error))
    message = f"{path.name}: extraction failed ({type(error).__name__}: {error})"
    return Problem(code="extraction-failed", message=message)


def analyse_paper(
    path: Path,
    paper_id: str,
    *,
    ocr: OcrEngine | None = None,
    layout_model: bool = False,
    engine: Engine | None = None,
) -> PaperAnalysis:
    """Run every step on one paper, and keep what each of them found.

    Args:
        path: The PDF.
        paper_id: Its id, for the ids of its figures.
        ocr: Reads scanned pages; None leaves them unread, and a problem says so.
        layout_model: Whether PyMuPDF's layout model gives a second opinion on the regions.
        engine: Finds captions, regions and paragraphs instead of the steps of this room.

    Returns:
        The analysis: nothing in it depends on what else is known of the paper.

    Raises:
        PdfError: The file can't be opened.
        EngineError: The other engine failed.
    """
    document = read_scans(read_document(path), ocr)
    layout = analyse(document)
    found = _found(document, layout) if engine is None else engine(document)
    figures = [(c, r) for c, r in zip(found.captions, found.regions, strict=True) if c.kind == "figure"]
    bound = bind_citations(found.paragraphs, [caption for caption, _ in figures])
    candidates = _candidates(paper_id, figures, bound.citations)
    problems = [Problem(code=code, message=message, page=page) for code, message, page in document.problems]
    problems += [*found.problems, *bound.problems]
    problems += [candidate.region for candidate in candidates if isinstance(candidate.region, Problem)]
    candidates = _flagged(_rendered(document, candidates, problems), layout.text_area)
    candidates = _recropped(candidates, layout, lambda again: _rendered(document, again, problems))
    candidates = _curated(_confirmed(document, candidates) if layout_model else candidates)
    unusable = paper_unusable(len(candidates), sum(candidate.deleted for candidate in candidates))
    if unusable is not None:
        problems.append(Problem(code=unusable.code, message=f"{path.name}: {unusable.detail}"))
    return PaperAnalysis(
        document=document,
        layout=layout,
        captions=found.captions,
        regions=found.regions,
        paragraphs=found.paragraphs,
        candidates=tuple(candidates),
        unusable=unusable,
        problems=tuple(problems),
        engine=ENGINE if engine is None else f"{ENGINE} with {engine.name}",
    )


def _found(document: Document, layout: Layout) -> Findings:
    """Captions, regions and paragraphs by the project's own steps."""
    captions = find_captions(document, layout)
    regions = find_regions(document, captions, layout)
    text = paragraphs(document, *_not_body(captions, regions))
    return Findings(tuple(captions), tuple(regions), tuple(text))


def extraction_of(analysis: PaperAnalysis, meta: PaperMeta) -> Extraction:
    """The rows of one paper: what was found, with what is known of the paper apart from its PDF."""
    document, unusable = analysis.document, analysis.unusable
    title = meta.title or paper_title(document)
    kept: list[ExtractedFigure] = []
    dropped: list[DroppedFigure] = []
    for candidate in analysis.candidates:
        if candidate.crop is None or candidate.deleted or unusable is not None:
            dropped.append(_dropped(meta.paper_id, document, candidate, unusable))
        else:
            figure = _row(meta, title, analysis, candidate, candidate.crop)
            kept.append(ExtractedFigure(figure, candidate.crop.png, candidate.look, candidate.printed))
    partial = any(problem.code in PARTIAL for problem in analysis.problems)
    report = PaperReport(
        paper_id=meta.paper_id,
        file=document.path.name,
        sha256=document.sha256,
        status="dropped" if unusable else "partial" if partial else "ok",
        problems=list(analysis.problems),
        pages=len(document.pages),
        figures_found=len(analysis.candidates),
        figures_kept=len(kept),
        figures_dropped=len(dropped),
        tables_found=sum(caption.kind == "table" for caption in analysis.captions),
        captions_without_region=sum(isinstance(candidate.region, Problem) for candidate in analysis.candidates),
        citations_found=sum(len(candidate.citations) for candidate in analysis.candidates),
    )
    return Extraction(report=report, figures=tuple(kept), dropped=tuple(dropped))


def _rendered(document: Document, candidates: Sequence[Candidate], problems: list[Problem]) -> list[Candidate]:
    """The candidates with their crops and what the PDF tells of them; one that can't be rendered is told."""
    found = []
    with open_pdf(document.path) as pdf:

        @cache
        def upright(number: int) -> object:
            return shown_page(pdf, number, document.pages[number - 1].turn)

        for candidate in candidates:
            region, crop, printed = candidate.region, None, None
            if isinstance(region, Region):
                place = f"{document.path.name}, page {region.page}: {candidate.caption.label}"
                try:
                    crop = render_region(upright(region.page), region.bbox, dpi=DPI)
                except Exception as error:  # PyMuPDF raises several types; the other figures are still to come
                    message = f"{place} can't be rendered ({error})"
                    problems.append(Problem(code="render-failed", message=message, page=region.page))
            if crop is not None:
                try:
                    printed = read_figure(upright(region.page), crop, document.pages[region.page - 1].drawings)
                except Exception as error:  # the figure is there all the same; its text is read by OCR
                    message = f"{place}: the PDF does not tell its text ({error})"
                    problems.append(Problem(code="figure-text-failed", message=message, page=region.page))
            found.append(replace(candidate, crop=crop, printed=printed))
    return found


def _flagged(candidates: Sequence[Candidate], text_area: tuple[float, float]) -> list[Candidate]:
    """The candidates with the flags of their crops' places (S2)."""
    placed = [candidate for candidate in candidates if candidate.crop is not None]
    places = [Placed(c.caption.number, c.caption.page, c.crop.bbox, c.caption.continued) for c in placed]
    flags = iter(placement_marks(places, text_area))
    return [c if c.crop is None else replace(c, marks=tuple(next(flags))) for c in candidates]


def _recropped(
    candidates: Sequence[Candidate], layout: Layout, render: Callable[[list[Candidate]], list[Candidate]]
) -> list[Candidate]:
    """The candidates with the flagged ones cropped a second time (S3); the first crop is kept in doubt."""
    found = []
    for candidate in candidates:
        if candidate.marks and isinstance(candidate.region, Region) and candidate.crop is not None:
            page = layout.pages[candidate.region.page - 1]
            box, mark = second_crop(page, candidate.caption, candidate.crop.bbox)
            candidate = replace(candidate, marks=(*candidate.marks, mark))
            if box is not None:
                (again,) = render([replace(candidate, region=replace(candidate.region, bbox=box))])
                candidate = candidate if again.crop is None else again
        found.append(candidate)
    return found


def _curated(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with the decisions on their final crops: S1, duplicates in the paper, and S4 of the caption."""
    crops = {k: candidate.crop for k, candidate in enumerate(candidates) if candidate.crop is not None}
    images = [crop.pixels for crop in crops.values()]
    looks = [image if image is None else Look.of(image) for image in images]
    twins = duplicate_marks(looks, [candidates[k].caption.label for k in crops])
    curated = [replace(candidate, marks=_NO_CROP) for candidate in candidates]
    for k, image, look, twin in zip(crops, images, looks, twins, strict=True):
        continued = _CROSS_PAGE if candidates[k].caption.continued else ()
        marks = (*crop_marks(image), *twin, *candidates[k].marks, *continued)
        curated[k] = replace(candidates[k], marks=marks, look=look)
    return curated


_NO_CROP = (Mark(stage="S1", code="no-crop", detail="no region was found, or it can't be rendered"),)
_CROSS_PAGE = (Mark(stage="S4", code="cross-page", detail="its caption continues an earlier one"),)


def _status(marks: Sequence[Mark]) -> Literal["kept", "flagged", "recropped"]:
    if any(mark.code == "recropped" for mark in marks):
        return "recropped"
    return "flagged" if any(mark.stage == "S2" for mark in marks) else "kept"


def _row(meta: PaperMeta, title: str | None, analysis: PaperAnalysis, candidate: Candidate, crop: Crop) -> Figure:
    caption, region = candidate.caption, candidate.region
    assert isinstance(region, Region)
    document = analysis.document
    page, caption_page = document.pages[region.page - 1], document.pages[caption.page - 1]
    mask = gating.open_dimensions(has_caption=bool(caption.text), has_context=bool(candidate.citations))
    return Figure(
        figure_id=candidate.figure_id,
        paper_id=meta.paper_id,
        paper_id_norm=normalised_paper_id(meta.paper_id),
        fig_index=candidate.fig_index,
        number=caption.number,
        caption=caption.text,
        citations=list(candidate.citations),
        venue=meta.venue,
        year=meta.year,
        title=title,
        section=candidate.citations[0].section if candidate.citations else None,
        topic=meta.topic,
        page=region.page,
        bbox=_rounded(page.displayed(crop.bbox)),
        caption_bbox=_rounded(caption_page.displayed(caption.bbox)),
        width=crop.width,
        height=crop.height,
        image_sha256=hashlib.sha256(crop.png).hexdigest(),
        open_dimensions=list(mask),
        curation_status=_status(candidate.marks),
        curation_marks=list(candidate.marks),
        provenance=Provenance(
            pdf_sha256=document.sha256,
            engine=analysis.engine,
            method=region.method,
            confidence=region.confidence,
            dpi=round(crop.dpi, 2),
            text_layer=page.text_layer,
            turn=page.turn,
            layout_model_iou=region.layout_model_iou,
        ),
    )


def _confirmed(document: Document, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with what the layout model sees of their crops; what it confirms is trusted a little more."""
    placed = [candidate for candidate in candidates if candidate.crop is not None]
    shares = iter(agreements(document, [(c.region.page, c.crop.bbox) for c in placed]))
    found = []
    for candidate in candidates:
        if candidate.crop is not None:
            region, share = candidate.region, round(next(shares), 2)
            trust = region.confidence + (0.05 if share >= CONFIRMS else 0.0)
            candidate = replace(candidate, region=replace(region, layout_model_iou=share, confidence=round(trust, 2)))
        found.append(candidate)
    return found


def _dropped(paper_id: str, document: Document, candidate: Candidate, unusable: Mark | None) -> DroppedFigure:
    caption, region = candidate.caption, candidate.region
    box = document.pages[region.page - 1].displayed(region.bbox) if isinstance(region, Region) else None
    return DroppedFigure(
        figure_id=candidate.figure_id,
        paper_id=paper_id,
        number=caption.number,
        page=caption.page,
        bbox=_rounded(box) if box else None,
        caption=caption.text,
        citations=list(candidate.citations),
        marks=[*candidate.marks, *([unusable] if unusable else [])],
    )


def _rounded(box: Rect) -> list[float]:
    """A box to hundredths of a point, finer than any printer."""
    return [round(float(value), 2) for value in box]


def _not_body(
    captions: Sequence[Caption], regions: Sequence[Region | Problem]
) -> tuple[dict[int, set[int]], dict[int, list[Rect]]]:
    """Per page the lines of captions and the boxes of floats: what is on the page and not in the running text."""
    lines: dict[int, set[int]] = defaultdict(set)
    boxes: dict[int, list[Rect]] = defaultdict(list)
    for caption, region in zip(captions, regions, strict=True):
        lines[caption.page].update(caption.lines)
        for page, index in caption.overflow:
            lines[page].add(index)
        if isinstance(region, Region):
            boxes[region.page].append(region.bbox)
    return lines, boxes


def _candidates(
    paper_id: str, figures: Sequence[tuple[Caption, Region | Problem]], citations: Sequence[list[Citation]]
) -> list[Candidate]:
    """Give every figure its id."""
    indices = figure_indices([caption.number for caption, _ in figures])
    return [
        Candidate(figure_id(paper_id, index), index, caption, region, tuple(own))
        for index, (caption, region), own in zip(indices, figures, citations, strict=True)
    ]

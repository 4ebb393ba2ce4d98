"""One PDF -> its figures: the steps of this room in their order.

document -> captions -> regions -> paragraphs -> citations -> crops -> curation. Each step is a function of its own;
here they meet, and what one of them could not do becomes a problem, a mark or a dropped figure.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scifigqual_bench import __version__, gating
from scifigqual_bench.pdf.captions import Caption, find_captions
from scifigqual_bench.pdf.citations import bind_citations
from scifigqual_bench.pdf.curation import (
    Placed,
    crop_marks,
    decode,
    duplicate_marks,
    paper_unusable,
    placement_marks,
)
from scifigqual_bench.pdf.document import Document, PdfError, Rect, open_pdf, read_document
from scifigqual_bench.pdf.layout import analyse
from scifigqual_bench.pdf.ocr import read_scans
from scifigqual_bench.pdf.regions import Region, find_regions
from scifigqual_bench.pdf.render import Crop, render_region
from scifigqual_bench.pdf.text import paper_title, paragraphs
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
PARTIAL = ("page-unreadable", "pdf-repaired", "scan-without-ocr", "no-region", "render-failed")
"""Problems by which a paper counts as read in part."""


@dataclass(frozen=True)
class ExtractedFigure:
    """A figure that is kept, and its PNG bytes."""

    figure: Figure
    image: bytes


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


def extract_paper(path: Path, meta: PaperMeta, *, ocr: OcrEngine | None = None) -> Extraction:
    """Extract the figures of one paper.

    Args:
        path: The PDF.
        meta: Its id and what else is known of it.
        ocr: Reads scanned pages; None leaves them unread, and the report says so.

    Returns:
        Figures, dropped figures and a report. Nothing is raised for a fault of the PDF: it is the report's status.
    """
    try:
        return _extract(path, meta, ocr)
    except PdfError as error:
        return failed(path, meta.paper_id, Problem(code=error.code, message=str(error)))
    except Exception as error:  # a fault in one paper, ours or the PDF library's, must not end a corpus run
        message = f"{path.name}: extraction failed ({type(error).__name__}: {error})"
        return failed(path, meta.paper_id, Problem(code="extraction-failed", message=message))


@dataclass(frozen=True)
class _Candidate:
    """A captioned figure on its way to a row, with what was found of it so far."""

    figure_id: str
    fig_index: int
    caption: Caption
    region: Region | Problem
    citations: list[Citation]


def _extract(path: Path, meta: PaperMeta, ocr: OcrEngine | None) -> Extraction:
    document = read_scans(read_document(path), ocr)
    layout = analyse(document)
    captions = find_captions(document, layout)
    regions = find_regions(document, captions, layout)
    text = paragraphs(document, *_not_body(captions, regions))
    figures = [(c, r) for c, r in zip(captions, regions, strict=True) if c.kind == "figure"]
    bound = bind_citations(text, [caption.number for caption, _ in figures])
    candidates = _candidates(meta.paper_id, figures, bound.citations)
    problems = [Problem(code=code, message=message, page=page) for code, message, page in document.problems]
    problems += bound.problems
    problems += [candidate.region for candidate in candidates if isinstance(candidate.region, Problem)]
    crops = _render(path, candidates, problems)
    marks = _curate(candidates, crops, layout.text_area)
    deleted = [candidate.figure_id for candidate in candidates if _is_deleted(marks[candidate.figure_id])]
    unusable = paper_unusable(len(candidates), len(deleted))
    if unusable is not None:
        problems.append(Problem(code=unusable.code, message=f"{path.name}: {unusable.detail}"))

    kept: list[ExtractedFigure] = []
    dropped: list[DroppedFigure] = []
    title = meta.title or paper_title(document)
    for candidate in candidates:
        own = marks[candidate.figure_id]
        if unusable is not None or candidate.figure_id in deleted:
            dropped.append(_dropped(meta.paper_id, candidate, [*own, *([unusable] if unusable else [])]))
        else:
            crop = crops[candidate.figure_id]
            kept.append(ExtractedFigure(_row(meta, title, document, candidate, crop, own), crop.png))
    report = PaperReport(
        paper_id=meta.paper_id,
        file=path.name,
        sha256=document.sha256,
        status="dropped" if unusable else "partial" if any(p.code in PARTIAL for p in problems) else "ok",
        problems=problems,
        pages=len(document.pages),
        figures_found=len(candidates),
        figures_kept=len(kept),
        figures_dropped=len(dropped),
        tables_found=sum(caption.kind == "table" for caption in captions),
        captions_without_region=sum(isinstance(region, Problem) for _, region in figures),
        citations_found=sum(len(candidate.citations) for candidate in candidates),
    )
    return Extraction(report=report, figures=tuple(kept), dropped=tuple(dropped))


def _render(path: Path, candidates: Sequence[_Candidate], problems: list[Problem]) -> dict[str, Crop]:
    """Crops by figure id; one that can't be rendered is told."""
    crops: dict[str, Crop] = {}
    with open_pdf(path) as pdf:
        for candidate in candidates:
            region = candidate.region
            if isinstance(region, Problem):
                continue
            page = pdf[region.page - 1]
            if page.rotation:
                page.remove_rotation()
            try:
                crops[candidate.figure_id] = render_region(page, region.bbox, dpi=DPI)
            except Exception as error:  # PyMuPDF raises several types; the other figures are still to come
                message = f"{path.name}, page {region.page}: {candidate.caption.label} can't be rendered ({error})"
                problems.append(Problem(code="render-failed", message=message, page=region.page))
    return crops


def _curate(
    candidates: Sequence[_Candidate], crops: Mapping[str, Crop], text_area: tuple[float, float]
) -> dict[str, list[Mark]]:
    """Every decision on every figure (SPEC 8): S1 of the crop, duplicates within the paper, S2 of its place."""
    marks: dict[str, list[Mark]] = {
        candidate.figure_id: []
        if candidate.figure_id in crops
        else [Mark(stage="S1", code="no-crop", detail="no region was found, or it can't be rendered")]
        for candidate in candidates
    }
    rendered = [candidate for candidate in candidates if candidate.figure_id in crops]
    images = [decode(crops[candidate.figure_id].png) for candidate in rendered]
    places = [Placed(c.caption.number, c.caption.page, crops[c.figure_id].bbox, c.caption.continued) for c in rendered]
    twins = duplicate_marks(images, [candidate.caption.label for candidate in rendered])
    for candidate, image, twin, flags in zip(rendered, images, twins, placement_marks(places, text_area), strict=True):
        own = [*crop_marks(image), *twin, *flags]
        if candidate.caption.continued:
            own.append(Mark(stage="S4", code="cross-page", detail="its caption continues an earlier one"))
        marks[candidate.figure_id] = own
    return marks


def _is_deleted(marks: Sequence[Mark]) -> bool:
    return any(mark.stage == "S1" for mark in marks)


def _row(
    meta: PaperMeta, title: str | None, document: Document, candidate: _Candidate, crop: Crop, marks: list[Mark]
) -> Figure:
    caption, region = candidate.caption, candidate.region
    assert isinstance(region, Region)
    mask = gating.open_dimensions(has_caption=bool(caption.text), has_context=bool(candidate.citations))
    return Figure(
        figure_id=candidate.figure_id,
        paper_id=meta.paper_id,
        paper_id_norm=normalised_paper_id(meta.paper_id),
        fig_index=candidate.fig_index,
        number=caption.number,
        caption=caption.text,
        citations=candidate.citations,
        venue=meta.venue,
        year=meta.year,
        title=title,
        section=candidate.citations[0].section if candidate.citations else None,
        topic=meta.topic,
        page=region.page,
        bbox=_rounded(crop.bbox),
        caption_bbox=_rounded(caption.bbox),
        width=crop.width,
        height=crop.height,
        image_sha256=hashlib.sha256(crop.png).hexdigest(),
        open_dimensions=list(mask),
        curation_status="flagged" if any(mark.stage == "S2" for mark in marks) else "kept",
        curation_marks=marks,
        provenance=Provenance(
            pdf_sha256=document.sha256,
            engine=ENGINE,
            method=region.method,
            confidence=region.confidence,
            dpi=round(crop.dpi, 2),
            text_layer=document.pages[region.page - 1].text_layer,
        ),
    )


def _dropped(paper_id: str, candidate: _Candidate, marks: list[Mark]) -> DroppedFigure:
    caption, region = candidate.caption, candidate.region
    return DroppedFigure(
        figure_id=candidate.figure_id,
        paper_id=paper_id,
        number=caption.number,
        page=caption.page,
        bbox=_rounded(region.bbox) if isinstance(region, Region) else None,
        caption=caption.text,
        citations=candidate.citations,
        marks=marks,
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
        if isinstance(region, Region):
            boxes[region.page].append(region.bbox)
    return lines, boxes


def _candidates(
    paper_id: str, figures: Sequence[tuple[Caption, Region | Problem]], citations: Mapping[str, list[Citation]]
) -> list[_Candidate]:
    """Give every figure its id. A number's citations go to the first figure that bears it: they are not doubled."""
    indices = figure_indices([caption.number for caption, _ in figures])
    cited: set[str] = set()
    found = []
    for index, (caption, region) in zip(indices, figures, strict=True):
        own = [] if caption.number in cited else citations[caption.number]
        cited.add(caption.number)
        found.append(_Candidate(figure_id(paper_id, index), index, caption, region, own))
    return found

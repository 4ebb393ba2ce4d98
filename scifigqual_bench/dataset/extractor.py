"""One PDF -> its figures with their measured features: the function that every way to run a build applies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

import scifigqual_bench
from scifigqual_bench.features.ocr import OCR_ENGINES, OcrEngine, ocr_engine
from scifigqual_bench.pdf.curation import decode, measured_marks
from scifigqual_bench.pdf.engines import Engine
from scifigqual_bench.pdf.extract import ExtractedFigure, Extraction, extract_paper
from scifigqual_bench.pdf.layout_model import require_layout_model
from scifigqual_bench.records import Figure, PaperMeta, Problem, SidecarFeatures

FeatureChoice = Literal["rapidocr", "paddleocr", "pdf", "vision", "none"]
FEATURE_CHOICES: tuple[FeatureChoice, ...] = FeatureChoice.__args__
FeatureExtractor = Callable[[ExtractedFigure], SidecarFeatures]


class Extractor(Protocol):
    """What turns a PDF into an extraction; it can be pickled, since it is called in another process."""

    @property
    def identity(self) -> str:
        """All that the results depend on beside the PDF and its metadata: settings, engines, versions."""
        ...

    @property
    def modules(self) -> tuple[str, ...]:
        """What is worth importing once instead of for every PDF."""
        ...

    def __call__(self, pdf: Path, meta: PaperMeta) -> Extraction:
        """Read one PDF; its faults are the report's status."""
        ...


@dataclass(frozen=True)
class PaperExtractor:
    """The project's own extraction.

    Attributes:
        features: Sidecar features. ``"rapidocr"`` and ``"paddleocr"``: image statistics, and text from the PDF where
            it tells it, by that engine where it does not; ``"pdf"``: text from the PDF alone; ``"vision"``: image
            statistics alone; ``"none"``: a null column. Only an OCR engine reads scanned pages.
        ocr_options: Options of the engine as pairs, see :mod:`scifigqual_bench.features.paddle`.
        layout_model: Whether PyMuPDF's layout model gives a second opinion on every region.
        engine: Another engine that finds captions, regions and paragraphs; None for the project's own steps.
    """

    features: FeatureChoice = "rapidocr"
    ocr_options: tuple[tuple[str, Any], ...] = ()
    layout_model: bool = False
    engine: Engine | None = None

    @property
    def identity(self) -> str:
        """Settings, engine and code.

        Raises:
            ImportError: A package that the features need is missing; names the remedy.
            InputError: A model that the features need is missing; names the option.
        """
        engine = self.ocr_engine()
        if self.layout_model:
            require_layout_model()
        settings = [self.features, self.ocr_options, self.layout_model, self.engine and self.engine.identity]
        return json.dumps([*settings, engine.name if engine else None, code_version()])

    @property
    def modules(self) -> tuple[str, ...]:
        """PyMuPDF and, where it is used, OCR.

        Importing ``pymupdf`` may make the onnxruntime sessions of its layout model. Their threads do not survive the
        fork of a worker: one that runs that model must make sessions of its own.
        """
        measuring = () if self.features == "none" else ("scifigqual_bench.features.extract",)
        return ("pymupdf", *measuring, *(("rapidocr",) if self.features == "rapidocr" else ()))

    def ocr_engine(self) -> OcrEngine | None:
        """What reads text in images and on scanned pages; None where no image is measured."""
        if self.features == "none":
            return None
        return ocr_engine(self.features if self.features in OCR_ENGINES else "none", options=dict(self.ocr_options))

    def __call__(self, pdf: Path, meta: PaperMeta) -> Extraction:
        """Read one PDF and measure its figures."""
        engine = self.ocr_engine()
        extraction = extract_paper(pdf, meta, ocr=engine, layout_model=self.layout_model, engine=self.engine)
        return extraction if engine is None else with_features(extraction, self._measure_with(engine))

    def _measure_with(self, engine: OcrEngine) -> FeatureExtractor:
        from scifigqual_bench.features.extract import extract_features

        def measure(found: ExtractedFigure) -> SidecarFeatures:
            figure, printed = found.figure, found.printed
            if printed is not None and self.features == "vision":
                printed = printed.without_text
            return extract_features(
                found.image, caption=figure.caption, print_size_pt=figure.print_size_pt, ocr=engine, printed=printed
            )

        return measure


@cache
def code_version() -> str:
    """A digest of this package's source and the versions of the libraries that read and draw PDFs."""
    import cv2
    import numpy
    import pymupdf

    digest = hashlib.sha256(json.dumps([module.__version__ for module in (cv2, numpy, pymupdf)]).encode())
    root = Path(scifigqual_bench.__file__).parent
    for source in sorted(root.rglob("*.py")):
        digest.update(f"{source.relative_to(root).as_posix()}\0".encode() + source.read_bytes())
    return digest.hexdigest()


def _measured(found: ExtractedFigure, features: SidecarFeatures) -> Figure:
    """The row with what was measured, and what follows from it: its type, and marks (S4)."""
    from scifigqual_bench.features.figure_type import figure_type

    pixels = decode(found.image)
    kind = None if pixels is None else figure_type(features.image, pixels)
    marks = [*found.figure.curation_marks, *measured_marks(features.image)]
    return found.figure.model_copy(update={"features": features, "figure_type": kind, "curation_marks": marks})


def with_features(extraction: Extraction, measure: FeatureExtractor) -> Extraction:
    """The extraction with every figure measured; where that fails, the figure stays and a problem tells."""
    figures: list[ExtractedFigure] = []
    problems = list(extraction.report.problems)
    for found in extraction.figures:
        figure = found.figure
        try:
            figure = _measured(found, measure(found))
        except MemoryError:  # the limit of the whole paper, not a fault of one figure
            raise
        except Exception as error:  # an OCR engine can fail in its own ways; the figure is kept without features
            text = f"{figure.figure_id}: features can't be measured ({type(error).__name__}: {error})"
            problems.append(Problem(code="features-failed", message=text, page=figure.page))
        figures.append(replace(found, figure=figure))
    report = extraction.report.model_copy(update={"problems": problems})
    return Extraction(report=report, figures=tuple(figures), dropped=extraction.dropped)

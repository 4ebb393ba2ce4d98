"""Which features a build measures, and where their text comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scifigqual_bench.dataset.extractor import FEATURE_CHOICES, PaperExtractor
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import PaperMeta
from scifigqual_bench.samples.make import SampleSet


@pytest.fixture(scope="module")
def pdf(samples: SampleSet) -> Path:
    """A paper with vector figures."""
    return sorted(samples.pdf_folder.glob("*.pdf"))[0]


def measured(pdf: Path, choice: str):
    return [found.figure.features for found in PaperExtractor(choice)(pdf, PaperMeta(paper_id="p")).figures]


def test_text_from_the_pdf_needs_no_engine(pdf):
    images = [features.image for features in measured(pdf, "pdf")]
    assert any(image.text_boxes for image in images)
    for image in images:
        assert image.ocr_engine == ("pdf" if image.text_boxes else "none")
        assert {box.source for box in image.text_boxes} <= {"pdf"}
        assert image.raster_share is not None


def test_statistics_alone_leave_text_out(pdf):
    for features in measured(pdf, "vision"):
        assert (features.image.ocr_engine, features.image.text_boxes) == ("none", [])
        assert features.image.raster_share is not None
        assert features.caption.word_share is None


def test_no_features(pdf):
    assert set(measured(pdf, "none")) == {None}


def test_settings_are_part_of_the_identity():
    plain, pdf = (json.loads(PaperExtractor(choice).identity) for choice in ("vision", "pdf"))
    assert plain != pdf
    assert set(FEATURE_CHOICES) == {"rapidocr", "paddleocr", "pdf", "vision", "none"}


def test_options_of_the_wrong_engine_are_told_before_the_build():
    with pytest.raises(InputError, match="only paddleocr takes options"):
        _ = PaperExtractor("rapidocr", (("lang", "en"),)).identity

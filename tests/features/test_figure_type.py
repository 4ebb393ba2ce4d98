"""What kind of figure it is."""

import math
from pathlib import Path

import cv2
import numpy as np
import pytest

from scifigqual_bench.features.extract import extract_features
from scifigqual_bench.features.figure_type import MEASURES, Coefficients, coefficients, figure_type, measures, told
from scifigqual_bench.features.ocr import ocr_engine
from scifigqual_bench.features.structure import structure


def white(height=600, width=900):
    return np.full((height, width, 3), 255, np.uint8)


# --- marks ------------------------------------------------------------------------------------------------------------


def test_photographs_are_rich_and_drawings_are_not():
    noise = np.random.default_rng(0).integers(0, 256, (512, 512, 3), dtype=np.uint8)
    assert structure(noise).rich_share == 1.0
    half = white(512, 1024)
    half[:, :512] = noise
    assert structure(half).rich_share == pytest.approx(0.5, abs=0.02)
    assert structure(white()).rich_share == 0.0


def test_rules_are_counted_along_both_sides():
    image = white()
    for y in (100, 300, 500):
        cv2.line(image, (50, y), (850, y), (0, 0, 0), 2)
    cv2.line(image, (450, 20), (450, 580), (0, 0, 0), 2)
    cv2.line(image, (50, 200), (150, 200), (0, 0, 0), 2)  # too short
    found = structure(image)
    assert (found.horizontal_rules, found.vertical_rules) == (3, 1)


def test_boxes_are_counted_and_circles_are_not():
    image = white()
    for x in (100, 400):
        cv2.rectangle(image, (x, 100), (x + 200, 250), (0, 0, 0), 3)
    alone = structure(image).boxes
    cv2.circle(image, (450, 450), 80, (0, 0, 0), 3)
    assert alone >= 2 and structure(image).boxes == alone


def test_fills_and_darkness_are_shares():
    image = white(600, 600)
    image[:, :300] = (200, 120, 40)
    image[:300, 300:] = 0
    found = structure(image)
    assert found.fill_share == pytest.approx(0.5, abs=0.02) and found.dark_share == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2000), (20, 20)])
def test_any_size_can_be_measured(shape):
    found = structure(np.zeros((*shape, 3), np.uint8))
    assert found.dark_share == 1.0


def test_size_hardly_matters():
    image = white(800, 1200)
    cv2.rectangle(image, (100, 100), (500, 400), (180, 30, 30), -1)
    large = structure(cv2.resize(image, (3600, 2400), interpolation=cv2.INTER_AREA))
    assert large.fill_share == pytest.approx(structure(image).fill_share, abs=0.02)


# --- the model --------------------------------------------------------------------------------------------------------


def test_the_model_that_comes_with_the_package_fits_the_code():
    model = coefficients()
    assert tuple(model.measures) == MEASURES
    assert len(model.means) == len(model.scales) == len(MEASURES) and min(model.scales) > 0
    assert {len(line) for line in model.slopes} == {len(MEASURES)}
    assert set(model.types) == {"plot", "diagram", "table", "composite", "photo"}


def test_a_type_is_told_only_where_it_is_likely_enough():
    def model(slope):
        return Coefficients(
            measures=["x"],
            means=[2.0],
            scales=[1.0],
            types=["plot", "photo", "table"],
            intercepts=[0.0, 0.0, 0.0],
            slopes=[[slope], [0.0], [-slope]],
            figures=3,
        )

    assert told(np.array([3.0]), model(5.0)) == "plot" and told(np.array([1.0]), model(5.0)) == "table"
    assert told(np.array([3.0]), model(0.1)) is None
    assert told(np.array([math.nan]), model(50.0)) is None  # not known: the mean, where the three are alike


def test_without_text_nobody_tells(tmp_path):
    _, png = cv2.imencode(".png", white())
    features = extract_features(png.tobytes(), ocr=ocr_engine("none")).image
    assert figure_type(features, white()) is None
    assert measures(features, white()).shape == (len(MEASURES),)


@pytest.mark.slow
def test_real_figures_are_told_as_by_eye(shared: Path, root: Path):
    """Two of the papers that it was fitted on; benchmarks/figure_types.py says how good it is on others."""
    import csv

    from scifigqual_bench.dataset.extractor import PaperExtractor
    from scifigqual_bench.records import PaperMeta

    with (root / "tests/pdf/data/figure_types.csv").open(encoding="utf-8", newline="") as file:
        labels = {(row["paper_id"], row["number"]): row["figure_type"] for row in csv.DictReader(file)}
    found = []
    for paper in ("attention-neurips17", "strainsensor-ieee"):
        extraction = PaperExtractor("pdf")(shared / f"papers/pdfs/{paper}.pdf", PaperMeta(paper_id=paper))
        found += [(labels[paper, item.figure.number], item.figure.figure_type) for item in extraction.figures]
    told_of = [(eye, kind) for eye, kind in found if kind is not None]
    assert len(found) == 20 and len(told_of) >= 15
    assert sum(eye == kind for eye, kind in told_of) >= 0.8 * len(told_of)

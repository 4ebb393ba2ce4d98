"""Curation rules against outside references, on made images, and counted on real figures."""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from scifigqual_bench.pdf.captions import find_captions
from scifigqual_bench.pdf.curation import (
    MAX_DISTANCE,
    SAME_SHARE,
    Look,
    Placed,
    crop_marks,
    decode,
    difference,
    distance,
    duplicate_marks,
    measured_marks,
    paper_unusable,
    phash,
    placement_marks,
)
from scifigqual_bench.pdf.document import open_pdf, read_document
from scifigqual_bench.pdf.layout import analyse
from scifigqual_bench.pdf.regions import Region, find_regions
from scifigqual_bench.pdf.render import render_region
from scifigqual_bench.records import ImageFeatures


def encoded(rgb: np.ndarray, format: str = "PNG", **options: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, format=format, **options)
    return buffer.getvalue()


def curve(phase: float, colour: tuple[int, int, int] = (200, 30, 30)) -> np.ndarray:
    """A line plot on white: axes, ticks, and one curve."""
    image = np.full((400, 600, 3), 255, np.uint8)
    cv2.rectangle(image, (60, 20), (580, 360), (0, 0, 0), 2)
    for x in range(60, 581, 65):
        cv2.line(image, (x, 360), (x, 368), (0, 0, 0), 2)
    xs = np.arange(60, 581)
    ys = 190 + 120 * np.sin(xs / 60 + phase)
    cv2.polylines(image, [np.stack([xs, ys], axis=1).astype(np.int32)], False, colour, 3, cv2.LINE_AA)
    return image


def noise(seed: int, height: int = 240, width: int = 320) -> np.ndarray:
    coarse = np.random.default_rng(seed).integers(0, 255, (12, 16, 3), dtype=np.uint8)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)


def looks(images: list[np.ndarray | None]) -> list[Look | None]:
    return [image if image is None else Look.of(image) for image in images]


def apart(one: np.ndarray, two: np.ndarray) -> float:
    return difference(Look.of(one), Look.of(two))


def codes(marks: list) -> list[str]:
    return [mark.code for mark in marks]


# --- S1, one crop -----------------------------------------------------------------------------------------------------


def test_decoding_keeps_every_pixel_and_tells_what_is_no_image() -> None:
    image = noise(1)
    assert (decode(encoded(image)) == image).all()
    assert decode(b"") is None
    assert decode(b"no image") is None
    assert decode(encoded(image)[:40]) is None
    assert codes(crop_marks(None)) == ["undecodable"]


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [
        (50, 50, []),
        (49, 500, ["small"]),
        (50, 1000, []),
        (50, 1001, ["aspect"]),
        (1001, 50, ["aspect"]),
        (20, 500, ["small", "aspect"]),
    ],
)
def test_limits_of_size_and_aspect(height: int, width: int, expected: list[str]) -> None:
    assert codes(crop_marks(noise(2, height, width))) == expected


@pytest.mark.parametrize(("share", "expected"), [(0.97, []), (0.971, ["dominant-colour"])])
def test_limit_of_the_dominant_colour(share: float, expected: list[str]) -> None:
    image = np.full((100, 100, 3), 255, np.uint8)
    image.reshape(-1, 3)[: 10000 - round(share * 10000)] = np.random.default_rng(3).integers(
        0, 200, (10000 - round(share * 10000), 3)
    )
    marks = crop_marks(image)
    assert codes(marks) == expected
    assert all(mark.stage == "S1" for mark in marks)


# --- S1, near duplicates ----------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(arrays(np.uint8, (48, 40, 3)))
def test_the_hash_is_the_sign_of_the_lowest_frequencies(rgb: np.ndarray) -> None:
    """Against SciPy's DCT; coefficients as close to the median as float32 can't tell apart may go either way."""
    grey = cv2.resize(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), (32, 32), interpolation=cv2.INTER_AREA)
    low = scipy.fft.dctn(grey.astype(np.float64), type=2, norm="ortho")[:8, :8].ravel()
    expected = low > np.median(low)
    clear = np.abs(low - np.median(low)) > 1e-2
    bits = np.array([int(bit) for bit in f"{phash(rgb):064b}"], dtype=bool)
    assert (bits == expected)[clear].all()


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_distance_counts_bits(one: int, two: int) -> None:
    assert distance(one, two) == sum((one >> k & 1) != (two >> k & 1) for k in range(64))
    assert distance(one, one) == 0


def test_line_plots_that_hash_alike_are_both_kept() -> None:
    """The reason for looking at pixels: two curves in the same axes."""
    one, two = curve(0.0), curve(0.25)
    assert distance(phash(one), phash(two)) <= MAX_DISTANCE
    first, second = duplicate_marks(looks([one, two]), ["Figure 1", "Figure 2"])
    assert first == []
    (mark,) = second
    assert (mark.stage, mark.code) == ("S4", "similar-hash")
    assert "Figure 1" in mark.detail and "plain hash rule would delete it" in mark.detail


@pytest.mark.parametrize("change", ["same", "jpeg", "smaller", "bordered"])
@pytest.mark.parametrize("image", [curve(0.5), noise(4)], ids=["plot", "picture"])
def test_copies_are_dropped(image: np.ndarray, change: str) -> None:
    height, width = image.shape[:2]
    copy = {
        "same": image,
        "jpeg": np.asarray(Image.open(io.BytesIO(encoded(image, "JPEG", quality=60)))),
        "smaller": cv2.resize(image, (width * 2 // 3, height * 2 // 3), interpolation=cv2.INTER_AREA),
        "bordered": cv2.copyMakeBorder(image, 3, 2, 4, 1, cv2.BORDER_CONSTANT, value=(255, 255, 255)),
    }[change]
    first, second = duplicate_marks(looks([image, copy]), ["Figure 1", "Figure 2"])
    assert first == []
    assert [(mark.stage, mark.code) for mark in second] == [("S1", "near-duplicate")]


def test_a_colour_that_differs_is_a_difference() -> None:
    marks = duplicate_marks(looks([curve(0.0), curve(0.0, (30, 30, 200))]), ["Figure 1", "Figure 2"])
    assert codes(marks[1]) == ["similar-hash"]


def test_a_copy_of_a_copy_is_named_after_the_one_that_is_kept() -> None:
    image = noise(5)
    marks = duplicate_marks(looks([noise(6), image, None, image, image]), [f"Figure {k}" for k in range(1, 6)])
    assert [codes(m) for m in marks] == [[], [], [], ["near-duplicate"], ["near-duplicate"]]
    assert all("Figure 2" in marks[k][0].detail for k in (3, 4))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=7))
def test_one_of_every_kind_is_kept(seeds: list[int]) -> None:
    images = [noise(seed) for seed in seeds]
    marks = duplicate_marks(looks(images), [str(k) for k in range(len(seeds))])
    kept = [seed for seed, own in zip(seeds, marks, strict=True) if "near-duplicate" not in codes(own)]
    assert kept == list(dict.fromkeys(seeds))


def test_difference_is_a_share() -> None:
    white, half = np.full((100, 100, 3), 255, np.uint8), np.full((100, 100, 3), 255, np.uint8)
    half[:, :50] = 0
    half[:, 50:52] = 90
    assert apart(white, white) == 0
    assert 0.4 < apart(half, white) <= 1
    assert apart(noise(1, 100, 100), noise(1, 100, 200)) == 1.0


# --- S2 and S5 --------------------------------------------------------------------------------------------------------

TEXT = (486.0, 660.0)


def placed(*numbers: str) -> list[Placed]:
    return [Placed(number, 1, (0, 0, 100, 100)) for number in numbers]


def test_usual_figures_are_not_flagged() -> None:
    assert placement_marks(placed("1", "2", "3", "A1", "S2"), TEXT) == [[]] * 5
    assert placement_marks([], TEXT) == []


def test_a_gap_and_a_repeated_number_are_flagged() -> None:
    marks = placement_marks(placed("1", "2", "4", "4"), TEXT)
    assert [codes(m) for m in marks] == [[], [], ["index-repeated", "index-gap"], ["index-repeated", "index-gap"]]
    assert "without a figure 3" in marks[2][1].detail
    assert all(mark.stage == "S2" for own in marks for mark in own)


def test_a_continued_figure_repeats_its_number_rightly() -> None:
    figures = [*placed("1", "2"), Placed("2", 2, (0, 0, 100, 100), continued=True)]
    assert placement_marks(figures, TEXT) == [[], [], []]


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((0, 0, 300, 100), []),
        ((0, 0, 301, 100), ["large"]),
        ((0, 0, 489, 20), []),
        ((0, 0, 490, 20), ["wide"]),
        ((0, 0, 20, 663), []),
        ((0, 0, 20, 664), ["tall"]),
    ],
)
def test_limits_of_area_and_text(box: tuple[float, float, float, float], expected: list[str]) -> None:
    figures = [*placed("1", "2", "3"), Placed("4", 2, box)]
    assert codes(placement_marks(figures, TEXT)[3]) == expected


@pytest.mark.parametrize(
    ("edges", "confidence", "expected"),
    [
        (0.1, 0.8, []),
        (0.1, None, []),
        (0.101, None, ["dense"]),
        (0.02, 0.79, ["low-ocr-confidence"]),
        (0.2, 0.3, ["dense", "low-ocr-confidence"]),
    ],
)
def test_what_was_measured_marks_and_deletes_nothing(
    edges: float, confidence: float | None, expected: list[str]
) -> None:
    statistics = dict.fromkeys(("blur_laplacian", "whitespace_share", "dominant_colour_share", "colourfulness"), 0.5)
    image = ImageFeatures(
        ocr_engine="none", width=9, height=9, megapixels=0.1, distinct_hues=1, **statistics,
        edge_density=edges, ocr_confidence_mean=confidence,
    )  # fmt: skip
    marks = measured_marks(image)
    assert codes(marks) == expected and all(mark.stage == "S4" for mark in marks)


@pytest.mark.parametrize(("found", "deleted", "dropped"), [(0, 0, False), (10, 3, False), (10, 4, True), (1, 1, True)])
def test_a_paper_is_dropped_over_its_share(found: int, deleted: int, dropped: bool) -> None:
    mark = paper_unusable(found, deleted)
    assert (mark is not None) == dropped
    if mark:
        assert (mark.stage, mark.code) == ("S5", "paper-unusable")
        assert f"{deleted} of {found}" in mark.detail


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="3 deleted of 2"):
        paper_unusable(2, 3)


# --- real figures -----------------------------------------------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.slow
def test_the_plain_hash_rule_deletes_a_distinct_figure(shared: Path) -> None:
    """Two pairs of one paper's plots: one pair is the same plot printed twice, the other only hashes alike."""
    expected = {
        "cheblienet-neurips21": {"9": "similar-hash"},
        "relconv-tmlr24": {"19": "near-duplicate"},
    }
    for name, marked in expected.items():
        path = shared / "papers" / "pdfs" / f"{name}.pdf"
        document = read_document(path)
        layout = analyse(document)
        captions = find_captions(document, layout)
        pairs = zip(captions, find_regions(document, captions, layout), strict=True)
        figures = [(c, r) for c, r in pairs if c.kind == "figure" and isinstance(r, Region)]
        with open_pdf(path) as pdf:
            images = [decode(render_region(pdf[r.page - 1], r.bbox).png) for _, r in figures]
        marks = duplicate_marks(looks(images), [c.label for c, _ in figures])
        assert {c.number: codes(m)[0] for (c, _), m in zip(figures, marks, strict=True) if m} == marked


def test_the_share_of_copies_is_far_below_that_of_plots_that_differ() -> None:
    copy = np.asarray(Image.open(io.BytesIO(encoded(curve(0.0), "JPEG", quality=50))))
    assert apart(curve(0.0), copy) < SAME_SHARE / 2
    assert apart(curve(0.0), curve(0.25)) > 5 * SAME_SHARE

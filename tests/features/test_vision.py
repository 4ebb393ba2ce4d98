from __future__ import annotations

import colorsys
import subprocess
import sys

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scifigqual_bench.features import vision
from scifigqual_bench.features._opencv import cv2

WHITE = np.full((60, 80, 3), 255, np.uint8)
PIXELS = st.tuples(st.integers(1, 24), st.integers(1, 24)).flatmap(lambda s: arrays(np.uint8, (*s, 3)))


def grey(rgb):
    return cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)


@given(PIXELS)
def test_statistics_of_any_image_are_in_range_and_repeatable(rgb):
    found = vision.vision_statistics(rgb)
    assert (found.height, found.width) == rgb.shape[:2]
    for share in (found.edge_density, found.whitespace_share, found.dominant_colour_share):
        assert 0 <= share <= 1
    assert found.dominant_colour_share > 0
    assert 0 <= found.distinct_hues <= 36
    assert found.blur_laplacian >= 0
    assert found.colourfulness >= 0
    assert set(found.clipped_edges) <= {"left", "right", "top", "bottom"}
    assert vision.vision_statistics(rgb.copy()) == found


@given(arrays(np.uint8, st.tuples(st.integers(3, 20), st.integers(3, 20))))
def test_blur_is_the_variance_of_scipys_laplacian(image):
    reference = scipy.ndimage.laplace(image.astype(np.float64), mode="mirror").var()
    assert vision.blur_laplacian(image) == pytest.approx(reference, abs=1e-6)


def test_blurring_lowers_the_laplacian_variance(two_panels):
    blurred = cv2.GaussianBlur(two_panels.rgb, (0, 0), 2)
    assert vision.blur_laplacian(grey(blurred)) < 0.1 * vision.blur_laplacian(grey(two_panels.rgb))


@given(PIXELS)
def test_dominant_colour_agrees_with_counting_unique_rows(rgb):
    counts = np.unique(rgb.reshape(-1, 3) >> 3, axis=0, return_counts=True)[1]
    assert vision.dominant_colour_share(rgb) == counts.max() / counts.sum()


@given(PIXELS)
def test_colourfulness_agrees_with_its_formula_in_double_precision(rgb):
    red, green, blue = np.moveaxis(rgb.astype(np.float64), 2, 0)
    rg, yb = red - green, (red + green) / 2 - blue
    reference = np.hypot(rg.std(), yb.std()) + 0.3 * np.hypot(rg.mean(), yb.mean())
    assert vision.colourfulness(rgb) == pytest.approx(reference, abs=1e-3)


def test_grey_images_have_no_colour():
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    assert vision.colourfulness(ramp) == 0
    assert vision.distinct_hues(ramp) == 0


def test_whitespace_begins_at_245():
    image = np.array([[244, 245, 255, 0]], np.uint8)
    assert vision.whitespace_share(image) == 0.5


@pytest.mark.parametrize("count", [1, 3, 6])
def test_each_distant_hue_counts_once(count):
    colours = [colorsys.hsv_to_rgb(i / count, 0.9, 0.9) for i in range(count)]
    stripes = np.repeat((np.array(colours) * 255).astype(np.uint8)[None], 10, axis=0)
    assert vision.distinct_hues(np.hstack([stripes, WHITE[:10]])) == count


def test_a_hue_below_its_minimum_share_does_not_count():
    image = np.zeros((100, 100, 3), np.uint8)
    image[..., 0] = 255
    image[:1, :19] = (0, 0, 255)  # 19 of 10,000 coloured pixels
    assert vision.distinct_hues(image) == 1
    image[:1, :20] = (0, 0, 255)
    assert vision.distinct_hues(image) == 2


def test_edge_density_follows_the_outline():
    image = np.full((200, 200), 255, np.uint8)
    assert vision.edge_density(image) == 0
    image[50:150, 50:150] = 0
    assert vision.edge_density(image) == pytest.approx(4 * 100 / 200**2, rel=0.1)


class TestClippedEdges:
    def test_a_whole_figure_is_not_clipped(self, two_panels):
        assert vision.clipped_edges(two_panels.rgb) == []

    def test_a_cut_through_the_axis_label_is_found_at_its_edge(self, two_panels):
        x0, _, x1, _ = two_panels.texts["Measured value"]
        cut = two_panels.rgb[:, round((x0 + x1) / 2) :]
        assert vision.clipped_edges(cut) == ["left"]
        assert vision.clipped_edges(cut[:, ::-1]) == ["right"]
        assert vision.clipped_edges(np.rot90(cut, -1)) == ["top"]
        assert vision.clipped_edges(np.rot90(cut)) == ["bottom"]

    def test_photo_to_the_edge(self):
        noise = np.random.default_rng(0).integers(0, 256, (80, 80, 3), dtype=np.uint8)
        photo = cv2.resize(noise, (400, 300), interpolation=cv2.INTER_CUBIC)
        assert vision.clipped_edges(photo) == []

    @pytest.mark.parametrize("thickness", [1, 4])
    def test_frame_and_rules_to_the_edge(self, thickness):
        table = np.full((200, 300, 3), 255, np.uint8)
        cv2.rectangle(table, (0, 0), (299, 199), (0, 0, 0), thickness)
        assert vision.clipped_edges(table) == []
        rules = np.full((200, 300, 3), 255, np.uint8)
        for y in (40, 80, 120):
            cv2.line(rules, (0, y), (299, y), (0, 0, 0), thickness)
        assert vision.clipped_edges(rules) == []

    def test_shapes_that_only_touch(self):
        image = np.full((200, 300, 3), 255, np.uint8)
        for x in (60, 150, 240):
            cv2.circle(image, (x, 20), 20, (0, 0, 0), 3)
        assert vision.clipped_edges(image) == []

    def test_dark_background(self, two_panels):
        x0, _, x1, _ = two_panels.texts["Measured value"]
        cut = two_panels.rgb[:, round((x0 + x1) / 2) :]
        assert vision.clipped_edges(255 - cut) == ["left"]


@pytest.mark.parametrize(
    ("error", "remedies"),
    [
        (
            "ImportError('libGL.so.1: cannot open shared object file')",
            ["libgl1", "libglib2.0-0", "opencv-python-headless"],
        ),
        ("ModuleNotFoundError('No module named cv2')", ["scifigqual-bench[build]"]),
    ],
)
def test_an_opencv_that_does_not_load_is_explained(tmp_path, error, remedies):
    (tmp_path / "cv2.py").write_text(f"raise {error}")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import scifigqual_bench.features.vision"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode != 0
    for remedy in remedies:
        assert remedy in run.stderr.strip().splitlines()[-1]

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scifigqual_bench.features import colour

CHANNEL = st.integers(0, 255)
RGB = st.tuples(CHANNEL, CHANNEL, CHANNEL).map(lambda value: np.array(value, np.float64))
PIXELS = st.tuples(st.integers(1, 24), st.integers(1, 24)).flatmap(lambda s: arrays(np.uint8, (*s, 3)))


def lab(rgb):
    return colour.lab_of(colour.linear(np.asarray(rgb)))


def stripes(*colours, white=200):
    """Bands of flat colours on white."""
    image = np.full((white, 300, 3), 255, np.uint8)
    for k, value in enumerate(colours):
        image[20 * k + 10 : 20 * k + 20, 20:280] = value
    return image


class TestDifference:
    @pytest.mark.parametrize(
        ("first", "second", "difference"),
        [  # test data of Sharma, Wu and Dalal (2005)
            ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
            ((50, 3.1571, -77.2803), (50, 0, -82.7485), 2.8615),
            ((50, 2.8361, -74.02), (50, 0, -82.7485), 3.4412),
            ((50, 0, 0), (50, -1, 2), 2.3669),
            ((50, 2.5, 0), (73, 25, -18), 27.1492),
            ((50, 2.5, 0), (61, -5, 29), 22.8977),
            ((50, 2.5, 0), (56, -27, -3), 31.9030),
            ((50, 2.5, 0), (58, 24, 15), 19.4535),
            ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
            ((90.8027, -2.0831, 1.4410), (91.1528, -1.6435, 0.0447), 1.4441),
            ((6.7747, -0.2908, -2.4247), (5.8714, -0.0985, -2.2286), 0.6377),
            ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
        ],
    )
    def test_published_values(self, first, second, difference):
        found = colour.ciede2000(np.array(first), np.array(second))
        assert float(found) == pytest.approx(difference, abs=5e-5)

    @given(RGB, RGB)
    def test_it_is_symmetric_and_zero_only_for_the_same(self, first, second):
        one, other = lab(first), lab(second)
        assert float(colour.ciede2000(one, other)) == pytest.approx(float(colour.ciede2000(other, one)), abs=1e-9)
        assert float(colour.ciede2000(one, one)) == 0
        assert (float(colour.ciede2000(one, other)) > 0) == bool((first != second).any())


class TestLab:
    @pytest.mark.parametrize(
        ("rgb", "expected"),
        [  # sRGB primaries under D65
            ((255, 0, 0), (53.24, 80.09, 67.20)),
            ((0, 255, 0), (87.73, -86.18, 83.18)),
            ((0, 0, 255), (32.30, 79.19, -107.86)),
        ],
    )
    def test_primaries(self, rgb, expected):
        assert lab(rgb).tolist() == pytest.approx(expected, abs=0.02)

    @given(CHANNEL)
    def test_greys_have_no_chroma_for_anybody(self, value):
        for matrix in (np.eye(3), colour.DEUTERANOPIA, colour.PROTANOPIA):
            seen = colour.lab_of(np.clip(colour.linear(np.full(3, value)) @ matrix.T, 0, 1))
            assert np.abs(seen[1:]).max() < 0.05


class TestColours:
    def test_red_and_green_fall_together_for_some(self):
        found = colour.colour_statistics(stripes((200, 80, 60), (110, 125, 55), (30, 60, 220)))
        assert {main.colour for main in found.main_colours} == {"#ffffff", "#1e3cdc", "#6e7d37", "#c8503c"}
        assert set(found.deuteranopia_pair) == {"#6e7d37", "#c8503c"}
        assert found.deuteranopia_distance_min < 0.5 * found.colour_distance_min

    def test_blue_and_orange_stay_apart(self):
        found = colour.colour_statistics(stripes((0, 114, 178), (230, 159, 0)))
        assert min(found.deuteranopia_distance_min, found.protanopia_distance_min) > 30

    def test_one_colour_and_greys_have_no_distance(self):
        found = colour.colour_statistics(stripes((0, 114, 178), (90, 90, 90)))
        assert found.colour_distance_min is None and found.deuteranopia_pair == []

    def test_colours_that_run_into_each_other_have_none(self):
        ramp = np.linspace(0, 255, 300).astype(np.uint8)
        image = np.zeros((200, 300, 3), np.uint8)
        image[..., 0], image[..., 2] = ramp, 255 - ramp
        assert colour.colour_statistics(image).colour_distance_min is None

    def test_soft_edges_are_no_colours(self):
        image = stripes((200, 30, 30))
        image[10] = image[19] = (228, 143, 143)
        assert [main.colour for main in colour.colour_statistics(image).main_colours] == ["#ffffff", "#c81e1e"]

    @given(PIXELS)
    def test_shares_are_shares(self, rgb):
        found = colour.colour_statistics(rgb)
        assert 0 <= found.coloured_share <= 1
        assert sum(found.hue_shares) == pytest.approx(found.coloured_share, abs=12 * 5e-5 + 5e-5)
        assert sum(main.share for main in found.main_colours) <= 1 + 1e-3

    @pytest.mark.parametrize(("rgb", "hue"), [((255, 0, 0), 0), ((255, 255, 0), 2), ((0, 255, 0), 4), ((0, 0, 255), 8)])
    def test_hues_in_their_order(self, rgb, hue):
        shares = colour.colour_statistics(np.full((4, 4, 3), rgb, np.uint8)).hue_shares
        assert shares.index(1.0) == hue


class TestContrast:
    @given(RGB, RGB)
    def test_the_ratio_is_symmetric_and_bounded(self, first, second):
        ratio = colour.contrast_ratio(first, second)
        assert ratio == colour.contrast_ratio(second, first)
        assert 1 <= ratio <= 21

    @pytest.mark.parametrize(("ink", "ratio"), [((0, 0, 0), 21), ((118, 118, 118), 4.54), ((255, 200, 0), 1.55)])
    def test_text_on_white(self, ink, ratio):
        image = np.full((40, 100, 3), 255, np.uint8)
        image[10:30, 20:24] = image[10:30, 40:44] = ink
        assert colour.text_contrast(image, [10, 5, 60, 35]) == pytest.approx(ratio, abs=0.02)

    def test_text_on_dark_ground(self):
        image = np.full((40, 100, 3), 40, np.uint8)
        image[10:30, 20:24] = 255
        assert colour.text_contrast(image, [10, 5, 60, 35]) > 10

    def test_an_empty_box_has_none(self):
        assert colour.text_contrast(np.zeros((5, 5, 3), np.uint8), [2, 2, 2, 4]) is None

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scifigqual_bench.features import text as T
from scifigqual_bench.features.axes import axis_numbers, readings
from scifigqual_bench.records import TextBox

WIDTH, HEIGHT = 1000, 600


def at(text, x, y, width=None, height=20, **kwargs):
    """A box with its upper left corner at x, y."""
    width = 12 * len(text) if width is None else width
    return TextBox(text=text, confidence=0.9, bbox=[x, y, x + width, y + height], **kwargs)


def tick(text, right, middle, height=20):
    """A tick label by its right edge and the middle of its height."""
    return at(text, right - 12 * len(text), middle - height / 2, height=height)


texts = st.one_of(st.text(max_size=8), st.sampled_from(["(a)", "b)", "C", "0.5", "-1", "10k", "102"]))
coordinates = st.floats(0, 900).map(lambda value: round(value, 1))
boxes = st.lists(st.builds(at, texts, coordinates, coordinates, st.floats(1, 99), st.floats(1, 40)), max_size=12)


@given(boxes, st.randoms(use_true_random=False))
def test_the_order_of_boxes_changes_nothing(found, rng: random.Random):
    shuffled = found[:]
    rng.shuffle(shuffled)
    assert T.reading_order(shuffled) == T.reading_order(found)
    assert T.panel_letters(shuffled, WIDTH, HEIGHT) == T.panel_letters(found, WIDTH, HEIGHT)
    assert axis_numbers(shuffled) == axis_numbers(found)
    assert T.font_sizes_pt(shuffled, 0.24) == T.font_sizes_pt(found, 0.24)


@given(boxes)
def test_reading_order_keeps_every_box(found):
    assert sorted(map(repr, T.reading_order(found))) == sorted(map(repr, found))


def test_reading_order_is_row_by_row():
    found = [at("three", 0, 100), at("two", 500, 4), at("one", 0, 0), at("four", 500, 97)]
    assert [box.text for box in T.reading_order(found)] == ["one", "two", "three", "four"]


def test_font_size_reads_rotated_text_across_and_trusts_sure_words():
    upright, rotated = at("Loss", 0, 0, height=24), at("Accuracy", 0, 0, width=30, height=200, rotated=True)
    doubtful = TextBox(text="ghost", confidence=0.6, bbox=[0, 0, 20, 5])
    assert T.font_sizes_pt([rotated, upright, at("x", 0, 0, height=6), doubtful], 0.5) == [10, 12.5]
    assert T.font_sizes_pt([at("x", 0, 0, height=12)], 0.5) == [5]
    assert T.font_sizes_pt([], 0.5) == []


class TestPanelLetters:
    @pytest.mark.parametrize(
        ("found", "letters"),
        [
            (["(a)", "(b)", "(c)"], ["a", "b", "c"]),
            (["a) Loss", "b) Accuracy"], ["a", "b"]),
            (["(a) Loss", "(b)Accuracy"], ["a", "b"]),
            (["（A）", "（B）"], ["a", "b"]),
            (["(a) (b)", "(c)"], ["a", "b", "c"]),
            (["(a)", "(b)", "(d)"], ["a", "b", "d"]),
            (["(a)", "f(x)", "(x)", "y (b)"], ["a"]),
            (["(x)", "(t)"], []),
            (["A", "B", "C"], ["a", "b", "c"]),
            (["a.", "b.", "c."], ["a", "b", "c"]),
            (["A", "C"], []),
            (["A", "B", "A"], []),
            (["B", "A"], []),
            (["A"], []),
            (["(a)", "B", "(c)"], ["a", "c"]),
            ([], []),
        ],
    )
    def test_letters_in_a_row(self, found, letters):
        row = [at(text, 20 + 240 * i, 20) for i, text in enumerate(found)]
        assert T.panel_letters(row, WIDTH, HEIGHT) == letters

    def test_order_is_that_of_reading(self):
        grid = [at("(a)", 20, 20), at("(c)", 500, 20), at("(b)", 20, 320), at("(d)", 500, 320)]
        assert T.panel_letters(grid, WIDTH, HEIGHT) == ["a", "c", "b", "d"]

    def test_labels_below_panels_of_unequal_height_are_one_row(self):
        assert T.panel_letters([at("(a)", 20, 330), at("(b)", 500, 300)], WIDTH, HEIGHT) == ["a", "b"]

    def test_bare_letters_in_a_grid(self):
        grid = [at("A", 10, 10), at("B", 500, 12), at("C", 12, 310), at("D", 502, 308)]
        assert T.panel_letters(grid, WIDTH, HEIGHT) == ["a", "b", "c", "d"]

    def test_nodes_of_a_graph_are_no_panels(self):
        nodes = [at("A", 480, 30), at("B", 200, 200), at("C", 700, 260), at("D", 430, 480)]
        assert T.panel_letters(nodes, WIDTH, HEIGHT) == []

    def test_a_diagonal_of_letters_is_no_grid(self):
        assert T.panel_letters([at("A", 10, 10), at("B", 300, 200), at("C", 600, 400)], WIDTH, HEIGHT) == []


class TestReadings:
    @pytest.mark.parametrize(
        ("text", "values"),
        [
            ("0", [0]),
            ("-0.25", [-0.25]),
            ("–3", [-3]),
            (".5", [0.5]),
            ("5.", [5]),
            ("+2", [2]),
            ("12,345.5", [12345.5]),
            ("40%", [40]),
            ("3 M", [3e6]),
            ("1e-3", [1e-3]),
            ("10^4", [1e4]),
            ("10²", [102, 100]),
            ("10°", [1]),
            ("1.2.3", []),
            ("3x", []),
            ("2020-21", []),
            ("", []),
            ("-", []),
            ("9" * 400, []),
        ],
    )
    def test_labels(self, text, values):
        assert readings(text) == pytest.approx(values)

    @given(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)))
    def test_printed_numbers_come_back(self, value):
        assert readings(f"{value:.3f}") == [value]
        assert readings(f"{value:,.3f}".replace("-", "−")) == [value]


def axis(labels, right=100, bottom=500, spacing=60):
    """Tick labels from bottom to top."""
    return [tick(label, right, bottom - spacing * i) for i, label in enumerate(labels)]


class TestAxisNumbers:
    @pytest.mark.parametrize(
        ("labels", "values"),
        [
            (["0", "25", "50", "75", "100"], [0, 25, 50, 75, 100]),
            (["−1.0", "−0.5", "0.0", "0.5"], [-1, -0.5, 0, 0.5]),
            (["0%", "50%", "100%"], [0, 50, 100]),
            (["0", "500", "1k", "1.5k"], [0, 500, 1000, 1500]),
            (["0", "1,000", "2,000"], [0, 1000, 2000]),
            (["10-2", "10-1", "100", "101", "102"], [0.01, 0.1, 1, 10, 100]),
            (["100", "101", "102", "103"], [1, 10, 100, 1000]),  # by OCR: powers that lost their superscripts
            (["2^4", "2^6", "2^8"], [16, 64, 256]),
            (["0.00", "0.33", "0.67", "1.00"], [0, 0.33, 0.67, 1]),
            (["3", "2", "1", "0"], [3, 2, 1, 0]),
        ],
    )
    def test_one_axis(self, labels, values):
        assert axis_numbers(axis(labels)) == [pytest.approx(values)]

    def test_what_the_pdf_tells_is_no_lost_power(self):
        told = [box.model_copy(update={"source": "pdf"}) for box in axis(["100", "101", "102", "103"])]
        assert axis_numbers(told) == [[100, 101, 102, 103]]

    def test_a_misread_label_is_left_out(self):
        assert axis_numbers(axis(["0.0", "0.2", "04", "0.6", "0.8"])) == [[0, 0.2, 0.6, 0.8]]

    def test_a_missing_label_leaves_a_gap(self):
        found = axis(["0", "10", "20", "30", "40"])
        assert axis_numbers(found[:2] + found[3:]) == [[0, 10, 30, 40]]

    @pytest.mark.parametrize(
        "labels",
        [
            ["0", "1"],
            ["5", "5", "5", "5"],
            ["0.31", "0.87", "0.12", "0.55"],
            ["-0.03", "timedout", "-0.018", "-0.00037"],
            ["Model", "Loss", "x"],
            ["4", "3", "2", "1"],
        ],
    )
    def test_other_columns_are_no_axis(self, labels):
        assert axis_numbers(axis(labels)) == []

    def test_numbers_beside_each_other_are_no_axis(self):
        assert axis_numbers([tick(str(i), 100 + 80 * i, 500) for i in range(6)]) == []

    @pytest.mark.parametrize("seed", range(5))
    def test_the_labels_of_a_scatter_plot_are_no_axis(self, seed):
        rng = random.Random(seed)
        cloud = [at(str(rng.randrange(10)), rng.uniform(0, 980), rng.uniform(0, 580)) for _ in range(50)]
        assert axis_numbers(cloud) == []

    def test_the_cells_of_a_heat_map_are_hardly_ever_an_axis(self):
        found = 0
        for seed in range(20):
            rng = random.Random(seed)
            cells = [tick(f"{rng.random():.2f}", 200 + 80 * i, 50 + 40 * j) for i in range(10) for j in range(12)]
            rows = [tick(str(j), 120, 50 + 40 * j) for j in range(12)]
            axes = axis_numbers(cells + rows)
            assert list(range(11, -1, -1)) in axes
            found += len(axes) - 1
        assert found <= 4

    def test_panels_in_reading_order(self):
        grid = [
            *axis(["0", "1", "2"], right=600, bottom=250),
            *axis(["0", "10", "20"], right=100, bottom=550),
            *axis(["0.0", "0.5", "1.0"], right=100, bottom=250),
        ]
        assert axis_numbers(grid) == [[0, 0.5, 1], [0, 1, 2], [0, 10, 20]]

    def test_stacked_panels_with_one_scale_stay_apart(self):
        stack = [*axis(["-10", "0", "10"], bottom=200), *axis(["-10", "0", "10"], bottom=500)]
        assert axis_numbers(stack) == [[-10, 0, 10], [-10, 0, 10]]

    def test_the_right_hand_axis_is_left_out(self):
        right = [at(label, 800, 490 - 60 * i) for i, label in enumerate(["0", "50", "100", "150"])]
        assert axis_numbers([*axis(["0", "1", "2", "3"]), *right]) == [[0, 1, 2, 3]]

    def test_turned_labels(self):
        labels = ["-10", "-5", "0", "5"]
        turned = [at(text, 80, 400 - 100 * i, 20, 15 * len(text), rotated=True) for i, text in enumerate(labels)]
        assert axis_numbers(turned) == [[-10, -5, 0, 5]]

    @given(
        start=st.integers(-50, 50),
        step=st.sampled_from([1, 2, 5, 10, 20, 25]),
        decimals=st.integers(0, 2),
        count=st.integers(3, 9),
        jitter=st.lists(st.floats(-2, 2), min_size=9, max_size=9),
        downwards=st.booleans(),
    )
    def test_any_linear_axis_is_read(self, start, step, decimals, count, jitter, downwards):
        values = [(start + i) * step / 10**decimals for i in range(count)]
        labels = [f"{value:.{decimals}f}" for value in values]
        # three labels such as 100, 101, 102 are a linear scale and powers of ten at once
        assume(not all(label.startswith("10") and len(label) == 3 for label in labels))
        if downwards:
            values, labels = values[::-1], labels[::-1]
        assume(values != list(range(count, 0, -1)))
        found = [tick(label, 100, 500 - 50 * i + jitter[i]) for i, label in enumerate(labels)]
        assert axis_numbers(found) == [pytest.approx(values)]

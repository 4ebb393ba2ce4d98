"""Axes, bars, legends and contrast of drawn figures with known content, read through the PDF and by OCR."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from scifigqual_bench.features.axes import axis_unit, bar_base, bottom_axes, left_axes, plot_axes
from scifigqual_bench.features.bars import BarRow
from scifigqual_bench.features.extract import image_features
from scifigqual_bench.features.legend import legend_entries
from scifigqual_bench.features.ocr import ocr_engine
from scifigqual_bench.features.text import overlapping
from scifigqual_bench.judges.backends.rule_table import find
from scifigqual_bench.judges.backends.rules import image_view
from scifigqual_bench.pdf.figure_text import PrintedFigure, Raster, read_figure
from scifigqual_bench.pdf.render import render_region
from scifigqual_bench.records import ImageFeatures, TextBox

matplotlib = pytest.importorskip("matplotlib")
pymupdf = pytest.importorskip("pymupdf")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

NONE = ocr_engine("none")


def at(text, x, y, width=30, height=12, rotated=False):
    """A box whose middle is (x, y)."""
    box = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    return TextBox(text=text, confidence=0.9, bbox=box, rotated=rotated)


def features(draw, size=(6, 2.8), fonttype=42, ocr=NONE, **columns) -> ImageFeatures:
    """Features of a figure that ``draw`` fills, with the PDF's own text."""
    with pyplot.rc_context({"font.size": 8, "pdf.fonttype": fonttype}):
        figure, axes = pyplot.subplots(**columns, figsize=size)
        draw(axes)
        figure.tight_layout()
        buffer = io.BytesIO()
        figure.savefig(buffer, format="pdf")
        pyplot.close(figure)
    page = pymupdf.open("pdf", buffer.getvalue())[0]
    crop = render_region(page, tuple(page.rect))
    size_pt = (crop.width * 72 / crop.dpi, crop.height * 72 / crop.dpi)
    return image_features(crop.png, print_size_pt=size_pt, ocr=ocr, printed=read_figure(page, crop))


def two_plots(axes):
    """A linear plot and a semi-logarithmic one, each with titles, units and a legend."""
    x = np.arange(0, 11)
    axes[0].plot(x, 50 + 4 * x, label="LSTM")
    axes[0].plot(x, 90 - x, "--", label="GRU (ours)")
    axes[0].set(title="(a) Accuracy", xlabel="Epoch", ylabel="Accuracy (%)", ylim=(40, 100), xticks=[0, 2, 4, 6, 8, 10])
    axes[1].semilogy(x, 10.0 ** (x / 3), "o-", label="random")
    axes[1].semilogy(x, 5.0 ** (x / 3), "s:", label="greedy")
    axes[1].set(title="(b) Latency", xlabel="Batch size", ylabel="Latency [ms]", ylim=(1, 1e4))
    for axis in axes:
        axis.legend()


@pytest.fixture(scope="module")
def plots() -> ImageFeatures:
    return features(two_plots, ncols=2)


class TestTwoPlots:
    def test_text_is_the_pdfs(self, plots):
        assert plots.ocr_engine == "pdf"
        assert {box.source for box in plots.text_boxes} == {"pdf"}
        assert plots.ocr_confidence_mean is None
        assert {"(a) Accuracy", "Accuracy (%)", "GRU (ours)", "Batch size"} <= {box.text for box in plots.text_boxes}
        assert {box.font_size_pt for box in plots.text_boxes} <= {8.0, 9.6, 5.6}  # matplotlib's sizes: text, titles
        assert plots.text_height_pt_median == 8.0

    def test_axes_belong_to_their_plots(self, plots):
        found = [(axis.panel, axis.letter, axis.side, axis.scale, axis.title, axis.unit) for axis in plots.axes]
        assert found == [
            (0, "a", "left", "linear", "Accuracy (%)", "%"),
            (0, "a", "bottom", "linear", "Epoch", None),
            (1, "b", "left", "logarithmic", "Latency [ms]", "ms"),
            (1, "b", "bottom", "linear", "Batch size", None),
        ]
        numbers = [axis.numbers for axis in plots.axes]
        assert numbers[0] == [40, 50, 60, 70, 80, 90, 100]
        assert numbers[1] == [0, 2, 4, 6, 8, 10]
        assert numbers[2] == pytest.approx([1, 10, 100, 1000, 10000])

    def test_legends(self, plots):
        assert sorted(plots.legend) == ["GRU (ours)", "LSTM", "greedy", "random"]

    def test_rotated_and_overlapping_text(self, plots):
        assert plots.rotated_text == 2
        assert plots.overlapping_text == []

    def test_black_text_on_white(self, plots):
        assert plots.text_contrast_min > 15

    def test_vector_art_has_no_resolution(self, plots):
        assert (plots.raster_share, plots.effective_dpi, plots.jpeg_blockiness) == (0, None, None)

    @pytest.mark.slow
    def test_ocr_reads_the_same(self, plots, engine):
        with pyplot.rc_context({"font.size": 8}):
            figure, axes = pyplot.subplots(ncols=2, figsize=(6, 2.8), dpi=300)
            two_plots(axes)
            figure.tight_layout()
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png")
            pyplot.close(figure)
        read = image_features(buffer.getvalue(), ocr=engine)
        assert [axis.numbers for axis in read.axes[:2]] == [axis.numbers for axis in plots.axes[:2]]
        assert [(axis.title, axis.unit) for axis in read.axes[:2]] == [("Accuracy (%)", "%"), ("Epoch", None)]
        assert sorted(read.legend) == sorted(plots.legend)
        assert read.rotated_text == 2


class TestBars:
    @pytest.mark.parametrize(("bottom", "base"), [(0, 0), (50, 50), (45, 45)])
    def test_where_bars_stand(self, bottom, base):
        def draw(axis):
            axis.bar(range(4), [72, 80, 91, 66], color="#1f77b4")
            axis.set(ylim=(bottom, 100), xticks=[], ylabel="F1")

        found = features(draw, size=(3, 2.5))
        assert found.standing_bars == 4
        assert found.bar_base == pytest.approx(base, abs=0.5)

    @given(st.floats(-20, 60), st.floats(1, 9))
    def test_the_base_is_on_the_line_through_the_labels(self, start, step):
        labels = [at(f"{start + step * k:.3f}", 50, 400 - 60 * k) for k in range(5)]
        (axis,) = left_axes(labels) or [None]
        value = bar_base([axis], BarRow(count=3, start=100, end=300, foot=430))
        assert value == pytest.approx(start - step / 2, abs=0.1 * step + 0.01)

    def test_no_axis_beside_the_bars(self):
        axis = left_axes([at(str(10 * k), 500, 400 - 60 * k) for k in range(5)])
        assert bar_base(axis, BarRow(count=3, start=100, end=300, foot=400)) is None

    @pytest.mark.parametrize("start", [0, 62])
    def test_where_lying_bars_begin(self, start):
        def draw(axis):
            axis.barh(["alpha", "beta", "gamma", "delta"], [72, 80, 91, 66])
            axis.set(xlim=(start, 100), xlabel="F1")

        found = features(draw, size=(3, 2.5))
        assert (found.standing_bars, found.lying_bars) == (0, 4)
        assert found.bar_base == pytest.approx(start, abs=0.5)
        cut = [finding.evidence for finding in find(image_view(found)) if finding.rule.id == "MR-TRUNCATED-BARS"]
        assert [told.startswith("4 bars lie on an axis that starts at 6") for told in cut] == [True] * bool(start)

    @pytest.mark.parametrize("low", [0, 62])
    def test_black_bars_on_a_black_axis(self, low):
        def draw(axis):
            axis.bar(range(4), [72, 80, 91, 66], color="black")
            axis.set(ylim=(low, 100), ylabel="F1")

        found = features(draw, size=(3, 2.5))
        assert (found.standing_bars, found.bar_base) == (4, pytest.approx(low, abs=0.5))

    def test_cells_of_a_heat_map_are_no_bars(self):
        found = features(lambda axis: axis.imshow(np.random.default_rng(3).random((6, 6))), size=(3, 2.5))
        assert (found.standing_bars, found.lying_bars, found.bar_base) == (0, 0, None)


class TestAxes:
    @pytest.mark.parametrize("style", ["default", "ggplot", "dark_background", "Solarize_Light2"])
    def test_numbers_on_the_right_are_of_no_left_axis(self, style):
        """Labels of one width, which their edges alone don't tell from those of a left axis."""

        def draw(axes):
            axes[0].plot(range(11), range(0, 110, 10))
            axes[0].set(ylabel="Loss")
            right = axes[0].twinx()
            right.plot(range(11), [1 + k / 100 for k in range(11)])
            right.set(ylabel="Temperature")
            axes[1].figure.colorbar(axes[1].imshow([[0.0, 1.0], [0.5, 0.2]]))

        with pyplot.style.context(style):
            found = features(draw, ncols=2)
        assert next(axis.numbers for axis in found.axes if axis.side == "left") == [0, 20, 40, 60, 80, 100]
        assert all(1.02 not in axis.numbers and 0.6 not in axis.numbers for axis in found.axes)

    @pytest.mark.parametrize(("scale", "factor"), [(1e-4, 1e-3), (1e5, 1e6)])
    def test_the_factor_at_the_end_of_an_axis(self, scale, factor):
        def draw(axis):
            axis.plot([0, 2, 4, 6, 8, 10], [k * scale for k in (0, 2, 4, 6, 8, 10)])
            axis.set(xlabel="Step", ylabel="Rate")
            axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))

        left, bottom = features(draw, size=(3, 2.5)).axes
        assert (left.factor, bottom.factor) == (pytest.approx(factor), 1)
        assert [number * left.factor for number in left.numbers][-1] == pytest.approx(10 * scale)
        assert left.title == "Rate"

    def test_powers_of_two(self):
        def draw(axis):
            axis.plot([2**k for k in range(11)], range(11))
            axis.set_xscale("log", base=2)

        bottom = next(axis for axis in features(draw, size=(3, 2.5)).axes if axis.side == "bottom")
        assert (bottom.numbers, bottom.scale) == ([1, 4, 16, 64, 256, 1024], "logarithmic")

    def test_a_title_that_was_read_in_two_pieces(self):
        left = [at(str(k), 50, 300 - 50 * k) for k in range(5)]
        pieces = [at("(%)", 20, 150, 12, 20, rotated=True), at("Accuracy", 21, 210, 14, 90, rotated=True)]
        (axis,) = plot_axes(left_axes(left), [], left + pieces)
        assert (axis.title, axis.unit) == ("Accuracy (%)", "%")

    def test_plots_that_share_labels(self):
        """Two plots side by side with one left axis: the second has a bottom axis alone."""
        left = [at(str(k), 20, 300 - 50 * k) for k in range(5)]
        bottom = [at(str(10 * k), x + 40 * k, 320) for x in (50, 400) for k in range(5)]
        axes = plot_axes(left_axes(left), bottom_axes(left + bottom), left + bottom)
        assert [(axis.panel, axis.side) for axis in axes] == [(0, "left"), (0, "bottom"), (1, "bottom")]

    @given(st.permutations(range(12)))
    def test_the_order_of_the_text_does_not_matter(self, order):
        boxes = [at(str(10 * k), 20, 300 - 50 * k) for k in range(5)] + [at(str(k), 50 + 60 * k, 320) for k in range(5)]
        boxes += [at("Score (%)", -10, 200, 12, 60, rotated=True), at("Time / s", 170, 345, 60)]
        shuffled = [boxes[k] for k in order]
        expected = plot_axes(left_axes(boxes), bottom_axes(boxes), boxes)
        assert plot_axes(left_axes(shuffled), bottom_axes(shuffled), shuffled) == expected
        assert [(axis.title, axis.unit) for axis in expected] == [("Score (%)", "%"), ("Time / s", "s")]

    @pytest.mark.parametrize(
        ("title", "unit"),
        [
            ("Latency (in ms)", "ms"),
            ("Energy, kJ", "kJ"),
            ("Memory [GB]", "GB"),
            ("f(x)", None),
            ("Recall@5 (higher is better)", None),
            ("R[g]", None),
            (None, None),
        ],
    )
    def test_units(self, title, unit):
        assert axis_unit(title) == unit

    def test_the_unit_of_the_labels(self):
        assert axis_unit("Accuracy", [at("10%", 0, 0), at("20%", 0, 9)]) == "%"

    def test_a_table_of_very_many_numbers_takes_no_time(self):
        cells = [at(str(j * 40 + i), 40 * i, 20 * j) for i in range(40) for j in range(40)]
        assert left_axes(cells) == bottom_axes(cells) == []


class TestLegend:
    def boxed(self, *entries):
        """An image with keys and the boxes of their texts."""
        image = np.full((120, 300, 3), 255, np.uint8)
        boxes = []
        for k, (text, key) in enumerate(entries):
            y = 20 + 24 * k
            if key is not None:
                image[y - 1 : y + 2, 30:55] = key
            image[y - 4 : y + 4, 62:64] = 0  # a letter
            boxes.append(at(text, 90, y, 56, 12))
        return image, boxes

    def test_keys_make_entries(self):
        image, boxes = self.boxed(("ours", (200, 0, 0)), ("theirs", (0, 0, 200)), ("a note", None))
        assert legend_entries(image, boxes) == ["ours", "theirs"]

    def test_one_key_is_no_legend(self):
        assert legend_entries(*self.boxed(("ours", (200, 0, 0)), ("a note", None))) == []

    def test_a_grid_line_through_a_key(self):
        image, boxes = self.boxed(("ours", (200, 0, 0)), ("theirs", (0, 0, 200)))
        grid = image[20, :60]
        grid[(grid == 255).all(axis=1)] = 200
        assert legend_entries(image, boxes) == ["ours", "theirs"]

    def test_a_cloud_of_marked_words_is_no_legend(self):
        image, boxes = self.boxed(("ours", (200, 0, 0)))
        tall = np.concatenate([image[8:32]] * 41)
        words = [boxes[0].model_copy(update={"bbox": [62, 6 + 24 * k, 118, 18 + 24 * k]}) for k in range(41)]
        assert legend_entries(tall, words) == []
        assert len(legend_entries(tall, words[:40])) == 40

    def test_markers_stand_far_from_their_text(self):
        def draw(axis):
            for k, name in enumerate(["cats", "dogs", "birds"]):
                axis.scatter(range(9), [k] * 9, s=8, label=name)
            axis.legend()

        with pyplot.style.context("ggplot"):
            assert features(draw, size=(3, 2.5)).legend == ["cats", "dogs", "birds"]

    def test_black_marks_beside_numbers_are_ticks(self):
        assert legend_entries(*self.boxed(("0.5", (0, 0, 0)), ("1.0", (0, 0, 0)))) == []
        assert legend_entries(*self.boxed(("32", (200, 0, 0)), ("64", (0, 0, 200)))) == ["32", "64"]

    @given(st.lists(st.lists(st.floats(-50, 350), min_size=4, max_size=4), max_size=6))
    def test_any_box_is_survived(self, corners):
        image, _ = self.boxed(("ours", (200, 0, 0)))
        boxes = [
            TextBox(text="ab", confidence=None, bbox=[min(a, c), min(b, d), max(a, c), max(b, d)])
            for a, b, c, d in corners
        ]
        assert set(legend_entries(image, boxes)) <= {"ab"}
        assert all(first < second for first, second in overlapping(boxes))


def test_pale_text_is_the_lowest_contrast():
    def draw(axis):
        axis.text(0.2, 0.5, "readable words")
        axis.text(0.2, 0.2, "faint words", color="#dddddd")
        axis.axis("off")

    found = features(draw, size=(3, 2))
    assert found.text_contrast_min == pytest.approx(1.36, abs=0.15)
    assert found.text_contrast_median < 21
    faint = next(box for box in found.text_boxes if box.text == "faint words")
    assert faint.contrast == found.text_contrast_min


def test_text_on_top_of_text():
    def draw(axis):
        axis.text(0.2, 0.5, "first label")
        axis.text(0.22, 0.51, "second label")
        axis.axis("off")

    found = features(draw, size=(3, 2))
    assert [[found.text_boxes[k].text for k in pair] for pair in found.overlapping_text] in (
        [["first label", "second label"]],
        [["second label", "first label"]],
    )


@pytest.mark.parametrize("angle", [30, 45, 60])
def test_slanted_labels_are_words_and_cover_nothing(angle):
    def draw(axis):
        axis.bar(range(8), range(8))
        axis.set_xticks(range(8), [f"category {k}" for k in range(8)], rotation=angle, ha="right")

    found = features(draw, size=(3, 2.5))
    slanted = [box for box in found.text_boxes if box.slanted]
    assert sorted(box.text for box in slanted) == [f"category {k}" for k in range(8)]
    assert found.overlapping_text == []
    assert not any(box.slanted for box in found.text_boxes if not box.text.startswith("category"))


def test_blocks_of_a_jpeg():
    rng = np.random.default_rng(0)
    smooth = Image.fromarray(rng.integers(60, 200, (30, 40, 3), dtype=np.uint8)).resize((400, 300), Image.BICUBIC)

    def measured(kind, **options):
        buffer = io.BytesIO()
        smooth.save(buffer, kind, **options)
        return image_features(buffer.getvalue(), ocr=NONE)

    assert (measured("PNG").jpeg_blockiness, measured("PNG").jpeg_quality) == (None, None)
    poor, good = measured("JPEG", quality=10), measured("JPEG", quality=95)
    assert poor.jpeg_blockiness > 1.5 > good.jpeg_blockiness > 0.9
    assert poor.jpeg_quality == 10 and good.jpeg_quality == pytest.approx(95, abs=3)
    assert [measured("JPEG", quality=q).jpeg_quality for q in (5, 20, 50, 75)] == [5, 20, 50, 75]


def test_an_embedded_image_that_nobody_can_read_is_left_out():
    printed = PrintedFigure(rasters=(Raster((0, 0, 40, 30), 150.0, b"\xff\xd8 no picture"),))
    found = image_features(Image.new("RGB", (40, 30), "white"), ocr=NONE, printed=printed)
    assert (found.jpeg_blockiness, found.effective_dpi) == (None, 150.0)


def test_ink_weighs_where_it_is():
    page = Image.new("RGB", (200, 100), "white")
    page.paste((0, 0, 0), (0, 0, 50, 50))
    found = image_features(page, ocr=NONE)
    assert (found.ink_offset_x, found.ink_offset_y) == (-0.375, -0.25)
    blank = image_features(Image.new("RGB", (20, 20), "white"), ocr=NONE)
    assert (blank.ink_offset_x, blank.text_contrast_min, blank.bar_base) == (None, None, None)

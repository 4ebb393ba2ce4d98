"""Lines of plots that matplotlib draws, and what they say to a caption that tells the opposite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("pymupdf")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

from scifigqual_bench.features.curves import Stroke, curves  # noqa: E402
from scifigqual_bench.features.extract import image_features  # noqa: E402
from scifigqual_bench.features.ocr import ocr_engine  # noqa: E402
from scifigqual_bench.judges.backends.checks import View  # noqa: E402
from scifigqual_bench.judges.backends.rule_table import find  # noqa: E402
from scifigqual_bench.pdf.document import open_pdf, read_document  # noqa: E402
from scifigqual_bench.pdf.figure_text import read_figure  # noqa: E402
from scifigqual_bench.pdf.render import render_region  # noqa: E402
from scifigqual_bench.records import Axis, ImageFeatures  # noqa: E402

X = np.linspace(1, 10, 40)
LEFT = Axis(panel=0, side="left", numbers=[0, 1, 2], bbox=[0, 0, 10, 100])
BOTTOM = Axis(panel=0, side="bottom", numbers=[0, 5, 10], bbox=[10, 105, 110, 115])


def drawn(folder, draw, **titles) -> ImageFeatures:
    """Features of a figure as a paper's page tells it."""
    figure, axis = pyplot.subplots(figsize=(3.4, 2.5))
    draw(axis)
    axis.set(**{"xlabel": "Depth (layers)", "ylabel": "Accuracy (%)"} | titles)
    figure.tight_layout()
    figure.savefig(folder / "figure.pdf")
    pyplot.close(figure)
    page = read_document(folder / "figure.pdf").pages[0]
    with open_pdf(folder / "figure.pdf") as pdf:
        crop = render_region(pdf[0], tuple(pdf[0].rect))
        return image_features(crop.png, ocr=ocr_engine("none"), printed=read_figure(pdf[0], crop, page.drawings))


def told(image: ImageFeatures, caption: str = "", citing: str | None = None) -> dict[str, str]:
    view = View(image=image, caption=caption, citations=(("trend", citing),) if citing else ())
    return {finding.rule.id: finding.evidence for finding in find(view) if "-TREND-" in finding.rule.id}


def falling(axis):
    axis.plot(X, 90 - 4 * X, "o-", label="A")
    axis.plot(X, 80 - 3 * X + np.random.default_rng(0).normal(0, 2, 40), label="B")
    axis.axhline(50, ls="--", c="k")
    axis.legend()


class TestTrends:
    def test_a_caption_that_tells_the_opposite(self, tmp_path):
        image = drawn(tmp_path, falling)
        assert [curve.direction for curve in image.curves] == ["falling", "falling"]
        phrase = "Accuracy rises with depth."
        assert told(image, f"Figure 1: {phrase}") == {
            "CC-TREND-REVERSED": f'the caption says "{phrase}", and all 2 lines go down along "Accuracy (%)"'
        }
        assert list(told(image, "Figure 1: Results.", "In Figure 1, accuracy grows as depth increases.")) == [
            "CTX-TREND-DENIED"
        ]

    def test_the_place_is_the_plot(self, tmp_path):
        image = drawn(tmp_path, falling)
        (finding,) = [
            f for f in find(View(image=image, caption="Accuracy rises with depth.")) if "-TREND-" in f.rule.id
        ]
        (left, _), (bottom, _) = ((axis.bbox, axis.side) for axis in image.axes)
        assert finding.bbox == (left[0], left[1], bottom[2], bottom[3])

    @pytest.mark.parametrize(
        "caption",
        [
            "Accuracy falls with depth.",
            "Accuracy rises as depth decreases.",
            "Accuracy does not rise with depth.",
            "Accuracy rises with depth at first.",
            "Memory rises with depth.",  # another quantity
            "Accuracy rises with width.",  # another driver
            "Deeper models have higher accuracy with less data.",  # a comparison
            "The accuracy may increase with depth.",
        ],
    )
    def test_what_the_plot_does_not_deny(self, tmp_path, caption):
        assert told(drawn(tmp_path, falling), caption) == {}

    @pytest.mark.parametrize(
        "draw",
        [
            lambda axis: (axis.plot(X, 90 - 4 * X), axis.plot(X, 20 + 4 * X)),  # one line is as claimed
            lambda axis: axis.plot(X, 90 - (X - 5) ** 2),
            lambda axis: axis.scatter(X, 90 - 4 * X),
            lambda axis: axis.plot(X, np.full(40, 50.0)),
        ],
    )
    @pytest.mark.parametrize("claim", ["rises", "falls"])
    def test_plots_that_leave_room(self, tmp_path, draw, claim):
        assert told(drawn(tmp_path, draw), f"Accuracy {claim} with depth.") == {}

    def test_axes_that_run_backwards(self, tmp_path):
        def draw(axis):
            axis.plot(X, 90 - 4 * X)
            axis.invert_xaxis()

        image = drawn(tmp_path, draw)
        assert [curve.direction for curve in image.curves] == ["falling"]
        assert list(told(image, "Accuracy rises with depth.")) == ["CC-TREND-REVERSED"]

    def test_logarithmic_axes(self, tmp_path):
        image = drawn(tmp_path, lambda axis: axis.loglog(10 ** (X / 2), 10 ** (-X / 3)), ylabel="Error")
        assert list(told(image, "The error grows with depth.")) == ["CC-TREND-REVERSED"]


class TestCurves:
    @given(
        st.lists(st.tuples(st.floats(-50, 200), st.floats(-50, 200)), min_size=4, max_size=20),
        st.sampled_from([[LEFT, BOTTOM], [LEFT], []]),
    )
    def test_mirrored_lines_go_the_other_way(self, points, axes):
        opposite = {"rising": "falling", "falling": "rising", "level": "level", "mixed": "mixed"}
        inside = [(x % 100 + 10, y % 100) for x, y in sorted(points)]
        inside.sort()
        mirrored = [(x, 100 - y) for x, y in inside]
        found, turned = (curves([Stroke(tuple(line), "#000000")], axes, (120, 120)) for line in (inside, mirrored))
        assert [curve.panel for curve in found] == [curve.panel for curve in turned]
        if len({x for x, _ in inside}) == len(inside):  # points above one another have no order
            assert [opposite[curve.direction] for curve in found] == [curve.direction for curve in turned]

    def test_keys_frames_and_loops_are_no_curves(self):
        key = Stroke(((20, 10), (24, 10), (28, 10), (32, 10)), "#000000")
        frame = Stroke(((10, 0), (110, 0), (110, 100), (10, 100)), "#000000")
        assert curves([key, frame], [LEFT, BOTTOM], (120, 120)) == []

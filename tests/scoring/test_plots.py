"""Plots are written, show what they say, and survive odd names and gaps."""

import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from scifigqual_bench.rubric import SHORT_COLUMNS
from scifigqual_bench.scoring import compare, score

pytest.importorskip("matplotlib", reason="needs matplotlib (extra: plots)")
from scifigqual_bench.scoring import plots

REPORT_PLOTS = ("reliability", "error_by_gold_band", "bland_altman", "dimension_bars")


@pytest.fixture(scope="module")
def report(rows):
    predictions, golds, ratings = rows(1)
    return score(predictions, golds, ratings=ratings, resamples=20)


@pytest.mark.parametrize("name", REPORT_PLOTS)
def test_png(report, tmp_path, name):
    path = getattr(plots, name)(report, tmp_path / f"{name}.png")
    with Image.open(path) as image:
        assert image.width > 1000
        assert len(image.convert("RGB").getcolors(1 << 24)) > 20


def test_svg_of_one_figure_without_context_or_ratings(rows, tmp_path):
    predictions, golds, _ = rows(1, papers=1, context=0.0)
    report = score(predictions[:1], golds[:1], resamples=0)
    for name in REPORT_PLOTS:
        path = getattr(plots, name)(report, tmp_path / f"{name}.svg")
        assert ET.parse(path).getroot().tag.endswith("svg")


def test_forest_takes_any_name_as_it_is(rows, tmp_path, monkeypatch):
    import matplotlib

    predictions, golds, _ = rows(2)
    result = compare({"a$x$_<b>": predictions, "b": predictions}, golds, resamples=20)
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    text = plots.forest(result, tmp_path / "forest.svg").read_text(encoding="utf-8")
    for short in SHORT_COLUMNS.values():
        assert f"{short}: a$x$_&lt;b&gt; - b" in text


def test_other_endings_are_refused(report, tmp_path):
    with pytest.raises(ValueError, match=r"plot\.gif: a plot is written as \.png or \.svg"):
        plots.reliability(report, tmp_path / "plot.gif")

"""The Gradio page of the metric."""

import importlib.util
import json

import pytest

from scifigqual_bench.rubric import DIMENSION_KEYS

pytest.importorskip("gradio", reason="needs gradio (extra: annotate)")

GOLD = {"figure_id": "a__fig0001", **dict.fromkeys(DIMENSION_KEYS, 7.5)}
PREDICTION = {"figure_id": "a__fig0001", **dict.fromkeys(DIMENSION_KEYS, 8)}


@pytest.fixture(scope="module")
def app(root):
    spec = importlib.util.spec_from_file_location("scifigqual_app", root / "metrics" / "scifigqual" / "app.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def write(tmp_path):
    def write(name, *rows):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    return write


def test_report_plot_and_json(app, write):
    text, plot, details = app.score_files(
        write("predictions", PREDICTION), write("golds", GOLD), None, "gold", "dimension_first", 1.0
    )
    assert "| VC | 1 | 0.500 |" in text
    with open(plot, "rb") as file:
        assert file.read(4) == b"\x89PNG"
    with open(details, encoding="utf-8") as file:
        assert json.load(file)["figures"] == 1


def test_faults_are_shown_escaped(app, write):
    bad = write("predictions", PREDICTION | {"visual_clarity": "<img src=x>"})
    text, plot, details = app.score_files(bad, write("golds", GOLD), None, "gold", "dimension_first", 1.0)
    assert "&lt;img src=x&gt;" in text and "<img" not in text
    assert plot is None and details is None
    mixed = app.score_files(write("p", PREDICTION), write("g", GOLD), None, "evidence", "rater_mean", 1.0)
    assert "no counterpart" in mixed[0]
    assert "Choose" in app.score_files(None, None, None, "gold", "dimension_first", 1.0)[0]


def test_page_is_built(app):
    assert "Score" in str(app.build().config)

from __future__ import annotations

import importlib.util
import socket

import numpy as np
import pytest

from scifigqual_bench.features import ocr
from scifigqual_bench.features._opencv import cv2


def overlap(first, second):
    """Intersection over union of two boxes."""
    x0, y0 = max(first[0], second[0]), max(first[1], second[1])
    x1, y1 = min(first[2], second[2]), min(first[3], second[3])
    common = max(0, x1 - x0) * max(0, y1 - y0)
    area = [(b[2] - b[0]) * (b[3] - b[1]) for b in (first, second)]
    return common / (sum(area) - common)


@pytest.fixture(scope="module")
def boxes(engine, two_panels):
    return engine.read(two_panels.rgb)


def test_known_texts_are_read_where_matplotlib_put_them(boxes, two_panels):
    found = {box.text.replace(" ", ""): box for box in boxes}
    for text, extent in two_panels.texts.items():
        box = found[text.replace(" ", "")]
        assert overlap(box.bbox, extent) > 0.4, text
        assert box.confidence > 0.8


def test_only_the_vertical_labels_are_rotated(boxes):
    assert {box.text for box in boxes if box.rotated} == {"Measured value", "Word count"}


def test_boxes_lie_in_the_image(boxes, two_panels):
    height, width = two_panels.rgb.shape[:2]
    for box in boxes:
        x0, y0, x1, y1 = box.bbox
        assert 0 <= x0 < x1 <= width
        assert 0 <= y0 < y1 <= height


def test_the_same_image_gives_the_same_boxes(engine, boxes, two_panels):
    assert engine.read(two_panels.rgb.copy()) == boxes


@pytest.mark.parametrize("factor", [0.6, 4])
def test_boxes_of_a_scaled_image_are_scaled(engine, two_panels, factor):
    scaled = cv2.resize(two_panels.rgb, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    found = {box.text.replace(" ", ""): box for box in engine.read(scaled)}
    for text, extent in two_panels.texts.items():
        assert overlap(found[text.replace(" ", "")].bbox, np.array(extent) * factor) > 0.4, text


@pytest.mark.parametrize("shape", [(1, 1), (400, 600), (5, 900), (900, 5)])
def test_an_empty_image_has_no_text(engine, shape):
    assert engine.read(np.full((*shape, 3), 255, np.uint8)) == []


def test_offline_and_silent(two_panels, monkeypatch, capfd):
    def refuse(*_args):
        raise AssertionError("the engine tried to reach the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    fresh = ocr.RapidOcr()
    assert fresh.read(two_panels.rgb[:200])
    assert fresh.read(np.full((50, 50, 3), 255, np.uint8)) == []
    assert capfd.readouterr() == ("", "")


def test_name_tells_version_and_models(engine):
    assert engine.name.startswith(f"rapidocr {importlib.metadata.version('rapidocr')} (PP-OCRv6_det")


def test_one_engine_a_process():
    assert ocr.ocr_engine("rapidocr") is ocr.ocr_engine("rapidocr")


def test_no_engine_reads_nothing(two_panels):
    assert ocr.ocr_engine("none").read(two_panels.rgb) == []


@pytest.mark.parametrize("missing", ["rapidocr", "onnxruntime"])
def test_a_missing_package_names_the_extra(monkeypatch, missing):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else found(name))
    with pytest.raises(ImportError, match=rf'{missing}: pip install "scifigqual-bench\[ocr\]"'):
        ocr.RapidOcr()


def test_missing_models_are_named_not_downloaded(monkeypatch):
    monkeypatch.setattr(ocr.RapidOcr, "models", {**ocr.RapidOcr.models, "Det": "other.onnx"})
    with pytest.raises(ImportError, match=r"without other\.onnx: pip install --upgrade"):
        ocr.RapidOcr()


def test_wrong_arguments():
    with pytest.raises(ValueError, match="unknown OCR engine 'tesseract': choose rapidocr, paddleocr or none"):
        ocr.ocr_engine("tesseract")
    with pytest.raises(ValueError, match="at least 1"):
        ocr.RapidOcr(threads=0)


@pytest.mark.parametrize(
    ("size", "side"),
    [
        pytest.param(200, 400, id="tiny: twice"),
        pytest.param(800, 1000, id="small: to the area that is enlarged to"),
        pytest.param(1000, 1200, id="common: a little"),
        pytest.param(4000, 1732, id="large: to the area that is read"),
    ],
)
def test_text_is_looked_for_at_a_size_that_follows_from_the_area(size, side):
    square, strip = np.zeros((size, size, 3), np.uint8), np.zeros((size // 4, size * 4, 3), np.uint8)
    assert ocr._scaled(square).shape[:2] == (side, side)
    assert ocr._scaled(strip).shape[:2] == pytest.approx((side / 4, side * 4), abs=1)


def test_only_a_narrow_piece_in_doubt_is_read_again_and_then_as_wide_as_the_model_knows(monkeypatch):
    narrow, sure, wide = (np.zeros((48, width, 3), np.uint8) for width in (40, 60, 300))
    shapes = []

    def read(self, cuts, ratio):
        shapes.append([ocr._padded(cut, ratio).shape[1] for cut in cuts])
        first = {40: ("I", 0.8), 60: ("10", 0.99), 300: ("Epoch", 0.6)}
        return [first[cut.shape[1]] if ratio == ocr.PADDED else ("1", 0.7) for cut in cuts]

    monkeypatch.setattr(ocr.RapidOcr, "_read_padded", read)
    found = ocr.RapidOcr()._recognised([narrow, sure, wide])
    assert found == [("1", 0.7), ("10", 0.99), ("Epoch", 0.6)]
    assert shapes == [[128, 128, 300], [320]]

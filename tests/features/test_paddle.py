"""PaddleOCR: the real package where it is installed, and the form of its results everywhere."""

from __future__ import annotations

import importlib.util
import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import yaml

from scifigqual_bench.errors import InputError
from scifigqual_bench.features import paddle
from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.features.ocr import RapidOcr, ocr_engine
from scifigqual_bench.features.paddle import boxes_of_ocr, boxes_of_vl, paddle_engine

INSTALLED = importlib.util.find_spec("paddleocr") is not None
real = pytest.mark.skipif(not INSTALLED, reason='paddleocr is not installed: pip install "scifigqual-bench[paddleocr]"')


@pytest.fixture
def installed(monkeypatch):
    """As if the package were there: its arguments are checked before it is loaded."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name == "paddleocr" else found(name))
    version = paddle.importlib.metadata.version
    monkeypatch.setattr(
        paddle.importlib.metadata, "version", lambda name: "3.7.0" if name == "paddleocr" else version(name)
    )


@pytest.fixture
def image():
    """A word on white."""
    rgb = np.full((200, 500, 3), 255, np.uint8)
    cv2.putText(rgb, "Accuracy 0.75", (30, 80), cv2.FONT_HERSHEY_SIMPLEX, 1.2, (0, 0, 0), 2)
    return rgb


class TestResults:
    """Results as the package documents them."""

    def test_pieces_of_pp_ocr(self):
        result = {
            "rec_texts": ["Loss", " ", "Epoch"],
            "rec_scores": [0.98765, 0.9, 0.5],
            "rec_polys": [np.array([[10, 20], [50, 20], [50, 34], [10, 34]], np.int16)] * 2
            + [[[90, 10], [104, 10], [104, 90], [90, 90]]],
        }
        loss, epoch = boxes_of_ocr(result, 100, 80)
        assert (loss.text, loss.confidence, loss.bbox, loss.rotated) == ("Loss", 0.9877, [10, 20, 50, 34], False)
        assert (epoch.bbox, epoch.rotated) == ([90, 10, 100, 80], True)  # cut to the image

    def test_an_image_without_text(self):
        assert boxes_of_ocr({"rec_texts": [], "rec_scores": [], "rec_polys": []}, 9, 9) == []
        assert boxes_of_vl({"spotting_res": {}}, 9, 9) == boxes_of_vl({}, 9, 9) == []

    def test_the_language_model_tells_no_confidence(self):
        corners = [(1.0, 2.0), (31.0, 2.0), (31.0, 12.0), (1.0, 12.0)]
        (box,) = boxes_of_vl({"spotting_res": {"rec_texts": ["F1"], "rec_polys": [corners]}}, 40, 40)
        assert (box.text, box.confidence, box.bbox) == ("F1", None, [1, 2, 31, 12])


class TestArguments:
    def test_the_package_is_named_where_it_is_missing(self, monkeypatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ImportError, match=r'pip install "scifigqual-bench\[paddleocr\]"'):
            paddle_engine({})

    def test_every_missing_model_is_named_at_once(self, installed, tmp_path):
        with pytest.raises(InputError) as told:
            ocr_engine("paddleocr", options={"text_recognition_model_dir": str(tmp_path)})
        detection, recognition = told.value.problems
        assert "text_detection_model_dir=FOLDER is missing; models are not downloaded" in detection
        assert f"{tmp_path}: holds no inference.yml" in recognition

    def test_a_model_without_a_name(self, installed, tmp_path):
        (tmp_path / "inference.yml").write_text("Global: {}")
        options = dict.fromkeys(("text_detection_model_dir", "text_recognition_model_dir"), str(tmp_path))
        with pytest.raises(InputError, match="names no model"):
            paddle_engine(options)

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"pipeline": "vl"}, "vl_rec_server_url=URL of a server"),
            ({"pipeline": "vl", "vl_rec_model_dir": "/no/such"}, "no such folder"),
            ({"pipeline": "vl", "vl_rec_server_url": "http://127.0.0.1:1/v1"}, "needs vl_rec_backend"),
            ({"pipeline": "chat"}, "choose ocr or vl"),
        ],
    )
    def test_what_the_pipelines_need(self, installed, options, told):
        with pytest.raises(InputError, match=told):
            paddle_engine(options)

    def test_other_engines_take_no_options(self):
        with pytest.raises(InputError, match="only paddleocr takes options, not rapidocr: lang"):
            ocr_engine("rapidocr", options={"lang": "en"})


# --- the package itself ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, str]:
    """Folders of PP-OCR models in PaddleOCR's form, made of those that rapidocr brings along."""
    ort = pytest.importorskip("onnxruntime")
    source = Path(importlib.util.find_spec("rapidocr").origin).parent / "models"
    characters = ort.InferenceSession(str(source / RapidOcr.models["Rec"])).get_modelmeta().custom_metadata_map
    steps = [{"DecodeImage": {"channel_first": False, "img_mode": "BGR"}}]
    scale = {"mean": [0.5] * 3, "std": [0.5] * 3, "order": "hwc", "scale": "1./255."}
    configs = {
        "Det": {
            "Global": {"model_name": "PP-OCRv6_small_det"},
            "PreProcess": {
                "transform_ops": [
                    *steps,
                    {"DetResizeForTest": {"resize_long": 960}},
                    {"NormalizeImage": scale},
                    {"ToCHWImage": None},
                ]
            },
            "PostProcess": {"name": "DBPostProcess", "thresh": 0.3, "box_thresh": 0.6, "unclip_ratio": 1.5},
        },
        "Rec": {
            "Global": {"model_name": "PP-OCRv6_small_rec"},
            "PreProcess": {"transform_ops": [*steps, {"RecResizeImg": {"image_shape": [3, 48, 320]}}]},
            "PostProcess": {"name": "CTCLabelDecode", "character_dict": characters["character"].splitlines()},
        },
    }
    folders = {}
    for part, name in (("Det", "text_detection_model_dir"), ("Rec", "text_recognition_model_dir")):
        folder = tmp_path_factory.mktemp(part)
        shutil.copy(source / RapidOcr.models[part], folder / "inference.onnx")
        (folder / "inference.yml").write_text(yaml.safe_dump(configs[part], allow_unicode=True), "utf-8")
        folders[name] = str(folder)
    return folders


@real
@pytest.mark.slow
def test_pp_ocr_reads_with_models_of_the_users(models, image):
    engine = paddle_engine({**models, "engine": "onnxruntime"})
    assert engine.name.startswith("paddleocr 3.") and "PP-OCRv6_small_rec" in engine.name
    (box,) = engine.read(image)
    assert box.text == "Accuracy 0.75"
    assert box.confidence > 0.9
    assert 20 < box.bbox[0] < 40 and 40 < box.bbox[1] < 60
    assert engine.read(np.full((60, 60, 3), 255, np.uint8)) == []


@real
@pytest.mark.slow
def test_folders_without_weights_are_explained(models, image, tmp_path):
    for folder in models.values():
        shutil.copy(Path(folder) / "inference.yml", tmp_path / "inference.yml")
    with pytest.raises(InputError, match="can't be set up"):
        paddle_engine(dict.fromkeys(models, str(tmp_path))).read(image)


class _SpottingServer(BaseHTTPRequestHandler):
    """Answers every chat completion with one word and its place in thousandths."""

    def do_GET(self):
        self._answer({"object": "list", "data": [{"id": "vl", "object": "model"}]})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        places = "".join(f"<|LOC_{n}|>" for n in (100, 200, 500, 200, 500, 300, 100, 300))
        message = {"role": "assistant", "content": f"Accuracy{places}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._answer({"id": "1", "object": "chat.completion", "created": 0, "model": "vl", "choices": [choice]})

    def _answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args):
        pass


@real
@pytest.mark.slow
def test_a_served_language_model_spots_words(image):
    pytest.importorskip("openai")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _SpottingServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        engine = paddle_engine({"pipeline": "vl", "vl_rec_backend": "vllm-server", "vl_rec_server_url": url})
        (box,) = engine.read(image)
    finally:
        server.shutdown()
        server.server_close()
    assert (box.text, box.confidence) == ("Accuracy", None)
    assert box.bbox == [50.0, 40.0, 250.0, 60.0]

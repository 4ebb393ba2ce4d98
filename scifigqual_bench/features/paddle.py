"""Read text with PaddleOCR: its PP-OCR pipeline, or PaddleOCR-VL, on models or a server of the user's.

Nothing is downloaded: PaddleOCR would fetch models that it is not given, so every model has to be named. Options are
the arguments of ``paddleocr.PaddleOCR`` and ``paddleocr.PaddleOCRVL`` under their own names, and ``pipeline``:

- ``pipeline=ocr`` (the default) needs ``text_detection_model_dir`` and ``text_recognition_model_dir``.
- ``pipeline=vl`` needs ``vl_rec_model_dir``, or ``vl_rec_backend`` and ``vl_rec_server_url`` of a served model. It
  asks for the words with their places ("spotting") and tells no confidence.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from scifigqual_bench.errors import InputError
from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.features.ocr import OcrEngine, text_box
from scifigqual_bench.features.vision import Pixels
from scifigqual_bench.records import TextBox

PIPELINES = ("ocr", "vl")
CONFIG = "inference.yml"
"""What a folder of a PP-OCR model holds beside its weights."""
_NOTHING_ELSE = {
    "use_doc_orientation_classify": False,
    "use_doc_unwarping": False,
}
"""Parts of the pipelines for photographed pages, with models of their own; a figure needs none of them."""


def paddle_engine(options: Mapping[str, Any], *, threads: int = 1) -> OcrEngine:
    """The engine that the options describe.

    Args:
        options: See the module.
        threads: CPU threads.

    Raises:
        ImportError: PaddleOCR is not installed; names the extra.
        InputError: A model is not named or its folder can't be used; all faults at once.
    """
    if importlib.util.find_spec("paddleocr") is None:
        raise ImportError(
            'the OCR engine paddleocr is not installed: pip install "scifigqual-bench[paddleocr]" (or choose rapidocr)'
        )
    settings = {"cpu_threads": threads, **_NOTHING_ELSE, **options}
    pipeline = settings.pop("pipeline", "ocr")
    if pipeline not in PIPELINES:
        raise InputError(f"paddleocr: unknown pipeline {pipeline!r}: choose {' or '.join(PIPELINES)}")
    return PaddleOcr(settings) if pipeline == "ocr" else PaddleVl(settings)


class _Paddle:
    """What both pipelines share: the package, loaded late, without looking for models on the network."""

    name: str

    def __init__(self, settings: Mapping[str, Any], models: Sequence[str]):
        self._settings = dict(settings)
        version = importlib.metadata.version("paddleocr")
        self.name = f"paddleocr {version} ({', '.join(models)})"

    def _pipeline(self, kind: str) -> Any:
        # read once, on import; without it the package asks four hosts for models that it was given
        os.environ.setdefault("PADDLE_PDX_DISABLE_MODEL_SOURCE_CHECK", "True")
        import paddleocr

        try:
            return getattr(paddleocr, kind)(**self._settings)
        except (FileNotFoundError, RuntimeError, ValueError, TypeError, AssertionError) as error:
            raise InputError(
                f"paddleocr: {kind} can't be set up with these options and models ({error}); where a dependency is "
                'missing: pip install "scifigqual-bench[paddleocr]"'
            ) from None


class PaddleOcr(_Paddle):
    """PP-OCR: detection and recognition."""

    parts = ("text_detection", "text_recognition")

    def __init__(self, settings: Mapping[str, Any]):
        parts = [*self.parts, *(("textline_orientation",) if settings.get("use_textline_orientation") else ())]
        settings = {"use_textline_orientation": False, **settings}
        problems, names = [], {}
        for part in parts:
            folder = settings.get(f"{part}_model_dir")
            problem, name = _model_name(f"{part}_model_dir", folder)
            problems += [problem] if problem else []
            names[f"{part}_model_name"] = name
        if problems:
            raise InputError(problems)
        super().__init__({**names, **settings}, list(names.values()))

    @cached_property
    def _reader(self) -> Any:
        return self._pipeline("PaddleOCR")

    def read(self, rgb: Pixels) -> list[TextBox]:
        """Pieces of text with corners in the pixels of ``rgb``."""
        (found,) = self._reader.predict(cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))
        return boxes_of_ocr(found, rgb.shape[1], rgb.shape[0])


class PaddleVl(_Paddle):
    """PaddleOCR-VL: a vision-language model that spots words and their places."""

    def __init__(self, settings: Mapping[str, Any]):
        folder, server = settings.get("vl_rec_model_dir"), settings.get("vl_rec_server_url")
        problems = []
        if not (folder or server):
            problems.append(
                "paddleocr: pipeline vl needs vl_rec_model_dir=FOLDER, or vl_rec_backend=vllm-server and "
                "vl_rec_server_url=URL of a server that runs the model; models are not downloaded"
            )
        if folder and not Path(folder).is_dir():
            problems.append(f"paddleocr: vl_rec_model_dir={folder}: no such folder")
        if server and not settings.get("vl_rec_backend"):
            problems.append("paddleocr: vl_rec_server_url needs vl_rec_backend, for example vllm-server")
        if problems:
            raise InputError(problems)
        # a figure is one block; finding blocks would need a model of its own
        model = settings.get("vl_rec_api_model_name") or (Path(folder).name if folder else "served model")
        super().__init__({"use_layout_detection": False, **settings}, [f"vl {model}"])

    @cached_property
    def _reader(self) -> Any:
        return self._pipeline("PaddleOCRVL")

    def read(self, rgb: Pixels) -> list[TextBox]:
        """Pieces of text with corners in the pixels of ``rgb``; their confidence is unknown."""
        bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR)
        (found,) = self._reader.predict(bgr, use_layout_detection=False, prompt_label="spotting")
        return boxes_of_vl(found, rgb.shape[1], rgb.shape[0])


def _model_name(option: str, folder: str | Path | None) -> tuple[str | None, str]:
    """What is wrong with a model's folder, and the name that the model gives itself."""
    if folder is None:
        return f"paddleocr: {option}=FOLDER is missing; models are not downloaded", ""
    config = Path(folder) / CONFIG
    if not config.is_file():
        return f"paddleocr: {option}={folder}: holds no {CONFIG}, so it is no folder of an exported model", ""
    try:
        return None, str(yaml.safe_load(config.read_text("utf-8"))["Global"]["model_name"])
    except (yaml.YAMLError, KeyError, TypeError, UnicodeDecodeError):
        return f"paddleocr: {option}={folder}: {CONFIG} names no model (Global: model_name)", ""


def boxes_of_ocr(result: Mapping[str, Any], width: int, height: int) -> list[TextBox]:
    """The pieces of text in a result of PP-OCR.

    Args:
        result: With ``rec_texts``, ``rec_scores`` and ``rec_polys``, four corners each from the top left, clockwise.
        width: Of the image, in pixels.
        height: Of the image, in pixels.
    """
    pieces = zip(result["rec_texts"], result["rec_scores"], result["rec_polys"], strict=True)
    return [_within(text, float(score), corners, width, height) for text, score, corners in pieces if text.strip()]


def boxes_of_vl(result: Mapping[str, Any], width: int, height: int) -> list[TextBox]:
    """The pieces of text in a spotting result of PaddleOCR-VL.

    Args:
        result: With ``spotting_res``, which holds ``rec_texts`` and ``rec_polys``; nothing in it where no text is.
        width: Of the image, in pixels.
        height: Of the image, in pixels.
    """
    spotted = result.get("spotting_res") or {"rec_texts": [], "rec_polys": []}
    pieces = zip(spotted["rec_texts"], spotted["rec_polys"], strict=True)
    return [_within(text, None, corners, width, height) for text, corners in pieces if text.strip()]


def _within(text: str, confidence: float | None, corners: Any, width: int, height: int) -> TextBox:
    return text_box(text, confidence, np.clip(np.asarray(corners, np.float64), 0, (width, height)))

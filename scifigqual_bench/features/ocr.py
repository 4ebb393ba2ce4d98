"""Read the text in a figure, offline.

``rapidocr`` runs the PP-OCRv6 small models that come inside its wheel; nothing is ever downloaded. ``none`` reads
nothing, for machines without an OCR engine: features then say ``ocr_engine="none"``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import os
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.features.vision import Pixels
from scifigqual_bench.records import TextBox

READ_AREA = 1.6e6
"""Pixels to which an image is scaled before text is looked for. An area, not a side: a wide strip keeps its letters."""
MAX_ENLARGEMENT = 2.0
TALL = 1.5
"""Height over width from which the engine turns a piece of text before reading it."""

EngineName = Literal["rapidocr", "none"]


class OcrEngine(Protocol):
    """Anything that reads text.

    Attributes:
        name: Engine, version and models; ``"none"`` for no engine. Stored beside every result.
    """

    name: str

    def read(self, rgb: Pixels) -> list[TextBox]:
        """Pieces of text in an RGB image, boxes in its pixels, in no particular order."""
        ...


class NoOcr:
    """Reads nothing."""

    name = "none"

    def read(self, rgb: Pixels) -> list[TextBox]:
        """No text."""
        return []


class RapidOcr:
    """PP-OCRv6 (small) by rapidocr and onnxruntime, on the CPU.

    Same image, same machine: same result. The models load at the first image.

    Args:
        threads: CPU threads of onnxruntime, at least 1; more than the machine has are not used.

    Raises:
        ImportError: rapidocr or onnxruntime is missing, or lacks its models; names the remedy.
        ValueError: ``threads`` is below 1.
    """

    models = {
        "Det": "PP-OCRv6_det_small.onnx",
        "Rec": "PP-OCRv6_rec_small.onnx",
        "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    }

    def __init__(self, threads: int = 1):
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        missing = [name for name in ("rapidocr", "onnxruntime") if importlib.util.find_spec(name) is None]
        if missing:
            raise ImportError(
                f'reading text in figures needs {" and ".join(missing)}: pip install "scifigqual-bench[ocr]" '
                "(or choose the OCR engine none)"
            )
        version = importlib.metadata.version("rapidocr")
        folder = Path(importlib.util.find_spec("rapidocr").origin).parent / "models"
        self._paths = {part: folder / file for part, file in self.models.items()}
        absent = [path.name for path in self._paths.values() if not path.is_file()]
        if absent:
            raise ImportError(
                f"rapidocr {version} comes without {', '.join(absent)}: "
                'pip install --upgrade "rapidocr>=3.10" (models are never downloaded at run time)'
            )
        self.name = f"rapidocr {version} ({self._paths['Det'].stem}, {self._paths['Rec'].stem})"
        self._threads = min(threads, os.cpu_count() or 1)

    @cached_property
    def _engine(self) -> Any:
        from rapidocr import RapidOCR

        return RapidOCR(
            params={
                "Global.log_level": "error",
                # the image is scaled once, in read(); padding would blow a strip of 5 x 900 pixels up to 7 megapixels
                "Global.use_preprocess_img": False,
                "Global.use_vertical_padding": False,
                "Det.limit_type": "max",
                "Det.limit_side_len": 1_000_000,
                "EngineConfig.onnxruntime.intra_op_num_threads": self._threads,
                # an explicit path is read as it is: no checksum, no download
                **{f"{part}.model_path": str(path) for part, path in self._paths.items()},
            }
        )

    def read(self, rgb: Pixels) -> list[TextBox]:
        """Pieces of text (words or lines) with corners in the pixels of ``rgb``, rounded to one decimal."""
        height, width = rgb.shape[:2]
        scale = min(MAX_ENLARGEMENT, math.sqrt(READ_AREA / (width * height)))
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        scaled = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
        found = self._engine(cv2.cvtColor(scaled, cv2.COLOR_RGB2BGR))
        if found.boxes is None:
            return []
        limits = np.array([width, height])
        back = limits / np.array(size)
        return [
            _text_box(text, confidence, np.clip(corners * back, 0, limits))
            for text, confidence, corners in zip(found.txts, found.scores, found.boxes, strict=True)
        ]


def _text_box(text: str, confidence: float, corners: np.ndarray) -> TextBox:
    """A record from four corners, clockwise from the top left."""
    across, down = np.linalg.norm(corners[1] - corners[0]), np.linalg.norm(corners[3] - corners[0])
    return TextBox(
        text=text,
        confidence=min(1.0, round(float(confidence), 4)),
        bbox=[round(float(x), 1) for x in (*corners.min(axis=0), *corners.max(axis=0))],
        # one upright letter or digit is tall, too
        rotated=bool(down >= TALL * across and len(text.strip()) > 1),
    )


@cache
def ocr_engine(name: EngineName, threads: int = 1) -> OcrEngine:
    """The engine of that name, built once per process.

    Raises:
        ImportError: The engine's packages are missing; names the remedy.
        ValueError: Unknown name.

    >>> ocr_engine("none").name
    'none'
    """
    if name == "rapidocr":
        return RapidOcr(threads)
    if name == "none":
        return NoOcr()
    raise ValueError(f"unknown OCR engine {name!r}: choose rapidocr or none")

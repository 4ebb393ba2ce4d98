"""Read the text in a figure from its pixels.

``rapidocr`` runs, offline, the PP-OCRv6 small models that come inside its wheel; nothing is ever downloaded.
``paddleocr`` runs the pipelines of PaddleOCR on models or a server of the user's (:mod:`.paddle`). ``none`` reads
nothing, for machines without an OCR engine: features then say ``ocr_engine="none"``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import math
import os
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from scifigqual_bench.errors import InputError
from scifigqual_bench.features._opencv import cv2
from scifigqual_bench.features.vision import Pixels
from scifigqual_bench.records import TextBox

READ_AREA = 3.0e6
"""Pixels to which a larger image is reduced before text is looked for. An area, not a side: a wide strip keeps its
letters."""
ENLARGED_AREA = 1.0e6
"""Pixels to which a smaller one is enlarged, within :data:`ENLARGEMENT`."""
ENLARGEMENT = 1.2, 2.0
TALL = 1.5
"""Height over width from which a piece of text is taken to run upwards and is turned before it is read."""
DOUBTFUL = 0.7
"""Confidence under which a turned piece is read the other way up as well."""
NARROW = 2.5
"""Width over height up to which a piece is padded before it is read."""
PADDED = 128 / 48
"""Width over height to which it is padded first: with less, digits are taken for letters."""
PADDED_AGAIN = 320 / 48
"""Width over height to which it is padded where that leaves a doubt: what the model was trained on."""
SURE = 0.9
"""Confidence from which a narrow piece is not read again."""
GREY = (127, 127, 127)
MIN_CONFIDENCE = 0.5
"""Confidence under which nothing was read."""

EngineName = Literal["rapidocr", "paddleocr", "none"]
OCR_ENGINES = ("rapidocr", "paddleocr")
"""The engines that read."""


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

    The image is scaled once, text is looked for, and each piece is read on its own, at its own width: in batches,
    pieces are padded to the widest of them, which costs a CPU more than batches gain, and the result would depend on
    what else is in the batch. Only narrow pieces, such as tick labels, are padded, for without it digits are taken for
    letters: a little first, and as the model knows them where that leaves a doubt. No classifier looks which way up a
    piece is: what is tall is taken to run upwards, and where it can't be read so, downwards.
    ``benchmarks/features.py`` measures what that gains.

    Same image, same machine: same result. The models load at the first image.

    Args:
        threads: CPU threads of onnxruntime, at least 1; more than the machine has are not used. To read many figures,
            one thread in each of several processes is faster than several threads in one.

    Raises:
        ImportError: rapidocr or onnxruntime is missing, or lacks its models; names the remedy.
        ValueError: ``threads`` is below 1.
    """

    models = {"Det": "PP-OCRv6_det_small.onnx", "Rec": "PP-OCRv6_rec_small.onnx"}

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
                # images are scaled in read(); padding would blow a strip of 5 x 900 pixels up to 7 megapixels
                "Global.use_preprocess_img": False,
                "Global.use_vertical_padding": False,
                "Global.use_cls": False,
                "Global.use_rec": False,
                "Det.limit_type": "max",
                "Det.limit_side_len": 1_000_000,
                # _padded() pads what gains from it
                "Rec.rec_img_shape": [3, 48, 32],
                "Rec.rec_batch_num": 1,
                "EngineConfig.onnxruntime.intra_op_num_threads": self._threads,
                "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
                # an explicit path is read as it is: no checksum, no download
                **{f"{part}.model_path": str(path) for part, path in self._paths.items()},
            }
        )

    def read(self, rgb: Pixels) -> list[TextBox]:
        """Pieces of text (words or lines) with corners in the pixels of ``rgb``, rounded to one decimal."""
        scaled = _scaled(cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))
        found = self._engine(scaled)
        if found.boxes is None:
            return []
        limits = np.array([rgb.shape[1], rgb.shape[0]])
        back = limits / (scaled.shape[1], scaled.shape[0])
        pieces = self._read_pieces([_cut(scaled, corners) for corners in found.boxes])
        return [
            text_box(text, confidence, np.clip(corners * back, 0, limits))
            for (text, confidence), corners in zip(pieces, found.boxes, strict=True)
            if confidence >= MIN_CONFIDENCE and text.strip()
        ]

    def _read_pieces(self, cuts: list[np.ndarray]) -> list[tuple[str, float]]:
        """Text and confidence of each piece; a tall one is turned."""
        tall = [cut.shape[0] >= TALL * cut.shape[1] for cut in cuts]
        upright = [np.rot90(cut, -1) if turned else cut for cut, turned in zip(cuts, tall, strict=True)]
        read = self._recognised(upright)
        doubtful = [k for k, turned in enumerate(tall) if turned and read[k][1] < DOUBTFUL]
        for k, other in zip(doubtful, self._recognised([np.rot90(upright[k], 2) for k in doubtful]), strict=True):
            read[k] = max(read[k], other, key=lambda piece: piece[1])
        return read

    def _recognised(self, cuts: list[np.ndarray]) -> list[tuple[str, float]]:
        """Text and confidence of each level piece."""
        read = self._read_padded(cuts, PADDED)
        unsure = [k for k, cut in enumerate(cuts) if _narrow(cut) and read[k][1] < SURE]
        for k, again in zip(unsure, self._read_padded([cuts[k] for k in unsure], PADDED_AGAIN), strict=True):
            read[k] = again
        return read

    def _read_padded(self, cuts: list[np.ndarray], ratio: float) -> list[tuple[str, float]]:
        if not cuts:
            return []
        found = self._engine.recognize_txt([_padded(cut, ratio) for cut in cuts])
        return list(zip(found.txts, map(float, found.scores), strict=True))


def _scaled(image: np.ndarray) -> np.ndarray:
    """An image at the size at which text is looked for."""
    height, width = image.shape[:2]
    enlarged = np.clip(math.sqrt(ENLARGED_AREA / (width * height)), *ENLARGEMENT)
    scale = min(enlarged, math.sqrt(READ_AREA / (width * height)))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return cv2.resize(image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)


def _cut(image: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The part of an image between four corners, clockwise from the top left, made level."""
    width, height = _sides(corners)
    size = max(2, int(width)), max(2, int(height))
    target = np.array([[0, 0], [size[0], 0], size, [0, size[1]]], np.float32)
    turn = cv2.getPerspectiveTransform(corners.astype(np.float32), target)
    return cv2.warpPerspective(image, turn, size, borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC)


def _narrow(cut: np.ndarray) -> bool:
    height, width = cut.shape[:2]
    return width <= NARROW * height


def _padded(cut: np.ndarray, ratio: float) -> np.ndarray:
    """A narrow piece of text with grey on its right, as the model pads what it reads; any other as it is."""
    if not _narrow(cut):
        return cut
    height, width = cut.shape[:2]
    return cv2.copyMakeBorder(cut, 0, 0, 0, round(ratio * height) - width, cv2.BORDER_CONSTANT, value=GREY)


def _sides(corners: np.ndarray) -> tuple[float, float]:
    """Width and height between four corners, the longer of each pair of sides."""
    steps = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    return max(steps[0], steps[2]), max(steps[1], steps[3])


def text_box(text: str, confidence: float | None, corners: np.ndarray) -> TextBox:
    """A record from four corners, clockwise from the top left."""
    across, down = _sides(corners)
    return TextBox(
        text=text,
        confidence=None if confidence is None else min(1.0, round(confidence, 4)),
        bbox=[round(float(x), 1) for x in (*corners.min(axis=0), *corners.max(axis=0))],
        # one upright letter or digit is tall, too
        rotated=bool(down >= TALL * across and len(text.strip()) > 1),
    )


def ocr_engine(name: EngineName, threads: int = 1, options: Mapping[str, Any] | None = None) -> OcrEngine:
    """The engine of that name, built once per process for the same arguments.

    Args:
        name: ``"rapidocr"``, ``"paddleocr"`` or ``"none"``.
        threads: CPU threads of the engine.
        options: Of ``paddleocr`` alone, see :mod:`scifigqual_bench.features.paddle`.

    Raises:
        ImportError: The engine's package or the models in it are missing; names the remedy.
        InputError: Options that the engine does not take, or models that are not there.
        ValueError: Unknown name.

    >>> ocr_engine("none").name
    'none'
    """
    if options and name != "paddleocr":
        raise InputError(f"only paddleocr takes options, not {name}: {', '.join(sorted(options))}")
    return _engine(name, threads, json.dumps(dict(options or {}), sort_keys=True, default=str))


@cache
def _engine(name: EngineName, threads: int, options: str) -> OcrEngine:
    if name == "rapidocr":
        return RapidOcr(threads)
    if name == "paddleocr":
        from scifigqual_bench.features.paddle import paddle_engine

        return paddle_engine(json.loads(options), threads=threads)
    if name == "none":
        return NoOcr()
    raise ValueError(f"unknown OCR engine {name!r}: choose rapidocr, paddleocr or none")

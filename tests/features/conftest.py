"""Figures with known content, drawn for the tests, and the real OCR engine."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image

from scifigqual_bench.features.ocr import OcrEngine, ocr_engine

DPI = 200


@dataclass(frozen=True)
class Drawn:
    """A figure as PNG, its pixels, and what matplotlib knows about it."""

    png: bytes
    rgb: np.ndarray
    size_pt: tuple[float, float]
    texts: dict[str, tuple[float, float, float, float]]
    """Visible text -> x0, y0, x1, y1 in pixels from the top left corner."""
    y_ticks: list[list[float]]
    """Tick values inside each panel's y range, from bottom to top."""


@pytest.fixture(scope="session")
def engine() -> OcrEngine:
    """The real engine."""
    return ocr_engine("rapidocr")


@pytest.fixture(scope="session")
def two_panels() -> Drawn:
    """Two line plots with panel letters, negative and decimal ticks, rotated axis labels and a legend."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"font.size": 9, "font.family": "DejaVu Sans"}):
        figure, axes = pyplot.subplots(1, 2, figsize=(6, 2.6), dpi=DPI)
        panels = (
            ("(a) Accuracy gain", "Training epoch", "Measured value", [-0.4, -0.2, 0.0, 0.2, 0.4]),
            ("(b) Growth", "Vocabulary size", "Word count", [0.0, 1500.0, 3000.0, 4500.0]),
        )
        for axis, (title, x_label, y_label, ticks) in zip(axes, panels, strict=True):
            axis.plot(np.linspace(0, 4, 50), np.interp(np.linspace(0, 4, 50), range(len(ticks)), ticks), label="Model")
            axis.set_yticks(ticks)
            axis.set_title(title, loc="left")
            axis.set_xlabel(x_label)
            axis.set_ylabel(y_label)
            axis.legend()
        figure.tight_layout(pad=1.5)
        figure.canvas.draw()
        height = figure.bbox.height
        texts = {}
        for panel in panels:
            for text in panel[:3]:
                (artist,) = figure.findobj(lambda a, text=text: getattr(a, "get_text", str)() == text)
                extent = artist.get_window_extent()
                texts[text] = (extent.x0, height - extent.y1, extent.x1, height - extent.y0)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        pyplot.close(figure)
    rgb = np.asarray(Image.open(buffer).convert("RGB"))
    return Drawn(
        png=buffer.getvalue(),
        rgb=rgb,
        size_pt=(6 * 72, 2.6 * 72),
        texts=texts,
        y_ticks=[ticks for *_, ticks in panels],
    )

"""A scripted backend, and a figure whose every text carries a marker of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from scifigqual_bench.judges.base import Request, Response
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.records import CaptionOverlap, Citation, ImageFeatures, SidecarFeatures, TextBox
from tests.factory import figure, png

WHITE = png("")
MARKERS = {
    "caption": "ZEBRACAPTION",
    "citation": "ZEBRACITATION",
    "title": "ZEBRATITLE",
    "ocr": "ZEBRAOCR",
    "overlap": "zebraoverlap",
}


class ScriptedBackend:
    """Answers from a function or a list, in the order of the requests; keeps every batch it was given."""

    name = "scripted"
    model = "script"
    revision = "1"

    def __init__(self, script: Callable[[Request], Response | str] | Iterable[Response | str]):
        self.batches: list[list[Request]] = []
        self._script = script if callable(script) else None
        self._answers = None if callable(script) else iter(script)

    @property
    def requests(self) -> list[Request]:
        return [request for batch in self.batches for request in batch]

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        self.batches.append(list(requests))
        answers = [self._script(request) if self._script else next(self._answers) for request in requests]
        return [Response(answer) if isinstance(answer, str) else answer for answer in answers]

    def settings(self) -> dict[str, Any]:
        return {"sampling": {"temperature": 0}, "image": {}}


def dimension(score: int = 8, reason: str = "the tick labels are legible") -> dict[str, Any]:
    return {"score": score, "reason": reason, "evidence": ["tick labels"]}


VISION = {
    "visual_clarity": dimension(9),
    "structure_layout": dimension(7),
    "visible_facts": ["two lines"],
    "caption_should_mention": ["accuracy"],
    "citation_should_mention": [],
    "risk_band": "7-8",
    "risk_reason": "no error bars",
}
LANGUAGE = {
    "claims": ["accuracy rises"],
    "omissions": ["seeds"],
    "caption_cap": None,
    "context_cap": None,
    "misleading_cap": None,
    "severity": "none",
    "severity_reason": "",
}


class BatchScriptedBackend(ScriptedBackend):
    """A scripted backend that takes requests about several figures."""

    max_images: int | None = None


def good_answer(request: Request) -> str:
    """A valid answer to any request."""
    if request.figures:
        return json.dumps({part.key: {key: dimension(8) for key in part.open_dimensions} for part in request.figures})
    match request.role:
        case "vision":
            return json.dumps(VISION)
        case "language":
            return json.dumps(LANGUAGE)
        case "fusion":
            proposals = {
                key: dimension(8) if key in request.open_dimensions else None
                for key in ("caption_consistency", "context_consistency")
            }
            return json.dumps({**proposals, "misleading_reason": "nothing misleads"})
    return json.dumps({key: dimension(8) for key in request.open_dimensions})


def image_features(**changes: Any) -> ImageFeatures:
    """Features of a clean plot; keyword arguments change fields."""
    defaults: dict[str, Any] = {
        "ocr_engine": "test",
        "width": 1200,
        "height": 800,
        "megapixels": 0.96,
        "print_width_pt": 240.0,
        "print_height_pt": 160.0,
        "blur_laplacian": 2500.0,
        "edge_density": 0.05,
        "whitespace_share": 0.8,
        "dominant_colour_share": 0.75,
        "distinct_hues": 4,
        "colourfulness": 25.0,
        "text_boxes": [
            TextBox(text=text, confidence=0.97, bbox=[0.0, 0.0, 40.0, 12.0])
            for text in ("Accuracy (%)", "Epoch", "LSTM", "GRU", MARKERS["ocr"])
        ],
        "text_area_share": 0.05,
        "ocr_confidence_mean": 0.97,
        "ocr_confidence_min": 0.93,
        "text_height_pt_min": 6.5,
        "text_height_pt_median": 7.5,
    }
    return ImageFeatures(**(defaults | changes))


def item(
    index: int = 1, *, image: bytes = WHITE, open_dimensions: Sequence[str] | None = None, **fields: Any
) -> JudgeItem:
    """A figure with everything that a call may see, a marker in each text; keyword arguments change its fields."""
    values: dict[str, Any] = {
        "caption": f"Figure {index}: Accuracy of LSTM and GRU over training. {MARKERS['caption']}",
        "citations": [
            Citation(
                text=f"In Figure {index}, {MARKERS['citation']} accuracy rises.",
                mentions=[f"Figure {index}"],
                weight=1.0,
            )
        ],
        "title": f"A study of {MARKERS['title']}",
        "features": SidecarFeatures(
            image=image_features(), caption=CaptionOverlap(word_share=0.5, panels_named=[MARKERS["overlap"]])
        ),
    }
    row = figure(index, rated=False, **(values | fields))
    if open_dimensions is not None:
        row = row.model_copy(update={"open_dimensions": list(open_dimensions)})
    return JudgeItem(row, image)

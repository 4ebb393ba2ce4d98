"""The rules backend: every rule on a figure with the fault and on one without; every role from its own side."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from PIL import Image

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends import make_backend, rules
from scifigqual_bench.judges.backends.checks import View, citation_kind
from scifigqual_bench.judges.backends.rule_table import PRIORS, RULES, Finding, Rule, find
from scifigqual_bench.judges.backends.rules import (
    RulesBackend,
    findings,
    fused_answer,
    image_view,
    language_answer,
    report_view,
    score,
    single_answer,
    text_view,
    vision_answer,
)
from scifigqual_bench.judges.base import Evidence
from scifigqual_bench.judges.measure import Measurements, ocr_measurements
from scifigqual_bench.judges.parse import answer_record, parse_answer
from scifigqual_bench.judges.payload import JudgeItem, build_request
from scifigqual_bench.judges.protocols import PROTOCOLS
from scifigqual_bench.judges.run import DatasetInfo, run_judge
from scifigqual_bench.records import Axis, Citation, Curve, ImageFeatures, Prediction, SidecarFeatures, TextBox
from scifigqual_bench.rubric import DIMENSION_KEYS, SHORT_NAMES
from tests.factory import figure
from tests.judges.scripted import LANGUAGE, VISION, image_features, item

CLEAN_CAPTION = "Figure 1: Accuracy of LSTM and GRU over training. Bands show one standard deviation over five seeds."


def view(caption: str | None = CLEAN_CAPTION, citing: str | None = None, kind: str = "trend", **image: Any) -> View:
    """A clean plot with a clean caption; keyword arguments change the image's features."""
    seen = image_view(image_features(**image))
    return View(
        seen.image,
        seen.image_text,
        seen.axis_numbers,
        seen.panel_letters,
        caption,
        None if citing is None else ((kind, citing),),
    )


def told(caption: str) -> View:
    """A caption alone."""
    return View(caption=caption)


def boxes(*texts: str, step: float = 60.0) -> list[TextBox]:
    """Pieces of text in one row."""
    return [
        TextBox(text=text, confidence=0.97, bbox=[n * step, 0.0, n * step + 40.0, 12.0]) for n, text in enumerate(texts)
    ]


def letters(*places: tuple[str, float, float]) -> dict[str, Any]:
    """Panel letters at places, in reading order."""
    return {
        "text_boxes": [
            TextBox(text=f"({letter})", confidence=0.97, bbox=[x, y, x + 20, y + 12]) for letter, x, y in places
        ],
        "panel_letters": [letter for letter, _, _ in places],
    }


def named(count: int) -> str:
    """So many different words that name something."""
    return " ".join(f"thing{number}x" for number in range(count)).capitalize()


def faint(*contrasts: float) -> list[TextBox]:
    """Words with their contrast against the ground, the last of which is at x = 60 (n - 1)."""
    words = boxes(*["word"] * len(contrasts))
    return [box.model_copy(update={"contrast": ratio}) for box, ratio in zip(words, contrasts, strict=True)]


def rising(text: str, left: float, **changes: Any) -> TextBox:
    """The title of a left axis, as the PDF tells it."""
    fields = {"source": "pdf", "rotated": True, "font_size_pt": 7.5, "bbox": [left, 100.0, left + 28.0, 400.0]}
    return TextBox(text=text, confidence=1.0, **(fields | changes))


def overlapping(*texts: str, height: float = 12.0) -> dict[str, Any]:
    """Pieces of text, each on the one before it."""
    pieces = [
        TextBox(text=text, confidence=0.97, bbox=[n * 10.0, 0.0, n * 10.0 + 40.0, height])
        for n, text in enumerate(texts)
    ]
    return {"text_boxes": pieces, "overlapping_text": [[n, n + 1] for n in range(len(texts) - 1)]}


def axis(**changes: Any) -> Axis:
    """A left axis without a title."""
    fields = {"panel": 0, "side": "left", "numbers": [0.0, 1.0, 2.0], "bbox": [10.0, 20.0, 40.0, 90.0]}
    return Axis(**(fields | changes))


def plot_of(*parts: Axis | tuple[str, list[float]]) -> dict[str, Any]:
    """A plot whose text the PDF tells: its axis, and further text at places."""
    first, *others = parts
    text = [("0", [30.0, 80.0, 40.0, 90.0]), ("Step", [100.0, 100.0, 140.0, 112.0]), *others]
    pieces = [TextBox(text=words, confidence=1.0, source="pdf", bbox=bbox) for words, bbox in text]
    return {"ocr_engine": "pdf", "ocr_confidence_mean": None, "axes": [first], "text_boxes": pieces}


KEYED_PLOT = {
    "axes": [axis()],
    "legend": ["LSTM", "GRU"],
    "colour_distance_min": 52.4,
    "deuteranopia_distance_min": 14.5,
    "deuteranopia_pair": ["#2ca02c", "#ff7f0e"],
    "protanopia_distance_min": 1.3,
    "protanopia_pair": ["#2ca02c", "#ff7f0e"],
}

WORDS = ("encoder", "decoder", "attention", "gate", "memory", "query", "kernel", "lexicon", "parser")
AXIS = [[0.0, 20.0, 40.0, 60.0]]


# Rule -> a view in which it finds something, and views, near it, in which it does not.
def lines(*directions: str, panels: tuple[int | None, ...] = ()) -> dict[str, Any]:
    """A plot of accuracy over depth with lines of these directions, in the first panel where nothing else is said."""
    places = panels or (0,) * len(directions)
    drawn = [Curve(panel=k, colour="#000000", direction=way) for k, way in zip(places, directions, strict=True)]
    return {"axes": [axis(title="Accuracy"), axis(side="bottom", title="Depth")], "curves": drawn}


EXAMPLES: dict[str, tuple[View, list[View]]] = {
    "VC-COARSE": (view(width=400), [view(width=600), view(width=300), view(width=400, print_width_pt=None)]),
    "VC-VERY-COARSE": (view(width=300), [view(width=400)]),
    "VC-BLURRED": (view(blur_laplacian=150.0), [view(), view(blur_laplacian=50.0)]),
    "VC-VERY-BLURRED": (view(blur_laplacian=50.0), [view(blur_laplacian=150.0)]),
    "VC-SMALL-TEXT": (
        view(text_height_pt_median=4.0),
        [view(text_height_pt_median=5.0), view(text_height_pt_median=None)],
    ),
    "VC-TINY-TEXT": (view(text_height_pt_median=3.0), [view(text_height_pt_median=4.0)]),
    "VC-TINY-LABELS": (
        view(text_height_pt_min=3.0),
        [view(text_height_pt_min=4.0), view(text_height_pt_min=3.0, text_boxes=boxes(*["word"] * 130))],
    ),
    "VC-UNSURE-TEXT": (
        view(ocr_confidence_mean=0.7),
        [view(), view(ocr_confidence_mean=0.7, text_boxes=boxes("a", "b"))],
    ),
    "VC-FAINT-TEXT": (
        view(text_boxes=faint(2.9, 2.5, 1.8)),
        [view(text_boxes=faint(2.9, 2.5)), view(text_boxes=faint(3.0, 3.1, 21.0)), view()],
    ),
    "VC-COLOUR-BLIND": (
        view(**KEYED_PLOT),
        [
            view(**KEYED_PLOT | {"protanopia_distance_min": 3.0}),
            view(**KEYED_PLOT | {"colour_distance_min": 12.0}),  # alike to everybody
            view(**KEYED_PLOT | {"legend": []}),
            view(**KEYED_PLOT | {"axes": []}),
            view(**KEYED_PLOT | {"colour_distance_min": None}),
        ],
    ),
    "VC-JPEG": (
        view(jpeg_blockiness=1.5),
        [
            view(jpeg_blockiness=1.3),
            view(jpeg_blockiness=1.5, raster_share=0.1),
            view(jpeg_blockiness=1.3, jpeg_quality=75),
            view(jpeg_blockiness=1.3, jpeg_quality=10, raster_share=0.1),
            view(jpeg_blockiness=1.3, jpeg_quality=10, text_boxes=[]),  # a photograph
            view(),
        ],
    ),
    "VC-CUT-TITLE": (
        view(text_boxes=[rising("Accuracy (%)", 0.0)]),
        [
            view(text_boxes=[rising("Accuracy (%)", 3.0)]),
            view(text_boxes=[rising("runs", 0.0)]),  # low letters leave a part of their box free
            view(text_boxes=[rising("Accuracy (%)", 0.0, font_size_pt=12.0)]),
            view(text_boxes=[rising("Accuracy (%)", 0.0, source="ocr")]),
            view(text_boxes=[rising("Accuracy (%)", 0.0, rotated=False)]),
        ],
    ),
    "VC-CLIPPED": (view(clipped_edges=["left"]), [view()]),
    "VC-CLEAR-TEXT": (
        view(),
        [view(text_height_pt_median=5.5), view(blur_laplacian=150.0), view(text_height_pt_min=3.0)],
    ),
    "SL-DENSE": (view(text_boxes=boxes(*["word"] * 130)), [view()]),
    "SL-OVERLAPPING-TEXT": (
        view(**overlapping("word", "other", "third", "last")),
        [
            view(**overlapping("word", "other", "third")),
            view(**overlapping("x", "y", "z", "a")),
            view(**overlapping("word", "other", "third", "last", height=38.0)),  # slanted text
        ],
    ),
    "SL-NO-TEXT": (view(text_boxes=[]), [view(), view(text_boxes=[], ocr_engine="none")]),
    "SL-PANEL-ORDER": (
        view(**letters(("a", 0, 0), ("c", 200, 0), ("b", 400, 0))),
        [
            view(**letters(("a", 0, 0), ("b", 200, 0), ("c", 0, 200), ("d", 200, 200))),
            view(**letters(("a", 0, 0), ("c", 200, 0), ("b", 0, 200), ("d", 200, 200))),  # by columns
            view(**letters(("b", 200, 0), ("c", 400, 0), ("a", 0, 200), ("d", 200, 200))),  # a stands lower in its row
            view(**letters(("a", 0, 0), ("d", 200, 0), ("b", 400, 0))),  # OCR missed c
        ],
    ),
    "SL-PANEL-GAP": (
        view(**letters(("a", 0, 0), ("c", 200, 0))),
        [view(**letters(("a", 0, 0), ("b", 200, 0))), view()],
    ),
    "MR-TRUNCATED-BARS": (
        view(standing_bars=6, axis_numbers=[[60.0, 70.0, 80.0, 90.0]]),
        [
            view(standing_bars=6, axis_numbers=[[0.0, 20.0, 40.0]]),
            view(standing_bars=6, axis_numbers=[[20.0, 40.0, 60.0]]),  # zero may stand below, unlabelled
            view(standing_bars=6, axis_numbers=[[10.0, 100.0, 1000.0]]),
            view(standing_bars=6, axis_numbers=[[60.0, 70.0, 80.0], [0.0, 1.0, 2.0]]),
            view(standing_bars=0, axis_numbers=[[60.0, 70.0, 80.0, 90.0]]),
            view(standing_bars=None, axis_numbers=[[60.0, 70.0, 80.0, 90.0]]),
            view(standing_bars=6, axis_numbers=[[60.0, 70.0, 80.0, 90.0]], bar_base=65.0),  # boxes of a box plot
            view(standing_bars=6, axis_numbers=[[20.0, 40.0, 60.0]], bar_base=0.0),
            view(lying_bars=6, axis_numbers=[[60.0, 70.0, 80.0]], bar_base=60.0),  # the other axis
        ],
    ),
    "MR-UNTITLED-AXIS": (
        view(**plot_of(axis())),
        [
            view(**plot_of(axis(title="Score"))),
            view(**plot_of(axis(), ("y", [0.0, 50.0, 8.0, 60.0]))),
            view(**plot_of(axis(), ("Score", [20.0, 2.0, 60.0, 14.0]))),
            view(**plot_of(axis(), ("Loss", [300.0, 2.0, 340.0, 14.0]))),
            view(**plot_of(axis()) | {"ocr_engine": "pdf, rapidocr"}),
            view(**plot_of(axis()) | {"rotated_text": 1}),
            view(**plot_of(axis(side="bottom"))),
        ],
    ),
    "MR-TRUNCATED-AXIS": (
        view(axis_numbers=[[60.0, 70.0, 80.0, 90.0]]),
        [view(axis_numbers=AXIS), view(axis_numbers=[[4.0, 3.0, 2.0]]), view(axis_numbers=[[1.0, 2.0, 3.0]])],
    ),
    "MR-NO-UNIT": (
        view(axis_numbers=AXIS, text_boxes=boxes("Inference time", "GRU")),
        [
            view(axis_numbers=AXIS, text_boxes=boxes("Inference time (ms)", "GRU")),
            view(axis_numbers=AXIS, text_boxes=boxes("Inference time"), caption="Inference time in seconds."),
            view(text_boxes=boxes("Inference time")),
        ],
    ),
    "CC-LABEL-ONLY": (told("Figure 1: Training of the model."), [view(), told(""), view(None)]),
    "CC-VAGUE-TITLE": (
        told("Figure 1: The whole pipeline. Encoder and decoder are trained apart, on two corpora."),
        [told("Figure 1: Accuracy of encoder and decoder on two corpora."), told(""), view(None)],
    ),
    "CC-MERGED": (told("Figure 6. Impact of noise. Figure 7. Impact of drift."), [view()]),
    "CC-NO-METRIC": (
        view("Figure 1: Results of all models on both tasks."),
        [view(), view("Figure 1: Overview.")],
    ),
    "CC-NO-GROUPS": (told("Figure 1: Comparison of the accuracy."), [told("Figure 1: Comparison of A and B.")]),
    "CC-MEASURE": (view(), [told("Figure 1: Model overview."), told("")]),
    "CC-PANELS": (told("Figure 1: (a) Loss."), [told("Figure 1: Loss.")]),
    "CC-FULL-SENTENCE": (told("Figure 1: Loss. The encoder is frozen."), [told(""), view(None)]),
    "CC-NAMES-MUCH": (told("Figure 1: Loss."), [told(""), view(None)]),
    "CC-AXIS-NOT-NAMED": (
        view("Figure 1: Training of both models.", axis_numbers=AXIS),
        [view(axis_numbers=AXIS), view("Figure 1: Training."), view("Figure 1: BLEU.", axis_numbers=AXIS)],
    ),
    "CC-PLOT-NO-MEASURE": (
        view("Figure 1: Training.", axis_numbers=AXIS, text_boxes=boxes("GRU", "LSTM")),
        [
            view("Figure 1: Training.", axis_numbers=[[9.0, 7.0, 1.0]], text_boxes=boxes("GRU")),
            view("Figure 1: Training sizes.", axis_numbers=AXIS, text_boxes=boxes("GRU")),
            view("Figure 1: Training.", text_boxes=boxes("GRU")),
        ],
    ),
    "CC-METRIC-DIFFERS": (view("Figure 1: BLEU of both models."), [view(), view("Figure 1: Training.")]),
    "CC-TREND-REVERSED": (
        view("Accuracy rises with depth.", **lines("falling", "falling", "level")),
        [
            view("Accuracy rises with depth.", **lines("falling", "rising")),
            view("Accuracy rises with depth.", **lines("falling", "mixed")),
            view("Accuracy rises with depth.", **lines("level")),
            view("Accuracy rises with depth.", **lines()),
            view("Accuracy rises with depth.", **lines("falling", "rising", panels=(0, None))),
            view("Accuracy rises with width.", **lines("falling")),
            view("Accuracy falls with depth.", **lines("falling")),
        ],
    ),
    "CC-WORDS-ABSENT": (
        view(text_boxes=boxes(*WORDS)),
        [
            view(),
            view(text_boxes=boxes(*WORDS, "GRU")),
            view(text_boxes=boxes(*WORDS[:7])),
            view("Figure 1: Training."),
        ],
    ),
    "CC-WORDS-FOUND": (view(), [view("Figure 1: Accuracy of the GRU.")]),
    "CC-NUMBERS-ABSENT": (
        view("Figure 1: 0.35, 17 and 92.", text_boxes=boxes("11", "12", "13", "14", "15")),
        [
            view("Figure 1: 0.35, 17 and 92.", text_boxes=boxes("11", "12", "13", "14", "92")),
            view("Figure 1: 1, 2 and 3.", text_boxes=boxes("11", "12", "13", "14", "15")),
            view("Figure 1: 0.35, 17 and 92.", text_boxes=boxes("11")),
        ],
    ),
    "CC-PANELS-NOT-DRAWN": (
        view("Figure 1: (a) Loss. (b) Gain. (c) Size.", panel_letters=["a", "b"]),
        [view("Figure 1: (a) Loss. (b) Gain.", panel_letters=["a", "b"]), view("Figure 1: (a) Loss. (b) Gain.")],
    ),
    "CC-PANELS-NOT-EXPLAINED": (
        view("Figure 1: Loss.", panel_letters=["a", "b"]),
        [view("Figure 1: Loss (left).", panel_letters=["a", "b"]), view("Figure 1: Loss.")],
    ),
    "CTX-BARE-POINTER": (
        view(citing="Results are shown in Figure 1.", kind="pointer"),
        [
            view(citing="Results are shown in Figure 1. The accuracy of LSTM differs.", kind="pointer"),
            view(citing="Figure 1 shows a rise.", kind="trend"),
            view(),
        ],
    ),
    "CTX-CLAIM": (
        view(citing="LSTM is better.", kind="comparison"),
        [view(citing="See Figure 1.", kind="pointer"), view()],
    ),
    "CTX-NUMBERS-FOUND": (
        view(citing="It rises from 61.5 to 93.", text_boxes=boxes("61.5", "93")),
        [view(citing="It rises from 61.5 to 94.", text_boxes=boxes("61.5", "93"))],
    ),
    "CTX-WORDS-ABSENT": (view(citing=" ".join(WORDS)), [view(citing=" ".join([*WORDS, "accuracy"])), view()]),
    "CTX-REVERSED-TREND": (
        view("Figure 1: Accuracy rises with depth.", "Accuracy falls with depth."),
        [view("Figure 1: Accuracy rises with depth.", "Accuracy rises with depth.")],
    ),
    "CTX-TREND-DENIED": (
        view(citing="Figure 1 shows that accuracy rises with depth.", **lines("falling")),
        [
            view("Accuracy rises with depth.", **lines("falling")),
            view(citing="Figure 1 shows that accuracy rises with depth.", **lines("rising")),
        ],
    ),
}


def found(of: View) -> dict[str, str]:
    return {finding.rule.id: finding.evidence for finding in find(of)}


def test_the_table_names_each_rule_once_and_every_rule_has_an_example() -> None:
    assert [rule.id for rule in RULES] == list(dict.fromkeys(rule.id for rule in RULES))
    assert set(EXAMPLES) == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_rule_finds_its_fault_and_nothing_near_it(rule: str) -> None:
    example, others = EXAMPLES[rule]
    assert found(example).get(rule)
    for other in others:
        assert rule not in found(other), other


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_documented_and_moves_known_dimensions(rule: Rule) -> None:
    assert re.fullmatch(r"(VC|SL|CC|CTX|MR)(-[A-Z]+)+", rule.id)
    assert SHORT_NAMES[rule.dimensions[0]] == rule.id.partition("-")[0]
    assert rule.says.endswith(".") and rule.source.endswith(".")
    assert rule.mend.endswith(".") if rule.is_fault else not rule.mend
    assert set(rule.effects) <= set(DIMENSION_KEYS)
    assert rule.dimensions
    assert rule.cap is None or rule.ceilings
    assert rule.severity == "none" or rule.is_fault


def test_a_poor_jpeg_is_told_by_its_quality_too() -> None:
    told_ = found(view(jpeg_blockiness=1.2, jpeg_quality=10))
    assert told_["VC-JPEG"] == "the figure is stored as JPEG of quality 10 of 100"


def test_a_bare_pointer_is_quoted() -> None:
    citing = "We asked a hundred people which text is better. Examples are shown in Figure 1."
    told_ = found(view(citing=citing, kind="pointer"))["CTX-BARE-POINTER"]
    assert told_ == 'the citing text only points at the figure: "Examples are shown in Figure 1."'


def test_a_clean_figure_has_no_fault() -> None:
    assert [
        finding.rule.id for finding in find(view(citing="Accuracy rises with training.")) if finding.rule.is_fault
    ] == []


def test_nothing_is_found_in_nothing() -> None:
    assert find(View()) == []


# --- findings for people ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "of", "place"),
    [
        ("VC-TINY-LABELS", {"text_height_pt_min": 3.0}, (60.0, 0.0, 90.0, 6.0)),
        ("VC-UNSURE-TEXT", {"ocr_confidence_mean": 0.7}, (0.0, 0.0, 50.0, 12.0)),
        ("VC-CLIPPED", {"clipped_edges": ["left"]}, (0.0, 0.0, 48.0, 800.0)),
        ("VC-FAINT-TEXT", {"text_boxes": faint(2.9, 1.8, 2.5)}, (60.0, 0.0, 100.0, 12.0)),
        ("VC-CUT-TITLE", {"text_boxes": [rising("Accuracy (%)", 0.0)]}, (0.0, 100.0, 28.0, 400.0)),
        ("MR-UNTITLED-AXIS", plot_of(axis()), (10.0, 20.0, 40.0, 90.0)),
        ("MR-TRUNCATED-BARS", {"standing_bars": 4, "axis_numbers": [[60.0, 70.0, 80.0]]}, (10.0, 90.0, 20.0, 100.0)),
        ("MR-NO-UNIT", {"axis_numbers": AXIS}, (0.0, 0.0, 50.0, 12.0)),
    ],
)
def test_a_finding_shows_its_place(rule: str, of: dict[str, Any], place: tuple[float, ...]) -> None:
    read = [
        ("Latency", 0.6, [0.0, 0.0, 50.0, 12.0]),
        ("Accuracy", 0.97, [60.0, 0.0, 90.0, 6.0]),
        ("x", 0.97, [60.0, 0.0, 90.0, 3.0]),  # one character tells little of its font
        ("60", 0.97, [10.0, 90.0, 20.0, 100.0]),
        ("60", 0.97, [110.0, 90.0, 120.0, 100.0]),
    ]
    text = [TextBox(text=words, confidence=sure, bbox=bbox) for words, sure, bbox in read]
    (finding,) = [f for f in find(view("Figure 1: Latency of A.", **{"text_boxes": text} | of)) if f.rule.id == rule]
    assert finding.bbox == place


def test_panels_and_overlaps_show_all_that_belongs_to_them() -> None:
    order = next(f for f in find(EXAMPLES["SL-PANEL-ORDER"][0]) if f.rule.id == "SL-PANEL-ORDER")
    assert order.bbox == (0.0, 0.0, 420.0, 12.0)
    overlap = next(f for f in find(EXAMPLES["SL-OVERLAPPING-TEXT"][0]) if f.rule.id == "SL-OVERLAPPING-TEXT")
    assert overlap.bbox == (0.0, 0.0, 50.0, 12.0)


@pytest.mark.parametrize(
    ("numbers", "base", "told_"),
    [
        ([[20.0, 40.0, 60.0]], 20.0, "6 bars stand on an axis that starts at 20 and ends at 60"),  # measured, so sure
        ([[65.0, 70.0, 75.0]], 62.04, "6 bars stand on an axis that starts at 62 and ends at 75"),  # below its numbers
        ([[0.9, 0.95, 1.0], [0.0, 0.5, 1.0]], 0.9, "6 bars stand on an axis that starts at 0.9 and ends at 1"),
    ],
)
def test_bars_whose_foot_was_measured_are_judged_by_it(numbers: list[list[float]], base: float, told_: str) -> None:
    assert found(view(standing_bars=6, axis_numbers=numbers, bar_base=base))["MR-TRUNCATED-BARS"] == told_


@pytest.mark.parametrize(
    ("source", "raster_share", "rule"),
    [("ocr", 0.9, "VC-VERY-COARSE"), ("pdf", 0.9, None), ("ocr", 0.2, None)],
)
def test_embedded_images_are_coarse_where_the_labels_are_in_them(source: str, raster_share: float, rule: str) -> None:
    labels = [box.model_copy(update={"source": source}) for box in boxes("Accuracy", "Epoch")]
    seen = found(view(text_boxes=labels, raster_share=raster_share, effective_dpi=90.0))
    assert [each for each in seen if each.endswith("COARSE")] == ([rule] if rule else [])


def test_colours_are_named() -> None:
    evidence = found(EXAMPLES["VC-COLOUR-BLIND"][0])["VC-COLOUR-BLIND"]
    assert evidence.startswith("green (#2ca02c) and orange (#ff7f0e) look alike to people with protanopia")


def test_a_place_that_is_not_known_is_none() -> None:
    (finding,) = [f for f in find(EXAMPLES["MR-TRUNCATED-BARS"][0]) if f.rule.id == "MR-TRUNCATED-BARS"]
    assert finding.bbox is None  # no text reads 60
    assert next(f for f in find(told("Figure 1: Model.")) if f.rule.id == "CC-LABEL-ONLY").bbox is None


def test_findings_come_by_weight_and_read_every_paragraph() -> None:
    paragraphs = [*["See Figure 1."] * 3, "Accuracy falls with depth."]
    of = item(
        caption="Figure 1: Accuracy rises with depth.",
        citations=[Citation(text=text, kind="trend", weight=0.5) for text in paragraphs],
        features=SidecarFeatures(image=image_features(width=300)),
    )
    told_ = findings(of)
    weights = [finding.rule.weight for finding in told_]
    assert weights == sorted(weights, reverse=True)
    assert [finding.rule.id for finding in told_[:2]] == ["CTX-REVERSED-TREND", "VC-VERY-COARSE"]
    assert not told_[-1].rule.is_fault and told_[-1].rule.weight < 0
    text_only = findings(item(caption="Figure 1: Model.", features=None))
    assert text_only[0].rule.id == "CC-LABEL-ONLY"


# --- scores ---------------------------------------------------------------------------------------------------------


def test_a_score_is_the_prior_moved_by_findings_and_says_so() -> None:
    clarity = score("visual_clarity", find(view(text_height_pt_median=3.1)))
    assert clarity.score == 5  # 8.31 - 3
    assert clarity.evidence == ["half of the text is 3.1 pt or smaller at print size, under 3.75 pt"]
    assert clarity.reason == f"8.31 to begin with; {clarity.evidence[0]} (-3)"


def test_without_findings_the_prior_stays() -> None:
    answer = score("structure_layout", [])
    assert (answer.score, answer.evidence, answer.reason) == (9, [], "No finding: 8.61 stays.")


def test_a_hard_cap_cuts_whatever_speaks_for_the_caption() -> None:
    caption = (
        "Figure 1: Comparison of the two. (a) Train (seen). (b) Test (unseen). (c) The encoder is frozen. "
        "The decoder is trained better."
    )
    answer = score("caption_consistency", find(View(caption=caption)))
    assert answer.score == 6 and "at most 6" in answer.reason
    context = score("context_consistency", find(EXAMPLES["CTX-REVERSED-TREND"][0]))
    assert context.score == 2 and "at most 2" in context.reason


def test_scores_stay_on_the_scale_and_texts_within_their_limits() -> None:
    rule = Rule("VC-X", {"visual_clarity": -4.0}, lambda view: "x", "x.", "x.")
    answer = score("visual_clarity", [Finding(rule, "long " * 100)] * 20)
    assert answer.score == 1
    assert len(answer.reason) == 600 and len(answer.evidence) == 8 and max(map(len, answer.evidence)) == 300


@pytest.mark.parametrize(
    ("rule", "caption", "evidence", "amount"),
    [
        ("CC-NAMES-MUCH", f"Figure 1: {named(14)}.", "the caption names 14 different things", 0.0),
        ("CC-NAMES-MUCH", f"Figure 1: {named(7)}. {named(7)}.", "the caption names 7 different things", -1.0),
        ("CC-NAMES-MUCH", f"Figure 1: {named(28)}.", "the caption names 28 different things", 1.0),
        ("CC-NAMES-MUCH", f"Figure 1: {named(200)}.", "the caption names 200 different things", math.log2(45 / 14)),
        ("CC-NAMES-MUCH", "Figure 1: (a).", "the caption names 0 different things", math.log2(2 / 14)),
        ("CC-FULL-SENTENCE", f"Figure 1: Loss. {named(18)}. Gain.", "caption names 18 different things", 1.0),
        ("CC-PANELS", "Figure 1: (a) Loss. (b) Gain. (b) is new.", "what stands where ((a), (b), (b))", 2.0),
        ("CC-PANELS", "Figure 1: (a) A. (b) B. (c) C. (d) D. (e) E. (f) F.", "((a), (b), (c), (d))", 4.0),
        ("CC-MEASURE", "Figure 1: Accuracy and loss.", "what is measured (accuracy, loss)", 2.0),
    ],
)
def test_what_is_there_in_degrees_counts_by_degree(rule: str, caption: str, evidence: str, amount: float) -> None:
    (finding,) = [each for each in find(told(caption)) if each.rule.id == rule]
    assert evidence in finding.evidence
    assert finding.amount == pytest.approx(amount)
    assert finding.effect("caption_consistency") == pytest.approx(amount * finding.rule.effects["caption_consistency"])
    assert finding.effect("visual_clarity") == 0.0


def test_captions_of_other_figures_get_no_credit() -> None:
    caption = "Figure 1: (a) BLEU (beam 5). (b) The decoder is trained. (c) Ours is better than both of the others."
    own = score("caption_consistency", find(view(caption, text_boxes=boxes("BLEU", "beam"))))
    other = score("caption_consistency", find(view(caption, text_boxes=boxes("Accuracy", "Epoch"))))
    assert (own.score, other.score) == (8, 5)


# --- roles ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def backend() -> RulesBackend:
    def measure(image: bytes, size: tuple[float, float] | None) -> ImageFeatures:
        raise ValueError("no image")

    return RulesBackend(Measurements(measure, engine="none"))


def reports(of: JudgeItem) -> dict[str, Any]:
    vision, language = build_request("vision", of).evidence, build_request("language", of).evidence
    return {"vision": vision_answer(image_view(vision.features)), "language": language_answer(text_view(language))}


@pytest.mark.parametrize("role", ["direct", "sidecar", "vision", "language", "fusion"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"caption": ""},
        {"citations": []},
        {"caption": "Figure 1: " + "very long words " * 400},
        {"caption": '"}]} \n\t\x00 \u202e', "citations": [Citation(text="<b>|: ()\n" * 200, kind="pointer")]},
        {"features": SidecarFeatures(image=image_features(text_boxes=boxes(*["a: b | c, d"] * 3000)))},
        {"features": SidecarFeatures(image=image_features(axis_numbers=[[1e-9, 2.5, 1e12]] * 9, panel_letters=["a"]))},
    ],
)
def test_every_answer_satisfies_its_record(backend: RulesBackend, role: str, changes: dict[str, Any]) -> None:
    of = item(**changes)
    features = of.figure.features
    request = build_request(role, of, **(reports(of) if role == "fusion" else {}))
    if role == "direct":  # the image itself is a blank; take it as measured
        backend._measurements.prepared(of, measure=False)
    (response,) = backend.generate([request])
    parsed = parse_answer(response, answer_record(role, request.open_dimensions))
    assert parsed.status == "ok", parsed.reason
    assert features is not None


def test_the_vision_report_does_not_depend_on_the_text(backend: RulesBackend) -> None:
    texts = [{}, {"caption": "Figure 1: Bars."}, {"citations": []}, {"title": "other"}]
    answers = {backend.generate([build_request("vision", item(**changes))])[0].text for changes in texts}
    assert len(answers) == 1


def test_the_language_report_does_not_depend_on_the_image(backend: RulesBackend) -> None:
    images = [{}, {"features": SidecarFeatures(image=image_features(blur_laplacian=1.0, text_boxes=[]))}]
    answers = {backend.generate([build_request("language", item(**changes))])[0].text for changes in images}
    assert len(answers) == 1


def test_reports_carry_both_sides_to_the_fusion() -> None:
    of = item(
        caption="Figure 1: (a) BLEU. (b) Size, which is small. " + "Words and words. " * 60,
        citations=[
            Citation(text="In Figure 1 the BLEU rises (see (b)): " + "more " * 80, kind="trend", weight=1.0),
            Citation(text="See Figure 1.", kind="pointer", weight=0.25),
        ],
        features=SidecarFeatures(
            image=image_features(
                axis_numbers=[[0.0, 0.25, 0.5], [10.0, 100.0, 1000.0]],
                panel_letters=["a", "b"],
                text_boxes=boxes("BLEU", "size: small", *["word"] * 300),
            )
        ),
    )
    seen = report_view(Evidence(**reports(of)))
    evidence = build_request("language", of).evidence
    assert seen.image is None
    assert seen.axis_numbers == ((0.0, 0.25, 0.5), (10.0, 100.0, 1000.0))
    assert seen.panel_letters == ("a", "b")
    assert seen.image_text.split(" | ") == [box.text for box in of.figure.features.image.text_boxes]
    assert seen.caption == of.figure.caption.strip()
    assert seen.citations == tuple((each.kind, each.text) for each in evidence.citations)


def test_reports_of_a_model_leave_the_rest_unknown(backend: RulesBackend) -> None:
    request = build_request(
        "fusion",
        item(),
        vision=answer_record("vision", ()).model_validate(VISION),
        language=answer_record("language", ()).model_validate(LANGUAGE),
    )
    answer = json.loads(backend.generate([request])[0].text)
    assert answer["caption_consistency"]["reason"] == "No finding: 7.4 stays."


def test_text_findings_set_severity_and_caps_and_image_findings_the_band() -> None:
    def language(caption: str, citing: str = "", kind: str = "trend"):
        return language_answer(View(caption=caption, citations=((kind, citing),) if citing else ()))

    clean = language(CLEAN_CAPTION, "Accuracy rises with training.")
    assert (clean.severity, clean.caption_cap, clean.context_cap, clean.misleading_cap) == ("none", None, None, None)
    assert clean.omissions == []
    vague = language("Figure 1: Results of the second experiment.", "Results are shown in Figure 1.", "pointer")
    assert (vague.severity, vague.caption_cap, vague.context_cap, vague.misleading_cap) == ("moderate", 6, 6, None)
    assert any("names no metric" in omission for omission in vague.omissions)
    wrong = language("Figure 1: Accuracy rises with depth.", "Accuracy falls with depth.")
    assert (wrong.severity, wrong.misleading_cap) == ("contradiction", 2)
    assert "opposite trends" in wrong.severity_reason

    assert vision_answer(image_view(image_features())).risk_band == "7-8"
    cut = vision_answer(image_view(image_features(standing_bars=6, axis_numbers=[[60.0, 70.0, 80.0]])))
    assert cut.risk_band == "5-6"
    assert cut.risk_reason == "6 bars stand on an axis that starts at 60 and ends at 80"


def test_fusion_scores_what_is_open() -> None:
    answer = fused_answer(view(), ("visual_clarity", "caption_consistency"))
    assert answer.context_consistency is None and answer.caption_consistency.score == 8
    assert answer.misleading_reason == "No finding in either report could mislead."
    single = single_answer(view(), ("visual_clarity", "caption_consistency"))
    assert single.caption_consistency == answer.caption_consistency


def test_a_citation_without_a_kind_is_classified_by_its_text() -> None:
    assert citation_kind(Citation(text="See Figure 1.")) == "pointer"
    assert citation_kind(Citation(text="See Figure 1.", kind="description")) == "description"
    assert citation_kind(Citation(text="A paragraph that names no figure at all.")) == "description"


def test_an_image_that_cannot_be_measured_fails_its_own_figure(backend: RulesBackend) -> None:
    known = item(1)
    backend._measurements.prepared(known, measure=False)
    good, bad = PROTOCOLS["direct"].judge([known, item(2, image=b"no image")], backend)
    assert (good.status, bad.status) == ("ok", "api_error")
    assert bad.status_reason == "direct call: no answer by rules (ValueError: no image)"
    assert bad.overall_score is None


@pytest.mark.parametrize("protocol", ["direct", "agent"])
def test_a_missing_package_ends_the_run_with_its_remedy(protocol: str, tmp_path: Path) -> None:
    def measure(image: bytes, size: tuple[float, float] | None) -> ImageFeatures:
        raise ImportError("image features need OpenCV: pip install ...")

    measurements = Measurements(measure, engine="none")
    dataset = DatasetInfo("example", "f" * 64, ("rated",), 1)
    with pytest.raises(ImportError, match="pip install"):
        run_judge(
            [item(features=None)],
            protocol,
            make_backend("rules", measurements=measurements),
            tmp_path,
            dataset,
            features=measurements,
            progress=False,
        )


def test_a_run_by_rules_can_be_resumed(tmp_path: Path, backend: RulesBackend) -> None:
    dataset = DatasetInfo("example", "f" * 64, ("rated",), 3)
    for count in (2, 3):
        items = [item(n) for n in range(1, count + 1)]
        manifest = run_judge(items, "agent", backend, tmp_path, dataset, progress=False)
    assert (manifest.status_counts, manifest.revision) == ({"ok": 3}, backend.revision)


def test_the_registry_knows_what_there_is() -> None:
    assert make_backend("rules", measurements=ocr_measurements("none")).settings()["image"]["features"].endswith("none")
    with pytest.raises(InputError, match=r"backend 'gpt' is not available; available: blind, openai, rules,"):
        make_backend("gpt")
    with pytest.raises(InputError, match=r"has no option temperature; it has measurements, calibration"):
        make_backend("rules", temperature=0)


def test_a_changed_rule_is_another_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    before = make_backend("rules").revision
    assert before == make_backend("rules").revision and len(before) == 12
    monkeypatch.setattr(rules.inspect, "getsource", lambda module: module.__name__)
    assert make_backend("rules").revision != before


# --- drawn figures, measured for real -------------------------------------------------------------------------------


def drawn(draw: Callable[[Axes], None], *, dpi: int = 200, size: float = 8.0) -> bytes:
    figure_ = Drawing(figsize=(3.3, 2.4), dpi=dpi, layout="constrained")
    canvas = FigureCanvasAgg(figure_)
    with matplotlib.rc_context({"font.size": size}):
        draw(figure_.subplots())
        buffer = io.BytesIO()
        canvas.print_png(buffer)
    return buffer.getvalue()


def bars(bottom: float) -> Callable[[Axes], None]:
    def draw(ax: Axes) -> None:
        ax.bar(["Alba", "Brio", "Cedar", "Delta"], [71.0, 78.0, 83.0, 88.0], color="teal")
        ax.set_ylim(bottom, 90)
        ax.set_ylabel("Accuracy (%)")
        ax.set_xlabel("Language")

    return draw


def lowered(image: bytes, factor: int) -> bytes:
    """The image at a fraction of its resolution, enlarged again."""
    picture = Image.open(io.BytesIO(image)).convert("RGB")
    small = picture.resize((picture.width // factor, picture.height // factor), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.resize(picture.size, Image.Resampling.BICUBIC).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def judged() -> dict[str, Prediction]:
    """Five figures with one caption, judged from their pixels under Direct."""
    pytest.importorskip("rapidocr")
    images = {
        "sound": drawn(bars(0)),
        "cut": drawn(bars(65)),
        "blurred": lowered(drawn(bars(0)), 5),
        "tiny": drawn(bars(0), size=2.8, dpi=300),
        "other": drawn(lambda ax: ax.set(xlabel="Epoch", ylabel="Training loss", ylim=(0, 4)) and None),
    }
    caption = "Figure 1: Accuracy on four languages. Bars show the mean over five seeds; higher is better."
    items = [
        JudgeItem(figure(n, rated=False, caption=caption, bbox=[0.0, 0.0, 237.6, 172.8]), image)
        for n, image in enumerate(images.values(), start=1)
    ]
    predictions = PROTOCOLS["direct"].judge(items, make_backend("rules"))
    return dict(zip(images, predictions, strict=True))


def test_drawn_faults_are_found_and_named(judged: dict[str, Prediction]) -> None:
    assert {prediction.status for prediction in judged.values()} == {"ok"}
    sound = judged["sound"]
    assert sound.misleading_risk == 8 and sound.visual_clarity == 9
    cut = judged["cut"]
    assert cut.misleading_risk <= 5 and "4 bars stand on an axis that starts at 65" in cut.reasons.misleading_risk
    assert judged["blurred"].visual_clarity <= 6 and "edges are soft" in judged["blurred"].reasons.visual_clarity
    assert judged["tiny"].visual_clarity <= 6 and "pt or smaller" in judged["tiny"].reasons.visual_clarity
    other = judged["other"]
    assert other.caption_consistency <= 6 < sound.caption_consistency
    assert "the caption names accuracy, the image loss" in other.reasons.caption_consistency


def test_the_same_figure_is_judged_the_same_under_every_protocol() -> None:
    backend = make_backend("rules", measurements=ocr_measurements("none"))
    predictions = {}
    for name, protocol in PROTOCOLS.items():
        backend._measurements.prepared(item(), measure=False)
        (predictions[name],) = protocol.judge([item()], backend)
    direct, sidecar, agent = predictions.values()
    scores = [[getattr(p, key) for key in DIMENSION_KEYS] for p in (direct, sidecar, agent)]
    assert scores[0] == scores[1] == scores[2]
    assert len(agent.runner_trace) == 6


def test_priors_are_those_of_the_benchmark() -> None:
    # Mean gold of eval1200, as the benchmark reports it; CC, whose merits count, starts lower.
    assert list(PRIORS.values()) == [8.31, 8.61, 7.4, 8.27, 8.04]
    assert list(PRIORS) == list(DIMENSION_KEYS)

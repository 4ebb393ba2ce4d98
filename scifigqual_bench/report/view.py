"""Figures and predictions to what their cards show: pure functions, no HTML.

A template gets values from here and only arranges them, so everything that needs a decision (is this score shown, why
is that dimension closed, what is highlighted) can be tested without a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scifigqual_bench.records import PREDICTION_STATUSES, Figure, Prediction, SidecarFeatures
from scifigqual_bench.rubric import BANDS, COLUMNS, DIMENSIONS, OVERALL, Band
from scifigqual_bench.scoring.agreement import within

NO_PREDICTION = "no_prediction"
"""Status of a figure that the prediction file has no row for."""
STATUS_NAMES: dict[str, str] = {
    "ok": "Scored",
    "parse_error": "Unreadable answer",
    "refusal": "Refused",
    "truncated": "Answer cut off",
    "api_error": "Call failed",
    "skipped": "Skipped",
    NO_PREDICTION: "No prediction",
}
assert (*STATUS_NAMES,) == (*PREDICTION_STATUSES, NO_PREDICTION)  # one source: the records
COLUMN_NAMES: dict[str, str] = {OVERALL: "Overall"} | {dim.key: dim.title.partition(" (")[0] for dim in DIMENSIONS}
"""Headings of the columns, the overall first, without what the rubric adds in brackets."""
LOW_BAND = "5-6"
"""Scores in this band or a lower one count as low: there is friction that a reader notices (SPEC 2)."""

Scores = dict[str, float | None]
"""A value for each of :data:`~scifigqual_bench.rubric.COLUMNS`; None where there is none."""


def status_of(prediction: Prediction | None) -> str:
    """The status to show: the prediction's own, or :data:`NO_PREDICTION`."""
    return NO_PREDICTION if prediction is None else prediction.status


def band_of(score: float) -> Band:
    """The rubric's band of a score; a mean between two scores belongs to the nearer, a tie to the lower.

    >>> band_of(8.33).label, band_of(8.5).label, band_of(8.67).label
    ('7-8', '7-8', '9-10')
    """
    return next(band for band in BANDS if score > band.low - 0.5 or band.low == BANDS[-1].low)


def is_low(score: float) -> bool:
    """Whether a score lies in :data:`LOW_BAND` or below.

    >>> is_low(6), is_low(6.6)
    (True, False)
    """
    return band_of(score).high <= int(LOW_BAND.split("-")[1])


def tone_of(score: float) -> int:
    """Position of the score's band from the bottom, 1..5: what the page's colour scale is keyed by.

    >>> tone_of(1), tone_of(6), tone_of(10)
    (1, 3, 5)
    """
    return len(BANDS) - BANDS.index(band_of(score))


def judge_scores(figure: Figure, prediction: Prediction | None) -> Scores:
    """The scores that count: none of a failed row, none on a closed dimension."""
    if prediction is None or prediction.status != "ok":
        return dict.fromkeys(COLUMNS)
    mask = {*_mask(figure, prediction), OVERALL}
    return {key: getattr(prediction, key) if key in mask else None for key in COLUMNS}


def gold_scores(figure: Figure) -> Scores:
    """Gold of every column; None where nobody rated it."""
    return {key: getattr(figure.gold, key) if figure.gold else None for key in COLUMNS}


def closed_because(key: str, figure: Figure, prediction: Prediction | None) -> str | None:
    """Why a dimension may not be scored (SPEC 3), or None when it is open.

    The mask is the one that the judge was asked under where the prediction keeps it, else the figure's own.

    >>> bare = Figure(figure_id="p__fig0001", paper_id="p", paper_id_norm="p", fig_index=1, caption="A caption.",
    ...               open_dimensions=["visual_clarity", "structure_layout", "caption_consistency", "misleading_risk"])
    >>> closed_because("context_consistency", bare, None)
    'no citing text'
    """
    if key in _mask(figure, prediction):
        return None
    has_caption, has_context = bool(figure.caption.strip()), bool(figure.citations)
    if not has_caption and not has_context:
        return "neither caption nor citing text"
    if key == "caption_consistency" and not has_caption:
        return "no caption"
    if key == "context_consistency" and not has_context:
        return "no citing text"
    return "not in the mask"


def _mask(figure: Figure, prediction: Prediction | None) -> Sequence[str]:
    if prediction is not None and prediction.open_dimensions is not None:
        return prediction.open_dimensions
    return figure.open_dimensions


@dataclass(frozen=True)
class Row:
    """One dimension (or the overall) of one figure.

    Attributes:
        key: Name of the column.
        name: Heading, without what the rubric adds in brackets.
        hint: What the rubric adds in brackets.
        score: The judge's score; None when it has none that counts.
        gold: Mean of the ratings.
        difference: score - gold.
        far: Whether the difference is more than one point.
        closed: Why the dimension is closed; None when it is open.
        note: What is odd about this row, for example a score on a closed dimension.
        reason: The judge's reason.
        evidence: What the judge rests the score on.
    """

    key: str
    name: str
    hint: str
    score: float | None
    gold: float | None
    difference: float | None
    far: bool
    closed: str | None = None
    note: str | None = None
    reason: str | None = None
    evidence: Sequence[str] = ()


def dimension_rows(figure: Figure, prediction: Prediction | None) -> list[Row]:
    """The five dimensions of one figure, in rubric order."""
    judge, gold = judge_scores(figure, prediction), gold_scores(figure)
    rows = []
    for dim in DIMENSIONS:
        closed = closed_because(dim.key, figure, prediction)
        rows.append(
            Row(
                key=dim.key,
                name=COLUMN_NAMES[dim.key],
                hint=dim.title.partition(" (")[2].rstrip(")"),
                score=judge[dim.key],
                gold=gold[dim.key],
                **_difference(judge[dim.key], gold[dim.key]),
                closed=closed,
                note=_note(dim.key, closed, judge[dim.key], prediction),
                reason=getattr(prediction.reasons, dim.key) if prediction else None,
                evidence=prediction.evidence.get(dim.key, ()) if prediction else (),
            )
        )
    return rows


def overall_row(figure: Figure, prediction: Prediction | None) -> Row:
    """The overall score of one figure."""
    score, gold = judge_scores(figure, prediction)[OVERALL], gold_scores(figure)[OVERALL]
    return Row(OVERALL, "Overall", "", score, gold, **_difference(score, gold))


def _difference(score: float | None, gold: float | None) -> dict[str, Any]:
    if score is None or gold is None:
        return {"difference": None, "far": False}
    return {"difference": score - gold, "far": not within(score, gold)}


def _note(key: str, closed: str | None, score: float | None, prediction: Prediction | None) -> str | None:
    if prediction is None or prediction.status != "ok":
        return None
    if closed and getattr(prediction, key) is not None:
        return f"The judge scored it all the same ({score_text(getattr(prediction, key))}); that does not count."
    if not closed and score is None:
        return "The judge gave no score although the dimension is open."
    return None


def highlight(text: str, mentions: Iterable[str]) -> list[tuple[bool, str]]:
    """Cut a paragraph into pieces, each with whether it is a mention of the figure.

    A mention matches whole ("Figure 1" is not part of "Figure 10"), across any white space. The pieces joined are
    the text, unchanged.

    >>> highlight("As Figure 1 shows, unlike Figure 10.", ["Figure 1"])
    [(False, 'As '), (True, 'Figure 1'), (False, ' shows, unlike Figure 10.')]
    """
    patterns = [r"\s+".join(map(re.escape, mention.split())) for mention in mentions if mention.strip()]
    if not patterns:
        return [(False, text)] if text else []
    longest_first = "|".join(sorted(patterns, key=len, reverse=True))
    pieces = re.split(rf"(?<!\w)({longest_first})(?!\w)", text)
    return [(position % 2 == 1, piece) for position, piece in enumerate(pieces) if piece]


def score_text(score: float) -> str:
    """A judge's score: an integer as such, a mean with up to two decimals.

    >>> score_text(8.0), score_text(7.5), score_text(8.267)
    ('8', '7.5', '8.27')
    """
    return f"{score:.2f}".rstrip("0").rstrip(".")


def signed_text(value: float) -> str:
    """A difference with its sign, two decimals, and a real minus.

    >>> signed_text(0.67), signed_text(-1.0), signed_text(-0.001)
    ('+0.67', '−1.00', '0.00')
    """
    text = f"{abs(value):.2f}"
    if float(text) == 0:
        return text
    return ("+" if value > 0 else "−") + text


def count_text(number: int, noun: str) -> str:
    """A number of things, in words.

    >>> count_text(1, "figure"), count_text(1200, "figure")
    ('1 figure', '1,200 figures')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def time_text(stamp: str) -> str:
    """An ISO 8601 time as people write it; anything else unchanged.

    >>> time_text("2026-03-01T09:05:59+00:00"), time_text("last week")
    ('2026-03-01 09:05 UTC', 'last week')
    """
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    return when.strftime("%Y-%m-%d %H:%M %Z").strip()


def place(figure: Figure) -> list[str]:
    """Where a figure stands: venue and year, section, page; what is not known is left out."""
    venue = " ".join(str(part) for part in (figure.venue, figure.year) if part is not None)
    page = "" if figure.page is None else f"page {figure.page}"
    return [part for part in (venue, figure.section, page) if part]


def feature_rows(sidecar: SidecarFeatures) -> list[tuple[str, str]]:
    """The measurements of a figure as (name, value with unit); what was not measured is left out."""
    features, caption = sidecar.image, sidecar.caption
    rows = [
        ("Size of the image", f"{features.width:,} × {features.height:,} px ({features.megapixels:.2f} megapixels)"),
        ("Printed size", _pair(features.print_width_pt, features.print_height_pt, "pt")),
        ("Smallest text in print", _number(features.text_height_pt_min, "{:.1f} pt")),
        ("Median text in print", _number(features.text_height_pt_median, "{:.1f} pt")),
        ("Text boxes", str(len(features.text_boxes))),
        ("Text read by", features.ocr_engine),
        ("OCR confidence, mean", _number(features.ocr_confidence_mean, "{:.2f}")),
        ("OCR confidence, lowest", _number(features.ocr_confidence_min, "{:.2f}")),
        ("Lowest contrast of text", _number(features.text_contrast_min, "{:.1f} : 1")),
        ("Pieces of text on top of others", str(len(features.overlapping_text) or "")),
        ("Text area", f"{features.text_area_share:.1%}"),
        ("Blur (Laplacian variance)", f"{features.blur_laplacian:,.0f}"),
        ("Edge density", f"{features.edge_density:.1%}"),
        ("White space", f"{features.whitespace_share:.1%}"),
        ("Dominant colour", f"{features.dominant_colour_share:.1%}"),
        ("Distinct hues", str(features.distinct_hues)),
        ("Colourfulness", f"{features.colourfulness:.1f}"),
        ("Closest colours (CIEDE2000)", _number(features.colour_distance_min, "{:.0f}")),
        ("The same in deuteranopia", _number(features.deuteranopia_distance_min, "{:.0f}")),
        ("The same in protanopia", _number(features.protanopia_distance_min, "{:.0f}")),
        ("Embedded images", _number(features.raster_share, "{:.0%} of the figure")),
        ("Their lowest resolution", _number(features.effective_dpi, "{:.0f} dots per inch")),
        ("Panel letters", ", ".join(features.panel_letters)),
        ("Axis numbers", "; ".join(", ".join(f"{n:g}" for n in axis) for axis in features.axis_numbers)),
        ("Bars stand at", _number(features.bar_base, "{:g}")),
        ("Legend", ", ".join(features.legend)),
        ("Ink runs off the image at", ", ".join(features.clipped_edges)),
        ("Caption words found in it", _number(caption and caption.word_share, "{:.0%}")),
        ("Caption numbers found in it", _number(caption and caption.number_share, "{:.0%}")),
        ("Panels the caption names", ", ".join(caption.panels_named) if caption else ""),
    ]
    return [(name, value) for name, value in rows if value]


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _pair(width: float | None, height: float | None, unit: str) -> str:
    return "" if width is None or height is None else f"{width:.0f} × {height:.0f} {unit}"


def index_entry(figure: Figure, prediction: Prediction | None) -> dict[str, Any]:
    """What the page's script sorts and filters a figure by: numbers and short codes, no prose."""
    judge = judge_scores(figure, prediction)
    return {
        "paper": figure.paper_id,
        "number": figure.fig_index,
        "status": status_of(prediction),
        "curation": figure.curation_status,
        "judge": judge,
        "gold": gold_scores(figure),
        "low": any(score is not None and is_low(score) for score in judge.values()),
        "marked": bool(figure.curation_marks or (prediction and prediction.marks)),
    }

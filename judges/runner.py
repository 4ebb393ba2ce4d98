"""The Runner of SFQ-Agent (SPEC 9): from three reports to five scores, by a rule and not by a model.

The vision report settles what can be seen, the fusion report proposes what needs both sides, and the language report
bounds it. The Runner puts them together the same way every time, and writes down each step.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from scifigqual_bench import gating
from scifigqual_bench.records import SEVERITIES, FusionReport, LanguageReport, VisionReport
from scifigqual_bench.rubric import BANDS, DIMENSION_KEYS, SCALE_MAX, SCALE_MIN, SHORT_NAMES

CONTRADICTION_CEILING = 2
"""CTX and MR of a figure that its text contradicts are at most this."""

_BAND_OF = {band.label: band for band in BANDS}


@dataclass(frozen=True)
class RunnerResult:
    """What the Runner decided.

    Attributes:
        scores: Integer 1..10 by dimension name; None for a closed dimension.
        overall: Mean over the open dimensions (SPEC 3).
        trace: One sentence a step, in order.
    """

    scores: dict[str, int | None]
    overall: float
    trace: tuple[str, ...]


def to_score(value: float) -> int:
    """Round half to even, then keep to the scale 1..10.

    >>> [to_score(value) for value in (9.5, 8.5, 7.5, 6.5, 4.5, 1.5, 0.4, 12)]
    [10, 8, 8, 6, 4, 2, 1, 10]
    """
    rounded = int(Decimal(str(value)).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
    return min(max(rounded, SCALE_MIN), SCALE_MAX)


def misleading_risk(severity: str, risk_band: str) -> float:
    """MR before rounding and before the language report's cap (SPEC 9, step 3).

    The rule is not monotone in the severity on the lower bands: band 5-6 gives 5 under ``minor`` and 6.5 under
    ``moderate``. It is kept as published, so that two implementations agree.

    Args:
        severity: One of :data:`scifigqual_bench.records.SEVERITIES`, from the language report.
        risk_band: A band label of the rubric, from the vision report.

    Returns:
        A number in 1..10, not rounded.

    Raises:
        ValueError: The severity or the band is unknown; there is no default for either.

    >>> misleading_risk("none", "7-8"), misleading_risk("moderate", "9-10")
    (7.5, 6.5)
    """
    if risk_band not in _BAND_OF:
        raise ValueError(f"unknown risk band {risk_band!r}; expected one of {', '.join(_BAND_OF)}")
    band = _BAND_OF[risk_band]
    match severity:
        case "none":
            return band.middle
        case "minor":
            floor = 8 if band.low >= 9 else 7 if band.low >= 7 else SCALE_MIN
            return max(band.low, band.middle - 1, floor)
        case "moderate":
            return band.middle if band.high <= 5 else 6.5
        case "severe":
            return band.middle if band.high <= 3 else 4.5
        case "contradiction":
            return CONTRADICTION_CEILING
    raise ValueError(f"unknown severity {severity!r}; expected one of {', '.join(SEVERITIES)}")


def run(
    vision: VisionReport, language: LanguageReport, fusion: FusionReport, open_dimensions: Collection[str]
) -> RunnerResult:
    """Put the three reports together.

    Args:
        vision: Gives VC, SL and the visual risk band.
        language: Gives the severity and the caps of CC, CTX and MR.
        fusion: Proposes CC and CTX.
        open_dimensions: The mask (SPEC 3); a closed dimension gets no score.

    Returns:
        Scores, overall and the steps taken.

    Raises:
        ValueError: No dimension is open, an open one has no proposal, or the severity or the band is unknown.
    """
    unknown = set(open_dimensions) - set(DIMENSION_KEYS)
    if unknown or not open_dimensions:
        raise ValueError(f"open dimensions must be some of {', '.join(DIMENSION_KEYS)}; got {list(open_dimensions)}")
    scores: dict[str, int | None] = dict.fromkeys(DIMENSION_KEYS)
    trace: list[str] = []

    def cut(key: str, ceiling: int | None, cause: str) -> None:
        if ceiling is not None and (scores[key] or 0) > ceiling:
            trace.append(f"{SHORT_NAMES[key]} cut from {scores[key]} to {ceiling}: {cause}")
            scores[key] = ceiling

    proposals = {
        "visual_clarity": ("vision report", vision.visual_clarity),
        "structure_layout": ("vision report", vision.structure_layout),
        "caption_consistency": ("fusion report", fusion.caption_consistency),
        "context_consistency": ("fusion report", fusion.context_consistency),
    }
    for key, (source, answer) in proposals.items():
        if key not in open_dimensions:
            trace.append(f"{SHORT_NAMES[key]} is closed: no score")
        elif answer is None:
            raise ValueError(f"{key} is open, but the {source} has no score for it")
        else:
            scores[key] = answer.score
            trace.append(f"{SHORT_NAMES[key]} = {answer.score} from the {source}")

    cut("caption_consistency", language.caption_cap, "caption cap of the language report")
    cut("context_consistency", language.context_cap, "context cap of the language report")
    if language.severity == "contradiction":
        cut("context_consistency", CONTRADICTION_CEILING, "the text contradicts the figure")

    risk = misleading_risk(language.severity, vision.risk_band)
    if "misleading_risk" in open_dimensions:
        scores["misleading_risk"] = to_score(risk)
        trace.append(
            f"MR = {scores['misleading_risk']}: risk band {vision.risk_band} and severity {language.severity}"
            f" give {risk:g}, rounded half to even"
        )
        cut("misleading_risk", language.misleading_cap, "MR cap of the language report")
    else:
        trace.append("MR is closed: no score")

    overall = gating.overall(scores, open_dimensions)
    assert overall is not None  # every open dimension has a score by now
    trace.append(f"overall = {overall:.2f}, the mean of the {len(set(open_dimensions))} open dimensions")
    return RunnerResult(scores, overall, tuple(trace))

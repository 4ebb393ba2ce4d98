"""The ``rules`` backend: answers every request from OCR, image statistics and the words of the text. No model.

It is a documented baseline. Its scores are priors moved by named findings (:mod:`.rule_table`), so its reasons say what
moved them. It answers the same requests as a model from the same evidence: its vision report knows nothing of the
caption, its language report nothing of the image, and its fusion only what the two reports tell it.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scifigqual_bench import text_rules
from scifigqual_bench.judges.backends import checks, places, rule_table
from scifigqual_bench.judges.backends.checks import View, citation_kind
from scifigqual_bench.judges.backends.rule_table import PRIORS, Finding, find
from scifigqual_bench.judges.base import Evidence, Request, Response
from scifigqual_bench.judges.calibration import Calibration, Curve
from scifigqual_bench.judges.measure import Measurements
from scifigqual_bench.judges.payload import JudgeItem, evidence_for
from scifigqual_bench.judges.runner import to_score
from scifigqual_bench.records import (
    SEVERITIES,
    DimensionAnswer,
    FusionReport,
    ImageFeatures,
    LanguageReport,
    Record,
    SidecarFeatures,
    VisionReport,
    direct_answer,
    fusion_answer,
    paper_of,
)
from scifigqual_bench.rubric import BANDS
from scifigqual_bench.text_rules import content_words, metrics_named

Curves = Mapping[str, Curve]
"""Calibration curves by dimension; what has none is not mapped."""
NO_CURVES: Curves = {}

MAX_REASON, MAX_EVIDENCE, MAX_POINT, MAX_POINTS = 600, 300, 400, 12

TEXT, AXIS, PANELS = "text in the image", "numbers on a left axis", "panel letters in the image"
CAPTION, CITING = "caption", "citing text"
"""What the lines of the reports begin with: written by the vision and language answers, read by the fusion answer."""


class RulesBackend:
    """Answers requests by rules.

    Args:
        measurements: Measures the image where a request carries no features (the Direct protocol).
        calibration: Moves the rules' values to where people stand.
    """

    name = "rules"
    model = "rules"

    def __init__(self, measurements: Measurements, calibration: Calibration | None = None):
        self._measurements = measurements
        self._calibration = calibration
        self.revision: str | None = revision()

    def settings(self) -> dict[str, Any]:
        """What measures images, and what moves values."""
        sampling = {"calibration": self._calibration.provenance()} if self._calibration else {}
        return {"sampling": sampling, "image": {"features": self._measurements.engine}}

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """One answer per request, in order."""
        return [self._respond(request) for request in requests]

    def _respond(self, request: Request) -> Response:
        try:
            return Response(self._answer(request).model_dump_json())
        except ImportError:
            raise  # a missing package would fail every figure; its message names the remedy
        except Exception as error:  # an image library or an OCR engine can fail in its own ways
            return Response("", "error", f"no answer by rules ({type(error).__name__}: {error})")

    def _answer(self, request: Request) -> Record:
        evidence = request.evidence
        curves = self._calibration.curves(paper_of(request.figure_id)) if self._calibration else {}
        match request.role:
            case "language":
                return language_answer(text_view(evidence))
            case "fusion":
                return fused_answer(report_view(evidence), request.open_dimensions, curves)
        image = self._features(evidence)
        if request.role == "vision":
            return vision_answer(image_view(image), curves)
        return single_answer(full_view(evidence, image), request.open_dimensions, curves)

    def _features(self, evidence: Evidence) -> ImageFeatures:
        match evidence.features:
            case SidecarFeatures(image=image):
                return image
            case ImageFeatures() as image:
                return image
        if evidence.image is None:
            raise ValueError("the request carries neither features nor an image")
        return self._measurements.image(evidence.image)


def revision() -> str:
    """Hash of the rules' source: a changed threshold, effect or pattern is another judge."""
    sources = [inspect.getsource(module).encode("utf-8") for module in (rule_table, checks, places, text_rules)]
    return hashlib.sha256(b"".join(sources)).hexdigest()[:12]


# --- what each call may look at -------------------------------------------------------------------------------------


def image_view(image: ImageFeatures) -> View:
    """The image alone."""
    return View(
        image=image,
        image_text=" | ".join(box.text for box in image.text_boxes),
        axis_numbers=tuple(map(tuple, image.axis_numbers)),
        panel_letters=tuple(image.panel_letters),
    )


def text_view(evidence: Evidence) -> View:
    """Caption and citing text alone."""
    return View(
        caption=evidence.caption,
        citations=tuple((citation_kind(citation), citation.text) for citation in evidence.citations or ()),
    )


def full_view(evidence: Evidence, image: ImageFeatures) -> View:
    """Image, caption and citing text."""
    seen, read = image_view(image), text_view(evidence)
    return View(seen.image, seen.image_text, seen.axis_numbers, seen.panel_letters, read.caption, read.citations)


def report_view(evidence: Evidence) -> View:
    """What a vision and a language report tell of image and text; measurements of the image don't pass through them.

    Reports of a model, which don't use this module's lines, leave the parts unknown.
    """
    facts = evidence.vision.visible_facts if evidence.vision else []
    claims = evidence.language.claims if evidence.language else []
    citations: dict[str, list[str]] = {}
    for head, body in _lines(claims, rf"{CITING} \d+ \(\w+\)"):
        citations.setdefault(head, []).append(body)
    return View(
        image_text=" ".join(body for _, body in _lines(facts, TEXT)) or None,
        axis_numbers=tuple(tuple(map(float, body.split(", "))) for _, body in _lines(facts, AXIS)),
        panel_letters=tuple(letter for _, body in _lines(facts, PANELS) for letter in body.split(", ")),
        caption=" ".join(body for _, body in _lines(claims, CAPTION)) or None,
        citations=tuple((re.search(r"\((\w+)\)", head)[1], " ".join(body)) for head, body in citations.items()),
    )


def _lines(points: Iterable[str], head: str) -> list[tuple[str, str]]:
    """Head and body of the points that begin with a head."""
    matches = (re.fullmatch(rf"({head}): (.*)", point, re.DOTALL) for point in points)
    return [(match[1], match[2]) for match in matches if match]


def findings(item: JudgeItem) -> list[Finding]:
    """What the rules find in a figure, the heaviest first: for people, who want to know what to mend.

    Unlike a call of a judge, which sees two short snippets, this reads every citing paragraph in full. What a figure
    does well comes last, with a negative weight; :attr:`~.rule_table.Rule.is_fault` tells them apart.

    Args:
        item: The figure; without features in its row only its text is looked at.

    Returns:
        Findings with evidence and, where it is known, their place in the image.
    """
    figure = item.figure
    evidence = Evidence(caption=figure.caption, citations=tuple(figure.citations))
    view = full_view(evidence, figure.features.image) if figure.features else text_view(evidence)
    return sorted(find(view), key=lambda finding: -finding.rule.weight)


# --- answers --------------------------------------------------------------------------------------------------------


def value(key: str, found: Iterable[Finding]) -> float:
    """One dimension: its prior, moved by the findings that name it; not rounded, and not cut to any cap."""
    return PRIORS[key] + sum(finding.effect(key) for finding in found)


def values(item: JudgeItem) -> dict[str, float]:
    """Every dimension of a figure whose row carries features, as a single call would see it; for calibration."""
    found = find(full_view(evidence_for("direct", item), item.figure.features.image))
    return {key: value(key, found) for key in PRIORS}


def score(key: str, found: Iterable[Finding], curve: Curve | None = None) -> DimensionAnswer:
    """One dimension: its value, mapped where there is a curve, rounded half to even, then cut to the findings' caps."""
    moving = [finding for finding in found if key in finding.rule.dimensions]
    plain = value(key, moving)
    mapped = curve.at(plain) if curve else plain
    ceilings = [finding.rule.ceilings[key] for finding in moving if key in finding.rule.ceilings]
    steps = [f"{finding.evidence} ({_effect(key, finding)})" for finding in moving]
    reason = f"{PRIORS[key]} to begin with; {'; '.join(steps)}" if steps else f"No finding: {PRIORS[key]} stays."
    if curve:
        reason = f"Calibrated from {plain:.2f} to {mapped:.2f}. {reason}"
    return DimensionAnswer(
        score=min([to_score(mapped), *ceilings]),
        reason=_cut(reason, MAX_REASON),
        evidence=[_cut(finding.evidence, MAX_EVIDENCE) for finding in moving[:8]],
    )


def _effect(key: str, finding: Finding) -> str:
    parts = [f"{finding.effect(key):+.2g}"] if key in finding.rule.effects else []
    if key in finding.rule.ceilings:
        parts.append(f"at most {finding.rule.ceilings[key]}")
    return ", ".join(parts)


def single_answer(view: View, open_dimensions: Sequence[str], curves: Curves = NO_CURVES) -> Record:
    """The answer of a single call: every open dimension from everything."""
    found = find(view)
    record = direct_answer(tuple(open_dimensions))
    return record(**{key: score(key, found, curves.get(key)) for key in record.model_fields})


def vision_answer(view: View, curves: Curves = NO_CURVES) -> VisionReport:
    """The vision report: VC and SL, what was read, and the band of what MR would be by the image alone.

    Without a finding that is 7-8, the band of the prior: rules can't see a missing baseline or error bar, so nothing
    found is not "no relevant defect", and of eval1200's figures one in five has an MR of 9 or more.
    """
    found = find(view)
    risk = score("misleading_risk", found, curves.get("misleading_risk"))
    metrics = metrics_named(view.image_text or "")
    names = [*metrics, *sorted(content_words(view.image_text or ""))[:8]]
    return VisionReport(
        visual_clarity=score("visual_clarity", found, curves.get("visual_clarity")),
        structure_layout=score("structure_layout", found, curves.get("structure_layout")),
        visible_facts=_points(
            *(_line(AXIS, ", ".join(f"{number:g}" for number in numbers)) for numbers in view.axis_numbers[:4]),
            *([_line(PANELS, ", ".join(view.panel_letters))] if view.panel_letters else []),
            *_chunks(TEXT, view.image_text or ""),
        ),
        caption_should_mention=_points(*names, *(f"panel {letter}" for letter in view.panel_letters)),
        citation_should_mention=_points(*(f"how {metric} differs or develops" for metric in metrics)),
        risk_band=next(band.label for band in BANDS if band.low <= risk.score <= band.high),
        risk_reason=_cut("; ".join(risk.evidence), MAX_POINT),
    )


def language_answer(view: View) -> LanguageReport:
    """The language report: the text in quotes, what it omits, and the caps and severity that follow."""
    faults = [finding for finding in find(view) if finding.rule.is_fault]
    worst = max(faults, key=lambda finding: SEVERITIES.index(finding.rule.severity), default=None)
    severity = worst.rule.severity if worst else "none"
    ceilings = {key: finding.rule.ceilings[key] for finding in faults for key in finding.rule.ceilings}
    citing = [
        line
        for number, (kind, text) in enumerate(view.citations or (), start=1)
        for line in _chunks(f"{CITING} {number} ({kind})", text)
    ]
    return LanguageReport(
        claims=_points(*citing, *_chunks(CAPTION, view.caption or "")),
        omissions=_points(*(finding.evidence for finding in faults)),
        caption_cap=6 if "caption_consistency" in ceilings else None,
        context_cap=6 if "context_consistency" in ceilings else None,
        misleading_cap=ceilings.get("misleading_risk"),
        severity=severity,
        severity_reason=_cut(worst.evidence, MAX_POINT) if worst and severity != "none" else "",
    )


def fused_answer(view: View, open_dimensions: Sequence[str], curves: Curves = NO_CURVES) -> FusionReport:
    """The fusion report: CC and CTX from both sides, and what could mislead."""
    found = find(view)
    record = fusion_answer(tuple(open_dimensions))
    proposals = {
        key: score(key, found, curves.get(key)) if key in open_dimensions else None
        for key in ("caption_consistency", "context_consistency")
    }
    risks = score("misleading_risk", found).evidence
    return record(
        **proposals,
        misleading_reason=_cut("; ".join(risks) or "No finding in either report could mislead.", MAX_POINT),
    )


def _line(head: str, body: str) -> str:
    return _cut(f"{head}: {body}", MAX_POINT)


def _chunks(head: str, text: str) -> list[str]:
    """A text as points, each with its head; cut at spaces."""
    width = MAX_POINT - len(head) - 2
    return [f"{head}: {part}" for part in textwrap.wrap(text, width, break_on_hyphens=False)]


def _points(*texts: str) -> list[str]:
    return [_cut(text, MAX_POINT) for text in texts[:MAX_POINTS]]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"

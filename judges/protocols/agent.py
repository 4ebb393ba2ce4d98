"""SFQ-Agent: a vision, a language and a fusion call, then the Runner (SPEC 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scifigqual_bench.judges import runner
from scifigqual_bench.judges.base import Backend
from scifigqual_bench.judges.payload import JudgeItem, build_request
from scifigqual_bench.judges.protocols.calls import Call, ask, common_fields, explained, first_failure, judge_open
from scifigqual_bench.records import CallRole, FusionReport, LanguageReport, Prediction, VisionReport

ROLES: tuple[CallRole, ...] = ("vision", "language", "fusion")


def judge(items: Sequence[JudgeItem], backend: Backend) -> list[Prediction]:
    """Judge figures, one prediction each, in order.

    The vision calls of all figures go out together, then the language calls, then the fusion calls of those figures
    that have both reports. A failed call fails its own figure only; what the figure's other calls gave is kept.
    """

    def judge_with_features(groups: list[list[JudgeItem]]) -> list[Prediction]:
        asked = [item for (item,) in groups]
        vision = ask([build_request("vision", item) for item in asked], backend)
        language = ask([build_request("language", item) for item in asked], backend)
        calls = [list(pair) for pair in zip(vision, language, strict=True)]
        complete = [
            (item, pair)
            for item, pair in zip(asked, calls, strict=True)
            if all(call.answer is not None for call in pair)
        ]
        fusion = ask(
            [build_request("fusion", item, vision=v.answer, language=t.answer) for item, (v, t) in complete], backend
        )
        for (_, group), call in zip(complete, fusion, strict=True):
            group.append(call)
        return [_prediction(item, group) for item, group in zip(asked, calls, strict=True)]

    return judge_open([[item] for item in items], judge_with_features, needs_features=True)


def _prediction(item: JudgeItem, calls: Sequence[Call]) -> Prediction:
    reports = {call.record.role: call.answer for call in calls}
    fields = common_fields(item, calls) | reports
    failure = first_failure(calls)
    if failure is not None:
        return Prediction(**fields, **failure)
    vision, language, fusion = (reports[role] for role in ROLES)
    result = runner.run(vision, language, fusion, item.figure.open_dimensions)
    return Prediction(
        **fields,
        **result.scores,
        overall_score=result.overall,
        runner_trace=list(result.trace),
        **_explanation(vision, language, fusion, result.scores),
    )


def _explanation(
    vision: VisionReport, language: LanguageReport, fusion: FusionReport, scores: dict[str, int | None]
) -> dict[str, Any]:
    """Reasons and evidence of the five scores; MR rests on the fusion's reason and on what set band and severity."""
    answers = {
        "visual_clarity": vision.visual_clarity,
        "structure_layout": vision.structure_layout,
        "caption_consistency": fusion.caption_consistency,
        "context_consistency": fusion.context_consistency,
    }
    fields = explained({key: answer for key, answer in answers.items() if answer and scores[key] is not None})
    if scores["misleading_risk"] is not None:
        fields["reasons"] = fields["reasons"].model_copy(update={"misleading_risk": fusion.misleading_reason or None})
        fields["evidence"]["misleading_risk"] = [
            text for text in (vision.risk_reason, language.severity_reason) if text
        ]
    return fields

"""What all protocols share: send requests, keep what came back, and turn a failure into a row that says so."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scifigqual_bench import gating
from scifigqual_bench.judges.base import Backend, Request, Response
from scifigqual_bench.judges.parse import Parsed, answer_record, parse_answer, storable
from scifigqual_bench.judges.payload import JudgeItem, build_request, material_marks
from scifigqual_bench.records import CallRecord, CallRole, DimensionAnswer, Prediction, Reasons, Record

FENCED_ANSWER = "fenced_answer"
"""Mark of a prediction with an answer that stood in a Markdown fence."""


@dataclass(frozen=True)
class Call:
    """One call: what was asked, what is stored of it, and what it came to."""

    request: Request
    record: CallRecord
    parsed: Parsed[Any]

    @property
    def answer(self) -> Record | None:
        """The validated answer; None where the call failed."""
        return self.parsed.answer


def ask(requests: Sequence[Request], backend: Backend) -> list[Call]:
    """Send all requests in one go and validate what comes back.

    Raises:
        RuntimeError: The backend returned another number of responses than it was asked for.
    """
    responses = backend.generate(requests) if requests else []
    if len(responses) != len(requests):
        raise RuntimeError(f"backend {backend.name}: {len(responses)} responses to {len(requests)} requests")
    return [_call(request, response) for request, response in zip(requests, responses, strict=True)]


def _call(request: Request, response: Response) -> Call:
    parsed = parse_answer(response, answer_record(request.role, request.open_dimensions))
    image = request.evidence.image
    record = CallRecord(
        role=request.role,
        raw=storable(response.text),
        finish_reason=response.finish_reason,
        error=None if parsed.reason is None else storable(parsed.reason),
        usage=response.usage,
        prompt_sha256=hashlib.sha256(f"{request.system}\n\n{request.user}".encode("utf-8", "replace")).hexdigest(),
        image_sha256=None if image is None else image.sha256,
        cached=response.cached,
        served_model=response.served_model,
    )
    return Call(request, record, parsed)


def skip_reason(item: JudgeItem, *, needs_features: bool) -> str | None:
    """Why a figure is not judged at all; None where it is."""
    if not item.figure.open_dimensions:
        return "no dimension is open: the figure has neither a caption nor a citing paragraph"
    if item.image is None and item.control != "no-image":
        return "the row has no image"
    if item.problem is not None:
        return item.problem
    if needs_features and item.figure.features is None:
        return "the row has no sidecar features; build the dataset with features, or measure them before judging"
    return None


def skipped(item: JudgeItem, reason: str) -> Prediction:
    """The row of a figure that is not judged."""
    return Prediction(
        figure_id=item.figure.figure_id,
        status="skipped",
        status_reason=reason,
        open_dimensions=item.figure.open_dimensions,
    )


def common_fields(item: JudgeItem, calls: Sequence[Call]) -> dict[str, Any]:
    """The fields of a prediction that don't depend on whether the calls succeeded."""
    marks = material_marks(call.request.evidence for call in calls)
    if any(call.parsed.fenced for call in calls):
        marks.append(FENCED_ANSWER)
    return {
        "figure_id": item.figure.figure_id,
        "open_dimensions": item.figure.open_dimensions,
        "calls": [call.record for call in calls],
        "marks": marks,
    }


def first_failure(calls: Iterable[Call]) -> dict[str, Any] | None:
    """Status and reason of the first failed call; None where all succeeded."""
    for call in calls:
        if call.answer is None:
            reason = f"{call.record.role} call: {call.record.error}"
            return {"status": call.parsed.status, "status_reason": reason}
    return None


def explained(grounds: Mapping[str, DimensionAnswer]) -> dict[str, Any]:
    """Reasons and evidence of answers by dimension, as fields of a prediction."""
    return {
        "reasons": Reasons(**{key: answer.reason for key, answer in grounds.items()}),
        "evidence": {key: answer.evidence for key, answer in grounds.items() if answer.evidence},
    }


def judge_open(
    items: Sequence[JudgeItem],
    judge: Callable[[Sequence[JudgeItem]], Iterable[Prediction]],
    *,
    needs_features: bool,
) -> list[Prediction]:
    """Judge the figures that can be judged and report the others as skipped, in the order of ``items``."""
    reasons = [skip_reason(item, needs_features=needs_features) for item in items]
    judged = iter(judge([item for item, reason in zip(items, reasons, strict=True) if reason is None]))
    return [
        next(judged) if reason is None else skipped(item, reason) for item, reason in zip(items, reasons, strict=True)
    ]


def single_call(role: CallRole, items: Sequence[JudgeItem], backend: Backend) -> list[Prediction]:
    """The protocols of one call: all open dimensions of a figure at once, all figures in one ``generate``.

    Args:
        role: ``direct`` or ``sidecar``.
        items: The figures.
        backend: Who answers.

    Returns:
        One prediction per figure, in order. A failed call fails its own figure only.
    """

    def judge(asked: Sequence[JudgeItem]) -> list[Prediction]:
        calls = ask([build_request(role, item) for item in asked], backend)
        return [_single_prediction(item, call) for item, call in zip(asked, calls, strict=True)]

    return judge_open(items, judge, needs_features=role == "sidecar")


def _single_prediction(item: JudgeItem, call: Call) -> Prediction:
    fields = common_fields(item, [call])
    failure = first_failure([call])
    if failure is not None:
        return Prediction(**fields, **failure)
    answers: dict[str, DimensionAnswer] = dict(call.answer or ())
    scores = {key: answer.score for key, answer in answers.items()}
    overall = gating.overall(scores, item.figure.open_dimensions)
    return Prediction(**fields, **scores, overall_score=overall, **explained(answers))

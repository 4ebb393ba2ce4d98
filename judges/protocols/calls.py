"""What all protocols share: send requests, keep what came back, and turn a failure into a row that says so."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scifigqual_bench import gating
from scifigqual_bench.judges.base import Backend, Request, Response
from scifigqual_bench.judges.parse import Parsed, parse_answer, record_of, storable
from scifigqual_bench.judges.payload import JudgeItem, build_batch, build_request, material_marks
from scifigqual_bench.records import CallRecord, CallRole, DimensionAnswer, Prediction, Reasons, Record, Usage

FENCED_ANSWER = "fenced_answer"
"""Mark of a prediction with an answer that stood in a Markdown fence."""
FAILED_BATCH = "failed_batch"
"""Mark of a prediction whose figure was asked about alone, after a call about several had failed."""


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
    parsed = parse_answer(response, record_of(request))
    image = request.evidence.image
    record = CallRecord(
        role=request.role,
        raw=storable(response.text),
        finish_reason=response.finish_reason,
        error=None if parsed.reason is None else storable(parsed.reason),
        usage=response.usage,
        prompt_sha256=hashlib.sha256(request.text.encode("utf-8", "replace")).hexdigest(),
        image_sha256=None if image is None else image.sha256,
        cached=response.cached,
        served_model=None if response.served_model is None else storable(response.served_model),
    )
    return Call(request, record, parsed)


def shares_of(call: Call) -> list[Call]:
    """A call about several figures as one call a figure: its own part of the answer, or the failure of all.

    The text as received and the tokens stay with the first figure, so that neither counts twice.
    """
    figures = call.request.figures
    ids = [part.figure_id for part in figures]
    shares = []
    for part in figures:
        kept = {} if part is figures[0] else {"raw": "", "usage": Usage()}
        image = part.evidence.image
        record = call.record.model_copy(
            update={"figures": ids, "image_sha256": None if image is None else image.sha256, **kept}
        )
        answer = None if call.answer is None else getattr(call.answer, part.key)
        shares.append(Call(call.request, record, replace(call.parsed, answer=answer)))
    return shares


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
    """The fields of a prediction that don't depend on whether the calls succeeded.

    In a call about several figures, the material of one could sway the judgement of all: each gets the marks.
    """
    marks = material_marks(evidence for call in calls for evidence in call.request.evidences)
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
    groups: Sequence[Sequence[JudgeItem]],
    judge: Callable[[list[list[JudgeItem]]], Iterable[Prediction]],
    *,
    needs_features: bool,
) -> list[Prediction]:
    """Judge the figures that can be judged and report the others as skipped, in the order of ``groups``.

    Args:
        groups: The figures of each call.
        judge: Gets the groups without the figures that can't be judged; those that are left empty are gone.
        needs_features: Whether a figure can't be judged without sidecar features.
    """
    items = [item for group in groups for item in group]
    reasons = {id(item): skip_reason(item, needs_features=needs_features) for item in items}
    open_groups = [[item for item in group if reasons[id(item)] is None] for group in groups]
    judged = iter(judge([group for group in open_groups if group]))
    return [next(judged) if (reason := reasons[id(item)]) is None else skipped(item, reason) for item in items]


def single_call(role: CallRole, groups: Sequence[Sequence[JudgeItem]], backend: Backend) -> list[Prediction]:
    """The protocols of one call: all open dimensions at once, all calls in one ``generate``.

    A group of several figures is one call. Where that fails for any reason, a figure missing or one too many included,
    its figures are asked about alone; the failed call stays in their rows.

    Args:
        role: ``direct`` or ``sidecar``.
        groups: The figures of each call; those of one call are of one paper.
        backend: Who answers.

    Returns:
        One prediction per figure, in order. A failed call about one figure fails that figure only.
    """

    def judge(asked: list[list[JudgeItem]]) -> list[Prediction]:
        calls = ask([_single_request(role, group) for group in asked], backend)
        items = [item for group in asked for item in group]
        tries = [[share] for call in calls for share in (shares_of(call) if call.request.figures else [call])]
        failed = [at for at, (call,) in enumerate(tries) if call.request.figures and call.answer is None]
        alone = ask([build_request(role, items[at]) for at in failed], backend)
        for at, call in zip(failed, alone, strict=True):
            tries[at].append(call)
        return [_single_prediction(item, calls) for item, calls in zip(items, tries, strict=True)]

    return judge_open(groups, judge, needs_features=role == "sidecar")


def _single_request(role: CallRole, group: Sequence[JudgeItem]) -> Request:
    return build_request(role, group[0]) if len(group) == 1 else build_batch(role, group)


def _single_prediction(item: JudgeItem, calls: Sequence[Call]) -> Prediction:
    """The prediction by the last of a figure's calls; those before it failed."""
    fields = common_fields(item, calls)
    if len(calls) > 1:
        fields["marks"].append(FAILED_BATCH)
    failure = first_failure(calls[-1:])
    if failure is not None:
        return Prediction(**fields, **failure)
    answers: dict[str, DimensionAnswer] = dict(calls[-1].answer or ())
    scores = {key: answer.score for key, answer in answers.items()}
    overall = gating.overall(scores, item.figure.open_dimensions)
    return Prediction(**fields, **scores, overall_score=overall, **explained(answers))

"""The protocols over a scripted backend: batching, masks, failures that stay with their figure."""

from __future__ import annotations

import json

import pytest

from scifigqual_bench.judges.base import Request, Response
from scifigqual_bench.judges.protocols import PROTOCOLS
from scifigqual_bench.records import Prediction, SidecarFeatures, Usage
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS
from tests.judges.scripted import LANGUAGE, VISION, ScriptedBackend, good_answer, image_features, item

PROTOCOL_NAMES = ("direct", "sidecar", "agent")
FAILURES = {
    "parse_error": Response("the figure is fine"),
    "truncated": Response('{"visual_clarity": ', finish_reason="length"),
    "refusal": Response("", finish_reason="refusal", error="policy"),
    "api_error": Response("", finish_reason="error", error="HTTP 500"),
}


def has_no_scores(prediction: Prediction) -> bool:
    return all(getattr(prediction, key) is None for key in COLUMNS)


@pytest.mark.parametrize("protocol", PROTOCOL_NAMES)
def test_all_figures_of_a_batch_go_out_together(protocol: str) -> None:
    backend = ScriptedBackend(good_answer)
    predictions = PROTOCOLS[protocol].judge([item(n) for n in (1, 2, 3)], backend)
    assert [[request.role for request in batch] for batch in backend.batches] == [
        [role] * 3 for role in PROTOCOLS[protocol].roles
    ]
    assert [prediction.figure_id for prediction in predictions] == [item(n).figure.figure_id for n in (1, 2, 3)]
    assert all(prediction.status == "ok" for prediction in predictions)


@pytest.mark.parametrize("protocol", ["direct", "sidecar"])
def test_a_single_call(protocol: str) -> None:
    response = Response(good_answer_text := good_answer_of(protocol), usage=Usage(prompt_tokens=9, completion_tokens=4))
    (prediction,) = PROTOCOLS[protocol].judge([item()], ScriptedBackend([response]))
    assert [getattr(prediction, key) for key in COLUMNS] == [8, 8, 8, 8, 8, 8.0]
    assert prediction.reasons.caption_consistency == "the tick labels are legible"
    assert prediction.evidence["misleading_risk"] == ["tick labels"]
    assert prediction.open_dimensions == list(DIMENSION_KEYS)
    (call,) = prediction.calls
    assert (call.role, call.raw, call.finish_reason, call.error) == (protocol, good_answer_text, "stop", None)
    assert (call.usage.prompt_tokens, call.image_sha256) == (9, item().image_input.sha256)
    assert len(call.prompt_sha256) == 64


def good_answer_of(protocol: str) -> str:
    backend = ScriptedBackend(good_answer)
    PROTOCOLS[protocol].judge([item()], backend)
    return good_answer(backend.requests[0])


def test_the_agent_runs_the_runner_on_its_reports() -> None:
    def script(request: Request) -> str:
        if request.role == "language":
            return json.dumps({**LANGUAGE, "severity": "severe", "caption_cap": 6, "severity_reason": "no metric"})
        return good_answer(request)

    (prediction,) = PROTOCOLS["agent"].judge([item()], ScriptedBackend(script))
    assert [getattr(prediction, key) for key in COLUMNS] == [9, 7, 6, 8, 4, 6.8]
    assert prediction.vision.risk_band == "7-8"
    assert prediction.language.severity == "severe"
    assert prediction.fusion.caption_consistency.score == 8
    assert "CC cut from 8 to 6: caption cap of the language report" in prediction.runner_trace
    assert prediction.reasons.misleading_risk == "nothing misleads"
    assert prediction.evidence["misleading_risk"] == ["no error bars", "no metric"]
    assert [call.role for call in prediction.calls] == ["vision", "language", "fusion"]
    assert [call.image_sha256 is None for call in prediction.calls] == [False, True, True]


def test_fusion_sees_the_reports_of_its_own_figure() -> None:
    def script(request: Request) -> str:
        if request.role == "vision":
            return json.dumps({**VISION, "visible_facts": [f"saw {request.figure_id}"]})
        if request.role == "language":
            return json.dumps({**LANGUAGE, "claims": [f"read {request.figure_id}"]})
        assert request.evidence.vision.visible_facts == [f"saw {request.figure_id}"]
        assert request.evidence.language.claims == [f"read {request.figure_id}"]
        return good_answer(request)

    backend = ScriptedBackend(script)
    assert {p.status for p in PROTOCOLS["agent"].judge([item(n) for n in (1, 2, 3)], backend)} == {"ok"}
    assert len(backend.batches[2]) == 3


@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("protocol", PROTOCOL_NAMES)
def test_a_failed_call_fails_its_own_figure(protocol: str, status: str) -> None:
    role = PROTOCOLS[protocol].roles[0]
    bad = item(2).figure.figure_id

    def script(request: Request) -> Response | str:
        return FAILURES[status] if (request.figure_id, request.role) == (bad, role) else good_answer(request)

    first, failed, third = PROTOCOLS[protocol].judge([item(n) for n in (1, 2, 3)], ScriptedBackend(script))
    assert (first.status, failed.status, third.status) == ("ok", status, "ok")
    assert has_no_scores(failed)
    assert failed.status_reason.startswith(f"{role} call: ")
    assert failed.calls[0].raw == FAILURES[status].text
    assert failed.calls[0].error
    assert (first.overall_score, third.overall_score) == (first.overall_score, first.overall_score)


@pytest.mark.parametrize("failing", ["vision", "language", "fusion"])
def test_an_agent_figure_keeps_what_its_other_calls_gave(failing: str) -> None:
    backend = ScriptedBackend(lambda request: "no" if request.role == failing else good_answer(request))
    (prediction,) = PROTOCOLS["agent"].judge([item()], backend)
    assert prediction.status == "parse_error" and has_no_scores(prediction)
    assert prediction.runner_trace == []
    roles = ["vision", "language", "fusion"] if failing == "fusion" else ["vision", "language"]
    assert [call.role for call in prediction.calls] == roles
    for role in ("vision", "language", "fusion"):
        assert (getattr(prediction, role) is not None) == (role != failing and role in roles)


def test_no_fusion_call_goes_out_where_no_figure_has_both_reports() -> None:
    backend = ScriptedBackend(lambda request: "no" if request.role == "vision" else good_answer(request))
    PROTOCOLS["agent"].judge([item(1), item(2)], backend)
    assert [batch[0].role for batch in backend.batches] == ["vision", "language"]


@pytest.mark.parametrize("protocol", PROTOCOL_NAMES)
def test_a_figure_without_evidence_is_skipped_and_not_asked_about(protocol: str) -> None:
    backend = ScriptedBackend(good_answer)
    bare = item(2, caption="", citations=[])
    first, skipped, third = PROTOCOLS[protocol].judge([item(1), bare, item(3)], backend)
    assert (first.status, skipped.status, third.status) == ("ok", "skipped", "ok")
    assert "neither a caption nor a citing paragraph" in skipped.status_reason
    assert has_no_scores(skipped) and skipped.calls == [] and skipped.open_dimensions == []
    assert bare.figure.figure_id not in {request.figure_id for request in backend.requests}


@pytest.mark.parametrize("protocol", ["sidecar", "agent"])
def test_a_figure_without_features_is_skipped_where_the_protocol_needs_them(protocol: str) -> None:
    backend = ScriptedBackend(good_answer)
    (skipped,) = PROTOCOLS[protocol].judge([item(features=None)], backend)
    assert skipped.status == "skipped" and "no sidecar features" in skipped.status_reason
    assert backend.batches == []
    (judged,) = PROTOCOLS["direct"].judge([item(features=None)], backend)
    assert judged.status == "ok"


@pytest.mark.parametrize("protocol", PROTOCOL_NAMES)
@pytest.mark.parametrize(
    ("evidence", "closed"),
    [({"citations": []}, "context_consistency"), ({"caption": ""}, "caption_consistency")],
)
def test_a_closed_dimension_has_no_score(protocol: str, evidence: dict, closed: str) -> None:
    backend = ScriptedBackend(good_answer)
    (prediction,) = PROTOCOLS[protocol].judge([item(**evidence)], backend)
    assert prediction.status == "ok"
    scores = [getattr(prediction, key) for key in DIMENSION_KEYS if key != closed]
    assert getattr(prediction, closed) is None and None not in scores
    assert prediction.overall_score == pytest.approx(sum(scores) / 4)
    assert closed not in prediction.evidence and getattr(prediction.reasons, closed) is None


@pytest.mark.parametrize("protocol", ["direct", "sidecar"])
def test_a_score_on_a_closed_dimension_is_a_parse_error(protocol: str) -> None:
    everything = good_answer_of(protocol)
    (prediction,) = PROTOCOLS[protocol].judge([item(citations=[])], ScriptedBackend([everything]))
    assert prediction.status == "parse_error" and has_no_scores(prediction)
    assert "context_consistency" in prediction.status_reason


def test_a_fenced_answer_is_marked() -> None:
    backend = ScriptedBackend(lambda request: f"```json\n{good_answer(request)}\n```")
    (prediction,) = PROTOCOLS["direct"].judge([item()], backend)
    assert (prediction.status, prediction.marks) == ("ok", ["fenced_answer"])


def test_an_answer_that_is_no_unicode_can_be_stored() -> None:
    (prediction,) = PROTOCOLS["direct"].judge([item()], ScriptedBackend(["half a pair: \ud83d"]))
    assert prediction.status == "parse_error"
    assert Prediction.model_validate_json(prediction.model_dump_json()).calls[0].raw == "half a pair: \\ud83d"


def test_a_backend_that_loses_a_response_is_an_error() -> None:
    class Losing(ScriptedBackend):
        def generate(self, requests):
            return super().generate(requests)[:-1]

    with pytest.raises(RuntimeError, match="1 responses to 2 requests"):
        PROTOCOLS["direct"].judge([item(1), item(2)], Losing(good_answer))


@pytest.mark.parametrize("protocol", PROTOCOL_NAMES)
def test_no_figures(protocol: str) -> None:
    assert PROTOCOLS[protocol].judge([], ScriptedBackend(good_answer)) == []


def test_the_vision_call_gets_the_image_features_of_its_row() -> None:
    features = SidecarFeatures(image=image_features(distinct_hues=7))
    backend = ScriptedBackend(good_answer)
    PROTOCOLS["agent"].judge([item(features=features)], backend)
    assert backend.requests[0].evidence.features == features.image

"""Whatever a backend sends, it ends in a validated answer or in a status; never in a guessed number."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scifigqual_bench.judges.base import Response
from scifigqual_bench.judges.parse import answer_record, answer_schema, parse_answer
from scifigqual_bench.records import LanguageReport
from tests.judges.scripted import LANGUAGE, VISION, dimension

MASK = ("visual_clarity", "caption_consistency")
RECORD = answer_record("direct", MASK)
GOOD: dict[str, Any] = {key: dimension(8) for key in MASK}
TEXT = json.dumps(GOOD)


def with_score(raw: str) -> str:
    """The good answer with the first score replaced by raw JSON text."""
    return TEXT.replace('"score": 8', f'"score": {raw}', 1)


def test_a_good_answer() -> None:
    parsed = parse_answer(Response(f"\n {TEXT} \n"), RECORD)
    assert (parsed.status, parsed.reason, parsed.fenced) == ("ok", None, False)
    assert parsed.answer.visual_clarity.score == 8


def test_one_fence_around_one_object_is_accepted_and_told() -> None:
    parsed = parse_answer(Response(f"```json\n{json.dumps(GOOD, indent=2)}\n```\n"), RECORD)
    assert (parsed.status, parsed.fenced) == ("ok", True)


@pytest.mark.parametrize(
    "raw",
    ["0", "11", "-1", "7.5", "8.0", '"8"', '"8/10"', "true", "null", "NaN", "Infinity", "1e400", "[8]", "9" * 5000],
)
def test_a_score_that_is_no_integer_of_the_scale(raw: str) -> None:
    parsed = parse_answer(Response(with_score(raw)), RECORD)
    assert (parsed.answer, parsed.status) == (None, "parse_error")
    assert parsed.reason


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "null",
        "8",
        "[]",
        f"[{TEXT}]",
        f"Here is my answer: {TEXT}",
        f"{TEXT}\nI hope this helps.",
        f"{TEXT}{TEXT}",
        f"{TEXT}\n{TEXT}",
        TEXT[:-20],
        TEXT.replace('"', "'"),
        f"```\n{TEXT}\n```",
        f"```json\n{TEXT}\n```\nDone.",
        f"```json\n{TEXT}\n```\n```json\n{TEXT}\n```",
        f"```json\n{TEXT}\n{TEXT}\n```",
        f"```json {TEXT} ```",
        TEXT.replace('"score": 8', '"score": 8, "score": 9', 1),
        TEXT.replace('"score"', '"Score"', 1),
        json.dumps({**GOOD, "overall": 8}),
        json.dumps({**GOOD, "misleading_risk": dimension(8)}),
        json.dumps({"visual_clarity": dimension(8)}),
        json.dumps({**GOOD, "visual_clarity": {**dimension(8), "confidence": 0.9}}),
        json.dumps({**GOOD, "visual_clarity": {"score": 8}}),
        json.dumps({**GOOD, "visual_clarity": dimension(8, "")}),
        json.dumps({**GOOD, "visual_clarity": dimension(8, "x" * 601)}),
        json.dumps({**GOOD, "visual_clarity": dimension(8, "\ud83d")}),
        json.dumps({**GOOD, "\ud83d": 1}),
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_anything_but_exactly_one_valid_object_is_a_parse_error(text: str) -> None:
    parsed = parse_answer(Response(text), RECORD)
    assert (parsed.answer, parsed.status) == (None, "parse_error")
    parsed.reason.encode("utf-8")


def test_the_reason_names_every_fault_with_its_place() -> None:
    broken = copy.deepcopy(GOOD)
    broken["visual_clarity"]["score"] = 11
    del broken["caption_consistency"]["reason"]
    reason = parse_answer(Response(json.dumps(broken)), RECORD).reason
    assert "visual_clarity.score" in reason and "(got 11)" in reason
    assert "caption_consistency.reason: Field required" in reason


def test_the_list_of_faults_is_bounded() -> None:
    reason = parse_answer(Response(json.dumps({**GOOD, **{f"extra{n}": 1 for n in range(40)}})), RECORD).reason
    assert reason.endswith("; and 34 more")


@pytest.mark.parametrize("text", ["", TEXT, TEXT[:30], TEXT + " " * 4000])
def test_an_answer_cut_by_the_token_limit_is_truncated_even_where_it_is_complete(text: str) -> None:
    parsed = parse_answer(Response(text, finish_reason="length"), RECORD)
    assert (parsed.answer, parsed.status) == (None, "truncated")


def test_refusals_and_errors_keep_the_backends_word() -> None:
    refusal = parse_answer(Response(TEXT, finish_reason="refusal", error="policy"), RECORD)
    assert (refusal.answer, refusal.status, refusal.reason) == (None, "refusal", "policy")
    failed = parse_answer(Response("", finish_reason="error", error="HTTP 500"), RECORD)
    assert (failed.answer, failed.status, failed.reason) == (None, "api_error", "HTTP 500")
    assert parse_answer(Response("", finish_reason="error"), RECORD).reason
    assert parse_answer(Response("", finish_reason="refusal"), RECORD).reason


def test_a_closed_dimension_of_the_fusion_report_must_be_null() -> None:
    record = answer_record("fusion", MASK)
    answer = {"caption_consistency": dimension(7), "context_consistency": None, "misleading_reason": ""}
    assert parse_answer(Response(json.dumps(answer)), record).status == "ok"
    for bad in ({"context_consistency": dimension(7)}, {"caption_consistency": None}):
        assert parse_answer(Response(json.dumps({**answer, **bad})), record).status == "parse_error"


@pytest.mark.parametrize("field", ["severity", "caption_cap"])
def test_words_and_caps_outside_their_lists(field: str) -> None:
    answer = {**LANGUAGE, field: {"severity": "awful", "caption_cap": 7}[field]}
    assert parse_answer(Response(json.dumps(answer)), LanguageReport).status == "parse_error"


@given(st.text(), st.sampled_from(["stop", "length", "refusal", "error"]))
def test_no_text_raises_and_none_becomes_an_answer(text: str, finish: str) -> None:
    parsed = parse_answer(Response(text, finish_reason=finish), RECORD)
    assert parsed.answer is None and parsed.status != "ok" and parsed.reason


# --- the schema of structured output --------------------------------------------------------------------------------


def nodes(schema: Any) -> Any:
    """Every schema inside a schema."""
    if isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            yield from (node for part in (value.values() if key == "properties" else [value]) for node in nodes(part))
    elif isinstance(schema, list):
        for part in schema:
            yield from nodes(part)


@pytest.mark.parametrize("role", ["direct", "sidecar", "vision", "language", "fusion"])
def test_schemas_are_strict_and_free_of_python(role: str) -> None:
    schema = answer_schema(answer_record(role, MASK))
    assert "Attributes" not in json.dumps(schema)
    for node in nodes(schema):
        assert not {"title", "$ref", "$defs", "default"} & set(node)
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
            assert "description" not in node


def test_schemas_keep_the_records_constraints() -> None:
    schema = answer_schema(answer_record("vision", MASK))
    clarity = schema["properties"]["visual_clarity"]["properties"]
    assert clarity["score"] == {"maximum": 10, "minimum": 1, "type": "integer"}
    assert clarity["reason"]["maxLength"] == 600
    assert clarity["evidence"]["maxItems"] == 8 and clarity["evidence"]["items"]["maxLength"] == 300
    assert schema["properties"]["risk_band"]["enum"] == ["9-10", "7-8", "5-6", "3-4", "1-2"]
    assert schema["properties"]["visible_facts"]["description"].startswith("What the image shows")


def test_the_schema_asks_for_the_open_dimensions_only() -> None:
    assert list(answer_schema(RECORD)["properties"]) == list(MASK)
    fusion = answer_schema(answer_record("fusion", MASK))["properties"]
    assert fusion["context_consistency"] == {"type": "null"}
    assert fusion["caption_consistency"]["type"] == "object"


def test_the_scripted_answers_satisfy_their_records() -> None:
    assert parse_answer(Response(json.dumps(VISION)), answer_record("vision", MASK)).status == "ok"
    with pytest.raises(ValidationError):
        answer_record("vision", MASK).model_validate({**VISION, "risk_band": "8-9"})

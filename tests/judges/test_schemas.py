"""The forms in which servers are told an answer's schema."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from scifigqual_bench.commands.judge import STRUCTURED
from scifigqual_bench.judges.parse import answer_record, answer_schema, batch_record
from scifigqual_bench.judges.run_matrix import matrix
from scifigqual_bench.judges.schemas import Structured, response_format, strict_schema
from scifigqual_bench.rubric import DIMENSION_KEYS

MASKS = [mask for size in range(1, 6) for mask in combinations(DIMENSION_KEYS, size)]
SCHEMAS: dict[str, dict[str, Any]] = {
    **{f"{role} {mask}": answer_schema(answer_record(role, mask)) for role in ("direct", "fusion") for mask in MASKS},
    **{role: answer_schema(answer_record(role, DIMENSION_KEYS)) for role in ("sidecar", "vision", "language")},
    "batch": answer_schema(batch_record("direct", (("fig0001", DIMENSION_KEYS), ("fig0002", ("visual_clarity",))))),
}

# As published: OpenAI's guide to structured outputs (the subset that fine-tuned models take as well), which the subset
# of Anthropic's guide holds too.
ALLOWED = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "description"}
MAX_PROPERTIES, MAX_DEPTH, MAX_ENUM_VALUES = 100, 5, 500


def nodes(node: dict[str, Any], depth: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    """Every schema within a schema, and the number of objects that it is in, itself included."""
    depth += node.get("type") == "object"
    yield node, depth
    children = [*node.get("properties", {}).values(), *node.get("anyOf", [])]
    for child in [*children, *([node["items"]] if "items" in node else [])]:
        yield from nodes(child, depth)


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("ranges", [False, True])
def test_the_strict_subset(name: str, ranges: bool) -> None:
    strict = strict_schema(SCHEMAS[name], ranges=ranges)
    found = list(nodes(strict))
    assert strict["type"] == "object"
    for node, depth in found:
        assert node.keys() <= ALLOWED | ({"minimum", "maximum"} if ranges else set())
        assert ("type" in node) != ("anyOf" in node) and depth <= MAX_DEPTH
        if "properties" in node:
            assert node["required"] == list(node["properties"]) and node["additionalProperties"] is False
        if ranges:
            assert all(isinstance(value, str) for value in node.get("enum", []))
    assert sum(len(node.get("properties", {})) for node, _ in found) <= MAX_PROPERTIES
    assert sum(len(node.get("enum", [])) for node, _ in found) <= MAX_ENUM_VALUES


def test_scores_are_listed_or_given_by_their_range() -> None:
    schema = SCHEMAS[f"direct {DIMENSION_KEYS}"]
    for ranges, expected in ((False, {"enum": list(range(1, 11))}), (True, {"minimum": 1, "maximum": 10})):
        properties = strict_schema(schema, ranges=ranges)["properties"]
        for key in DIMENSION_KEYS:
            assert properties[key]["properties"]["score"] == {"type": "integer", **expected}


def test_a_form_leaves_nothing_of_the_structure_out() -> None:
    def outline(schema: dict[str, Any]) -> list[Any]:
        return [(sorted(node.get("properties", {})), node.get("type")) for node, _ in nodes(schema)]

    for schema in SCHEMAS.values():
        assert outline(strict_schema(schema)) == outline(schema)


def test_a_keyword_that_has_no_place_is_an_error_and_not_left_out() -> None:
    with pytest.raises(ValueError, match="'pattern' has no place"):
        strict_schema({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}})


def test_the_forms() -> None:
    schema = SCHEMAS["vision"]
    assert response_format("vision", schema, "none") is None
    assert response_format("vision", schema, "json_object") == {"type": "json_object"}
    older = response_format("vision", schema, "json_object_schema")
    assert older == {"type": "json_object", "schema": strict_schema(schema)}
    full = response_format("vision", schema, "json_schema_full")
    assert full["json_schema"] == {"name": "vision", "strict": True, "schema": schema}
    assert Structured.__args__ == STRUCTURED
    assert {server.structured for server in matrix().servers.values()} <= set(STRUCTURED)

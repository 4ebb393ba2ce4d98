"""Answer schemas as servers take them: each supports a subset of JSON Schema, and some refuse what they don't support.

What the documentation and the error reports of the vendors agree on: strict structured output (OpenAI, and gateways to
Anthropic's models) wants every object closed and every property required, and lengths of texts and lists left out; in
older versions and for fine-tuned models ranges of numbers too, for which a list of the numbers does. Gemini's lists of
values are texts only, but it takes ranges. The grammars of llama-cpp-python hold listed numbers and pass over ranges.
vLLM and SGLang take all that the records say. What a form leaves out is still in the prompt, and every answer is
validated against the record.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

from scifigqual_bench.judges.base import Request
from scifigqual_bench.judges.parse import answer_schema, record_of
from scifigqual_bench.records import CallRole, Record

Structured = Literal[
    "json_schema", "json_schema_ranges", "json_schema_full", "json_object_schema", "json_object", "none"
]
"""How the form of an answer is asked for.

``json_schema``: by the strict subset, with whole numbers listed; ``json_schema_ranges``: by the strict subset, with
ranges of numbers instead; ``json_schema_full``: by the whole schema; ``json_object_schema``: by the strict subset in
the older way of llama-cpp-python, which knows no other; ``json_object``: as any JSON object, and ``none``: not at all,
so that in both cases the prompt alone tells the schema.
"""

UNSUPPORTED = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
"""Keywords that the strict subset leaves out."""
_KEPT = frozenset({"type", "enum", "description"})


def format_for(request: Request, structured: Structured) -> dict[str, Any] | None:
    """The field ``response_format`` for a request; see :func:`response_format`. It is shared: don't change it."""
    return _format_for(record_of(request), request.role, structured)


@lru_cache(maxsize=256)
def _format_for(record: type[Record], role: CallRole, structured: Structured) -> dict[str, Any] | None:
    return response_format(role, answer_schema(record), structured)


def response_format(name: str, schema: dict[str, Any], structured: Structured) -> dict[str, Any] | None:
    """The field ``response_format`` of a chat completions request; None where none is sent.

    Args:
        name: Of the schema.
        schema: Of the answer.
        structured: The form.

    >>> response_format("direct", {"type": "integer", "minimum": 1, "maximum": 3}, "json_schema")["json_schema"]
    {'name': 'direct', 'strict': True, 'schema': {'type': 'integer', 'enum': [1, 2, 3]}}
    """
    match structured:
        case "none":
            return None
        case "json_object":
            return {"type": "json_object"}
        case "json_object_schema":
            return {"type": "json_object", "schema": strict_schema(schema)}
        case "json_schema_full":
            sent = schema
        case _:
            sent = strict_schema(schema, ranges=structured == "json_schema_ranges")
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": sent}}


def strict_schema(schema: dict[str, Any], *, ranges: bool = False) -> dict[str, Any]:
    """The strict subset of an answer's schema.

    Args:
        schema: As :func:`~.parse.answer_schema` gives it: without references and defaults.
        ranges: Tell whole numbers by their range, and not by listing them.

    Raises:
        ValueError: It has a keyword that the subset has no place for.

    >>> strict_schema({"type": "array", "items": {"type": "string", "maxLength": 300}, "maxItems": 8})
    {'type': 'array', 'items': {'type': 'string'}}
    >>> strict_schema({"const": 6, "type": "integer"}), strict_schema({"const": 6, "type": "integer"}, ranges=True)
    ({'type': 'integer', 'enum': [6]}, {'type': 'integer', 'minimum': 6, 'maximum': 6})
    """
    node = {key: value for key, value in schema.items() if key not in UNSUPPORTED}
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if node.get("type") == "integer":
        bounds = node.pop("minimum", None), node.pop("maximum", None)
        listed = node.pop("enum", None) or (None if None in bounds else list(range(bounds[0], bounds[1] + 1)))
        if listed:
            node |= {"minimum": min(listed), "maximum": max(listed)} if ranges else {"enum": listed}
    strict: dict[str, Any] = {}
    for key, value in node.items():
        match key:
            case "properties":
                strict[key] = {name: strict_schema(child, ranges=ranges) for name, child in value.items()}
            case "items":
                strict[key] = strict_schema(value, ranges=ranges)
            case "anyOf":
                strict[key] = [strict_schema(child, ranges=ranges) for child in value]
            case "required" | "additionalProperties":
                continue
            case _ if key in _KEPT or (ranges and key in ("minimum", "maximum")):
                strict[key] = value
            case _:
                raise ValueError(f"the keyword {key!r} has no place in a strict schema")
    if "properties" in node:
        strict |= {"required": list(node["properties"]), "additionalProperties": False}
    return strict

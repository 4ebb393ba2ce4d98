"""From a backend's text to a validated answer, or to a status that says why there is none.

Nothing is repaired: a score of 11 is not cut to 10, ``"8/10"`` is not read as 8, and an answer with prose around it is
not searched for JSON. One wrapping is accepted, because many chat models add it to an otherwise exact answer: a single
Markdown fence (three backticks and ``json``) around exactly one object. :attr:`Parsed.fenced` says that it was there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import ValidationError, create_model

from scifigqual_bench.judges.base import Request, Response
from scifigqual_bench.records import (
    CallRole,
    LanguageReport,
    PredictionStatus,
    Record,
    VisionReport,
    direct_answer,
    fusion_answer,
)

AnswerT = TypeVar("AnswerT", bound=Record)

_FENCE = re.compile(r"```json[ \t]*\n(?P<body>.*)\n[ \t]*```", re.DOTALL)
MAX_PROBLEMS = 6
"""At most this many faults of one answer are listed in a status reason."""


@dataclass(frozen=True)
class Parsed(Generic[AnswerT]):
    """What became of one response.

    Attributes:
        answer: The validated record; None unless the status is ``ok``.
        status: ``ok``, ``parse_error``, ``refusal``, ``truncated`` or ``api_error``.
        reason: Why there is no answer, in one sentence; None for ``ok``.
        fenced: Whether the object stood in a Markdown fence.
    """

    answer: AnswerT | None
    status: PredictionStatus = "ok"
    reason: str | None = None
    fenced: bool = False


@lru_cache(maxsize=64)
def answer_record(role: CallRole, open_dimensions: tuple[str, ...]) -> type[Record]:
    """The record that a call's answer has to satisfy.

    >>> sorted(answer_record("fusion", ("visual_clarity", "caption_consistency")).model_fields)
    ['caption_consistency', 'context_consistency', 'misleading_reason']
    """
    match role:
        case "direct" | "sidecar":
            return direct_answer(open_dimensions)
        case "vision":
            return VisionReport
        case "language":
            return LanguageReport
        case "fusion":
            return fusion_answer(open_dimensions)
    raise ValueError(f"unknown call role {role!r}")


@lru_cache(maxsize=64)
def batch_record(role: CallRole, figures: tuple[tuple[str, tuple[str, ...]], ...]) -> type[Record]:
    """The record that the answer to a call about several figures has to satisfy: each figure's answer, by its key.

    Args:
        role: ``direct`` or ``sidecar``.
        figures: Key and open dimensions of each figure.

    >>> sorted(batch_record("direct", (("fig0001", ("visual_clarity",)), ("fig0002", ()))).model_fields)
    ['fig0001', 'fig0002']
    """
    fields: dict[str, Any] = {key: (answer_record(role, open_dimensions), ...) for key, open_dimensions in figures}
    return create_model("BatchAnswer", __base__=Record, **fields)


def record_of(request: Request) -> type[Record]:
    """The record that the answer to a request has to satisfy."""
    if request.figures:
        return batch_record(request.role, tuple((part.key, part.open_dimensions) for part in request.figures))
    return answer_record(request.role, request.open_dimensions)


@lru_cache(maxsize=64)
def answer_schema(record: type[Record]) -> dict[str, Any]:
    """JSON schema of an answer, for structured output and for the prompt.

    Derived from the record with its constraints; titles and class docstrings, which talk about Python, are left out.
    References are written out, and every property is required, as strict structured output wants it. (The record
    itself accepts an answer that leaves out a property with a default.) The result is shared: don't change it.

    >>> schema = answer_schema(answer_record("direct", ("visual_clarity",)))
    >>> schema["properties"]["visual_clarity"]["properties"]["score"]
    {'maximum': 10, 'minimum': 1, 'type': 'integer'}
    """
    schema = record.model_json_schema()
    return _plain(schema, schema.get("$defs", {}))


def _plain(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _plain({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    dropped = {"title", "default", "$defs"}
    if "properties" in node:
        dropped.add("description")  # the docstring of the class
    plain = {
        key: _plain(value, definitions) for key, value in node.items() if key not in dropped and key != "properties"
    }
    if "properties" in node:
        plain["properties"] = {name: _plain(value, definitions) for name, value in node["properties"].items()}
        plain["required"] = list(node["properties"])
    return plain


def parse_answer(response: Response, record: type[AnswerT]) -> Parsed[AnswerT]:
    """Validate one response against the record that was asked for.

    Args:
        response: What the backend returned.
        record: The answer's record, see :func:`record_of`.

    Returns:
        The answer, or a status with its reason. An answer that the token limit cut is ``truncated`` even where its
        text happens to be complete JSON: such a text was padded, not finished.
    """
    match response.finish_reason:
        case "error":
            return Parsed(None, "api_error", response.error or "the backend reported an error without a message")
        case "refusal":
            return Parsed(None, "refusal", response.error or "the model declined to answer")
        case "length":
            return Parsed(None, "truncated", f"cut by the token limit after {len(response.text)} characters")
    text = response.text.strip()
    if not text:
        return Parsed(None, "parse_error", "the answer is empty")
    fence = _FENCE.fullmatch(text)
    try:
        content = json.loads(
            fence["body"] if fence else text, object_pairs_hook=_unique_keys, parse_constant=_no_constant
        )
        return Parsed(record.model_validate(content), fenced=fence is not None)
    except ValidationError as error:
        return Parsed(None, "parse_error", _summary(error))
    except RecursionError:
        return Parsed(None, "parse_error", "the answer is nested too deeply")
    except ValueError as error:
        return Parsed(None, "parse_error", f"not exactly one JSON object: {error}")


def storable(text: str) -> str:
    r"""The text with lone surrogates written out, so that it can be stored as UTF-8.

    >>> storable("half a pair: \ud83d")
    'half a pair: \\ud83d'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"duplicate key {next(key for key in keys if keys.count(key) > 1)!r}")
    return unique


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _summary(error: ValidationError) -> str:
    """All faults of an answer in one line, each with its place and, where short, its value."""
    faults = []
    for fault in error.errors(include_url=False):
        place = ".".join(map(str, fault["loc"]))[:80] or "answer"
        found = repr(fault["input"])
        value = f" (got {found})" if fault["type"] != "missing" and len(found) <= 40 else ""
        faults.append(f"{place}: {fault['msg']}{value}")
    rest = f"; and {len(faults) - MAX_PROBLEMS} more" if len(faults) > MAX_PROBLEMS else ""
    return storable("; ".join(faults[:MAX_PROBLEMS]) + rest)

"""Results as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

NOT_JSON = {"json": False}
"""Metadata of a dataclass field that is left out."""


def jsonable(value: Any) -> Any:
    """Dataclasses, mappings and sequences as plain dicts and lists; numbers, text and None as they are."""
    if is_dataclass(value):
        kept = [item.name for item in fields(value) if item.metadata.get("json", True)]
        return {name: jsonable(getattr(value, name)) for name in kept}
    if isinstance(value, Mapping):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [jsonable(item) for item in value]
    return value

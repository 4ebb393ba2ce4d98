"""Run manifests and prediction rows of earlier versions, brought to the one that this program writes.

A manifest states its ``schema_version``; rows are of the version of the manifest beside them. Each version has one
function that makes the next one of it, and they are applied in turn. A new optional field needs no new version: an
older file simply lacks it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from scifigqual_bench.dataset.tables import explain
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import MANIFEST_VERSION, RunManifest
from scifigqual_bench.rubric import DIMENSION_KEYS, OVERALL

FLAT = "0"
"""Rows as a table: a column a reason, ``overall`` or ``overall_score``, no status, perhaps an ``error``."""

Data = dict[str, Any]


def _manifest_1(data: Data) -> Data:
    """Version 1 hashed whole rows of the dataset, features included; that hash can't be made any more."""
    return {**data, "dataset_fingerprint": f"v1:{data.get('dataset_fingerprint')}"}


def _row_flat(row: Data) -> Data:
    """Flat columns to ``reasons``, an error or an answer to a status."""
    row = dict(row)
    reasons = {key: row.pop(f"{key}_reason", None) for key in DIMENSION_KEYS}
    if "overall" in row:
        row.setdefault(OVERALL, row.pop("overall"))
    if any(reasons.values()):
        row.setdefault("reasons", reasons)
    error = row.pop("error", None)
    if "status" not in row:
        scored = any(row.get(key) is not None for key in DIMENSION_KEYS)
        reason = error or "no score, and no status that says why"
        row |= {"status": "ok"} if scored and not error else {"status": "api_error", "status_reason": reason}
    return row


MANIFESTS: Mapping[str, tuple[str, Callable[[Data], Data]]] = {"1": ("2", _manifest_1)}
"""By version: the next version, and what makes it."""
ROWS: Mapping[str, tuple[str, Callable[[Data], Data]]] = {FLAT: ("1", _row_flat), "1": ("2", dict)}


def upgrade(data: Data, version: str, steps: Mapping[str, tuple[str, Callable[[Data], Data]]]) -> Data:
    """Apply the steps from a version up to the present one.

    Args:
        data: A manifest or a row; left as it is.
        version: Its version.
        steps: :data:`MANIFESTS` or :data:`ROWS`.

    Raises:
        InputError: The version is not known here.

    >>> upgrade({"visual_clarity": 8, "visual_clarity_reason": "sharp"}, FLAT, ROWS)["reasons"]["visual_clarity"]
    'sharp'
    """
    while version != MANIFEST_VERSION:
        if version not in steps:
            raise InputError(
                f"version {version!r} of run files is not known; this program knows versions up to {MANIFEST_VERSION}: "
                "install a newer scifigqual-bench"
            )
        version, step = steps[version]
        data = step(data)
    return data


def manifest_version(data: Data) -> str:
    """The version that a manifest states."""
    return str(data.get("schema_version", "1"))


def read_manifest(text: bytes | str, where: str) -> RunManifest:
    """A run manifest of this or an earlier version.

    Args:
        text: The file's content.
        where: How messages name the file.

    Raises:
        InputError: It is not a manifest, or one of a newer version.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError(f"{where}: not a run manifest (not JSON: {error})") from None
    if not isinstance(data, dict):
        raise InputError(f"{where}: not a run manifest (expected an object, found {type(data).__name__})")
    try:
        upgraded = upgrade(data, manifest_version(data), MANIFESTS)
        return RunManifest.model_validate({**upgraded, "schema_version": MANIFEST_VERSION})
    except ValidationError as error:
        raise InputError(f"{where}: not a run manifest ({'; '.join(explain(error))})") from None
    except InputError as error:
        raise InputError(f"{where}: {error}") from None

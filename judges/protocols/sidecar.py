"""Sidecar: the call of Direct with OCR and image features beside the image (SPEC 9)."""

from __future__ import annotations

from collections.abc import Sequence

from scifigqual_bench.judges.base import Backend
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.judges.protocols.calls import single_call
from scifigqual_bench.records import CallRole, Prediction

ROLES: tuple[CallRole, ...] = ("sidecar",)


def judge(items: Sequence[JudgeItem], backend: Backend) -> list[Prediction]:
    """Judge figures, a call each, one prediction each, in order; see :func:`~.calls.single_call`."""
    return single_call("sidecar", [[item] for item in items], backend)


def judge_together(groups: Sequence[Sequence[JudgeItem]], backend: Backend) -> list[Prediction]:
    """Judge figures, a call a group, one prediction a figure, in order; see :func:`~.calls.single_call`."""
    return single_call("sidecar", groups, backend)

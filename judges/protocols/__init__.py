"""Protocols: what is asked, in which order. Pure functions over a backend; no vendor's name stands here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from scifigqual_bench.judges.base import Backend
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.judges.protocols import agent, direct, sidecar
from scifigqual_bench.records import CallRole, Prediction

ProtocolName = Literal["direct", "sidecar", "agent"]


class Judge(Protocol):
    """Figures and a backend in, one prediction per figure out, in order."""

    def __call__(self, items: Sequence[JudgeItem], backend: Backend) -> list[Prediction]:
        """Judge the figures."""
        ...


class JudgeTogether(Protocol):
    """Groups of figures of a paper and a backend in, a call a group, one prediction per figure out, in order."""

    def __call__(self, groups: Sequence[Sequence[JudgeItem]], backend: Backend) -> list[Prediction]:
        """Judge the figures."""
        ...


@dataclass(frozen=True)
class JudgeProtocol:
    """A way of judging.

    Attributes:
        judge: The function.
        roles: The calls that it makes for a figure.
        judge_together: The function for several figures a call. None for the agent, whose reports are of one figure by
            definition: a call that failed would take two more calls of each of its figures with it.
    """

    judge: Judge
    roles: tuple[CallRole, ...]
    judge_together: JudgeTogether | None = None

    @property
    def needs_features(self) -> bool:
        """Whether rows must carry sidecar features."""
        return any(role in ("sidecar", "vision") for role in self.roles)


PROTOCOLS: dict[ProtocolName, JudgeProtocol] = {
    "direct": JudgeProtocol(direct.judge, direct.ROLES, direct.judge_together),
    "sidecar": JudgeProtocol(sidecar.judge, sidecar.ROLES, sidecar.judge_together),
    "agent": JudgeProtocol(agent.judge, agent.ROLES),
}

"""The seam between protocols and backends: a list of requests in, a list of responses out.

A protocol decides what is asked and in which order; a backend answers. A request carries the rendered prompt for
models, and the same evidence as data, so that the ``rules`` backend answers from exactly what a model would see: the
vision call has no caption in it and the language call no pixels, whoever answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from scifigqual_bench.records import (
    CallRole,
    Citation,
    ImageFeatures,
    LanguageReport,
    SidecarFeatures,
    Usage,
    VisionReport,
)

FinishReason = Literal["stop", "length", "refusal", "error"]


@dataclass(frozen=True)
class ImageInput:
    """An encoded image (PNG or JPEG bytes) and its SHA-256."""

    data: bytes = field(repr=False)
    sha256: str
    print_width_pt: float | None = None
    print_height_pt: float | None = None


@dataclass(frozen=True)
class Evidence:
    """What one call may see. A field that the role must not see is None: absent, not hidden.

    Attributes:
        image: The figure.
        caption: The caption; empty means the figure has none.
        citations: Citing paragraphs within the payload limits of SPEC 7.
        metadata: Title, venue, year, section, number and the like, where known.
        figure_map: Number and shortened caption of the paper's figures, where the run asks for it.
        features: Sidecar features; :class:`ImageFeatures` alone for the vision role.
        vision: Report of the vision call (fusion only).
        language: Report of the language call (fusion only).
    """

    image: ImageInput | None = None
    caption: str | None = None
    citations: tuple[Citation, ...] | None = None
    metadata: dict[str, str] | None = None
    figure_map: tuple[tuple[str, str], ...] | None = None
    features: SidecarFeatures | ImageFeatures | None = None
    vision: VisionReport | None = None
    language: LanguageReport | None = None


@dataclass(frozen=True)
class Request:
    """One call.

    Attributes:
        figure_id: The figure it is about.
        role: Which call of the protocol.
        open_dimensions: The mask (SPEC 3).
        system: System prompt.
        user: User prompt; the image goes before it.
        schema: JSON schema of the answer, derived from the answer's record.
        evidence: The same content as data.
    """

    figure_id: str
    role: CallRole
    open_dimensions: tuple[str, ...]
    system: str
    user: str
    schema: dict[str, Any] = field(repr=False)
    evidence: Evidence = field(repr=False)


@dataclass(frozen=True)
class Response:
    """What came back for one request.

    Attributes:
        text: The answer as received (JSON text when all is well).
        finish_reason: ``stop``, ``length`` (cut by the token limit), ``refusal`` or ``error``.
        error: What went wrong, for ``error``.
        usage: Token counts, where the backend has them.
    """

    text: str
    finish_reason: FinishReason = "stop"
    error: str | None = None
    usage: Usage = field(default_factory=Usage)


class Backend(Protocol):
    """Anything that answers requests. ``generate`` returns one response per request, in order, and does not raise for
    a single request's failure: that is a response with ``finish_reason="error"``.
    """

    name: str
    model: str
    revision: str | None

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer each request, in order."""
        ...

    def settings(self) -> dict[str, Any]:
        """Settings for the manifest, no secrets: ``{"sampling": {...}, "image": {...}}``."""
        ...

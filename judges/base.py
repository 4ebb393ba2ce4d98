"""The seam between protocols and backends: a list of requests in, a list of responses out.

A protocol decides what is asked and in which order; a backend answers. A request carries the rendered prompt for
models, and the same evidence as data, so that the ``rules`` backend answers from exactly what a model would see: the
vision call has no caption in it and the language call no pixels, whoever answers.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

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

_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


@dataclass(frozen=True)
class ImageInput:
    """An encoded image (PNG or JPEG bytes) and its SHA-256."""

    data: bytes = field(repr=False)
    sha256: str
    print_width_pt: float | None = None
    print_height_pt: float | None = None

    @cached_property
    def data_uri(self) -> str:
        """The image as a ``data:`` URI; encoded once, however many calls carry it.

        Raises:
            ValueError: The bytes are neither PNG nor JPEG.
        """
        media_type = next((name for start, name in _SIGNATURES.items() if self.data.startswith(start)), None)
        if media_type is None:
            raise ValueError("the image is neither PNG nor JPEG")
        return f"data:{media_type};base64,{base64.b64encode(self.data).decode()}"


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
class FigurePart:
    """One figure of a call about several.

    Attributes:
        key: What the answer calls it: the part of its id behind the paper's.
        figure_id: Its id.
        open_dimensions: Its mask (SPEC 3).
        heading: Text before its image.
        text: Text behind its image.
        evidence: The same content as data.
    """

    key: str
    figure_id: str
    open_dimensions: tuple[str, ...]
    heading: str
    text: str
    evidence: Evidence = field(repr=False)


@dataclass(frozen=True)
class Request:
    """One call, about one figure or about several of one paper.

    A model's backend sends ``system`` and :attr:`content`, whichever of the two it is.

    Attributes:
        figure_id: The figure it is about; of several, the first.
        role: Which call of the protocol.
        open_dimensions: The mask (SPEC 3); of several figures, what is open for any of them.
        system: System prompt.
        user: User prompt; the image goes before it. In a call about several figures, the text behind all of them.
        schema: JSON schema of the answer, derived from the answer's record.
        evidence: The same content as data; empty in a call about several figures, whose parts have it.
        figures: The figures of a call about several; empty where the call is about one.
    """

    figure_id: str
    role: CallRole
    open_dimensions: tuple[str, ...]
    system: str
    user: str
    schema: dict[str, Any] = field(repr=False)
    evidence: Evidence = field(repr=False)
    figures: tuple[FigurePart, ...] = ()

    @property
    def evidences(self) -> tuple[Evidence, ...]:
        """The evidence of each figure."""
        return tuple(figure.evidence for figure in self.figures) or (self.evidence,)

    @property
    def content(self) -> tuple[str | ImageInput, ...]:
        """The user's message, piece by piece in reading order: texts, and images between them."""
        parts: list[str | ImageInput | None] = [self.evidence.image]
        for figure in self.figures:
            parts += [figure.heading, figure.evidence.image, figure.text]
        return tuple(part for part in (*parts, self.user) if part is not None)

    @property
    def images(self) -> tuple[ImageInput, ...]:
        """The images of the message, in reading order."""
        return tuple(part for part in self.content if isinstance(part, ImageInput))

    @property
    def text(self) -> str:
        """System prompt and user's message without the images."""
        return "\n\n".join((self.system, *(part for part in self.content if isinstance(part, str))))


@dataclass(frozen=True)
class Response:
    """What came back for one request.

    Attributes:
        text: The answer as received (JSON text when all is well).
        finish_reason: ``stop``, ``length`` (cut by the token limit), ``refusal`` or ``error``.
        error: What went wrong, for ``error``.
        usage: Token counts, where the backend has them.
        cached: Whether it was answered before: its tokens were spent then, not now.
        served_model: What the server says answered; an alias such as ``latest`` comes back resolved.
    """

    text: str
    finish_reason: FinishReason = "stop"
    error: str | None = None
    usage: Usage = field(default_factory=Usage)
    cached: bool = False
    served_model: str | None = None


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
        """Settings for the manifest, no secrets: ``{"sampling": {...}, "image": {...}, "resources": {...}}``.

        Two runs may differ in resources and still be one: no answer depends on them.
        """
        ...


@runtime_checkable
class BatchBackend(Protocol):
    """What a :class:`Backend` is beside that where a request may be about several figures (``Request.figures``).

    Attributes:
        max_images: Images that one request may carry; None where no limit is known.
    """

    max_images: int | None


@runtime_checkable
class ConcurrentBackend(Protocol):
    """What a :class:`Backend` is beside that where ``generate`` may be called from several threads at once.

    Attributes:
        workers: How many calls of ``generate`` are worth having under way.
    """

    workers: int

    def close(self) -> None:
        """Give up the calls under way, and what they hold; ``generate`` must not be called any more."""
        ...

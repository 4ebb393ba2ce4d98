"""What a run would ask, without asking: calls, an estimate of their tokens, and what they would cost at most.

The estimate follows two rules of thumb that vendors publish: a token is about four characters of English, and an image
takes about a token per 750 pixels once it is scaled down to 1.15 megapixels. Vendors count images very differently, so
the number is good for the order of magnitude.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from scifigqual_bench.judges.backends.openai import CHARS_PER_TOKEN
from scifigqual_bench.judges.base import Backend, BatchBackend, ImageInput, Request, Response
from scifigqual_bench.judges.costs import Price
from scifigqual_bench.judges.parse import answer_record
from scifigqual_bench.records import CallRole, DimensionAnswer, FusionReport, LanguageReport, Record, VisionReport

PIXELS_PER_TOKEN = 750
MOST_PIXELS = 1_150_000
UNREADABLE_PIXELS = MOST_PIXELS
"""Assumed of an image that can't be read here."""

_POINTS = ["A point of the length that such points have, in a dozen words or so."] * 6
_ANSWER = DimensionAnswer(score=8, reason="A reason of one or two sentences. " * 4, evidence=["a few words"] * 3)


@dataclass
class DryRunBackend:
    """Counts what it is asked and answers with stand-ins, so that calls which need reports can be rendered.

    Nothing that it returns may be written: its scores mean nothing.
    """

    backend: Backend
    calls: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    answers: int = 0

    def __post_init__(self):
        self.name, self.model, self.revision = self.backend.name, self.backend.model, self.backend.revision
        if isinstance(self.backend, BatchBackend):
            self.max_images = self.backend.max_images

    def settings(self) -> dict[str, Any]:
        """The backend's."""
        return self.backend.settings()

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """A stand-in for each answer."""
        for request in requests:
            self.calls[request.role] += 1
            self.prompt_tokens += prompt_tokens(request)
            self.answers += len(request.figures) or 1
        return [Response(json.dumps(_stand_in(request))) for request in requests]

    def completion_tokens(self) -> int | None:
        """What the answers can take at most; None where the backend sets no limit."""
        sampling = self.settings().get("sampling", {})
        limit = sampling.get("max_tokens") or sampling.get("max_completion_tokens")
        return None if limit is None else limit * self.answers

    def summary(self, price: Price | None) -> list[str]:
        """The counts, one a line."""
        lines = [f"calls: {self.calls.total()} ({', '.join(f'{role} {n}' for role, n in self.calls.items())})"]
        lines.append(f"prompt tokens: about {self.prompt_tokens}")
        most = self.completion_tokens()
        lines.append(f"answer tokens: {'unknown' if most is None else f'at most {most}'}")
        if price is not None:
            asked = price.cost(self.prompt_tokens, 0)
            rest = "" if most is None else f", at most {price.cost(self.prompt_tokens, most):.2f} with the answers"
            lines.append(f"cost: about {asked:.2f} for the prompts{rest}")
        return lines


def prompt_tokens(request: Request) -> int:
    """Estimate of a request's tokens, the schema of structured output included."""
    chars = len(request.text) + len(json.dumps(request.schema))
    return chars // CHARS_PER_TOKEN + sum(map(image_tokens, request.images))


def image_tokens(image: ImageInput) -> int:
    """Estimate of an image's tokens."""
    try:
        with Image.open(io.BytesIO(image.data)) as opened:
            pixels = opened.width * opened.height
    except OSError:
        pixels = UNREADABLE_PIXELS
    return min(pixels, MOST_PIXELS) // PIXELS_PER_TOKEN


def _stand_in(request: Request) -> dict[str, Any]:
    if request.figures:
        return {part.key: _answer(request.role, part.open_dimensions).model_dump() for part in request.figures}
    return _answer(request.role, request.open_dimensions).model_dump()


def _answer(role: CallRole, open_dimensions: tuple[str, ...]) -> Record:
    match role:
        case "vision":
            return VisionReport(
                visual_clarity=_ANSWER,
                structure_layout=_ANSWER,
                visible_facts=_POINTS,
                caption_should_mention=_POINTS,
                citation_should_mention=_POINTS,
                risk_band="7-8",
            )
        case "language":
            return LanguageReport(claims=_POINTS, omissions=_POINTS, severity="none")
        case "fusion":
            keys = ("caption_consistency", "context_consistency")
            return FusionReport(
                **{key: _ANSWER if key in open_dimensions else None for key in keys}, misleading_reason="-"
            )
    return answer_record(role, open_dimensions)(**dict.fromkeys(open_dimensions, _ANSWER))

"""From a figure's row to what each call may see: the evidence as data, within the limits of SPEC 7.

Vision sees the image and what was measured in it, language the caption, the citing text and the metadata, fusion the
two reports. A field that a role must not see is never filled, so nothing later can leak it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

from scifigqual_bench.judges import prompts
from scifigqual_bench.judges.base import Evidence, FigurePart, ImageInput, Request
from scifigqual_bench.judges.injection import reads_like_instruction
from scifigqual_bench.judges.parse import answer_record, answer_schema, batch_record
from scifigqual_bench.records import CallRole, Citation, Control, Figure, LanguageReport, VisionReport
from scifigqual_bench.rubric import DIMENSION_KEYS

MAX_SNIPPETS = 2
"""Citing paragraphs of the target figure in one prompt (SPEC 7)."""
MAX_SNIPPET_CHARS = 500
"""Characters of one citing paragraph in a prompt (SPEC 7)."""
MAX_MAP_CAPTION_CHARS = 220
"""Characters of a caption in the map of the paper's figures; the judged figure's own caption is never cut (SPEC 7)."""

SUSPECTED_INJECTION = "suspected_injection"
"""Mark of a prediction whose material reads like an instruction to the judge."""

_ELLIPSIS = "…"


@dataclass(frozen=True)
class JudgeItem:
    """A figure to be judged: its row and its encoded image.

    Attributes:
        figure: The row of the dataset.
        image: PNG or JPEG bytes; None where the dataset has none, and then only a call that shows none can be made.
        figure_map: Number and shortened caption of the paper's figures, see :func:`figure_map`; empty leaves it out.
        problem: Why the figure can't be judged, where that is known beforehand.
        control: The blind control that it is judged under.
    """

    figure: Figure
    image: bytes | None = field(repr=False)
    figure_map: tuple[tuple[str, str], ...] = ()
    problem: str | None = None
    control: Control | None = None

    @cached_property
    def image_input(self) -> ImageInput:
        """The image as the requests carry it; hashed once a figure, not once a call."""
        width, height = self.figure.print_size_pt or (None, None)
        return ImageInput(self.image, hashlib.sha256(self.image).hexdigest(), width, height)


def snippet(text: str, mentions: Sequence[str] = (), limit: int = MAX_SNIPPET_CHARS) -> str:
    """At most ``limit`` characters of a paragraph, from the part that mentions the figure.

    Cut at spaces; an ellipsis, which counts towards the limit, shows each cut.

    Args:
        text: The paragraph.
        mentions: The references as printed; the first that the text holds decides the place.
        limit: Characters at most, ellipses included.

    >>> snippet("alpha beta gamma delta", limit=12)
    'alpha beta…'
    >>> snippet("one two three four five six Figure 9 seven", mentions=["Figure 9"], limit=20)
    '…five six Figure 9…'
    """
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    place = next((at for at in map(text.find, mentions) if at >= 0), 0)
    start = max(0, min(place - limit // 2, len(text) - limit + 1))
    if start:
        start = min(text.find(" ", start) + 1 or start, place)
    lead = _ELLIPSIS if start else ""
    end = start + limit - len(lead)
    if end >= len(text):
        return lead + text[start:]
    end -= len(_ELLIPSIS)
    last_space = text.rfind(" ", start, end + 1)
    return lead + text[start : last_space if last_space > start else end] + _ELLIPSIS


def chosen_citations(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """The citing paragraphs that a prompt carries: the heaviest :data:`MAX_SNIPPETS`, each cut to a snippet.

    Paragraphs of unknown weight come after all weighted ones; ties keep the order of the paper.
    """
    ranked = sorted(citations, key=lambda citation: -1.0 if citation.weight is None else citation.weight, reverse=True)
    return tuple(
        citation.model_copy(update={"text": snippet(citation.text, citation.mentions)})
        for citation in ranked[:MAX_SNIPPETS]
    )


def metadata_of(figure: Figure) -> dict[str, str]:
    """What is known about the figure and its paper, as text; unknown fields are left out."""
    fields = {
        "paper title": figure.title,
        "venue": figure.venue,
        "year": figure.year,
        "section": figure.section,
        "topic": figure.topic,
        "figure number": figure.number,
        "figure type": figure.figure_type,
        "page": figure.page,
    }
    return {name: str(value) for name, value in fields.items() if value is not None}


def figure_map(figures: Iterable[Figure]) -> tuple[tuple[str, str], ...]:
    """The map of a paper: number and caption, at most :data:`MAX_MAP_CAPTION_CHARS` characters, of each figure."""
    return tuple(
        (figure.number or str(figure.fig_index), snippet(figure.caption, limit=MAX_MAP_CAPTION_CHARS))
        for figure in figures
    )


def payload_settings(paper_batch: int, with_map: bool) -> dict[str, Any]:
    """What of the evidence the calls of a run carry, for its manifest."""
    return {
        "paper_batch": paper_batch,
        "figure_map": with_map,
        "max_snippets": MAX_SNIPPETS,
        "max_snippet_chars": MAX_SNIPPET_CHARS,
        "max_map_caption_chars": MAX_MAP_CAPTION_CHARS,
        "max_ocr_chars": prompts.MAX_OCR_CHARS,
    }


def paper_groups(
    items: Iterable[JudgeItem], paper_batch: int = 1, *, with_map: bool = False
) -> Iterator[list[JudgeItem]]:
    """The figures that go into one call: neighbours of one paper, shared out evenly over as few calls as can be.

    Which figures are together depends on nothing but the dataset's order. Where either option is in use, the figures
    of one paper are in memory together.

    Args:
        items: Figures, those of one paper together.
        paper_batch: Figures of one call at most.
        with_map: Give each figure the map of its paper's figures.
    """
    if paper_batch == 1 and not with_map:
        yield from ([item] for item in items)
        return
    for _, neighbours in groupby(items, key=lambda item: item.figure.paper_id):
        paper = list(neighbours)
        if with_map:
            of_paper = figure_map(item.figure for item in paper)
            paper = [replace(item, figure_map=of_paper) for item in paper]
        calls = -(-len(paper) // paper_batch)
        bounds = [len(paper) * call // calls for call in range(calls + 1)]
        yield from (paper[start:end] for start, end in pairwise(bounds))


def evidence_for(
    role: CallRole, item: JudgeItem, *, vision: VisionReport | None = None, language: LanguageReport | None = None
) -> Evidence:
    """What one call of a protocol may see.

    Args:
        role: The call.
        item: The figure.
        vision: Report of the vision call, for fusion.
        language: Report of the language call, for fusion.

    Raises:
        ValueError: The role needs sidecar features or reports that are missing.
    """
    figure = item.figure
    if role in ("sidecar", "vision") and figure.features is None:
        raise ValueError(f"{figure.figure_id}: the {role} call needs sidecar features, and the row has none")
    match role:
        case "vision":
            return Evidence(image=item.image_input, features=figure.features.image)
        case "fusion":
            if vision is None or language is None:
                raise ValueError(f"{figure.figure_id}: the fusion call needs the vision and the language report")
            return Evidence(vision=vision, language=language)
    if item.control == "no-text":
        features = figure.features.model_copy(update={"caption": None}) if role == "sidecar" else None
        return Evidence(image=item.image_input, features=features)
    return Evidence(
        image=None if role == "language" or item.control == "no-image" else item.image_input,
        caption=figure.caption,
        citations=chosen_citations(figure.citations),
        metadata=metadata_of(figure),
        figure_map=item.figure_map or None,
        features=figure.features if role == "sidecar" else None,
    )


def build_request(
    role: CallRole, item: JudgeItem, *, vision: VisionReport | None = None, language: LanguageReport | None = None
) -> Request:
    """One call about one figure: evidence, rendered prompt and the schema of the answer."""
    open_dimensions = _mask(item)
    evidence = evidence_for(role, item, vision=vision, language=language)
    schema = answer_schema(answer_record(role, open_dimensions))
    prompt = prompts.render(role, evidence, open_dimensions, schema)
    return Request(item.figure.figure_id, role, open_dimensions, prompt.system, prompt.user, schema, evidence)


def build_batch(role: CallRole, items: Sequence[JudgeItem]) -> Request:
    """One call about several figures of a paper, each with its own evidence.

    Args:
        role: ``direct`` or ``sidecar``; the agent's calls are about one figure each.
        items: Two figures or more, of one paper.
    """
    figures = []
    for item in items:
        key, mask, evidence = item.figure.figure_id.rpartition("__")[2], _mask(item), evidence_for(role, item)
        text = prompts.render_part(key, evidence, mask)
        figures.append(FigurePart(key, item.figure.figure_id, mask, text.heading, text.text, evidence))
    schema = answer_schema(batch_record(role, tuple((part.key, part.open_dimensions) for part in figures)))
    keys_by_mask: dict[tuple[str, ...], list[str]] = {}
    for part in figures:
        keys_by_mask.setdefault(part.open_dimensions, []).append(part.key)
    forms = [(keys, answer_schema(answer_record(role, mask))) for mask, keys in keys_by_mask.items()]
    prompt = prompts.render_batch(role, figures[0].evidence.figure_map, forms)
    mask = tuple(key for key in DIMENSION_KEYS if any(key in part.open_dimensions for part in figures))
    return Request(
        figures[0].figure_id, role, mask, prompt.system, prompt.user, schema, Evidence(), figures=tuple(figures)
    )


def _mask(item: JudgeItem) -> tuple[str, ...]:
    """The open dimensions in the rubric's order."""
    return tuple(key for key in DIMENSION_KEYS if key in item.figure.open_dimensions)


def material_marks(evidences: Iterable[Evidence]) -> list[str]:
    """Marks for the prediction: ``suspected_injection`` where material that was sent reads like an instruction.

    A mark changes no score: escaping keeps such text inside its delimiters, and people can look at marked rows.
    """
    return [SUSPECTED_INJECTION] if any(map(reads_like_instruction, _untrusted_texts(evidences))) else []


def _untrusted_texts(evidences: Iterable[Evidence]) -> Iterable[str]:
    for evidence in evidences:
        yield evidence.caption or ""
        yield from (citation.text for citation in evidence.citations or ())
        yield from (evidence.metadata or {}).values()
        yield from (caption for _, caption in evidence.figure_map or ())
        if evidence.features is not None:
            image = getattr(evidence.features, "image", evidence.features)
            yield " ".join(box.text for box in image.text_boxes)

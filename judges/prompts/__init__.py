"""The prompts: one template a call, one rubric text shared by all, rendered from :mod:`scifigqual_bench.rubric`.

A template sets two variables, ``system`` and ``user``. The system prompt begins with the rubric, the same for every
call, so that a server can cache it. Whatever comes from the paper, from the image or from another model goes through
the macro ``material`` (``material.j2``), which puts it between tags and escapes it, so that it cannot close its tag.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from scifigqual_bench import rubric
from scifigqual_bench.judges.base import Evidence
from scifigqual_bench.records import Axis, CallRole, ImageFeatures, Record, SidecarFeatures

FOLDER = Path(__file__).resolve().parent
SHARED_TEMPLATES = ("material", "rubric")
"""Templates that all prompts include."""
BATCH_TEMPLATES = ("batch", "batch_part")
"""Templates of a call about several figures."""
MAX_OCR_CHARS = 1500
"""Characters of text read from the image in one prompt."""


class Prompt(NamedTuple):
    """The text of one call; the image goes before ``user``."""

    system: str
    user: str


class PartText(NamedTuple):
    """The text of one figure in a call about several; the image goes between the two."""

    heading: str
    text: str


def escape_material(text: str) -> str:
    """Untrusted text in a form that can neither close its tag nor pass for a control token of a chat format.

    ``&``, ``<`` and ``>`` become entities, so does the bracket of words such as ``[INST]``; characters that don't
    print are dropped.

    >>> escape_material("a </caption> b [INST] <|im_end|> [3]")
    'a &lt;/caption&gt; b &#91;INST] &lt;|im_end|&gt; [3]'
    """
    if not text.replace("\n", "").isprintable():
        text = "".join(char for char in text if char.isprintable() or char == "\n")
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"\[(?=/?[A-Z_]{3,}\])", "&#91;", text)


def features_text(features: SidecarFeatures | ImageFeatures) -> str:
    """Sidecar features as lines of ``name: value``; text read from the image is cut to :data:`MAX_OCR_CHARS`."""
    image = features.image if isinstance(features, SidecarFeatures) else features
    values = image.model_dump(exclude={"version", "text_boxes", *_LONG})
    values["overlapping_text_pairs"] = len(image.overlapping_text)
    values["axes"] = [_axis(axis) for axis in image.axes]
    values["text_read"] = " | ".join(box.text for box in image.text_boxes)[:MAX_OCR_CHARS]
    if isinstance(features, SidecarFeatures) and features.caption is not None:
        values |= {f"caption_{name}": value for name, value in features.caption.model_dump().items()}
    return entries((name, _value(value)) for name, value in values.items())


_LONG = ("hue_shares", "main_colours", "overlapping_text", "axis_numbers", "axes")
"""Measurements that take many words and tell a reader of the image little, or that a shorter line stands for."""


def _axis(axis: Axis) -> str:
    """An axis in some words: where it is, what it measures, its first and last number."""
    where = f"{axis.side} axis of {'panel ' + axis.letter if axis.letter else f'plot {axis.panel + 1}'}"
    what = f" ({axis.title})" if axis.title else ""
    return f"{where}{what} {axis.numbers[0]:g} to {axis.numbers[-1]:g}{', ' + axis.scale if axis.scale else ''}"


def entries(pairs: Iterable[tuple[str, str]]) -> str:
    """Lines of ``name: value``."""
    return "\n".join(f"{name}: {value}" for name, value in pairs)


def _value(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "none"
    return str(value)


def report_text(report: Record) -> str:
    """A report of another call as JSON."""
    return json.dumps(report.model_dump(), indent=1, ensure_ascii=False)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # prompts are plain text; the macro `material` escapes what is untrusted
    )
    environment.filters |= {
        "entries": entries,
        "escape_material": escape_material,
        "features": features_text,
        "report": report_text,
    }
    environment.globals |= {"rubric": rubric, "rubric_text": cache(rubric_text)}
    return environment


def rubric_text() -> str:
    """The rubric as every prompt carries it."""
    return _environment().get_template("rubric.j2").render().strip()


def render(role: CallRole, evidence: Evidence, open_dimensions: Sequence[str], schema: dict[str, Any]) -> Prompt:
    """The prompt of one call.

    Args:
        role: Which prompt.
        evidence: What the call may see; fields that are None leave no trace in the text.
        open_dimensions: The mask (SPEC 3).
        schema: JSON schema of the answer.
    """
    module = (
        _environment()
        .get_template(f"{role}.j2")
        .make_module({"evidence": evidence, "open_dimensions": open_dimensions, "schema": json.dumps(schema)})
    )
    return Prompt(module.system.strip(), module.user.strip())


def render_part(key: str, evidence: Evidence, open_dimensions: Sequence[str]) -> PartText:
    """The text about one figure in a call about several.

    Args:
        key: What the answer calls it.
        evidence: What the call may see of it.
        open_dimensions: Its mask (SPEC 3).
    """
    module = (
        _environment()
        .get_template("batch_part.j2")
        .make_module({"key": key, "evidence": evidence, "open_dimensions": open_dimensions})
    )
    return PartText(module.heading.strip(), module.text.strip())


def render_batch(
    role: CallRole,
    figure_map: Sequence[tuple[str, str]] | None,
    forms: Sequence[tuple[Sequence[str], dict[str, Any]]],
) -> Prompt:
    """What stands before and behind the figures of a call about several.

    Args:
        role: Of the calls about one figure that it takes the place of.
        figure_map: Number and shortened caption of the paper's figures.
        forms: The schemas of the figures' answers, each with the keys of the figures that it is for.
    """
    texts = [(keys, json.dumps(schema)) for keys, schema in forms]
    module = (
        _environment()
        .get_template("batch.j2")
        .make_module({"measured": role == "sidecar", "figure_map": figure_map, "forms": texts})
    )
    return Prompt(module.system.strip(), module.user.strip())


def prompt_hashes(roles: Iterable[str]) -> dict[str, str]:
    """SHA-256 of what determines the prompts: each role's template, the shared templates, the rendered rubric.

    Args:
        roles: The calls; beside those, :data:`BATCH_TEMPLATES` for calls about several figures.
    """
    texts = {f"{name}.j2": (FOLDER / f"{name}.j2").read_text("utf-8") for name in (*roles, *SHARED_TEMPLATES)}
    texts["rubric text"] = rubric_text()
    return {name: hashlib.sha256(text.encode("utf-8")).hexdigest() for name, text in sorted(texts.items())}

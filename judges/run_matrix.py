"""The configurations of ``runs.yaml`` by their ids, as protocol and backend options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.protocols import ProtocolName
from scifigqual_bench.judges.schemas import Structured
from scifigqual_bench.records import Record

RUNS_FILE = Path(__file__).with_name("runs.yaml")


class Server(Record):
    """Where models are asked."""

    base_url: str
    api_key_env: str | None
    structured: Structured


class Model(Record):
    """A model and the options that it needs; those that are not set are the backend's defaults.

    Attributes:
        server: Name of its server.
        model: Its id there.
        verified: Whether server and id were found in public documentation or code.
    """

    server: str
    model: str
    verified: bool
    structured: Structured | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None


class Entry(Record):
    """A run: protocol, and names of models."""

    protocol: ProtocolName
    model: str
    text_model: str | None = None


class Matrix(Record):
    """The whole file."""

    servers: dict[str, Server]
    models: dict[str, Model]
    runs: dict[str, Entry]


@dataclass(frozen=True)
class Run:
    """One configuration.

    Attributes:
        protocol: How figures are judged.
        options: Options of the ``openai`` backend.
        verified: Whether addresses and ids of all its models were found in public documentation or code.
    """

    protocol: ProtocolName
    options: dict[str, Any]
    verified: bool


@cache
def matrix() -> Matrix:
    """The file as it stands."""
    return Matrix.model_validate(yaml.safe_load(RUNS_FILE.read_bytes()))


def run_by_id(run_id: str) -> Run:
    """A configuration by its id in SPEC 9.

    Raises:
        InputError: There is no such run.

    >>> run_by_id("F5").options["model"], run_by_id("F5").options["text_model"]
    ('qwen-vl-max', 'qwen-plus')
    """
    known = matrix()
    if run_id not in known.runs:
        raise InputError(f"run {run_id!r} is unknown; known: {', '.join(known.runs)}")
    entry = known.runs[run_id]
    model = known.models[entry.model]
    own = model.model_dump(exclude={"server", "verified"}, exclude_unset=True)
    options = {**known.servers[model.server].model_dump(), **own}
    verified = model.verified
    if entry.text_model is not None:
        text_model = known.models[entry.text_model]
        options["text_model"] = text_model.model
        verified = verified and text_model.verified
    return Run(entry.protocol, options, verified)

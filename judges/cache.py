"""Answers kept on disk, so that a request that was answered once is not paid for twice."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scifigqual_bench.judges.base import Backend, BatchBackend, ConcurrentBackend, Request, Response
from scifigqual_bench.judges.parse import parse_answer, record_of
from scifigqual_bench.records import Record, Usage


class CachedAnswer(Record):
    """One file of the cache."""

    text: str
    usage: Usage
    served_model: str | None = None


class CachedBackend:
    """A backend before which stands a folder of answers.

    The key of an answer is made of everything that it depends on: backend, model, revision and settings, prompt and
    schema, and the bytes of the image. Only valid answers are kept, so that whatever failed is asked again.

    Args:
        backend: Who answers what is not in the folder.
        folder: Made where it is missing; may be shared by runs, also at the same time.
    """

    def __init__(self, backend: Backend, folder: Path):
        self._backend = backend
        self._folder = folder
        self.name, self.model, self.revision = backend.name, backend.model, backend.revision
        if isinstance(backend, BatchBackend):
            self.max_images = backend.max_images
        settings = {name: each for name, each in backend.settings().items() if name != "resources"}
        self._common = [backend.name, backend.model, backend.revision, settings]

    def settings(self) -> dict[str, Any]:
        """The backend's: a cache changes no answer."""
        return self._backend.settings()

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer each request, in order: from the folder where it holds the answer, else by the backend."""
        paths = [self._path(request) for request in requests]
        responses = [_read(path) for path in paths]
        missing = [index for index, response in enumerate(responses) if response is None]
        if missing:
            new = self._backend.generate([requests[index] for index in missing])
            for index, response in zip(missing, new, strict=True):
                responses[index] = response
                _keep(paths[index], requests[index], response)
        return responses

    def _path(self, request: Request) -> Path:
        content = [part if isinstance(part, str) else {"image": part.sha256} for part in request.content]
        asked = [request.role, request.system, content, request.schema]
        key = hashlib.sha256(json.dumps([self._common, asked], sort_keys=True).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.json"


class ConcurrentCachedBackend(CachedBackend):
    """A :class:`CachedBackend` before a :class:`ConcurrentBackend`."""

    def __init__(self, backend: ConcurrentBackend, folder: Path):
        super().__init__(backend, folder)
        self.workers = backend.workers
        self.close = backend.close


def with_cache(backend: Backend, folder: Path) -> Backend:
    """The backend with a folder of answers before it."""
    concurrent = isinstance(backend, ConcurrentBackend)
    return ConcurrentCachedBackend(backend, folder) if concurrent else CachedBackend(backend, folder)


def _read(path: Path) -> Response | None:
    try:
        answer = CachedAnswer.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):  # a damaged file is asked again and written anew
        return None
    return Response(answer.text, usage=answer.usage, cached=True, served_model=answer.served_model)


def _keep(path: Path, request: Request, response: Response) -> None:
    if parse_answer(response, record_of(request)).status != "ok":
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    answer = CachedAnswer(text=response.text, usage=response.usage, served_model=response.served_model)
    partial.write_text(answer.model_dump_json(), encoding="utf-8")
    os.replace(partial, path)

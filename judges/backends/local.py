"""What the backends that load a model themselves share: options, which weights are meant, messages, and blame."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

from PIL import Image
from pydantic import Field

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.base import ImageInput, Request, Response
from scifigqual_bench.records import Record

Prepared = TypeVar("Prepared")

MAX_MESSAGE = 400
"""Characters of a library's error message that are kept."""
MODES_KEPT = ("RGB", "L")
"""Modes of images that every image processor takes."""


class LocalOptions(Record):
    """Options of every backend that loads a model.

    Attributes:
        model: Id on the Hugging Face hub, or a folder.
        revision: Branch, tag or commit of a hub model; of a folder, what the manifest shall say in place of its hash.
        trust_remote_code: Run code that comes with the model.
        dtype: Type of weights and activations; ``auto`` is the model's own.
        seed: Of sampling.
        temperature: 0 takes the likeliest token.
        max_tokens: Limit of the answer on one figure; a call about several may take as many times that.
        structured: How the answer's form is kept: by its JSON schema, or not at all.
        max_images: Images that one request may carry.
        max_pixels: Larger images are scaled down to this many pixels before the model's own processor sees them.
        mm_processor_kwargs: Arguments of the model's own processor, such as ``{max_pixels: 1003520}`` of Qwen-VL or
            ``{max_patches: 6}`` of InternVL.
        chat_template_kwargs: Variables of the model's chat template, such as ``{enable_thinking: false}``.
    """

    RESOURCES: ClassVar[frozenset[str]] = frozenset()
    """Options that say what a call takes of the machine, and change no answer: a run may go on with others."""

    model: str = Field(min_length=1)
    revision: str | None = None
    trust_remote_code: bool = False
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    seed: int | None = None
    temperature: float = Field(default=0.0, ge=0.0)
    max_tokens: int = Field(default=2048, ge=1)
    structured: Literal["json_schema", "none"] = "json_schema"
    max_images: int = Field(default=1, ge=1)
    max_pixels: int | None = Field(default=None, ge=1)
    mm_processor_kwargs: dict[str, Any] = {}
    chat_template_kwargs: dict[str, Any] = {}

    def settings(self) -> dict[str, Any]:
        """All options beside the model, sorted for the manifest: see :meth:`~..base.Backend.settings`."""
        image = {"max_pixels", "mm_processor_kwargs"}
        return {
            "sampling": self.model_dump(exclude={"model", "revision", "max_images", *image, *self.RESOURCES}),
            "image": self.model_dump(include=image),
            "resources": self.model_dump(include=set(self.RESOURCES)),
        }

    def answer_limit(self, request: Request) -> int:
        """Tokens that the answer to a request may take."""
        return self.max_tokens * (len(request.figures) or 1)


@dataclass(frozen=True)
class Weights:
    """Which weights an option means.

    Attributes:
        name: For the manifest: the hub id, or the folder's name without its path.
        revision: The commit on the hub, or a hash of the folder's files.
        place: What a library is given to load.
        commit: The revision that a library is given; None for a folder.
    """

    name: str
    revision: str
    place: str
    commit: str | None


def find_weights(model: str, revision: str | None) -> Weights:
    """The weights of a folder or of a hub model, pinned: a branch is turned into the commit that it stands at.

    Raises:
        InputError: The folder holds no model, or the hub has none of this name and revision.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise InputError(f"{model}: a folder without config.json is no model")
        return Weights(folder.resolve().name, revision or f"sha256:{folder_sha256(folder)}", str(folder), None)
    from huggingface_hub import hf_hub_download

    try:
        commit = Path(hf_hub_download(model, "config.json", revision=revision)).parent.name
    except (OSError, ValueError) as error:  # huggingface_hub raises both kinds, each with a reason
        wanted = model if revision is None else f"{model}, revision {revision}"
        reason = " ".join(str(error).split())
        raise InputError(f"model {wanted}: neither a folder nor found on the hub or in its cache: {reason}") from None
    return Weights(model, commit, model, commit)


Options = TypeVar("Options", bound=LocalOptions)


class LocalBackend(Generic[Options]):
    """What the backends share that load a model into this process.

    Args:
        options: Of the backend.

    Raises:
        InputError: The model is neither a folder nor found on the hub.
    """

    def __init__(self, options: Options):
        self._options = options
        self._weights = find_weights(options.model, options.revision)
        self.model = self._weights.name
        self.revision: str | None = self._weights.revision
        self.max_images: int | None = options.max_images

    def settings(self) -> dict[str, Any]:
        """All options."""
        return self._options.settings()


def folder_sha256(folder: Path) -> str:
    """SHA-256 over names and contents of a model folder's files; hidden files and folders don't count."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            with path.open("rb") as file:
                whole.update(f"{name.as_posix()} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()


def decoded(image: ImageInput, max_pixels: int | None) -> Image.Image:
    """An image as the libraries take it: RGB or grey, transparent parts white, at most ``max_pixels`` pixels.

    Raises:
        ValueError: The bytes are no image that can be decoded.

    >>> buffer = io.BytesIO()
    >>> Image.new("P", (400, 300)).save(buffer, "PNG")
    >>> image = decoded(ImageInput(buffer.getvalue(), sha256=""), max_pixels=30_000)
    >>> image.mode, image.size
    ('RGB', (200, 150))
    """
    try:
        opened = Image.open(io.BytesIO(image.data))
        opened.load()
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"the image can't be decoded ({error})") from None
    if opened.has_transparency_data:
        drawn = opened.convert("RGBA")
        opened = Image.alpha_composite(Image.new("RGBA", drawn.size, "white"), drawn)
    if opened.mode not in MODES_KEPT:
        opened = opened.convert("RGB")
    pixels = opened.width * opened.height
    if max_pixels is None or pixels <= max_pixels:
        return opened
    scale = (max_pixels / pixels) ** 0.5
    size = (max(int(opened.width * scale), 1), max(int(opened.height * scale), 1))
    return opened.resize(size, Image.Resampling.LANCZOS)


def messages(
    request: Request, max_pixels: int | None, image_part: Callable[[Image.Image], dict[str, Any]]
) -> list[dict[str, Any]]:
    """A request as chat messages: the system prompt, which requests share, then images and texts in their order.

    Args:
        request: What is asked.
        max_pixels: See :class:`LocalOptions`.
        image_part: An image in the form that the library wants in a message.

    Raises:
        ValueError: An image can't be decoded.
    """
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else image_part(decoded(part, max_pixels))
        for part in request.content
    ]
    return [
        {"role": "system", "content": [{"type": "text", "text": request.system}]},
        {"role": "user", "content": content},
    ]


def answer_apart(
    requests: Sequence[Request],
    prepare: Callable[[Request], Prepared],
    answer: Callable[[Sequence[Prepared]], list[Response]],
    failures: tuple[type[Exception], ...] = (ValueError,),
) -> list[Response]:
    """Answers of a library that gives up a whole batch for one request in it, without the others suffering.

    A batch that fails is halved until the requests that fail are found; those get a response that says why.

    Args:
        requests: What is asked.
        prepare: Makes one request ready, in a thread of its own; a ValueError is that request's failure.
        answer: Answers a batch of them, in order, or raises.
        failures: The errors that one request can cause in its batch. Any other ends the run.

    >>> def answer(numbers):
    ...     return [Response(str(1 // number)) for number in numbers]
    >>> [each.error for each in answer_apart([1, 0, 1], lambda number: number, answer, (ZeroDivisionError,))]
    [None, 'integer division or modulo by zero', None]
    """

    def attempt(request: Request) -> Prepared | Response:
        try:
            return prepare(request)
        except ValueError as error:
            return _failed(error)

    with ThreadPoolExecutor() as pool:  # images decode side by side; a GPU waits for them
        prepared = list(pool.map(attempt, requests))
    ready = {index: each for index, each in enumerate(prepared) if not isinstance(each, Response)}
    answers = dict(zip(ready, _halving(list(ready.values()), answer, failures), strict=True))
    return [answers.get(index, each) for index, each in enumerate(prepared)]


def _halving(
    batch: Sequence[Prepared],
    answer: Callable[[Sequence[Prepared]], list[Response]],
    failures: tuple[type[Exception], ...],
) -> list[Response]:
    if not batch:
        return []
    try:
        return answer(batch)
    except InputError:
        raise  # a model that can't be loaded is no request's fault
    except failures as error:
        if len(batch) == 1:
            return [_failed(error)]
    middle = len(batch) // 2
    return [each for half in (batch[:middle], batch[middle:]) for each in _halving(half, answer, failures)]


def _failed(error: Exception) -> Response:
    return Response("", "error", " ".join(str(error).split())[:MAX_MESSAGE] or type(error).__name__)

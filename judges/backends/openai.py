"""The ``openai`` backend: any server that speaks the chat completions protocol, near or far.

Calls run at the same time, up to ``concurrency`` of them, on one event loop in a thread of its own; ``generate`` may be
called from many threads. Only errors that may pass by themselves are tried again. Errors that no other request would
escape (a wrong key, no such model, no money left) end the run. The key is read from an environment variable and given
to the client, and is cut out of everything that comes back from the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, Field, NonNegativeInt, ValidationError, WrapValidator

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends.limits import Pace, backoff, is_transient, retry_after
from scifigqual_bench.judges.base import FinishReason, Request, Response
from scifigqual_bench.judges.schemas import Structured, format_for
from scifigqual_bench.records import Record, Usage

if TYPE_CHECKING:
    from openai import APIStatusError

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "none"
"""Sent to servers that want no key; the client insists on one."""
LONGEST_WAIT = 600.0
"""Seconds: a server that asks for a longer wait has failed the call."""
CHARS_PER_TOKEN = 4
"""Of English text, by the vendors' rule of thumb."""
CALLS_PER_CLIENT = 8
"""Calls at the same time for which there is a client: it looks through all of its connections for every call."""
MAX_MESSAGE = 400
"""Characters of a server's error message that are kept."""

_ABOUT_FORM = re.compile(r"response.?format|json.?schema|json.?object|structured.?output|schema", re.IGNORECASE)
"""In the message of a server that refuses the form in which answers are asked for."""

_FINISH_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "refusal"}


class OpenAIOptions(Record):
    """Options of the backend.

    Attributes:
        model: Model id, as the server knows it.
        base_url: Where the server is, up to and including the version (``https://api.openai.com/v1``).
        api_key_env: Environment variable that holds the key; None for a server that wants none.
        text_model: Model of the calls that carry no image, where it is another one.
        revision: Stated in the manifest, for servers whose model id does not pin the weights.
        structured: How the answer's form is asked for; see :data:`~scifigqual_bench.judges.schemas.Structured`.
        temperature: None leaves it to the server; some models accept nothing else.
        max_tokens: Limit of the answer on one figure; a call about several may take as many times that.
        max_tokens_field: Name of that limit in the request.
        seed: Sent where given.
        extra_body: Fields added to every request, for what a server calls by a name of its own.
        max_images: Images that the server takes in one request; None where no limit is known.
        concurrency: Calls under way at the same time.
        requests_per_minute: Limit of the rate of calls; attempts count.
        tokens_per_minute: Limit of the rate of tokens, prompt and answer.
        timeout: Seconds for one attempt, from the first byte sent to the last one received.
        retries: Attempts after the first.
        backoff_base: Seconds before the first retry; doubles with each.
    """

    model: str = Field(min_length=1)
    base_url: str = OPENAI_URL
    api_key_env: str | None = Field(default="OPENAI_API_KEY", min_length=1)
    text_model: str | None = Field(default=None, min_length=1)
    revision: str | None = None
    structured: Structured = "json_schema"
    temperature: float | None = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=2048, ge=1)
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed: int | None = None
    extra_body: dict[str, Any] = {}
    max_images: int | None = Field(default=None, ge=1)
    concurrency: int = Field(default=8, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    timeout: float = Field(default=180.0, gt=0)
    retries: int = Field(default=6, ge=0)
    backoff_base: float = Field(default=1.0, ge=0)


class OpenAIBackend:
    """Answers requests through the chat completions protocol.

    Args:
        options: Of the backend.

    Raises:
        InputError: The key's variable is not set, or the URL is none or carries a password.
        ImportError: The extra ``api`` is not installed.
    """

    name = "openai"

    def __init__(self, options: OpenAIOptions):
        model, text_model = options.model, options.text_model or options.model
        self.model = model if text_model == model else f"{model} + {text_model}"
        self.revision = options.revision
        self.workers = options.concurrency
        self.max_images = options.max_images
        self._options = options
        self._models = {True: model, False: text_model}  # by whether the call carries an image
        self._base_url = _checked_url(options.base_url)
        named = {
            options.max_tokens_field: options.max_tokens,
            "temperature": options.temperature,
            "seed": options.seed,
        }
        self._sampling = {name: value for name, value in named.items() if value is not None}
        self._jitter = random.Random()
        self._request_pace = Pace(options.requests_per_minute)
        self._token_pace = Pace(options.tokens_per_minute)
        self._held_until = 0.0
        self._answered, self._mean_tokens = 0, 0.0
        self._fatal: InputError | None = None
        self._key = _key(options.api_key_env)
        self._key_spellings = () if self._key is None else spellings(self._key)
        clients = -(-options.concurrency // CALLS_PER_CLIENT)
        self._clients = tuple(_client(self._base_url, self._key, options.timeout) for _ in range(clients))
        self._next_client = cycle(self._clients)
        self._slots = asyncio.Semaphore(options.concurrency)
        self._lock = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calls", daemon=True)
        self._thread.start()

    def settings(self) -> dict[str, Any]:
        """What the answers depend on: where they come from, under which sampling; no key."""
        sampling = {"base_url": self._base_url, "structured": self._options.structured, **self._sampling}
        return {"sampling": sampling | self._options.extra_body, "image": {"encoding": "as in the dataset"}}

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer each request, in order, all at the same time as far as the limits let them.

        Raises:
            InputError: An error that every other request would meet as well; what to do about it is in its text.
        """
        with self._lock:  # nothing may reach the loop after its end: its caller would wait for ever
            if self._closed:
                raise RuntimeError("the backend is closed")
            answers = asyncio.run_coroutine_threadsafe(self._answers(requests), self._loop)
        return answers.result()

    def close(self) -> None:
        """Give up the calls under way and close the connections."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _shut(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for client in self._clients:
            await client.close()

    async def _answers(self, requests: Sequence[Request]) -> list[Response]:
        return await asyncio.gather(*map(self._answer, requests))

    async def _answer(self, request: Request) -> Response:
        try:
            body = self._body(request)
        except ValueError as error:
            return Response("", "error", str(error))
        async with self._slots:
            for attempt in range(self._options.retries + 1):
                expected = self._expected_tokens(request)
                await self._turn(expected)
                outcome = await self._attempt(body)
                self._account(outcome, expected)
                if isinstance(outcome, Response):
                    return outcome
                if outcome.fatal:
                    self._fatal = self._fatal or InputError(outcome.reason)
                    raise self._fatal
                if outcome.wait is not None:  # the server counts all calls together, so all of them wait
                    self._held_until = max(self._held_until, self._loop.time() + outcome.wait)
                if not outcome.transient or attempt == self._options.retries:
                    break
                await asyncio.sleep(backoff(attempt, self._options.backoff_base, self._jitter))
        tries = f" ({attempt + 1} attempts)" if attempt else ""
        return Response("", "error", f"{outcome.reason}{tries}")

    def _body(self, request: Request) -> dict[str, Any]:
        content: str | list[dict[str, Any]] = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "image_url", "image_url": {"url": part.data_uri}}
            for part in request.content
        ]
        if not request.images:  # servers of models that see nothing may pass over parts, without a word
            content = "\n\n".join(part for part in request.content if isinstance(part, str))
        limit = {self._options.max_tokens_field: self._options.max_tokens * (len(request.figures) or 1)}
        body = {
            "model": self._models[bool(request.images)],
            "messages": [{"role": "system", "content": request.system}, {"role": "user", "content": content}],
            **self._sampling,
            **limit,
            **self._options.extra_body,
        }
        form = format_for(request, self._options.structured)
        return body if form is None else {**body, "response_format": form}

    def _expected_tokens(self, request: Request) -> float:
        """What a call will take, before it is known: its text by a rule of thumb, or the mean of those that ended."""
        return max(len(request.text) / CHARS_PER_TOKEN, self._mean_tokens)

    def _account(self, outcome: Response | _Failure, expected: float) -> None:
        """Put what a call took in the place of what was expected of it."""
        taken = 0
        if isinstance(outcome, Response):
            taken = (outcome.usage.prompt_tokens or 0) + (outcome.usage.completion_tokens or 0)
            self._answered += 1
            self._mean_tokens += (taken - self._mean_tokens) / self._answered
        self._token_pace.reserve(taken - expected, self._loop.time())

    async def _turn(self, tokens: float) -> None:
        """Wait until the limits let a call of so many tokens out."""
        now = self._loop.time()
        wait = max(self._request_pace.reserve(1, now), self._token_pace.reserve(tokens, now), self._held_until - now)
        if wait > 0:
            await asyncio.sleep(wait)
        if self._fatal:
            raise self._fatal

    async def _attempt(self, body: dict[str, Any]) -> Response | _Failure:
        from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError

        try:
            # The client's own limit starts anew with each byte.
            async with asyncio.timeout(self._options.timeout):
                # As plain bytes: the client's typed method takes as long over the schema as over the whole call.
                content = await next(self._next_client).post("/chat/completions", body=body, cast_to=bytes)
        except APIStatusError as error:
            return self._status_failure(error)
        except (TimeoutError, APITimeoutError):
            return _Failure("no answer in time", transient=True)
        except APIConnectionError as error:
            cause = error.__cause__ or error
            return _Failure(self._told(f"connection failed ({type(cause).__name__}: {cause})"), transient=True)
        except OpenAIError as error:
            return _Failure(self._told(f"{type(error).__name__}: {error}"))
        return self._read(content)

    def _read(self, content: bytes) -> Response | _Failure:
        """A reply with status 200, which may still hold an error or nothing at all."""
        try:
            reply = _Reply.model_validate(json.loads(content))
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"])) or "reply"
            return _Failure(f"the reply is no chat completion ({place}: {fault['msg']})", transient=True)
        except (ValueError, RecursionError):
            return _Failure("the reply is no JSON", transient=True)
        usage = reply.usage or _Usage()
        if not reply.choices:
            status = reply.error.get("code") if isinstance(reply.error, dict) else None
            transient = isinstance(status, int) and is_transient(status)
            detail = f": {self._told(json.dumps(reply.error))}" if reply.error else ""
            return _Failure(f"the reply has no choices{detail}", transient)
        choice = reply.choices[0]
        reason: FinishReason = _FINISH_REASONS.get(choice.finish_reason or "", "error")
        error = None
        if choice.message.refusal:
            reason, error = "refusal", self._told(choice.message.refusal)
        elif reason == "refusal":
            error = "the content filter cut the answer"
        elif reason == "error":
            error = self._told(f"unexpected finish reason {choice.finish_reason!r}")
        return Response(
            self._told(choice.message.text, limit=None),
            reason,
            error,
            Usage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens),
            served_model=reply.model and self._told(reply.model),
        )

    def _status_failure(self, error: APIStatusError) -> _Failure:
        status = error.status_code
        key_env = self._options.api_key_env
        variable = f"environment variable {key_env}" if key_env else "a key by --api-key-env"
        detail = f"HTTP {status}: {self._told(_message(error))}"
        where = f"{detail} (server {self._base_url}, model {self.model})"
        if 300 <= status < 400:  # not followed: whoever chose this server did not choose the other
            place = self._told(error.response.headers.get("location", "nowhere"))
            text = f"it redirects to {place}; where that is the right server, give its --base-url"
            return _Failure(f"HTTP {status} (server {self._base_url}): {text}", fatal=True)
        if status in (401, 403):
            return _Failure(f"{where}; set {variable} to a key that may use this model", fatal=True)
        if status == 404:
            text = f"check base URL and model id, and that {variable} holds a key that may use this model"
            return _Failure(f"{where}; {text}", fatal=True)
        if status == 402 or error.code == "insufficient_quota":
            text = f"the account behind {variable} has no credit left; the run can be resumed"
            return _Failure(f"{where}; {text}", fatal=True)
        # llama-cpp-python says so with status 500.
        if status in (400, 422, 500) and self._options.structured != "none" and _ABOUT_FORM.search(detail):
            return _Failure(f"{detail}; {self._other_forms()}")
        if not is_transient(status):
            return _Failure(detail)
        wait = retry_after(error.response.headers)
        if wait is not None and wait > LONGEST_WAIT:
            return _Failure(f"{detail}; the server asks to wait {wait:.0f} s")
        return _Failure(detail, transient=True, wait=wait)

    def _other_forms(self) -> str:
        """What to try where a server does not take the form in which answers are asked for."""
        asked = self._options.structured
        others = ", ".join(form for form in Structured.__args__ if form != asked)
        return f"where the server does not take --structured {asked}, another may do ({others})"

    def _told(self, text: str, limit: int | None = MAX_MESSAGE) -> str:
        """What a server said, without the key and not at any length."""
        for spelling in self._key_spellings:
            text = text.replace(spelling, "[key]")
        return text[:limit]


@dataclass(frozen=True)
class _Failure:
    """An attempt that gave no answer.

    Attributes:
        reason: For people.
        transient: Whether the same request is worth another attempt.
        wait: Seconds that the server asks to wait before it.
        fatal: Whether every other request would fail the same way.
    """

    reason: str
    transient: bool = False
    wait: float | None = None
    fatal: bool = False


def _or_none(value: Any, validate: Callable[[Any], Any]) -> Any:
    """What is told beside an answer counts as untold where it is odd: the answer stands, and is paid for."""
    try:
        return validate(value)
    except ValidationError:
        return None


Told = WrapValidator(_or_none)
Count = Annotated[NonNegativeInt | None, Told]


class _Part(BaseModel):
    type: str
    text: str | None = None


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """The answer; some servers send it in parts, with the model's thinking as one of another type."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: Count = None
    completion_tokens: Count = None


class _Reply(BaseModel):
    """What is read of a chat completion; servers add fields of their own."""

    choices: list[_Choice] | None = None
    usage: Annotated[_Usage | None, Told] = None
    model: Annotated[str | None, Told] = None
    error: Any = None


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"base URL {url!r}: expected http://... or https://...")
    if parts.username or parts.password or parts.query:
        # Not repeated in the message: it would end up in a log.
        raise InputError(f"base URL of {parts.hostname}: no password or query in it; give the key by --api-key-env")
    return url.rstrip("/")


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InputError(f"environment variable {variable} is not set; set it to the server's API key")
    if not re.fullmatch(r"[!-~]+", key):  # the client would fail in its own way, with the key in its traceback
        raise InputError(f"environment variable {variable} holds characters that no API key has; set it anew")
    return key


def spellings(key: str) -> tuple[str, ...]:
    r"""How a server may write a key in what it says: as it is, or as JSON, Python and URLs do; the longest first.

    >>> spellings('a"b')
    ('a%22b', 'a\\"b', 'a"b')
    """
    ways = {key, json.dumps(key)[1:-1], repr(key)[1:-1], quote(key, safe="")}
    return tuple(sorted(ways, key=lambda way: (-len(way), way)))


def _client(base_url: str, key: str | None, timeout: float) -> Any:
    try:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    except ImportError:
        raise ImportError("the openai backend needs the extra api: pip install 'scifigqual-bench[api]'") from None
    # Retries are made here and not by the client, which ignores a Retry-After of over a minute.
    return AsyncOpenAI(
        base_url=base_url,
        api_key=key or NO_KEY,
        timeout=timeout,
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False),
    )


def _message(error: APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return body["message"]
    return error.response.text or error.response.reason_phrase

"""The openai backend against a real server on loopback: every misbehaviour ends in its status, none in a number."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any
from urllib.parse import quote

import pytest

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends import make_backend
from scifigqual_bench.judges.backends.openai import OpenAIBackend
from scifigqual_bench.judges.base import ConcurrentBackend
from scifigqual_bench.judges.payload import JudgeItem, build_request
from scifigqual_bench.judges.protocols import PROTOCOLS
from scifigqual_bench.judges.schemas import response_format
from scifigqual_bench.records import Prediction, Usage
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS
from tests.judges.chat_server import (
    COMPLETION_TOKENS,
    PROMPT_TOKENS,
    ChatServer,
    Reply,
    answer_to,
    completion,
    failure,
    good,
    image_uri,
)
from tests.judges.scripted import MARKERS, WHITE, dimension, item

pytest.importorskip("openai", reason="needs the extra api")

KEY = "sk-very-secret-0123456789"
VARIABLE = "TEST_JUDGE_KEY"

Make = Callable[..., OpenAIBackend]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes backends with short waits, and closes them."""
    monkeypatch.setenv(VARIABLE, KEY)
    made: list[OpenAIBackend] = []

    def make(server: ChatServer, **options: Any) -> OpenAIBackend:
        defaults: dict[str, Any] = {"model": "m", "base_url": server.url, "api_key_env": VARIABLE, "retries": 2}
        made.append(make_backend("openai", **(defaults | {"backoff_base": 0.001, "timeout": 20.0} | options)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def judged(
    make: Make, script: Callable[[dict[str, Any]], Reply], items: list[JudgeItem] | None = None, **options: Any
) -> tuple[Prediction, ChatServer]:
    """The prediction of one figure, and the server that it came from."""
    with ChatServer(script) as server:
        (prediction,) = PROTOCOLS["direct"].judge(items or [item()], make(server, **options))
    return prediction, server


def has_no_scores(prediction: Prediction) -> bool:
    return all(getattr(prediction, key) is None for key in COLUMNS)


def scores(value: Any) -> dict[str, Any]:
    """An answer whose visual clarity has another value than a score."""
    return {key: {**dimension(8), "score": value if key == "visual_clarity" else 8} for key in DIMENSION_KEYS}


GOOD = json.dumps({key: dimension(8) for key in DIMENSION_KEYS})

ANSWERS: dict[str, tuple[Reply, str]] = {
    "good": (completion(GOOD), "ok"),
    "good, without usage": (completion(GOOD, usage=False), "ok"),
    "content in parts": (completion([{"type": "text", "text": GOOD[:9]}, {"type": "text", "text": GOOD[9:]}]), "ok"),
    "thinking apart": (completion([{"type": "thinking", "thinking": []}, {"type": "text", "text": GOOD}]), "ok"),
    "half a surrogate pair": (completion("\ud83d", model="m\ud83d"), "parse_error"),
    "half a pair as the model's name": (completion(GOOD, model="m\ud83d"), "ok"),
    "a number as the model's name": (completion(GOOD, model=7), "ok"),
    "fenced JSON": (completion(f"```json\n{GOOD}\n```"), "ok"),
    "truncated JSON, as the server says": (completion(GOOD[:90], finish_reason="length"), "truncated"),
    "whole JSON, cut by the limit": (completion(GOOD, finish_reason="length"), "truncated"),
    "truncated JSON, unsaid": (completion(GOOD[:90]), "parse_error"),
    "prose before JSON": (completion(f"Here is my answer: {GOOD}"), "parse_error"),
    "prose after JSON": (completion(f"{GOOD}\nI hope that this helps."), "parse_error"),
    "two objects": (completion(GOOD + GOOD), "parse_error"),
    "list of two figures": (completion(f"[{GOOD}, {GOOD}]"), "parse_error"),
    "a figure too many": (completion(json.dumps({"fig1": json.loads(GOOD), "fig2": json.loads(GOOD)})), "parse_error"),
    "wrong types": (completion(json.dumps(dict.fromkeys(DIMENSION_KEYS, 8))), "parse_error"),
    "8/10": (completion(json.dumps(scores("8/10"))), "parse_error"),
    "text of a number": (completion(json.dumps(scores("8"))), "parse_error"),
    "11": (completion(json.dumps(scores(11))), "parse_error"),
    "0": (completion(json.dumps(scores(0))), "parse_error"),
    "7.5": (completion(json.dumps(scores(7.5))), "parse_error"),
    "null": (completion(json.dumps(scores(None))), "parse_error"),
    "NaN": (completion(GOOD.replace('"score": 8', '"score": NaN')), "parse_error"),
    "true": (completion(json.dumps(scores(True))), "parse_error"),
    "refusal": (completion(None, refusal="I can't help with that."), "refusal"),
    "refusal beside an answer": (completion(GOOD, refusal="No."), "refusal"),
    "content filter": (completion(GOOD[:40], finish_reason="content_filter"), "refusal"),
    "white space to the limit": (completion("{" + " \n" * 4000, finish_reason="length"), "truncated"),
    "white space": (completion(" \n" * 4000), "parse_error"),
    "no content": (completion(None), "parse_error"),
    "no choice": (Reply({"choices": []}), "api_error"),
    "null choices": (Reply({"choices": None, "error": {"message": "upstream", "code": 400}}), "api_error"),
    "choice without a message": (Reply({"choices": [{"finish_reason": "stop"}]}), "api_error"),
    "content of another type": (completion([GOOD]), "api_error"),
    "a tool call": (completion(GOOD, finish_reason="tool_calls"), "api_error"),
    "no finish reason": (completion(GOOD, finish_reason=None), "api_error"),
    "an empty body": (Reply(b""), "api_error"),
    "HTML": (Reply(b"<html>bad gateway</html>", headers={"content-type": "text/html"}), "api_error"),
    "half a body": (Reply(json.dumps(completion(GOOD).body).encode()[:200]), "api_error"),
    "bytes that are no text": (Reply(b"\xff\xfe\x00"), "api_error"),
    "no object": (Reply(b"[1, 2]"), "api_error"),
    "HTTP 400": (failure(400, "image too large"), "api_error"),
    "HTTP 422": (failure(422, "unknown field"), "api_error"),
    "HTTP 500 for ever": (failure(500), "api_error"),
    "429 for ever": (failure(429), "api_error"),
    "a wait too long": (failure(429, **{"retry-after": "86400"}), "api_error"),
    "a connection cut half-way": (Reply(completion(GOOD).body, cut=True), "api_error"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_ends_in_its_status_and_only_a_valid_one_in_numbers(name: str, backend: Make) -> None:
    reply, status = ANSWERS[name]
    prediction, _ = judged(backend, lambda _: reply)
    assert prediction.status == status, prediction.status_reason
    assert (prediction.status_reason is None) == (status == "ok")
    if status == "ok":
        assert [getattr(prediction, key) for key in DIMENSION_KEYS] == [8] * 5
    else:
        assert has_no_scores(prediction)
    Prediction.model_validate_json(prediction.model_dump_json())


def test_a_server_that_never_ends_its_reply_is_given_up(backend: Make) -> None:
    prediction, server = judged(backend, lambda _: Reply(b" " * 999, drip=0.02), timeout=1.0, retries=1)
    assert (prediction.status, len(server.requests)) == ("api_error", 2)
    assert prediction.status_reason == "direct call: no answer in time (2 attempts)"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, backend: Make) -> None:
    with (
        ChatServer() as other,
        ChatServer(lambda _: Reply(b"", status, {"location": other.url})) as server,
        pytest.raises(InputError, match=f"HTTP {status}.*redirects to {other.url}; .*--base-url"),
    ):
        PROTOCOLS["direct"].judge([item()], backend(server))
    assert (len(server.requests), other.requests) == (1, [])


def test_a_server_that_hangs_is_given_up(backend: Make) -> None:
    prediction, server = judged(backend, lambda _: Reply(hang=True), timeout=1.0, retries=1)
    assert (prediction.status, len(server.requests)) == ("api_error", 2)
    assert prediction.status_reason == "direct call: no answer in time (2 attempts)"


TRANSIENT = {
    "429 with Retry-After": failure(429, **{"retry-after": "0.01"}),
    "429 with a date that has passed": failure(429, **{"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}),
    "408": failure(408),
    "409": failure(409),
    "500": failure(500),
    "503": failure(503),
    "529": failure(529),
    "cut": Reply(completion(GOOD).body, cut=True),
    "hang": Reply(hang=True),
    "half a body": Reply(b'{"choices": ['),
    "an error of 502 with status 200": Reply({"error": {"message": "upstream", "code": 502}}),
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_what_may_pass_is_tried_again(name: str, backend: Make) -> None:
    replies = chain([TRANSIENT[name]], repeat(completion(GOOD)))
    prediction, server = judged(backend, lambda _: next(replies), timeout=2.0 if name == "hang" else 20.0)
    assert (prediction.status, len(server.requests)) == ("ok", 2)
    assert server.requests[0] == server.requests[1]


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_will_not_pass_is_not_tried_again(status: int, backend: Make) -> None:
    prediction, server = judged(backend, lambda _: failure(status, "the reason"))
    assert (prediction.status, len(server.requests)) == ("api_error", 1)
    assert prediction.status_reason == f"direct call: HTTP {status}: the reason"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Invalid schema for response_format 'direct': 'minLength' is not permitted."),
        (400, "output_format.schema: For 'integer' type, property 'minimum' is not supported"),
        (422, "json_schema is not supported by this model"),
        (500, "1 validation error: 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text'\""),
    ],
)
def test_a_refused_form_of_the_answer_is_told_with_what_else_may_do(status: int, message: str, backend: Make) -> None:
    prediction, server = judged(backend, lambda _: failure(status, message))
    assert message in prediction.status_reason and len(server.requests) == 1
    assert prediction.status_reason.endswith(
        "(json_schema_ranges, json_schema_full, json_object_schema, json_object, none)"
    )
    prediction, _ = judged(backend, lambda _: failure(400, message), structured="none")
    assert prediction.status_reason.endswith(message)


def test_a_wait_that_one_call_is_told_holds_back_the_next(backend: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    with ChatServer(lambda _: failure(429, **{"retry-after": "500"})) as server:
        one = backend(server, retries=0)
        PROTOCOLS["direct"].judge([item(1)], one)
        assert waits == []
        PROTOCOLS["direct"].judge([item(2)], one)
    assert len(waits) == 1 and 400 < waits[0] <= 500


def test_a_limit_of_tokens_holds_before_the_first_answer_is_known(
    backend: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    requests = [build_request("direct", item(n)) for n in range(1, 5)]
    with ChatServer() as server:
        backend(server, tokens_per_minute=600).generate(requests)
    text = len(requests[0].text) / 4
    # A token every 0.1 s: each call waits for the text of those before it, all of which are under way.
    assert len(waits) == 3 and sorted(waits) == waits
    assert waits[0] == pytest.approx(text / 10, rel=0.2) and waits[2] == pytest.approx(3 * text / 10, rel=0.2)


def test_what_a_call_really_took_takes_the_place_of_the_guess(backend: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    with ChatServer() as server:
        one = backend(server, tokens_per_minute=600)
        for n in (1, 2):
            one.generate([build_request("direct", item(n))])
    (wait,) = waits
    assert wait == pytest.approx((PROMPT_TOKENS + COMPLETION_TOKENS) / 10, rel=0.2)


FATAL = {
    401: failure(401, f"Incorrect API key provided: {KEY}"),
    402: failure(402, "no credit"),
    403: failure(403, "not for you"),
    404: failure(404, "no such model"),
    429: failure(429, "quota", code="insufficient_quota"),
}


@pytest.mark.parametrize("status", FATAL)
def test_errors_that_all_calls_would_meet_end_the_run_and_name_the_variable(status: int, backend: Make) -> None:
    with ChatServer(lambda _: FATAL[status]) as server, pytest.raises(InputError) as error:
        PROTOCOLS["direct"].judge([item(n) for n in range(1, 9)], backend(server, concurrency=1))
    assert len(server.requests) == 1
    message = str(error.value)
    assert f"HTTP {status}" in message and VARIABLE in message and KEY not in message
    assert error.value.__cause__ is None and error.value.__context__ is None and KEY not in repr(error.value)
    told = "".join(traceback.format_exception(error.value))
    assert KEY not in told and "Bearer" not in told


def test_the_key_is_sent_and_is_found_nowhere_else(backend: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = json.dumps(answer_to_direct() | {"note": KEY})
    replies = iter([failure(500, f"key {KEY} is tired"), completion(echo)])
    with ChatServer(lambda _: next(replies)) as server:
        one = backend(server)
        (prediction,) = PROTOCOLS["direct"].judge([item()], one)
        shown = [repr(one), str(one.settings()), prediction.model_dump_json(), caplog.text]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert prediction.status == "parse_error" and "[key]" in prediction.calls[0].raw
    assert not [text for text in shown if KEY in text]


def test_a_key_is_cut_out_however_it_is_written(backend: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-\"very\\secret'/0123456789"
    monkeypatch.setenv(VARIABLE, key)
    spoken = answer_to_direct()
    spoken["visual_clarity"] = {**dimension(8), "reason": f"the key is {key}"}
    replies = {
        "an answer": completion(json.dumps(spoken)),
        "a finish reason": completion(GOOD, finish_reason=f"no {key}"),
        "a refusal": completion(None, refusal=key),
        "the model's name": completion(GOOD, model=key),
        "an error with status 200": Reply({"error": {"message": f"bad key {key}"}}),
        "an error in a form of its own": Reply({"detail": [key]}, 400),
        "an error's status line": Reply(b"", 400, reason=key),
        "no HTTP": Reply(b"", reason=f"x\r\n{key} is no header"),
        "a URL": failure(400, f"see http://host/?key={quote(key, safe='')}"),
    }
    for name, reply in replies.items():
        prediction, _ = judged(backend, lambda _, reply=reply: reply, retries=0)
        assert "[key]" in prediction.model_dump_json(), name
        assert "secret" not in prediction.model_dump_json(), name


def answer_to_direct() -> dict[str, Any]:
    return {key: dimension(8) for key in DIMENSION_KEYS}


def test_a_server_without_a_key(backend: Make) -> None:
    prediction, server = judged(backend, good, api_key_env=None)
    assert prediction.status == "ok"
    assert server.headers[0]["authorization"] == "Bearer none"


@pytest.mark.parametrize("key", ["sk-sécret", "sk secret", "sk\nsecret", "“sk-secret”"])
def test_a_key_that_no_header_can_carry_is_told_without_repeating_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, key)
    with pytest.raises(InputError, match=f"environment variable {VARIABLE} holds characters") as error:
        make_backend("openai", model="m", api_key_env=VARIABLE)
    assert "cret" not in str(error.value)


def test_a_missing_key_is_an_error_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(InputError, match=f"environment variable {VARIABLE} is not set"):
        make_backend("openai", model="m", api_key_env=VARIABLE)


@pytest.mark.parametrize("url", ["http://user:hush@host/v1", "http://host/v1?key=hush", "ftp://host", "host/v1"])
def test_a_url_that_is_none_or_carries_a_secret_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InputError) as error:
        make_backend("openai", model="m", base_url=url, api_key_env=None)
    assert "hush" not in str(error.value)


def test_what_is_sent(backend: Make) -> None:
    _, server = judged(
        backend, good, temperature=0.5, max_tokens=77, seed=3, extra_body={"reasoning_effort": "low"}, model="vlm"
    )
    (sent,) = server.requests
    request = build_request("direct", item())
    assert sent["messages"][0] == {"role": "system", "content": request.system}
    image, text = sent["messages"][1]["content"]
    assert text == {"type": "text", "text": request.user}
    assert image["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(WHITE).decode()
    assert sent["response_format"] == response_format("direct", request.schema, "json_schema")
    rest = {key: value for key, value in sent.items() if key not in ("messages", "response_format")}
    assert rest == {"model": "vlm", "temperature": 0.5, "max_tokens": 77, "seed": 3, "reasoning_effort": "low"}


def test_a_call_without_an_image_is_plain_text(backend: Make) -> None:
    """llama-cpp-python drops the parts of such a message for most chat formats, and answers all the same."""
    request = build_request("language", item())
    with ChatServer() as server:
        backend(server).generate([request])
    assert server.requests[0]["messages"][1] == {"role": "user", "content": request.user}


def test_what_is_left_to_the_server_is_not_sent(backend: Make) -> None:
    bare: dict[str, Any] = {"temperature": None, "structured": "none", "max_tokens_field": "max_completion_tokens"}
    _, server = judged(backend, lambda _: completion(GOOD), **bare)
    assert server.requests[0].keys() == {"model", "messages", "max_completion_tokens"}
    _, server = judged(backend, lambda _: completion(GOOD), structured="json_object")
    assert server.requests[0]["response_format"] == {"type": "json_object"}


def test_the_agents_calls_go_to_the_model_that_can_see_and_to_the_one_that_reads(backend: Make) -> None:
    with ChatServer() as server:
        one = backend(server, model="eyes", text_model="words")
        (prediction,) = PROTOCOLS["agent"].judge([item()], one)
    assert prediction.status == "ok" and one.model == "eyes + words"
    assert [request["model"] for request in server.requests] == ["eyes", "words", "words"]
    assert [image_uri(request) is not None for request in server.requests] == [True, False, False]


def test_on_the_wire_vision_learns_no_text_and_language_nothing_of_the_image(backend: Make) -> None:
    with ChatServer() as server:
        PROTOCOLS["agent"].judge([item()], backend(server))
    vision, language, fusion = map(json.dumps, server.requests)
    text, picture = [MARKERS[name] for name in ("caption", "citation", "title", "overlap")], MARKERS["ocr"]
    assert picture in vision and not [marker for marker in text if marker in vision]
    assert MARKERS["caption"] in language and picture not in language and "image_url" not in language
    assert not [marker for marker in MARKERS.values() if marker in fusion] and "image_url" not in fusion


def test_tokens_are_kept_and_an_unknown_number_stays_unknown(backend: Make) -> None:
    prediction, _ = judged(backend, good)
    usage = prediction.calls[0].usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (PROMPT_TOKENS, COMPLETION_TOKENS)
    prediction, _ = judged(backend, lambda request: completion(json.dumps(answer_to(request)), usage=False))
    assert prediction.calls[0].usage.prompt_tokens is None


@pytest.mark.parametrize("usage", [[], "many", {"prompt_tokens": "many", "completion_tokens": -7}])
def test_an_odd_number_of_tokens_is_unknown_and_the_answer_stands(usage: Any, backend: Make) -> None:
    prediction, server = judged(backend, lambda _: Reply({**completion(GOOD).body, "usage": usage}))
    assert (prediction.status, len(server.requests)) == ("ok", 1)
    assert prediction.calls[0].usage == Usage()


def test_calls_run_together_up_to_the_limit_and_answers_keep_their_order(backend: Make) -> None:
    with ChatServer(lambda request: Reply(good(request).body, latency=0.05)) as server:
        one = backend(server, concurrency=4)
        assert isinstance(one, ConcurrentBackend) and one.workers == 4
        masks = [DIMENSION_KEYS[: n % 5 + 1] for n in range(12)]
        requests = [build_request("direct", item(n, open_dimensions=mask)) for n, mask in enumerate(masks)]
        responses = one.generate(requests)
    assert server.most_under_way == 4
    assert [tuple(json.loads(response.text)) for response in responses] == masks


def test_an_image_that_no_server_reads_fails_its_figure_alone(backend: Make) -> None:
    with ChatServer() as server:
        rows = PROTOCOLS["direct"].judge([item(1, image=b"GIF89a"), item(2)], backend(server))
    assert [row.status for row in rows] == ["api_error", "ok"]
    assert "neither PNG nor JPEG" in rows[0].status_reason


def test_an_image_is_encoded_once_a_figure(monkeypatch: pytest.MonkeyPatch, backend: Make) -> None:
    encoded: list[bytes] = []
    real = base64.b64encode
    monkeypatch.setattr(base64, "b64encode", lambda data: encoded.append(data) or real(data))
    replies = chain([failure(500), failure(500)], repeat(None))
    with ChatServer(lambda request: next(replies) or good(request)) as server:
        PROTOCOLS["agent"].judge([item()], backend(server, concurrency=1))
    assert len(server.requests) == 5 and encoded == [WHITE]


def test_a_closed_backend_answers_nothing(backend: Make) -> None:
    with ChatServer() as server:
        one = backend(server)
        one.close()
        one.close()
        with pytest.raises(RuntimeError, match="closed"):
            one.generate([build_request("direct", item())])


@pytest.mark.parametrize(
    "option",
    [
        {"retries": -1},
        {"retries": "two"},
        {"timeout": 0.0},
        {"timeout": float("nan")},
        {"concurrency": 0},
        {"temperature": float("inf")},
        {"temperature": -1.0},
        {"requests_per_minute": 0.0},
        {"tokens_per_minute": -1.0},
        {"max_tokens": 0},
        {"max_tokens_field": "tokens"},
        {"extra_body": 5},
        {"backoff_base": -1.0},
        {"model": ""},
        {"api_key_env": ""},
    ],
)
def test_a_value_that_an_option_does_not_take_is_told(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(InputError, match=f"^option {name}: "):
        make_backend("openai", **({"model": "m", "api_key_env": None} | option))


def test_made_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    one = make_backend("openai", model="m", api_key_env=VARIABLE)
    assert one.settings()["sampling"]["base_url"] == "https://api.openai.com/v1"
    one.close()
    with pytest.raises(InputError, match="no option colour"):
        make_backend("openai", colour="red")
    with pytest.raises(InputError, match="option structured: Input should be 'json_schema'"):
        make_backend("openai", model="m", structured="xml", api_key_env=None)

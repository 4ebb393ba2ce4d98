"""A server on loopback that speaks the chat completions protocol, and misbehaves on order.

Run as a module it serves good answers after a fixed latency, in a process of its own, and prints its port.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.judges.scripted import LANGUAGE, VISION, dimension

PROMPT_TOKENS, COMPLETION_TOKENS = 900, 100
"""What every answer is said to have used."""


@dataclass(frozen=True)
class Reply:
    """What the server does with a request: answer after a while, cut the connection half-way, or never answer.

    With ``drip``, the body goes out a byte at a time, so many seconds apart.
    """

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    reason: str = "x"
    latency: float = 0.0
    drip: float = 0.0
    cut: bool = False
    hang: bool = False


def completion(
    content: Any, *, finish_reason: Any = "stop", usage: bool = True, model: Any = "m-0324", **message: Any
) -> Reply:
    """A chat completion with one choice."""
    counts = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS}
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
    body = {
        "id": "x",
        "object": "chat.completion",
        "model": model,
        "choices": [{**choice, "finish_reason": finish_reason}],
    }
    return Reply({**body, "usage": counts} if usage else body)


def failure(status: int, message: str = "no", code: Any = None, **headers: str) -> Reply:
    return Reply({"error": {"message": message, "code": code}}, status, headers)


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    """A valid answer, found from the schema that the request carries."""
    form = request["response_format"]["json_schema"]
    properties = form["schema"]["properties"]
    if all(name.startswith("fig") for name in properties):  # a call about several figures
        return {name: {key: dimension(8) for key in schema["properties"]} for name, schema in properties.items()}
    match form["name"]:
        case "vision":
            return VISION
        case "language":
            return LANGUAGE
        case "fusion":
            keys = [key for key in properties if key != "misleading_reason"]
            proposals = {key: dimension(8) if properties[key].get("type") == "object" else None for key in keys}
            return {**proposals, "misleading_reason": "nothing misleads"}
    return {key: dimension(8) for key in properties}


def good(request: dict[str, Any]) -> Reply:
    return completion(json.dumps(answer_to(request)))


def user_text(request: dict[str, Any]) -> str:
    """The user's part of the prompt."""
    return "\n".join(part["text"] for part in _parts(request) if part["type"] == "text")


def _parts(request: dict[str, Any]) -> list[dict[str, Any]]:
    content = request["messages"][1]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def image_uri(request: dict[str, Any]) -> str | None:
    parts = [part for part in _parts(request) if part["type"] == "image_url"]
    return parts[0]["image_url"]["url"] if parts else None


class ChatServer:
    """Serves in a thread of its own while its ``with`` block runs.

    Args:
        script: What to do with a request's body.
    """

    def __init__(self, script: Callable[[dict[str, Any]], Reply] = good):
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.under_way = self.most_under_way = 0
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> ChatServer:
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**26))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        async def stop() -> None:
            self._server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its reply; false where the connection ends with it."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        request = json.loads(await reader.readexactly(int(headers["content-length"])))
        assert first == "POST /v1/chat/completions HTTP/1.1", first
        self.requests.append(request)
        self.headers.append(headers)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            reply = self.script(request)
            if reply.hang:
                await asyncio.Event().wait()
            if reply.latency:
                await asyncio.sleep(reply.latency)
        finally:
            self.under_way -= 1
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        fields = {"content-type": "application/json", "content-length": str(len(body)), **reply.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {reply.status} {reply.reason}\r\n{head}\r\n".encode())
        if reply.drip:
            for byte in body:
                writer.write(bytes([byte]))
                await asyncio.sleep(reply.drip)
        else:
            writer.write(body[: len(body) // 2] if reply.cut else body)
        await writer.drain()
        return not reply.cut


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before each answer")
    latency = parser.parse_args().latency
    answers: dict[str, Reply] = {}

    def script(request: dict[str, Any]) -> Reply:
        key = json.dumps(request["response_format"], sort_keys=True)
        if key not in answers:
            answers[key] = Reply(json.dumps(good(request).body).encode(), latency=latency)
        return answers[key]

    with ChatServer(script) as server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

"""``vllm serve`` behind the openai backend: a real server on loopback, with a tiny random model."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scifigqual_bench.judges.backends import make_backend
from scifigqual_bench.judges.backends.openai import OpenAIBackend
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.judges.protocols import PROTOCOLS, ProtocolName
from tests.judges.scripted import item
from tests.models import tiny
from tests.models.conftest import judged

pytest.importorskip("vllm", reason="needs vLLM; make test-vllm installs its CPU build")
pytest.importorskip("openai", reason="needs the extra api")
pytestmark = pytest.mark.slow

START = 420.0
"""Seconds in which the server has to be ready."""
NAME = "tiny-internvl"

Make = Callable[..., OpenAIBackend]


@pytest.fixture(scope="module")
def server(tiny_model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a server, with the white space between JSON fields left free, as servers start by default."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The module behind `vllm serve`: the command itself asks for the version of a package named vllm, which the CPU
    # build is not.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", tiny_model("internvl")]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += ["--served-model-name", NAME, "--dtype", "float32", "--enforce-eager"]
    command += ["--max-model-len", str(tiny.CONTEXT), "--limit-mm-per-prompt", '{"image": 1}']
    log = tmp_path_factory.mktemp("serve") / "log.txt"
    environment = os.environ | tiny.VLLM_ON_CPU
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file, env=environment) as process:
        try:
            _wait(process, f"http://127.0.0.1:{port}/health", log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Until the server says that it is ready; the test fails with its log where it ends or takes too long."""
    deadline = time.monotonic() + START
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"the server is not ready: {log.read_text(errors='replace')[-3000:]}")


@pytest.fixture
def backend(server: str) -> Iterator[Make]:
    """Makes backends for the server, and closes them."""
    made: list[OpenAIBackend] = []

    def make(**options: object) -> OpenAIBackend:
        defaults = {"model": NAME, "base_url": server, "api_key_env": None, "temperature": 1.0, "max_tokens": 5500}
        made.append(make_backend("openai", **(defaults | options)))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_by_each_protocol(protocol: ProtocolName, backend: Make, items: list[JudgeItem], tmp_path: Path) -> None:
    manifest, rows = judged(items, protocol, backend(), tmp_path / "run")
    for _ in range(5):  # random weights draw their answers, and now and then a control character, which no JSON allows
        if any(row.status != "ok" for row in rows):
            manifest, rows = judged(items, protocol, backend(), tmp_path / "run", retry_failed=True)
    assert [row.status for row in rows] == ["ok"] * len(items), [row.status_reason for row in rows]
    assert manifest.served_models == [NAME]
    assert manifest.usage.completion_tokens > 100 * manifest.usage.calls


def test_the_token_limit_is_told_and_never_scored(backend: Make, items: list[JudgeItem], tmp_path: Path) -> None:
    _, (row,) = judged(items[:1], "direct", backend(max_tokens=40), tmp_path / "run")
    assert row.status == "truncated"
    assert row.calls[0].usage.completion_tokens == 40


def test_white_space_without_end_is_cut_and_never_scored(
    backend: Make, items: list[JudgeItem], tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    words = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(tiny_model("internvl"))
    (newline,) = words.encode("\n", add_special_tokens=False)
    endless = backend(max_tokens=200, extra_body={"logit_bias": {str(newline): 100}})
    manifest, (row,) = judged(items[:1], "direct", endless, tmp_path / "run")
    assert row.calls[0].raw[-150:] == "\n" * 150 and row.calls[0].usage.completion_tokens == 200
    assert manifest.status_counts == {"truncated": 1}


def test_a_prompt_that_is_too_long_fails_alone(backend: Make, tmp_path: Path) -> None:
    items = [item(1), item(2, caption="word " * 20_000), item(3)]
    _, rows = judged(items, "direct", backend(retries=0), tmp_path / "run")
    statuses = {row.figure_id: row for row in rows}
    assert [statuses[each.figure.figure_id].status for each in items] == ["ok", "api_error", "ok"]
    assert "HTTP 400" in statuses[items[1].figure.figure_id].status_reason

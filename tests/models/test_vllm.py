"""The vllm backend on real engines: tiny random models of two architectures, on the CPU.

Random tokens, drawn at temperature 1, are the hardest test of structured output: whatever is not forced goes wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends import make_backend
from scifigqual_bench.judges.backends.vllm import VllmBackend
from scifigqual_bench.judges.parse import answer_record, parse_answer
from scifigqual_bench.judges.payload import JudgeItem, build_request
from scifigqual_bench.judges.protocols import PROTOCOLS, ProtocolName
from tests.judges.scripted import item
from tests.models import tiny
from tests.models.conftest import judged, outside_strings

pytest.importorskip("vllm", reason="needs vLLM; make test-vllm installs its CPU build")
pytestmark = pytest.mark.slow

OPTIONS = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_model_len": tiny.CONTEXT,
    "temperature": 1.0,
    "max_tokens": 6000,
}


@pytest.fixture(scope="module", autouse=True)
def on_cpu() -> Iterator[None]:
    """The environment of the engines, which are processes of their own."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in tiny.VLLM_ON_CPU.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module", params=tiny.ARCHITECTURES)
def backend(request: pytest.FixtureRequest, on_cpu: None, tiny_model: Callable[[str], Path]) -> Iterator[VllmBackend]:
    """A backend with its engine; one architecture after the other."""
    made = make_backend("vllm", model=str(tiny_model(request.param)), **OPTIONS)
    yield made
    made.close()


def variant(backend: VllmBackend, tiny_model: Callable[[str], Path], **options: object) -> VllmBackend:
    """Other sampling on the same engine."""
    other = make_backend("vllm", model=str(tiny_model(backend.model.removeprefix("tiny-"))), **(OPTIONS | options))
    other.llm = backend.llm
    return other


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_by_each_protocol(
    protocol: ProtocolName, backend: VllmBackend, items: list[JudgeItem], tmp_path: Path
) -> None:
    manifest, rows = judged(items, protocol, backend, tmp_path / "run")
    assert [row.status for row in rows] == ["ok"] * len(items), [row.status_reason for row in rows]
    assert manifest.usage.calls == len(items) * len(PROTOCOLS[protocol].roles)
    assert manifest.usage.completion_tokens == sum(call.usage.completion_tokens for row in rows for call in row.calls)
    assert manifest.usage.prompt_tokens > 1000 * manifest.usage.calls  # the rubric is in each
    assert manifest.model == backend.model and manifest.revision.startswith("sha256:")
    assert {"vllm", "torch", "transformers"} & set(manifest.packages)


def test_a_run_goes_on_where_it_was(backend: VllmBackend, items: list[JudgeItem], tmp_path: Path) -> None:
    out = tmp_path / "run"
    _, first = judged(items[:2], "direct", backend, out)
    manifest, rows = judged(items, "direct", backend, out)
    assert rows[:2] == first
    assert [row.figure_id for row in rows] == [each.figure.figure_id for each in items]
    assert manifest.status_counts == {"ok": len(items)}


def test_the_token_limit_is_told_and_never_scored(
    backend: VllmBackend, items: list[JudgeItem], tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    short = variant(backend, tiny_model, max_tokens=40)
    manifest, rows = judged(items[:2], "direct", short, tmp_path / "run")
    assert manifest.status_counts == {"truncated": 2}
    for row in rows:
        assert row.calls[0].finish_reason == "length" and row.calls[0].usage.completion_tokens == 40


def test_a_model_that_wants_nothing_but_white_space_does_not_get_it(
    backend: VllmBackend, items: list[JudgeItem], tiny_model: Callable[[str], Path]
) -> None:
    """The same wish, where a server leaves white space free, fills the answer: see the server's tests."""
    chat, sampling = variant(backend, tiny_model, max_tokens=200)._prompt(build_request("direct", items[0]))
    (newline,) = backend.llm.get_tokenizer().encode("\n", add_special_tokens=False)
    sampling.logit_bias = {newline: 100.0}
    (output,) = backend.llm.chat([chat], [sampling], use_tqdm=False)
    text = output.outputs[0].text
    assert text.startswith('{"') and not re.search(r"\s\s", outside_strings(text))


def test_a_request_that_fails_costs_no_other_its_answer(backend: VllmBackend) -> None:
    items = [item(1), item(2, caption="word " * 20_000), item(3), replace(item(4), image=b"\x89PNG\r\n\x1a\n")]
    requests = [build_request("direct", each) for each in items]
    responses = backend.generate(requests)
    assert [response.finish_reason for response in responses] == ["stop", "error", "stop", "error"]
    assert str(tiny.CONTEXT) in responses[1].error
    assert "can't be decoded" in responses[3].error
    for index in (0, 2):
        record = answer_record("direct", requests[index].open_dimensions)
        assert parse_answer(responses[index], record).status == "ok"
    assert [backend.generate([requests[3]])[0].finish_reason, backend.generate([])] == ["error", []]


def test_the_rubric_is_computed_once(backend: VllmBackend, tiny_model: Callable[[str], Path]) -> None:
    short = variant(backend, tiny_model, max_tokens=1)
    requests = [build_request("direct", item(n)) for n in (11, 12)]
    system = len(backend.llm.get_tokenizer().encode(requests[0].system))
    for request in requests:
        chat, sampling = short._prompt(request)
        (output,) = backend.llm.chat([chat], [sampling], use_tqdm=False)
    assert system - 200 < output.num_cached_tokens  # in whole blocks


def test_without_structured_output_nonsense_is_no_answer(
    backend: VllmBackend, items: list[JudgeItem], tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    free = variant(backend, tiny_model, structured="none", max_tokens=40)
    _, (row,) = judged(items[:1], "direct", free, tmp_path / "run")
    assert row.status in ("truncated", "parse_error")
    with pytest.raises(json.JSONDecodeError):
        json.loads(row.calls[0].raw)


def test_a_model_that_vllm_can_t_load_is_told(tiny_model: Callable[[str], Path]) -> None:
    made = make_backend("vllm", model=str(tiny_model("llava")), **(OPTIONS | {"quantization": "no-such-method"}))
    with pytest.raises(InputError, match="vLLM can't load tiny-llava"):
        made.generate([build_request("direct", item())])

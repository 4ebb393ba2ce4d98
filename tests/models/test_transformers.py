"""The transformers backend on real models: tiny random ones of two architectures, on the CPU."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends import make_backend
from scifigqual_bench.judges.backends.transformers import TransformersBackend
from scifigqual_bench.judges.parse import answer_record, parse_answer
from scifigqual_bench.judges.payload import JudgeItem, build_request
from scifigqual_bench.judges.protocols import PROTOCOLS, ProtocolName
from tests.judges.scripted import item
from tests.models import tiny
from tests.models.conftest import judged, outside_strings

torch = pytest.importorskip("torch", reason="needs the extra transformers; make test-vllm installs it")
pytest.importorskip("transformers", reason="needs the extra transformers; make test-vllm installs it")
pytest.importorskip("xgrammar", reason="needs the extra transformers; make test-vllm installs it")
pytestmark = pytest.mark.slow

OPTIONS = {"device_map": "cpu", "dtype": "float32", "temperature": 1.0, "max_tokens": 6000, "seed": 5}

Make = Callable[..., TransformersBackend]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """A tiny model on a busy machine loses more by threads that wait for each other than it gains."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module", params=tiny.ARCHITECTURES)
def make(request: pytest.FixtureRequest, tiny_model: Callable[[str], Path]) -> Make:
    """Makes backends on one model; one architecture after the other."""
    folder = tiny_model(request.param)

    def make(**options: Any) -> TransformersBackend:
        return make_backend("transformers", model=str(folder), **(OPTIONS | options))

    return make


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_by_each_protocol(protocol: ProtocolName, make: Make, items: list[JudgeItem], tmp_path: Path) -> None:
    manifest, rows = judged(items, protocol, make(), tmp_path / "run")
    assert [row.status for row in rows] == ["ok"] * len(items), [row.status_reason for row in rows]
    assert manifest.usage.calls == len(items) * len(PROTOCOLS[protocol].roles)
    assert manifest.revision.startswith("sha256:") and manifest.seed is None and manifest.sampling["seed"] == 5


def test_the_token_limit_is_told_and_never_scored(make: Make, items: list[JudgeItem], tmp_path: Path) -> None:
    manifest, rows = judged(items[:2], "direct", make(max_tokens=30), tmp_path / "run")
    assert manifest.status_counts == {"truncated": 2}
    assert [row.calls[0].usage.completion_tokens for row in rows] == [30, 30]


def test_white_space_without_end_is_kept_out_or_else_cut_and_never_scored(
    make: Make, items: list[JudgeItem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that wants nothing but new lines, with free white space kept out as ever, and with it let in."""
    backend = make(max_tokens=100)
    (newline,) = backend.loaded.processor.tokenizer.encode("\n", add_special_tokens=False)
    backend.loaded.model.generation_config.sequence_bias = [[[newline], 100.0]]
    (response,) = backend.generate([build_request("direct", items[0])])
    assert response.text.startswith('{"') and not re.search(r"\s\s", outside_strings(response.text))

    monkeypatch.setattr(backend, "_grammar", lambda schema: backend._compiler.compile_json_schema(json.dumps(schema)))
    manifest, (row,) = judged(items[:1], "direct", backend, tmp_path / "run")
    assert row.calls[0].raw.rstrip("\n") == "{" and row.calls[0].usage.completion_tokens == 100
    assert manifest.status_counts == {"truncated": 1}


def test_padding_changes_neither_answer_nor_count(make: Make) -> None:
    """Requests of several lengths, with and without an image, get together what they get alone."""
    backend = make(temperature=0.0, max_tokens=40)
    requests = [
        build_request("direct", item(1)),
        build_request("language", item(2)),
        build_request("direct", item(3, caption="a longer caption " * 20)),
        build_request("language", item(4, caption="")),
    ]
    together = backend.generate(requests)
    assert together == [backend.generate([request])[0] for request in requests]
    assert len({response.usage.prompt_tokens for response in together}) == len(requests)


def test_a_row_that_ends_before_the_others_is_counted_to_its_end(make: Make) -> None:
    backend = make()
    requests = [build_request("direct", item(1)), build_request("direct", item(2, open_dimensions=["visual_clarity"]))]
    long, short = backend.generate(requests)
    assert (long.finish_reason, short.finish_reason) == ("stop", "stop")
    assert short.usage.completion_tokens < long.usage.completion_tokens
    tokenizer = backend.loaded.processor.tokenizer
    for response in (long, short):
        assert tokenizer.pad_token not in response.text and tokenizer.eos_token not in response.text


def test_the_same_seed_gives_the_same_answers(make: Make) -> None:
    request = build_request("direct", item())
    first, second = (make(max_tokens=60).generate([request]) for _ in range(2))
    assert first == second != make(max_tokens=60, seed=6).generate([request])


def test_a_request_that_fails_costs_no_other_its_answer(make: Make) -> None:
    items = [item(1), item(2, caption="word " * 20_000), item(3), replace(item(4), image=b"\x89PNG\r\n\x1a\n")]
    requests = [build_request("direct", each) for each in items]
    responses = make().generate(requests)
    assert [response.finish_reason for response in responses] == ["stop", "error", "stop", "error"]
    assert f"the model takes {tiny.CONTEXT} with the answer" in responses[1].error
    assert "can't be decoded" in responses[3].error
    for index in (0, 2):
        record = answer_record("direct", requests[index].open_dimensions)
        assert parse_answer(responses[index], record).status == "ok"


def test_a_batch_that_the_memory_can_t_take_is_halved(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = make(max_tokens=20)
    generate, sizes = backend.loaded.model.generate, []

    def small_memory(**inputs: Any) -> Any:
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return generate(**inputs)

    monkeypatch.setattr(backend.loaded.model, "generate", small_memory)
    responses = backend.generate([build_request("direct", item(n)) for n in range(1, 5)])
    assert [response.finish_reason for response in responses] == ["length"] * 4
    assert sizes == [4, 2, 1, 1, 2, 1, 1]


def test_without_structured_output_nonsense_is_no_answer(make: Make, items: list[JudgeItem], tmp_path: Path) -> None:
    _, (row,) = judged(items[:1], "direct", make(structured="none", max_tokens=30), tmp_path / "run")
    assert row.status in ("truncated", "parse_error")


def test_a_folder_that_transformers_can_t_load_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "no-such-thing"}')
    with pytest.raises(InputError, match="transformers can't load"):
        make_backend("transformers", model=str(tmp_path)).generate([build_request("direct", item())])

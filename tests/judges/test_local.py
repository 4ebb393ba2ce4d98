"""What the backends that load a model share, and their options: nothing here loads one."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from scifigqual_bench.commands.eval import main
from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends import make_backend
from scifigqual_bench.judges.backends.local import answer_apart, decoded, find_weights, folder_sha256, messages
from scifigqual_bench.judges.base import ImageInput, Response
from scifigqual_bench.judges.cache import with_cache
from scifigqual_bench.judges.payload import build_request
from scifigqual_bench.judges.run import PREDICTIONS, DatasetInfo, run_judge
from scifigqual_bench.records import RunManifest
from tests.judges.scripted import ScriptedBackend, good_answer, item


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder that looks like a model, with a weights file."""
    folder = tmp_path / "secret-place" / "my-model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def encoded(image: Image.Image, form: str = "PNG") -> ImageInput:
    buffer = io.BytesIO()
    image.save(buffer, form)
    return ImageInput(buffer.getvalue(), sha256="")


def test_a_folder_is_known_by_its_contents_and_not_by_its_place(model: Path) -> None:
    before = find_weights(str(model), None)
    assert (before.name, before.place, before.commit) == ("my-model", str(model), None)
    assert before.revision == f"sha256:{folder_sha256(model)}"
    moved = model.rename(model.with_name("moved"))
    (moved / ".cache").mkdir()
    (moved / ".cache" / "lock").write_text("1")
    assert find_weights(str(moved), None).revision == before.revision
    (moved / "model.safetensors").write_bytes(b"w3ights")
    assert find_weights(str(moved), None).revision != before.revision
    assert find_weights(str(moved), "second epoch").revision == "second epoch"


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"without config\.json"):
        find_weights(str(tmp_path), None)


def test_a_branch_of_a_hub_model_becomes_the_commit_that_it_stands_at() -> None:
    from huggingface_hub.constants import HF_HUB_CACHE  # of the tests' own, see conftest

    commit = "0123456789" * 4
    cached = Path(HF_HUB_CACHE) / "models--someone--a-vlm"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text(commit)
    (cached / "snapshots" / commit).mkdir(parents=True)
    (cached / "snapshots" / commit / "config.json").write_text("{}")
    weights = find_weights("someone/a-vlm", None)
    assert (weights.name, weights.place, weights.revision, weights.commit) == ("someone/a-vlm",) * 2 + (commit,) * 2
    with pytest.raises(InputError, match="someone/a-vlm, revision v2: neither a folder nor found"):
        find_weights("someone/a-vlm", "v2")


@pytest.mark.parametrize("backend", ["vllm", "transformers"])
def test_the_manifest_gets_every_option_and_no_path(backend: str, model: Path) -> None:
    made = make_backend(backend, model=str(model), max_pixels=1000, temperature=0.5, seed=3, dtype="float16")
    settings = made.settings()
    assert made.model == "my-model" and made.revision.startswith("sha256:")
    assert "secret-place" not in repr((settings, made.model, made.revision))
    assert settings["image"] == {"max_pixels": 1000, "mm_processor_kwargs": {}}
    assert {"temperature": 0.5, "seed": 3, "dtype": "float16", "max_tokens": 2048}.items() <= settings[
        "sampling"
    ].items()


@pytest.mark.parametrize(
    ("backend", "free", "fixed"),
    [
        ("vllm", {"gpu_memory_utilization": 0.6, "max_num_seqs": 8}, {"max_model_len": 4096}),
        ("transformers", {"batch_size": 2, "device_map": "cpu"}, {"dtype": "float16"}),
    ],
)
def test_a_run_goes_on_with_less_of_the_machine_but_with_nothing_that_changes_answers(
    backend: str, free: dict[str, Any], fixed: dict[str, Any], model: Path, tmp_path: Path
) -> None:
    def judge(figures: int, **options: Any) -> RunManifest:
        asked.settings = make_backend(backend, model=str(model), **options).settings
        info = DatasetInfo("example", "f" * 64, ("rated",), figures)
        cached = with_cache(asked, tmp_path / "cache")
        items = [item(n) for n in range(1, figures + 1)]
        return run_judge(items, "direct", cached, tmp_path / "run", info, progress=False)

    asked = ScriptedBackend(good_answer)
    first, second = judge(1), judge(2, **free)
    assert first.configuration_sha256 == second.configuration_sha256
    assert free.items() <= second.resources.items() and not set(second.resources) & set(second.sampling)
    with pytest.raises(InputError, match=rf"sampling\.{next(iter(fixed))}: "):
        judge(2, **fixed)
    (tmp_path / "run" / PREDICTIONS).unlink()
    judge(2)
    assert len(asked.requests) == 2  # the cache knew both


def test_faults_of_options_are_told_together(model: Path) -> None:
    with pytest.raises(InputError) as caught:
        make_backend("vllm", model=str(model), temperature=-1.0, max_pixels="1e6", gpu_memory_utilization=90)
    assert [fault.split(":")[0] for fault in caught.value.problems] == [
        "option temperature",
        "option max_pixels",
        "option gpu_memory_utilization",
    ]
    with pytest.raises(InputError, match="has no option base_url"):
        make_backend("vllm", model=str(model), base_url="http://127.0.0.1")


def test_a_dry_run_needs_no_model_library(
    sample_dataset: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    what = ["--dataset", sample_dataset, "--protocol", "direct", "--backend", "vllm", "--model", model, "--dry-run"]
    assert main(["judge", *map(str, what), "--max-tokens", "100", "--backend-option", "max_images=4"]) == 0
    shown = capsys.readouterr().out
    assert "direct by vllm, model my-model; nothing was asked" in shown and "answer tokens: at most" in shown


@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 50_000))
def test_an_image_keeps_its_shape_under_the_limit_of_pixels(width: int, height: int, limit: int) -> None:
    image = decoded(encoded(Image.new("L", (width, height))), limit)
    if width * height <= limit:
        assert image.size == (width, height)
    elif min(image.size) > 1:  # a line can't get thinner than a pixel
        assert image.width * image.height <= limit
        assert abs(image.width / width - image.height / height) <= max(1 / width, 1 / height)


def test_what_is_transparent_is_white_as_on_paper() -> None:
    drawn = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    drawn.putpixel((1, 0), (255, 0, 0, 255))
    image = decoded(encoded(drawn), None)
    assert [image.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (255, 0, 0)]


@pytest.mark.parametrize("data", [b"", b"no image", encoded(Image.new("L", (90, 90), 5)).data[:60]])
def test_bytes_that_are_no_image_are_told(data: bytes) -> None:
    with pytest.raises(ValueError, match="can't be decoded"):
        decoded(ImageInput(data, sha256=""), None)


def test_the_shared_prompt_comes_first_and_the_image_before_the_text() -> None:
    chats = [
        messages(build_request(role, item(n)), None, lambda image: {"type": "picture", "size": image.size})
        for role in ("direct", "vision")
        for n in (1, 2)
    ]
    systems = [chat[0]["content"][0]["text"] for chat in chats]
    assert systems[0] == systems[1] and systems[2] == systems[3]
    for chat in chats:
        assert [message["role"] for message in chat] == ["system", "user"]
        assert [part["type"] for part in chat[1]["content"]] == ["picture", "text"]
    (language,) = messages(build_request("language", item()), None, lambda image: {"type": "picture"})[1]["content"]
    assert language["type"] == "text"


@given(st.lists(st.sampled_from(["good", "unfit", "unreadable"]), max_size=12))
def test_one_request_never_costs_another_its_answer(kinds: list[str]) -> None:
    def prepare(kind: str) -> str:
        if kind == "unreadable":
            raise ValueError("can't be read")
        return kind

    def answer(batch: Sequence[str]) -> list[Response]:
        if "unfit" in batch:
            raise ValueError("too\n long")
        return [Response("fine") for _ in batch]

    responses = answer_apart(kinds, prepare, answer)
    told = {"good": ("fine", None), "unfit": ("", "too long"), "unreadable": ("", "can't be read")}
    assert [(each.text, each.error) for each in responses] == [told[kind] for kind in kinds]


def test_an_error_that_is_no_request_s_fault_ends_the_run() -> None:
    def dead(batch: Sequence[str]) -> list[Response]:
        raise RuntimeError("the engine is dead")

    with pytest.raises(RuntimeError, match="engine is dead"):
        answer_apart(["a", "b"], str, dead)


@pytest.mark.parametrize(("backend", "package"), [("vllm", "vllm"), ("transformers", "torch")])
def test_a_missing_package_is_told_with_its_extra(
    backend: str, package: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # importing it fails
    with pytest.raises(ImportError, match=rf"pip install 'scifigqual-bench\[{backend}\]'"):
        make_backend(backend, model=str(model)).generate([build_request("direct", item())])

"""Run folders: append, resume, refuse, and survive an end at any time."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scifigqual_bench.audit.predictions import read_predictions
from scifigqual_bench.errors import InputError
from scifigqual_bench.judges import prompts
from scifigqual_bench.judges.base import Request, Response
from scifigqual_bench.judges.measure import Measurements
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.judges.run import LOCK, MANIFEST, PREDICTIONS, DatasetInfo, read_manifest, run_judge
from scifigqual_bench.records import ImageFeatures, Prediction, RunManifest
from tests.factory import png
from tests.judges.scripted import ScriptedBackend, good_answer, image_features, item

DATASET = DatasetInfo("example", "f" * 64, ("rated",), 5)


def items(count: int = 5) -> Iterator[JudgeItem]:
    return (item(n) for n in range(1, count + 1))


def run(out: Path, **changes: Any) -> RunManifest:
    settings: dict[str, Any] = {
        "items": items(),
        "protocol": "direct",
        "backend": ScriptedBackend(good_answer),
        "dataset": DATASET,
        "batch_size": 2,
        "progress": False,
    }
    return run_judge(out_dir=out, **(settings | changes))


def rows(out: Path) -> list[Prediction]:
    return [Prediction.model_validate_json(line) for line in (out / PREDICTIONS).read_bytes().splitlines()]


@pytest.mark.parametrize("protocol", ["direct", "sidecar", "agent"])
def test_a_whole_run(tmp_path: Path, protocol: str) -> None:
    manifest = run(tmp_path / "new" / "run", protocol=protocol, seed=7)
    out = tmp_path / "new" / "run"
    assert sorted(path.name for path in out.iterdir() if path.name != LOCK) == [MANIFEST, PREDICTIONS]
    assert [row.figure_id for row in rows(out)] == [each.figure.figure_id for each in items()]
    assert read_predictions(out / PREDICTIONS).errors == []
    assert manifest == read_manifest(out)
    assert (manifest.protocol, manifest.backend, manifest.model, manifest.seed) == (protocol, "scripted", "script", 7)
    assert (manifest.figures, manifest.status_counts) == (5, {"ok": 5})
    assert manifest.predictions_sha256 == hashlib.sha256((out / PREDICTIONS).read_bytes()).hexdigest()
    assert manifest.sampling == {"temperature": 0}
    assert manifest.prompt_sha256.keys() >= {"rubric text"}
    assert manifest.packages["pydantic"]
    assert manifest.started_at <= manifest.finished_at


def test_batches_are_read_as_they_are_needed(tmp_path: Path) -> None:
    taken: list[int] = []
    written: list[int] = []
    out = tmp_path / "run"

    def script(request: Request) -> str:
        written.append(len((out / PREDICTIONS).read_bytes().splitlines()))
        return good_answer(request)

    def source() -> Iterator[JudgeItem]:
        for n in range(1, 6):
            taken.append(n)
            yield item(n)

    backend = ScriptedBackend(script)
    run(out, items=source(), backend=backend)
    assert [len(batch) for batch in backend.batches] == [2, 2, 1]
    assert written == [0, 0, 2, 2, 4]


class Stop(Exception):
    """The end of a process, at a place of the test's choice."""


def stopping_after(count: int) -> ScriptedBackend:
    answered = iter(range(count))

    def script(request: Request) -> str:
        if next(answered, None) is None:
            raise Stop
        return good_answer(request)

    return ScriptedBackend(script)


def test_a_stopped_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path, backend=stopping_after(4))
    partial = read_manifest(tmp_path)
    assert (partial.finished_at, partial.status_counts, partial.predictions_sha256) == (None, {}, None)
    assert len(rows(tmp_path)) == 4
    backend = ScriptedBackend(good_answer)
    manifest = run(tmp_path, backend=backend)
    assert [request.figure_id for request in backend.requests] == [item(5).figure.figure_id]
    assert [row.figure_id for row in rows(tmp_path)] == [each.figure.figure_id for each in items()]
    assert (manifest.figures, manifest.status_counts, manifest.started_at) == (5, {"ok": 5}, partial.started_at)


@pytest.mark.parametrize("kept", [0, 1, 200, -1])
def test_a_torn_last_line_is_judged_again(tmp_path: Path, kept: int) -> None:
    run(tmp_path)
    whole = (tmp_path / PREDICTIONS).read_bytes()
    *lines, last = whole.splitlines(keepends=True)
    (tmp_path / PREDICTIONS).write_bytes(b"".join(lines) + last[:kept])
    manifest = run(tmp_path)
    assert (tmp_path / PREDICTIONS).read_bytes() == whole
    assert manifest.predictions_sha256 == hashlib.sha256(whole).hexdigest()


def test_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    run(tmp_path)
    before = (tmp_path / PREDICTIONS).read_bytes()
    backend = ScriptedBackend(good_answer)
    run(tmp_path, backend=backend)
    assert backend.batches == [] and (tmp_path / PREDICTIONS).read_bytes() == before


def test_a_second_process_is_kept_out_of_the_folder(tmp_path: Path) -> None:
    def script(request: Request) -> str:
        with pytest.raises(InputError, match="another process judges into this folder"):
            run(tmp_path)
        return good_answer(request)

    assert run(tmp_path, backend=ScriptedBackend(script)).status_counts == {"ok": 5}
    assert len(rows(tmp_path)) == 5


def test_failed_rows_are_counted_and_not_asked_again(tmp_path: Path) -> None:
    bad = item(2).figure.figure_id
    failure = Response("", finish_reason="error", error="HTTP 500")
    backend = ScriptedBackend(lambda request: failure if request.figure_id == bad else good_answer(request))
    assert run(tmp_path, backend=backend).status_counts == {"api_error": 1, "ok": 4}
    assert run(tmp_path).status_counts == {"api_error": 1, "ok": 4}


def test_a_damaged_line_inside_the_file_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    lines = (tmp_path / PREDICTIONS).read_bytes().splitlines(keepends=True)
    (tmp_path / PREDICTIONS).write_bytes(b"".join([lines[0], b'{"figure_id": 3}\n', *lines[2:]]))
    with pytest.raises(InputError, match=r"predictions\.jsonl, line 2: not a prediction"):
        run(tmp_path)


def test_another_configurations_folder_is_refused_by_name_and_left_alone(tmp_path: Path) -> None:
    run(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    other = ScriptedBackend(good_answer)
    other.model = "another"
    other.settings = lambda: {"sampling": {"temperature": 1}}
    dataset = DatasetInfo("renamed", "0" * 64, ("rated",), 5)
    with pytest.raises(InputError) as error:
        run(tmp_path, backend=other, dataset=dataset, protocol="agent")
    message = str(error.value)
    for difference in (
        "protocol: 'direct' -> 'agent'",
        "model: 'script' -> 'another'",
        "sampling.temperature: 0 -> 1",
        f"dataset_fingerprint: '{'f' * 64}' -> '{'0' * 64}'",
        "prompt_sha256.vision.j2: None -> ",
    ):
        assert difference in message
    assert "example" not in message and "revision" not in message
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert other.batches == []


def test_a_changed_prompt_is_another_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(tmp_path / "a")
    monkeypatch.setattr(prompts, "rubric_text", lambda: "another rubric")
    assert run(tmp_path / "b").configuration_sha256 != first.configuration_sha256
    with pytest.raises(InputError, match="rubric text"):
        run(tmp_path / "a")


def test_a_renamed_dataset_is_the_same_configuration(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(tmp_path, backend=stopping_after(2))
    renamed = DatasetInfo("renamed", DATASET.fingerprint, DATASET.splits, DATASET.figures)
    assert run(tmp_path, dataset=renamed).status_counts == {"ok": 5}


def test_predictions_without_a_manifest_are_refused(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(InputError, match="without manifest"):
        run(tmp_path)


def test_a_broken_manifest_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / MANIFEST).write_text(json.dumps({"protocol": "direct"}))
    with pytest.raises(InputError, match=r"not a run manifest \(backend: Field required"):
        run(tmp_path)


def test_a_repeated_id_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fig0002: twice"):
        run(tmp_path, items=[item(1), item(2), item(2)])


def test_images_are_held_one_batch_at_a_time(tmp_path: Path) -> None:
    size = 1_000_000

    def big() -> Iterator[JudgeItem]:
        for n in range(1, 41):
            yield item(n, image=bytes(size))

    tracemalloc.start()
    try:
        run(tmp_path, items=big(), batch_size=2, backend=Forgetful(good_answer))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * size


class Forgetful(ScriptedBackend):
    """Does not keep its requests, which hold the images."""

    def generate(self, requests: list[Request]) -> list[Response]:
        responses = super().generate(requests)
        self.batches.clear()
        return responses


# --- features for rows that lack them -------------------------------------------------------------------------------


def measuring(log: list[tuple[float, float] | None]) -> Measurements:
    def measure(image: bytes, size: tuple[float, float] | None) -> ImageFeatures:
        if image.startswith(b"broken"):
            raise ValueError("no image")
        log.append(size)
        return image_features()

    return Measurements(measure, engine="test")


def test_missing_features_are_measured_where_the_protocol_needs_them(tmp_path: Path) -> None:
    log: list[tuple[float, float] | None] = []
    mixed = [item(1), item(2, features=None, image=png("2")), item(3, features=None, image=b"broken")]
    backend = ScriptedBackend(good_answer)
    manifest = run(tmp_path / "s", items=mixed, protocol="sidecar", features=measuring(log), backend=backend)
    assert manifest.status_counts == {"ok": 2, "skipped": 1}
    assert log == [(218.25, 149.5)]
    # "Accuracy", "LSTM" and "GRU" of the caption stand in the image, "training" and the marker don't.
    assert backend.requests[1].evidence.features.caption.word_share == 0.6
    assert rows(tmp_path / "s")[2].status_reason == "features can't be measured (ValueError: no image)"
    assert run(tmp_path / "d", items=mixed, features=measuring(log)).status_counts == {"ok": 3}
    assert len(log) == 1


def test_features_of_the_rows_are_learnt_and_the_cache_is_bounded() -> None:
    log: list[tuple[float, float] | None] = []
    features = measuring(log)
    known = item(1)
    assert features.prepared(known, measure=True) is known
    assert features.image(known.image_input) is known.figure.features.image
    assert log == []
    other_size = item(1, bbox=[0.0, 0.0, 10.0, 10.0]).image_input
    features.image(other_size)
    features.image(other_size)
    assert log == [(10.0, 10.0)]
    small = Measurements(lambda image, size: log.append(size) or image_features(), engine="test", capacity=1)
    for judged in (item(1, image=b"a"), item(1, image=b"b"), item(1, image=b"a")):
        small.image(judged.image_input)
    assert len(log) == 4


# --- the end of a process -------------------------------------------------------------------------------------------

SCRIPT = """
    import os, signal, sys
    from pathlib import Path
    from scifigqual_bench.judges.run import DatasetInfo, run_judge
    from tests.judges.scripted import ScriptedBackend, good_answer, item

    asked = 0

    def script(request):
        global asked
        asked += 1
        if asked == 7:
            os.kill(os.getpid(), getattr(signal, sys.argv[2]))
        return good_answer(request)

    run_judge((item(n) for n in range(1, 21)), "direct", ScriptedBackend(script), Path(sys.argv[1]),
              DatasetInfo("example", "f" * 64, ("rated",), 20), batch_size=3)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_killed_process_leaves_files_that_are_valid_and_resumable(tmp_path: Path, root: Path, name: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path), name]
    killed = subprocess.run(command, capture_output=True, text=True, cwd=root, env={**os.environ, "PYTHONPATH": "."})
    number = getattr(signal, name)
    assert killed.returncode in (-number, 128 + number), killed.stderr
    assert "direct:" in killed.stderr and killed.stdout == ""  # progress goes to stderr
    assert read_predictions(tmp_path / PREDICTIONS).errors == []
    assert len(rows(tmp_path)) == 6
    assert read_manifest(tmp_path).finished_at is None
    twenty = DatasetInfo("example", "f" * 64, ("rated",), 20)
    manifest = run(tmp_path, items=items(20), dataset=twenty)
    assert manifest.status_counts == {"ok": 20}
    assert [row.figure_id for row in rows(tmp_path)] == [each.figure.figure_id for each in items(20)]

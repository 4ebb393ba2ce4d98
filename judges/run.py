"""Judge many figures into a run folder: ``predictions.jsonl``, append-only, beside ``manifest.json``.

The folder belongs to one configuration. A run that was stopped goes on where it ended; a folder of another
configuration is refused, because its rows could not be told apart from the new ones.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from tqdm import tqdm

from scifigqual_bench import __version__
from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.base import Backend
from scifigqual_bench.judges.measure import Measurements
from scifigqual_bench.judges.payload import JudgeItem
from scifigqual_bench.judges.prompts import prompt_hashes
from scifigqual_bench.judges.protocols import PROTOCOLS, ProtocolName
from scifigqual_bench.records import Prediction, RunManifest
from scifigqual_bench.rubric import RUBRIC_VERSION

PREDICTIONS = "predictions.jsonl"
MANIFEST = "manifest.json"

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
    "seed",
)
"""The fields of a manifest that two runs must share for their rows to be one run's."""

PACKAGES = ("jinja2", "numpy", "onnxruntime", "opencv-python", "pillow", "pydantic", "rapidocr", "torch", "vllm")
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
    seed: int | None = None,
    progress: bool = True,
) -> RunManifest:
    """Judge figures and write each row as soon as its batch is done.

    Holds one batch of images in memory. Figures that the folder has a row for already are passed over, whatever the
    row's status.

    Args:
        items: The figures, read as they are needed.
        protocol: ``direct``, ``sidecar`` or ``agent``.
        backend: Who answers.
        out_dir: The run folder; made where it is missing.
        dataset: What the manifest says of the data.
        features: Measures sidecar features for rows that come without them, where the protocol needs them, and learns
            those of the other rows. Without it, rows that lack what the protocol needs are skipped with a reason.
        batch_size: Figures per call of the protocol.
        seed: Stated in the manifest; sampling itself is the backend's.
        progress: Whether to show progress on stderr.

    Returns:
        The completed manifest.

    Raises:
        InputError: The folder holds a run of another configuration or a damaged one, or two items share an id.
    """
    chosen = PROTOCOLS[protocol]
    settings = backend.settings()
    started = RunManifest(
        protocol=protocol,
        backend=backend.name,
        model=backend.model,
        revision=backend.revision,
        rubric_version=RUBRIC_VERSION,
        prompt_sha256=prompt_hashes(chosen.roles),
        dataset_name=dataset.name,
        dataset_fingerprint=dataset.fingerprint,
        splits=list(dataset.splits),
        sampling=settings.get("sampling", {}),
        image_settings=settings.get("image", {}),
        seed=seed,
        configuration_sha256="",
        code_version=__version__,
        packages=_package_versions(),
        started_at=_now(),
        figures=dataset.figures,
    )
    started = started.model_copy(update={"configuration_sha256": configuration_sha256(started)})
    predictions = out_dir / PREDICTIONS
    manifest = _opened(out_dir, started)
    statuses = _resume(predictions)
    write_manifest(out_dir, manifest)

    todo = _remaining(items, statuses)
    with (
        predictions.open("ab") as file,
        tqdm(total=dataset.figures, initial=len(statuses), desc=protocol, unit="fig", disable=not progress) as bar,
    ):
        while batch := list(islice(todo, batch_size)):
            if features is not None:
                batch = [features.prepared(item, measure=chosen.needs_features) for item in batch]
            for prediction in chosen.judge(batch, backend):
                file.write(prediction.model_dump_json().encode() + b"\n")
                file.flush()
                statuses[prediction.figure_id] = prediction.status
                bar.update()
            bar.set_postfix(_failures(statuses.values()), refresh=False)

    finished = manifest.model_copy(
        update={
            "finished_at": _now(),
            "figures": len(statuses),
            "status_counts": dict(sorted(Counter(statuses.values()).items())),
            "predictions_sha256": _sha256(predictions),
        }
    )
    write_manifest(out_dir, finished)
    return finished


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
        return RunManifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise InputError(f"{path}: not a run manifest ({faults}); give another --out") from None


def differing_settings(old: RunManifest, new: RunManifest) -> list[str]:
    """The settings in which two runs differ, each as ``name: old value -> new value``."""
    before, now = (manifest.model_dump(include=set(CONFIGURATION)) for manifest in (old, new))
    return [
        f"{name}: {old_value!r} -> {new_value!r}"
        for field in CONFIGURATION
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
    out_dir.mkdir(parents=True, exist_ok=True)
    existing = read_manifest(out_dir)
    if existing is None:
        if (out_dir / PREDICTIONS).exists():
            raise InputError(f"{out_dir}: {PREDICTIONS} without {MANIFEST}: whose rows these are is unknown")
        return started
    differences = differing_settings(existing, started)
    if differences:
        text = "; ".join(differences)
        raise InputError(f"{out_dir} holds a run of another configuration; give another --out. Different: {text}")
    return existing.model_copy(update={"finished_at": None, "status_counts": {}, "predictions_sha256": None})


def _resume(predictions: Path) -> dict[str, str]:
    """Status by figure id of the rows that are there; a last line without an end, torn by a crash, is cut off."""
    if not predictions.exists():
        return {}
    statuses: dict[str, str] = {}
    with predictions.open("r+b") as file:
        for number, line in enumerate(iter(file.readline, b""), start=1):
            if not line.endswith(b"\n"):
                file.truncate(file.tell() - len(line))
                break
            try:
                row = Prediction.model_validate_json(line)
            except ValidationError:
                text = "not a prediction; the file was changed by something else, start again in another --out"
                raise InputError(f"{predictions}, line {number}: {text}") from None
            statuses[row.figure_id] = row.status
    return statuses


def _remaining(items: Iterable[JudgeItem], done: dict[str, str]) -> Iterator[JudgeItem]:
    seen: set[str] = set()
    passed_over = frozenset(done)
    for item in items:
        figure_id = item.figure.figure_id
        if figure_id in seen:
            raise InputError(f"{figure_id}: twice in the figures to judge; ids must be unique")
        seen.add(figure_id)
        if figure_id not in passed_over:
            yield item


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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

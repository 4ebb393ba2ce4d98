"""``eval.py migrate``: a run of an earlier version, or a flat table of predictions, as this version writes it."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from scifigqual_bench.audit.versions import FLAT, MANIFESTS, ROWS, manifest_version, read_manifest, upgrade
from scifigqual_bench.commands.common import OK, print_problems
from scifigqual_bench.dataset.tables import Row, explain, read_rows
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import MANIFEST_VERSION, Prediction, figure_id

if TYPE_CHECKING:
    from scifigqual_bench.records import RunManifest


def add_commands(commands: Any) -> None:
    """Add ``migrate``."""
    p = commands.add_parser("migrate", help="bring a prediction file of an earlier version to this one")
    p.add_argument("file", type=Path, metavar="FILE", help="predictions.jsonl, or a flat .jsonl or .csv; a run folder")
    p.add_argument("--out", type=Path, required=True, metavar="RUN_DIR", help="new folder to write")
    p.set_defaults(command=_migrate)


def _migrate(args: argparse.Namespace) -> int:
    source = args.file / "predictions.jsonl" if args.file.is_dir() else args.file
    if args.out.exists() and any(args.out.iterdir()):
        raise InputError(f"{args.out} is not empty; give another --out")
    beside = source.with_name("manifest.json")
    manifest = read_manifest(beside.read_bytes(), str(beside)) if beside.is_file() else None
    version = manifest_version(json.loads(beside.read_bytes())) if manifest else FLAT
    predictions = _rows(source, version)
    warnings = []
    if manifest is None:
        warnings.append(f"{source.name}: no manifest.json beside it; its rows can be scored, but not verified")
    elif manifest.predictions_sha256 not in (None, hashlib.sha256(source.read_bytes()).hexdigest()):
        raise InputError(f"{source}: not the file that {beside.name} was written for; its hash is another one")
    text = "".join(f"{prediction.model_dump_json()}\n" for prediction in predictions).encode()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "predictions.jsonl").write_bytes(text)
    if manifest is not None:
        (args.out / "manifest.json").write_text(_written_for(manifest, text).model_dump_json(indent=2) + "\n")
        if version in MANIFESTS:
            warnings.append("the dataset's fingerprint is of an earlier kind: that the dataset is the same is unproven")
    print_problems("warnings", warnings)
    print(f"{args.out / 'predictions.jsonl'}: {len(predictions)} rows of version {version}, now {MANIFEST_VERSION}")
    return OK


def _written_for(manifest: RunManifest, predictions: bytes) -> RunManifest:
    from scifigqual_bench.judges.run import configuration_sha256

    sha256 = None if manifest.predictions_sha256 is None else hashlib.sha256(predictions).hexdigest()
    manifest = manifest.model_copy(update={"predictions_sha256": sha256})
    return manifest.model_copy(update={"configuration_sha256": configuration_sha256(manifest)})


def _rows(path: Path, version: str) -> list[Prediction]:
    problems: list[str] = []
    found = []
    for row in read_rows(path):
        try:
            found.append(Prediction.model_validate(upgrade(_typed(row), version, ROWS)))
        except ValidationError as error:
            problems += [f"{path.name}, line {row.line}: {phrase}" for phrase in explain(error)]
    if problems:
        raise InputError(problems)
    return found


def _typed(row: Row) -> dict[str, Any]:
    """The row's cells; those of a CSV file as JSON would have them, and its paper and index as an id."""
    cells = dict(row.cells) if row.typed else {key: _cell(value) for key, value in row.cells.items()}
    paper, index = cells.pop("paper_id", None), cells.pop("fig_index", None)
    if "figure_id" not in cells and paper is not None and isinstance(index, int):
        cells["figure_id"] = figure_id(str(paper), index)
    return cells


def _cell(text: str | None) -> Any:
    try:
        return None if text is None else int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text

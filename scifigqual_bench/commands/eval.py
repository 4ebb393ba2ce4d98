"""``eval.py``: judge a dataset, score and compare prediction files, write the report page, check a paper."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scifigqual_bench.commands import check, judge, migrate, scores
from scifigqual_bench.commands.common import INPUT_ERROR, OK, print_problems, run
from scifigqual_bench.commands.inputs import (
    add_dataset,
    add_scoring,
    read_gold,
    read_predictions_of,
    scored,
)
from scifigqual_bench.errors import InputError

if TYPE_CHECKING:
    from scifigqual_bench.records import RunManifest
    from scifigqual_bench.scoring import Agreement, Report


def parser() -> argparse.ArgumentParser:
    """The commands and their arguments."""
    p = argparse.ArgumentParser(prog="eval.py", description="Judge figures, score predictions, write the report page.")
    commands = p.add_subparsers(required=True, metavar="COMMAND")

    judge.add_commands(commands)
    scores.add_commands(commands)
    migrate.add_commands(commands)
    check.add_commands(commands)

    report = commands.add_parser("report", help="write one self-contained HTML page")
    add_dataset(report)
    report.add_argument("--predictions", type=Path, required=True, metavar="FILE", help="predictions.jsonl")
    add_scoring(report)
    report.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page to write")
    report.set_defaults(command=_report)

    validate = commands.add_parser("validate", help="check a prediction file against its dataset")
    add_dataset(validate)
    validate.add_argument("--predictions", type=Path, required=True, metavar="FILE", help="predictions.jsonl")
    validate.set_defaults(command=_validate)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    args = parser().parse_args(argv)
    return run(lambda: args.command(args))


def _report(args: argparse.Namespace) -> int:
    from scifigqual_bench.dataset.folder import DatasetFolder
    from scifigqual_bench.report import write_report

    gold = read_gold(args.dataset, args.split)
    file = read_predictions_of([args.predictions], gold)[args.predictions]
    counts = write_report(
        args.out,
        dataset_name=gold.name,
        figures=DatasetFolder(args.dataset).figures(args.split),
        predictions=file.rows,
        manifest=_manifest(args.predictions),
        score_report=_score_rows(scored(args, file.rows, gold)) if gold.figures else None,
    )
    print(f"{args.out}: {counts.figures} figures, {counts.without_prediction} without a prediction")
    print_problems("images that can't be shown", counts.unreadable_images)
    return OK


def _score_rows(report: Report) -> list[dict[str, Any]]:
    """Rows for the page: of each column the headline, or by name what stands in for it, then the blind floor."""
    from scifigqual_bench.rubric import SHORT_COLUMNS

    rows = []
    for key, column in report.columns.items():
        if column.headline is not None:
            rows.append(_score_row(SHORT_COLUMNS[key], column.headline))
        else:
            label = f"{SHORT_COLUMNS[key]}, answered only ({column.headline_reason})"
            rows.append(_score_row(label, column.answered_only))
    for key, column in report.columns.items():
        if column.blind_floor is not None:
            rows.append(_score_row(f"{SHORT_COLUMNS[key]} blind floor, {report.blind_floor}", column.blind_floor))
    return rows


def _score_row(label: str, shown: Agreement) -> dict[str, Any]:
    from scifigqual_bench.scoring import Estimate

    values = {field.name: getattr(shown, field.name) for field in fields(shown)}
    numbers = {name: value.value if isinstance(value, Estimate) else value for name, value in values.items()}
    return {"column": label, **numbers}


def _manifest(predictions: Path) -> RunManifest | None:
    """The manifest beside a prediction file; None where there is none that can be read."""
    from scifigqual_bench.audit.versions import read_manifest

    path = predictions.with_name("manifest.json")
    if not path.is_file():
        return None
    try:
        return read_manifest(path.read_bytes(), str(path))
    except InputError as error:
        print(f"warning: {error}", file=sys.stderr)
        return None


def _validate(args: argparse.Namespace) -> int:
    from scifigqual_bench.audit.predictions import read_predictions

    file = read_predictions(args.predictions, read_gold(args.dataset, args.split).masks)
    print_problems("errors", file.errors)
    print_problems("warnings", file.warnings)
    statuses = Counter(row.status for row in file.rows.values())
    print(", ".join([f"{len(file.rows)} valid rows", *(f"{name} {count}" for name, count in sorted(statuses.items()))]))
    return INPUT_ERROR if file.errors else OK

"""``eval.py``: judge a dataset, score a prediction file, write the report page."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scifigqual_bench.commands.common import INPUT_ERROR, OK, print_problems, run
from scifigqual_bench.errors import InputError

if TYPE_CHECKING:
    from scifigqual_bench.audit.predictions import PredictionFile
    from scifigqual_bench.dataset.folder import DatasetFolder
    from scifigqual_bench.records import Gold, RunManifest
    from scifigqual_bench.scoring import Report


def parser() -> argparse.ArgumentParser:
    """The commands and their arguments."""
    p = argparse.ArgumentParser(prog="eval.py", description="Judge figures, score predictions, write the report page.")
    commands = p.add_subparsers(required=True, metavar="COMMAND")

    judge = commands.add_parser("judge", help="predict the ratings of every figure of a dataset")
    _dataset_arguments(judge)
    judge.add_argument("--protocol", required=True, choices=("direct", "sidecar", "agent"))
    judge.add_argument("--backend", required=True, help="who answers; 'rules' needs no model and no key")
    judge.add_argument("--out", type=Path, required=True, metavar="RUN_DIR", help="folder of the run; goes on in it")
    judge.add_argument("--batch-size", type=_positive, default=32, metavar="N", help="figures per batch (default 32)")
    judge.set_defaults(command=_judge)

    score = commands.add_parser("score", help="compare a prediction file with gold")
    _dataset_arguments(score)
    _predictions_argument(score)
    _score_arguments(score)
    score.add_argument("--out", type=Path, metavar="FILE", help="JSON to write (default: scores.json beside FILE)")
    score.set_defaults(command=_score)

    report = commands.add_parser("report", help="write one self-contained HTML page")
    _dataset_arguments(report)
    _predictions_argument(report)
    _score_arguments(report)
    report.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page to write")
    report.set_defaults(command=_report)

    validate = commands.add_parser("validate", help="check a prediction file against its dataset")
    _dataset_arguments(validate)
    _predictions_argument(validate)
    validate.set_defaults(command=_validate)
    return p


def _dataset_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument("--dataset", type=Path, required=True, metavar="DIR", help="dataset folder")
    p.add_argument("--split", nargs="+", metavar="SPLIT", help="splits to use (default: all)")


def _predictions_argument(p: argparse.ArgumentParser) -> None:
    p.add_argument("--predictions", type=Path, required=True, metavar="FILE", help="predictions.jsonl")


def _score_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--mask",
        choices=("gold", "evidence"),
        default="gold",
        help="items that count: those that people rated (default), or those that the evidence opens",
    )
    p.add_argument(
        "--overall",
        choices=("dimension_first", "rater_mean"),
        default="dimension_first",
        help="gold overall: mean of the dimensions' gold (default), or mean of the raters' own overalls",
    )
    p.add_argument("--min-coverage", type=float, default=1.0, metavar="SHARE", help="needed for a headline (default 1)")
    p.add_argument("--resamples", type=int, default=10_000, metavar="N", help="of papers, for intervals; 0 for none")
    p.add_argument("--seed", type=int, default=0, help="of the resampling")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text}")
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    args = parser().parse_args(argv)
    return run(lambda: args.command(args))


def _open(args: argparse.Namespace) -> DatasetFolder:
    from scifigqual_bench.dataset.folder import DatasetFolder

    return DatasetFolder(args.dataset)


def _judge(args: argparse.Namespace) -> int:
    from scifigqual_bench.judges.backends import make_backend
    from scifigqual_bench.judges.measure import ocr_measurements
    from scifigqual_bench.judges.payload import JudgeItem
    from scifigqual_bench.judges.run import DatasetInfo, run_judge

    folder = _open(args)
    splits = tuple(args.split or folder.splits)
    info = DatasetInfo(folder.name, folder.fingerprint(splits), splits, folder.count(splits))
    measurements = ocr_measurements()
    options = {"measurements": measurements} if args.backend == "rules" else {}
    backend = make_backend(args.backend, **options)
    items = (JudgeItem(figure, image) for figure, image in folder.figures(splits))
    manifest = run_judge(
        items, args.protocol, backend, args.out, info, features=measurements, batch_size=args.batch_size
    )
    counts = ", ".join(f"{status} {count}" for status, count in sorted(manifest.status_counts.items()))
    print(f"{args.out / 'predictions.jsonl'}: {manifest.figures} figures ({counts})")
    return OK


def _read(args: argparse.Namespace, folder: DatasetFolder) -> tuple[PredictionFile, list[Gold]]:
    """The prediction file, checked, and the gold of the rated figures; warnings are printed."""
    from scifigqual_bench.audit.predictions import read_predictions

    masks: dict[str, list[str]] = {}
    golds: list[Gold] = []
    for figure in folder.records(args.split):
        masks[figure.figure_id] = figure.open_dimensions
        if figure.gold is not None:
            golds.append(figure.gold)
    file = read_predictions(args.predictions, masks)
    if file.errors:
        raise InputError(file.errors)
    print_problems("warnings", file.warnings)
    return file, golds


def _scores(args: argparse.Namespace, file: PredictionFile, golds: list[Gold]) -> Report:
    from scifigqual_bench.scoring import score

    rated = {gold.figure_id for gold in golds}
    rows = [row.model_dump() for figure_id, row in file.rows.items() if figure_id in rated]
    return score(
        rows,
        [gold.model_dump() for gold in golds],
        mask=args.mask,
        overall=args.overall,
        min_coverage=args.min_coverage,
        missing="unanswered",
        resamples=args.resamples,
        seed=args.seed,
    )


def _score(args: argparse.Namespace) -> int:
    from scifigqual_bench.scoring import format_table

    folder = _open(args)
    file, golds = _read(args, folder)
    if not golds:
        raise InputError(f"{args.dataset}: no figure has ratings to score against; build it with --ratings")
    report = _scores(args, file, golds)
    out = args.out or args.predictions.with_name("scores.json")
    out.write_text(json.dumps(report.to_dict(), indent=1) + "\n", encoding="utf-8")
    print(format_table(report))
    print(f"\n{out}")
    return OK


def _report(args: argparse.Namespace) -> int:
    from scifigqual_bench.report import write_report

    folder = _open(args)
    file, golds = _read(args, folder)
    counts = write_report(
        args.out,
        dataset_name=folder.name,
        figures=folder.figures(args.split),
        predictions=file.rows,
        manifest=_manifest(args.predictions),
        score_report=_score_rows(_scores(args, file, golds)) if golds else None,
    )
    print(f"{args.out}: {counts.figures} figures, {counts.without_prediction} without a prediction")
    print_problems("images that can't be shown", counts.unreadable_images)
    return OK


def _score_rows(report: Report) -> list[dict[str, Any]]:
    """A row per column for the page: the headline, or by name what stands in for it."""
    from dataclasses import fields

    from scifigqual_bench.rubric import SHORT_COLUMNS
    from scifigqual_bench.scoring import Estimate

    rows = []
    for key, column in report.columns.items():
        shown, label = column.headline, SHORT_COLUMNS[key]
        if shown is None:
            shown, label = column.answered_only, f"{label}, answered only ({column.headline_reason})"
        values = {field.name: getattr(shown, field.name) for field in fields(shown)}
        numbers = {name: value.value if isinstance(value, Estimate) else value for name, value in values.items()}
        rows.append({"column": label, **numbers})
    return rows


def _manifest(predictions: Path) -> RunManifest | None:
    from pydantic import ValidationError

    from scifigqual_bench.records import RunManifest

    path = predictions.with_name("manifest.json")
    if not path.is_file():
        return None
    try:
        return RunManifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        print(f"warning: {path}: not a manifest of this version ({error.error_count()} faults)", file=sys.stderr)
        return None


def _validate(args: argparse.Namespace) -> int:
    from scifigqual_bench.audit.predictions import read_predictions

    masks = {figure.figure_id: figure.open_dimensions for figure in _open(args).records(args.split)}
    file = read_predictions(args.predictions, masks)
    print_problems("errors", file.errors)
    print_problems("warnings", file.warnings)
    statuses = Counter(row.status for row in file.rows.values())
    print(", ".join([f"{len(file.rows)} valid rows", *(f"{name} {count}" for name, count in sorted(statuses.items()))]))
    return INPUT_ERROR if file.errors else OK

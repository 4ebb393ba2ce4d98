"""``eval.py score``, ``compare`` and ``ceilings``: numbers against gold, and what people agree on."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

from scifigqual_bench.commands.common import OK
from scifigqual_bench.commands.inputs import (
    add_dataset,
    add_resampling,
    add_scoring,
    need_ratings,
    rated_rows,
    read_gold,
    read_predictions_of,
    scored,
)
from scifigqual_bench.errors import InputError
from scifigqual_bench.scoring import ceilings, compare, format_table, to_csv, to_markdown

FIGURES = "figures"
COMPANIONS = ("scholscan", "scirigor")


def add_commands(commands: Any) -> None:
    """Add this module's commands to the parser's."""
    p = commands.add_parser("score", help="compare a prediction file with gold")
    p.add_argument("--task", choices=(FIGURES, *COMPANIONS), default=FIGURES, help="what is scored (default: figures)")
    p.add_argument("file", nargs="?", type=Path, metavar="FILE", help="counts or verified cases (other tasks)")
    add_dataset(p, required=False)
    p.add_argument("--predictions", type=Path, metavar="FILE", help="predictions.jsonl")
    add_scoring(p)
    add_resampling(p)
    p.add_argument("--slices", action="store_true", help="also by venue, year, topic, figure type, citing text, ...")
    p.add_argument("--out", type=Path, metavar="FILE", help="JSON to write (default: scores.json beside the input)")
    p.add_argument("--csv", type=Path, metavar="FILE", help="also write the numbers as CSV")
    p.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables as Markdown")
    p.add_argument("--plots", type=Path, metavar="DIR", help="also draw the plots (SVG) into a folder")
    p.set_defaults(command=_score)

    p = commands.add_parser("compare", help="compare prediction files with each other, figure by figure")
    p.add_argument("files", nargs="+", type=Path, metavar="FILE", help="prediction files; two or more")
    add_dataset(p)
    add_scoring(p)
    add_resampling(p)
    p.add_argument("--against", metavar="NAME", help="compare all others with this one only (default: all pairs)")
    p.add_argument("--out", type=Path, metavar="DIR", help="folder for compare.csv, .md, .json and a forest plot")
    p.set_defaults(command=_compare)

    p = commands.add_parser("ceilings", help="how far raters agree, from the ratings alone")
    add_dataset(p, required=False)
    p.add_argument("--ratings", type=Path, metavar="FILE", help="a ratings file instead of a dataset")
    p.add_argument(
        "--rater-overall",
        choices=("exact", "stored"),
        default="exact",
        help="a rater's overall: mean of the open dimensions (default), or as stored in the source",
    )
    add_resampling(p)
    p.add_argument("--out", type=Path, metavar="FILE", help="JSON to write")
    p.set_defaults(command=_ceilings)


def _score(args: argparse.Namespace) -> int:
    if args.task != FIGURES:
        return _score_companion(args)
    if args.file is not None or args.dataset is None or args.predictions is None:
        raise InputError("score needs --dataset DIR and --predictions FILE")
    gold = read_gold(args.dataset, args.split)
    need_ratings(gold)
    file = read_predictions_of([args.predictions], gold)[args.predictions]
    report = scored(args, file.rows, gold, resamples=args.resamples, seed=args.seed, ceilings=True, slices=args.slices)
    print(format_table(report))
    written = [_write_json(args.out or args.predictions.with_name("scores.json"), report.to_dict())]
    if args.csv:
        written.append(_write(args.csv, to_csv(report)))
    if args.markdown:
        written.append(_write(args.markdown, to_markdown(report)))
    if args.plots:
        from scifigqual_bench.scoring import plots

        args.plots.mkdir(parents=True, exist_ok=True)
        for draw in (plots.reliability, plots.error_by_gold_band, plots.bland_altman, plots.dimension_bars):
            written.append(draw(report, args.plots / f"{draw.__name__}.svg"))
    print("", *written, sep="\n")
    return OK


def _score_companion(args: argparse.Namespace) -> int:
    """Counts of error detection, or verified evidence chains."""
    if args.file is None or args.dataset is not None or args.predictions is not None:
        raise InputError(f"--task {args.task} takes one FILE, and neither --dataset nor --predictions")
    if args.task == "scholscan":
        from scifigqual_bench.companions import scholscan as task

        entries = task.read_items(args.file)
    else:
        from scifigqual_bench.companions import scirigor as task

        entries = task.read_cases(args.file)
    report = task.score(entries, resamples=args.resamples, seed=args.seed)
    print(task.format_table(report))
    written = []
    if args.out:
        written.append(_write_json(args.out, report.to_dict()))
    if args.csv:
        rows = task.csv_rows(report)
        with args.csv.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        written.append(args.csv)
    if args.markdown:
        written.append(_write(args.markdown, to_markdown(report)))
    if written:
        print("", *written, sep="\n")
    return OK


def _compare(args: argparse.Namespace) -> int:
    names = _names(args.files)
    if args.against is not None and args.against not in names.values():
        raise InputError(f"--against {args.against!r}: no such file; there are {', '.join(names.values())}")
    gold = read_gold(args.dataset, args.split)
    need_ratings(gold)
    files = read_predictions_of(args.files, gold)
    result = compare(
        {names[path]: rated_rows(file.rows, gold) for path, file in files.items()},
        gold.rows,
        ratings=gold.ratings,
        against=args.against,
        mask=args.mask,
        overall=args.overall,
        missing="unanswered",
        resamples=args.resamples,
        seed=args.seed,
    )
    print(format_table(result))
    if args.out:
        from scifigqual_bench.scoring import plots

        args.out.mkdir(parents=True, exist_ok=True)
        written = [
            _write(args.out / "compare.csv", to_csv(result)),
            _write(args.out / "compare.md", to_markdown(result)),
            _write_json(args.out / "compare.json", result.to_dict()),
            plots.forest(result, args.out / "forest.png"),
            plots.forest(result, args.out / "forest.svg"),
        ]
        print("", *written, sep="\n")
    return OK


def _names(files: list[Path]) -> dict[Path, str]:
    """A name per file: its own, or its folder's where all files are called alike.

    Raises:
        InputError: Fewer than two files, or two that can't be told apart.
    """
    if len(files) < 2:
        raise InputError("compare needs two prediction files or more")
    for name in (lambda path: path.stem, lambda path: path.absolute().parent.name, str):
        names = {path: name(path) for path in files}
        if len(set(names.values())) == len(files):
            return names
    raise InputError(f"the same file twice: {', '.join(map(str, files))}")


def _ceilings(args: argparse.Namespace) -> int:
    if (args.dataset is None) == (args.ratings is None):
        raise InputError("ceilings needs either --dataset DIR or --ratings FILE")
    if args.ratings:
        from scifigqual_bench.dataset.tables import read_ratings

        rows = [row.rating.model_dump() for row in read_ratings(args.ratings)]
    else:
        gold = read_gold(args.dataset, args.split)
        need_ratings(gold)
        rows = gold.ratings
        if rows is None:
            raise InputError(f"{gold.name}: only means are known, no ratings")
    report = ceilings(rows, rater_overall=args.rater_overall, resamples=args.resamples, seed=args.seed)
    print(format_table(report))
    if args.out:
        print("", _write_json(args.out, report.to_dict()), sep="\n")
    return OK


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _write_json(path: Path, data: dict[str, Any]) -> Path:
    return _write(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")

"""What the evaluation commands read: a dataset, prediction files beside it, and the arguments that name them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scifigqual_bench.audit.predictions import PredictionFile, read_predictions
from scifigqual_bench.blind import floor_rows
from scifigqual_bench.commands.common import print_problems
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.dataset.frozen import require_frozen
from scifigqual_bench.errors import InputError
from scifigqual_bench.scoring import Report, score, standard_groupings

if TYPE_CHECKING:
    from scifigqual_bench.records import Figure, Prediction


def positive(text: str) -> int:
    """A whole number of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text}")
    return value


def share(text: str) -> float:
    """A number from 0 to 1."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, found {text}")
    return value


def add_dataset(p: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Arguments that name a dataset."""
    p.add_argument("--dataset", type=Path, required=required, metavar="DIR", help="dataset folder")
    p.add_argument("--split", nargs="+", metavar="SPLIT", help="splits to use (default: all)")


def add_scoring(p: argparse.ArgumentParser) -> None:
    """Arguments of everything that compares with gold."""
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
    p.add_argument("--min-coverage", type=share, default=1.0, metavar="SHARE", help="needed for a headline (default 1)")


def add_resampling(p: argparse.ArgumentParser) -> None:
    """Arguments of the intervals."""
    p.add_argument("--resamples", type=int, default=10_000, metavar="N", help="of papers, for intervals; 0 for none")
    p.add_argument("--seed", type=int, default=0, help="of the resampling")


@dataclass(frozen=True)
class Gold:
    """What the predictions are compared with.

    Attributes:
        name: Name of the dataset.
        masks: Open dimensions of every figure, rated or not.
        figures: The rated figures, without images.
    """

    name: str
    masks: dict[str, Sequence[str]]
    figures: list[Figure]

    @property
    def rows(self) -> list[dict]:
        """Gold rows."""
        return [figure.gold.model_dump() for figure in self.figures if figure.gold]

    @property
    def ratings(self) -> list[dict] | None:
        """Rating rows of the rated figures; None where only means are known."""
        return [rating.model_dump() for figure in self.figures for rating in figure.ratings] or None


def open_dataset(path: Path, splits: Sequence[str] | None, *, images: bool = False) -> DatasetFolder:
    """A dataset folder whose frozen splits are what they were.

    Args:
        path: The folder.
        splits: The splits that are used; all where None.
        images: Whether the bytes of the images are read and compared, too, not only the hashes that rows state.

    Raises:
        FrozenError: Rows changed since their split was frozen; names them.
    """
    folder = DatasetFolder(path)
    require_frozen(folder, splits, images=images)
    return folder


def read_gold(path: Path, splits: Sequence[str] | None) -> Gold:
    """Gold and masks of a dataset folder; images are not read."""
    folder = open_dataset(path, splits)
    masks: dict[str, Sequence[str]] = {}
    rated = []
    for figure in folder.records(splits):
        masks[figure.figure_id] = figure.open_dimensions
        if figure.gold is not None:
            rated.append(figure)
    return Gold(folder.name, masks, rated)


def need_ratings(gold: Gold) -> None:
    """Refuse to score against nothing."""
    if not gold.figures:
        raise InputError(f"{gold.name}: no figure has ratings to score against; build it with --ratings")


def read_predictions_of(paths: Sequence[Path], gold: Gold) -> dict[Path, PredictionFile]:
    """Prediction files, checked against the dataset; the faults of all files come at once.

    Raises:
        InputError: A file has errors.
    """
    files = {path: read_predictions(path, gold.masks) for path in paths}
    errors = [error for file in files.values() for error in file.errors]
    if errors:
        raise InputError(errors)
    for file in files.values():
        print_problems("warnings", file.warnings)
    return files


def rated_rows(rows: dict[str, Prediction], gold: Gold) -> list[dict]:
    """The prediction rows of the rated figures."""
    return [rows[figure.figure_id].model_dump() for figure in gold.figures if figure.figure_id in rows]


def scored(
    args: argparse.Namespace,
    rows: dict[str, Prediction],
    gold: Gold,
    *,
    resamples: int = 0,
    seed: int = 0,
    ceilings: bool = False,
    slices: bool = False,
) -> Report:
    """Score one file's rows under the command's options; the rest says how much is computed beside the numbers."""
    blind, blind_floor = floor_rows(gold.figures)
    return score(
        rated_rows(rows, gold),
        gold.rows,
        mask=args.mask,
        overall=args.overall,
        min_coverage=args.min_coverage,
        missing="unanswered",
        ratings=gold.ratings if ceilings else None,
        groupings=standard_groupings(figure.model_dump() for figure in gold.figures) if slices else None,
        blind=blind,
        blind_floor=blind_floor,
        resamples=resamples,
        seed=seed,
    )

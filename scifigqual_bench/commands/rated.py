"""Rated figures that something is fitted on: a dataset folder, or captions and ratings as two tables."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from scifigqual_bench import gating
from scifigqual_bench.commands.inputs import open_dataset
from scifigqual_bench.dataset.tables import TableError, read_ratings, read_rows
from scifigqual_bench.errors import InputError
from scifigqual_bench.gold import gold_from_ratings
from scifigqual_bench.records import FIGURE_ID, Figure, Rating, normalised_paper_id

CAPTIONS, RATINGS = "captions.jsonl", "ratings.csv"


@dataclass(frozen=True)
class Rated:
    """Rated figures and where they come from.

    Attributes:
        name: Name of the data.
        fingerprint: SHA-256 of its content.
        figures: The figures that have gold, without images.
    """

    name: str
    fingerprint: str
    figures: list[Figure]


def read_rated(path: Path) -> Rated:
    """Rated figures of a dataset folder, or of a folder with ``captions.jsonl`` and ``ratings.csv``.

    Raises:
        InputError: It is neither, a table has faults, or no figure is rated.
    """
    if (path / CAPTIONS).is_file() and (path / RATINGS).is_file():
        rated = _from_tables(path)
    else:
        folder = open_dataset(path, None)
        figures = [figure for figure in folder.records() if figure.gold is not None]
        rated = Rated(folder.name, folder.fingerprint(), figures)
    if not rated.figures:
        raise InputError(f"{path}: no figure has ratings to fit on")
    return rated


def _from_tables(path: Path) -> Rated:
    """Figures of which only caption and ratings are known."""
    problems, captions = [], {}
    for row in read_rows(path / CAPTIONS):
        figure_id, caption = row.cells.get("figure_id"), row.cells.get("caption")
        if not isinstance(figure_id, str) or not FIGURE_ID.match(figure_id) or not isinstance(caption, str):
            problems.append(f"{CAPTIONS}, line {row.line}: expected a figure_id (PAPER__figNNNN) and a caption")
        else:
            captions[figure_id] = caption
    if problems:
        raise TableError(problems)
    ratings: defaultdict[str, list[Rating]] = defaultdict(list)
    for row in read_ratings(path / RATINGS):
        ratings[row.rating.figure_id].append(row.rating)
    digest = hashlib.sha256(b"".join((path / name).read_bytes() for name in (CAPTIONS, RATINGS))).hexdigest()
    figures = [_figure(figure_id, caption, ratings[figure_id]) for figure_id, caption in captions.items()]
    return Rated(path.absolute().name, digest, [figure for figure in figures if figure.gold is not None])


def _figure(figure_id: str, caption: str, ratings: list[Rating]) -> Figure:
    match = FIGURE_ID.match(figure_id)
    mask = gating.open_dimensions(has_caption=bool(caption), has_context=False)
    return Figure(
        figure_id=figure_id,
        paper_id=match["paper"],
        paper_id_norm=normalised_paper_id(match["paper"]),
        fig_index=int(match["index"]),
        caption=caption,
        open_dimensions=list(mask),
        gold=gold_from_ratings(figure_id, ratings, mask),
    )

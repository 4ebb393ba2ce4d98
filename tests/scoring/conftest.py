"""Rows to score: the real ones of eval1200, and made-up ones."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from scifigqual_bench.gating import open_dimensions
from scifigqual_bench.rubric import DIMENSION_KEYS

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Eval1200:
    golds: Rows
    ratings: Rows
    figures: Rows
    """Dataset rows: metadata with the gold and the ratings of the figure."""


@pytest.fixture(scope="session")
def eval1200(shared) -> Eval1200:
    def read(name: str) -> list[dict[str, str]]:
        with (shared / "eval1200" / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    golds, ratings = [], []
    for row in read("figures.csv"):
        evidence = open_dimensions(has_caption=True, has_context=int(row["context_count"]) > 0)
        golds.append(
            {
                "figure_id": row["figure_id"],
                **{key: _number(row[f"human_{key}"]) for key in DIMENSION_KEYS},
                "overall_rater_mean": float(row["human_overall_score"]),
                "n_ratings": int(row["annotator_count"]),
                "open_dimensions": list(evidence),
            }
        )
    for row in read("ratings.csv"):
        scores = {key: int(row[key]) if row[key] else None for key in DIMENSION_KEYS}
        overall = float(row["overall_score"])
        ratings.append({"figure_id": row["figure_id"], "rater_id": row["rater"], **scores, "overall_score": overall})
    own: dict[str, Rows] = {}
    for row in ratings:
        own.setdefault(row["figure_id"], []).append(row)
    figures = [
        {
            "figure_id": gold["figure_id"],
            "venue": row["venue"],
            "year": int(row["year"]),
            "open_dimensions": gold["open_dimensions"],
            "gold": gold,
            "ratings": own[gold["figure_id"]],
        }
        for gold, row in zip(golds, read("figures.csv"), strict=True)
    ]
    return Eval1200(golds, ratings, figures)


def _number(text: str) -> float | None:
    return float(text) if text else None


def made_up(seed: int, papers: int = 8, context: float = 0.7) -> tuple[Rows, Rows, Rows]:
    """Predictions, golds and ratings of one to five figures per paper; some without context."""
    rng = np.random.default_rng(seed)
    predictions, golds, ratings = [], [], []
    for paper in range(papers):
        for index in range(rng.integers(1, 6)):
            fig = f"paper-{paper}__fig{index:04d}"
            has_context = bool(rng.random() < context)
            keys = open_dimensions(has_caption=True, has_context=has_context)
            level = rng.integers(3, 9)
            own = [
                {
                    key: int(np.clip(level + rng.integers(-2, 3), 1, 10)) if key in keys else None
                    for key in DIMENSION_KEYS
                }
                for _ in range(rng.integers(2, 5))
            ]
            means = {
                key: round(float(np.mean([row[key] for row in own])), 4) if key in keys else None
                for key in DIMENSION_KEYS
            }
            golds.append({"figure_id": fig, **means, "open_dimensions": list(keys)})
            ratings += [{"figure_id": fig, "rater_id": f"r{number}", **row} for number, row in enumerate(own)]
            guess = {
                key: int(np.clip(level + rng.integers(-1, 2), 1, 10)) if key in keys else None for key in DIMENSION_KEYS
            }
            predictions.append({"figure_id": fig, "status": "ok", **guess})
    return predictions, golds, ratings


@pytest.fixture(scope="session")
def rows():
    """:func:`made_up`."""
    return made_up

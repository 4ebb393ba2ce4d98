"""Calibration of the rules: a monotone map per dimension, from what the rules say to what people say.

The map is an isotonic regression of gold on the rules' value before it is rounded. It never changes the order in which
the rules put two figures, it only moves their values to where people stand. Scores stay integers: the mapped value is
rounded as before, and the hard caps of the rubric cut it after that. A figure is always mapped by a curve that was
fitted without its paper.

Fitting needs scikit-learn (extra ``floors``); a fitted calibration is plain numbers and needs nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from scifigqual_bench.blind import FOLDS, MIN_PAPERS, paper_folds
from scifigqual_bench.judges.runner import to_score
from scifigqual_bench.records import DimensionKey, Gold, Record, normalised_paper_id, paper_of
from scifigqual_bench.rubric import DIMENSION_KEYS, SCALE_MAX, SCALE_MIN, SHORT_NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray


CALIBRATION_FILE = "calibration.json"
"""The fitted calibration in the run folder."""


class Curve(Record):
    """A monotone curve through points, flat beyond the first and the last."""

    x: list[float]
    y: list[float]

    def at(self, value: float) -> float:
        """The curve at a value of the rules.

        >>> Curve(x=[6.0, 8.0], y=[5.0, 9.0]).at(7.5), Curve(x=[6.0, 8.0], y=[5.0, 9.0]).at(2.0)
        (8.0, 5.0)
        """
        return float(np.interp(value, self.x, self.y))


class CalibratedDimension(Record):
    """What was fitted on one dimension.

    Attributes:
        learnt: Whether the map lowers the error of the rounded scores on papers held out; where not, there is no map.
        figures: Rated figures.
        mae_before: Mean absolute error of the rules' rounded scores.
        mae: The same after the map, each paper mapped by the curve of the fold that left it out.
        folds: Curves fitted without the papers of each fold; empty where nothing was learnt.
        whole: Curve fitted on all papers.
    """

    learnt: bool
    figures: int
    mae_before: float
    mae: float
    folds: list[Curve] = []
    whole: Curve | None = None


class Calibration(Record):
    """A fitted calibration, with its provenance.

    Attributes:
        source: Name of the dataset that it was fitted on.
        fingerprint: SHA-256 of that dataset's rows.
        rules_revision: The rules whose values it maps.
        fold_of_paper: Fold that left a paper out, by normalised paper id.
        dimensions: By dimension; those without ratings enough are absent.
    """

    schema_version: Literal["1"] = "1"
    source: str
    fingerprint: str
    papers: int
    figures: int
    rules_revision: str
    packages: dict[str, str]
    fitted_at: str
    fold_of_paper: dict[str, int]
    dimensions: dict[DimensionKey, CalibratedDimension]

    def curves(self, paper_id: str) -> dict[str, Curve]:
        """The curves for a figure of a paper, none of which has seen it; dimensions without a map are absent."""
        fold = self.fold_of_paper.get(normalised_paper_id(paper_id))
        return {
            key: item.whole if fold is None else item.folds[fold]
            for key, item in self.dimensions.items()
            if item.whole is not None
        }

    def provenance(self) -> dict[str, Any]:
        """What a manifest says of it."""
        content = self.model_dump(mode="json", exclude={"source", "packages", "fitted_at"})
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return {**self.model_dump(include={"fingerprint", "papers", "figures"}), "sha256": digest}

    def summary(self) -> list[str]:
        """A sentence a dimension: what the map is worth."""
        return [
            f"{SHORT_NAMES[key]}: {'mapped' if item.learnt else 'left as it is'}; on papers held out MAE {item.mae:.3f}"
            f" with a map, {item.mae_before:.3f} without; {item.figures} figures"
            for key, item in self.dimensions.items()
        ]


def fit(
    values: Mapping[str, Mapping[str, float]],
    golds: Sequence[Gold],
    *,
    source: str,
    fingerprint: str,
    rules_revision: str,
) -> Calibration:
    """Fit a calibration.

    Args:
        values: What the rules say of each figure before rounding, by figure id and dimension.
        golds: Gold of the figures.
        source: Name of the dataset, for provenance.
        fingerprint: SHA-256 of the dataset, for provenance.
        rules_revision: The rules that made the values.

    Raises:
        InputError: Too few rated papers.
        ImportError: scikit-learn is missing; the message says how to get it.
    """
    golds = [gold for gold in golds if gold.figure_id in values]
    papers = [normalised_paper_id(paper_of(gold.figure_id)) for gold in golds]
    fold_of_paper = paper_folds(papers, source)
    dimensions = {}
    for key in DIMENSION_KEYS:
        pairs = [
            (values[gold.figure_id][key], score, fold_of_paper[paper], paper)
            for gold, paper in zip(golds, papers, strict=True)
            if (score := getattr(gold, key)) is not None
        ]
        if len({paper for *_, paper in pairs}) >= MIN_PAPERS:
            said, people, fold = (np.array(column) for column in list(zip(*pairs, strict=True))[:3])
            dimensions[key] = _fit_dimension(said, people, fold)
    return Calibration(
        source=source,
        fingerprint=fingerprint,
        papers=len(fold_of_paper),
        figures=len(golds),
        rules_revision=rules_revision,
        packages={name: metadata.version(name) for name in ("numpy", "scikit-learn")},
        fitted_at=datetime.now(UTC).isoformat(timespec="seconds"),
        fold_of_paper=fold_of_paper,
        dimensions=dimensions,
    )


def _fit_dimension(said: NDArray[np.float64], gold: NDArray[np.float64], fold: NDArray[np.intp]) -> CalibratedDimension:
    folds = [_curve(said[fold != number], gold[fold != number]) for number in range(FOLDS)]
    mapped = [folds[number].at(value) for number, value in zip(fold, said, strict=True)]
    mae_before, mae = (_error(scores, gold) for scores in (said, mapped))
    learnt = mae < mae_before
    return CalibratedDimension(
        learnt=learnt,
        figures=len(gold),
        mae_before=mae_before,
        mae=mae,
        folds=folds if learnt else [],
        whole=_curve(said, gold) if learnt else None,
    )


def _error(scores: Sequence[float], gold: NDArray[np.float64]) -> float:
    return float(np.abs(np.array([to_score(float(score)) for score in scores]) - gold).mean())


def _curve(said: NDArray[np.float64], gold: NDArray[np.float64]) -> Curve:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=SCALE_MIN, y_max=SCALE_MAX, out_of_bounds="clip").fit(said, gold)
    return Curve(x=fitted.X_thresholds_.tolist(), y=fitted.y_thresholds_.tolist())

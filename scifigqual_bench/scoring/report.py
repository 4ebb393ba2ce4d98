"""The score of a prediction file: coverage first, then agreement with gold, with floors and intervals beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS, OVERALL
from scifigqual_bench.scoring.agreement import STATISTICS, TOLERANCE, Agreement, Cells, Estimate
from scifigqual_bench.scoring.align import (
    Aligned,
    ColumnScores,
    Mask,
    Missing,
    Overall,
    Row,
    align,
    rated_ids,
    status_counts,
)
from scifigqual_bench.scoring.ceilings import (
    BesideRaters,
    Ceiling,
    Key,
    beside_from,
    beside_samples,
    ceiling_from,
    ceiling_samples,
    rating_problems,
    ratings_by_column,
)
from scifigqual_bench.scoring.errors import ScoringInputError
from scifigqual_bench.scoring.floors import FLOORS, IN_SAMPLE, floor_scores
from scifigqual_bench.scoring.jsonable import NOT_JSON, jsonable
from scifigqual_bench.scoring.raters import ItemRatings
from scifigqual_bench.scoring.resampling import Bootstrap, Resampled, Sample, resample
from scifigqual_bench.scoring.slices import Grouping, Slice, slices

SCHEMA_VERSION = "1"
FLOOR_STATISTICS = ("mae", "within_1", "bias")
ANSWERED, FILLED = "answered_only", "unanswered_as_floor"
BLIND = "blind"
NO_CAPTIONS = "No blind floor: it is told from captions, which gold rows don't have."


@dataclass(frozen=True)
class Settings:
    """What was chosen, so that two reports can be told apart.

    Attributes:
        mask: ``"gold"`` or ``"evidence"``.
        overall: ``"dimension_first"`` or ``"rater_mean"``.
        min_coverage: Share of open items that must have a score for a headline.
        tolerance: Slack of Within-1.
        bootstrap: How intervals were made.
    """

    mask: str
    overall: str
    min_coverage: float
    tolerance: float
    bootstrap: Bootstrap


@dataclass(frozen=True)
class Violation:
    """Where a prediction disregards the mask: counts and figures."""

    count: int
    figure_ids: tuple[str, ...]


@dataclass(frozen=True)
class Coverage:
    """How much of what should be scored has a score.

    Attributes:
        open: Items (figure and dimension) that the mask opens and that have gold.
        scored: Those of them with a score.
        share: ``scored / open``.
        status: Rated figures per status of their prediction; ``missing`` has no row.
        scored_closed: By dimension, scores where the mask is closed (gate violation; they are not used).
        null_open: By dimension, nulls of rows with status ok where the mask is open (gate violation).
        not_asked: By dimension, open items that the judge's own ``open_dimensions`` had closed.
        without_gold: By dimension, items that the evidence mask opens and nobody rated (they can't be scored).
    """

    open: int
    scored: int
    share: float
    status: dict[str, int]
    scored_closed: dict[str, Violation]
    null_open: dict[str, Violation]
    not_asked: dict[str, int]
    without_gold: dict[str, int]


@dataclass(frozen=True)
class Floor:
    """A judge that says the same of every figure.

    Attributes:
        constant: What it says; None for leave-one-paper-out, where it differs from paper to paper.
        mae: Mean absolute error.
        within_1: Share within 1 point.
        bias: Mean of constant - gold.
    """

    constant: float | None
    mae: Estimate
    within_1: Estimate
    bias: Estimate


@dataclass(frozen=True)
class ColumnReport:
    """One dimension, or the overall.

    Attributes:
        open: Figures on which the column is open and has gold.
        scored: Those of them with a score.
        coverage: ``scored / open``; None when nothing is open.
        headline: Agreement, when coverage reaches the threshold (of 1.0: over all open figures); else None.
        headline_reason: Why there is no headline.
        answered_only: Agreement over the scored figures: flatters a judge that fails on the hard ones.
        unanswered_as_floor: Agreement when each unanswered figure gets the floor's score (mean gold of the other
            papers); None with a single paper.
        floors: ``mean_of_others`` and ``median_of_others`` (leave-one-paper-out, absent with a single paper), ``mean``
            and ``median`` (in-sample).
        blind_floor: How well the surface of the texts alone agrees with gold, no figure seen; None where it was not
            given or does not cover the column.
        ceiling: How well the raters agree with each other; None when no ratings were given.
        beside_raters: The judge and the raters on the same targets; None when no ratings were given.
    """

    open: int
    scored: int
    coverage: float | None
    headline: Agreement | None
    headline_reason: str | None
    answered_only: Agreement
    unanswered_as_floor: Agreement | None
    floors: dict[str, Floor]
    blind_floor: Agreement | None
    ceiling: Ceiling | None
    beside_raters: BesideRaters | None


@dataclass(frozen=True)
class Report:
    """What :func:`score` returns; :meth:`to_dict` is its JSON form.

    Attributes:
        figures: Rated figures.
        papers: Their papers.
        unrated: Figures without gold, left out.
        blind_floor: What the blind floor is, or why there is none.
        columns: By the names in :data:`~scifigqual_bench.rubric.COLUMNS`.
        slices: By grouping and label; empty when no groupings were given.
        aligned: The scores themselves, for plots; not part of the JSON.
    """

    settings: Settings
    figures: int
    papers: int
    unrated: int
    coverage: Coverage
    blind_floor: str
    columns: dict[str, ColumnReport]
    slices: dict[str, dict[str, Slice]]
    aligned: Aligned = field(repr=False, compare=False, metadata=NOT_JSON)
    schema_version: str = SCHEMA_VERSION

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, numbers and None: ready for ``json.dump``."""
        return jsonable(self)


def score(
    predictions: Iterable[Row],
    golds: Iterable[Row],
    *,
    mask: Mask = "gold",
    overall: Overall = "dimension_first",
    min_coverage: float = 1.0,
    missing: Missing = "error",
    integers: bool = False,
    ratings: Iterable[Row] | None = None,
    groupings: Mapping[str, Grouping] | None = None,
    blind: Iterable[Row] | None = None,
    blind_floor: str = NO_CAPTIONS,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Report:
    """Score a prediction file against gold (SPEC 5).

    Args:
        predictions: Rows of a prediction file, in any order.
        golds: Gold rows, in any order; rows without gold are left out and counted.
        mask: Which items count, see :func:`~scifigqual_bench.scoring.align.align`.
        overall: Which gold overall, see there. The overall of a prediction is always recomputed under the mask.
        min_coverage: Share of a column's open figures that must be scored for its headline, 0..1.
        missing: Whether a rated figure without a prediction row is an error or an unanswered item.
        integers: Whether the protocol promises integer scores.
        ratings: Rating rows of the rated figures, for the ceilings.
        groupings: Labels by figure id, by name of the grouping, for the slices; see
            :func:`~scifigqual_bench.scoring.slices.standard_groupings`.
        blind: Rows of the blind floor (:func:`scifigqual_bench.blind.floor_rows`), scored beside the predictions.
        blind_floor: What they are, or why there are none.
        resamples: Bootstrap samples; 0 leaves the intervals out.
        confidence: Level of the intervals, 0..1.
        seed: Seed of the bootstrap.

    Raises:
        ScoringInputError: Anything is wrong with the rows; lists all of it.
        ValueError: An option is out of range.

    >>> gold = {"figure_id": "a__fig0001", "visual_clarity": 8.3333, "structure_layout": 7.0}
    >>> report = score([{"figure_id": "a__fig0001", "visual_clarity": 8, "structure_layout": 8}], [gold])
    >>> round(report.columns["visual_clarity"].headline.mae.value, 4)
    0.3333
    >>> round(report.columns["overall_score"].headline.bias.value, 3)
    0.333
    """
    if not 0 <= min_coverage <= 1:
        raise ValueError(f"expected 0 <= min_coverage <= 1, got {min_coverage}")
    settings = Settings(mask, overall, min_coverage, TOLERANCE, Bootstrap(resamples, confidence, seed))
    golds = list(golds)
    rating_rows = None if ratings is None else list(ratings)
    problems = [] if rating_rows is None else rating_problems(rating_rows, known=rated_ids(golds))
    try:
        aligned = align(predictions, golds, mask=mask, overall=overall, missing=missing, integers=integers)
    except ScoringInputError as error:
        raise ScoringInputError([*error.details, *problems]) from None
    if problems:
        raise ScoringInputError(problems)
    by_column = None if rating_rows is None else ratings_by_column(aligned, rating_rows)
    floor = None if blind is None else align(blind, golds, mask=mask, overall=overall, missing="unanswered")
    return Report(
        settings=settings,
        figures=len(aligned.figure_ids),
        papers=len(aligned.paper_ids),
        unrated=aligned.unrated,
        coverage=_coverage(aligned),
        blind_floor=blind_floor,
        columns=_columns(aligned, settings, by_column, floor),
        slices=slices(aligned, groupings or {}, by_column, settings.bootstrap),
        aligned=aligned,
    )


def _coverage(aligned: Aligned) -> Coverage:
    dims = slice(len(DIMENSION_KEYS))
    opened = int(aligned.open[:, dims].sum())
    scored = int((~np.isnan(aligned.predictions[:, dims])).sum())
    ids = np.array(aligned.figure_ids)

    def violations(where: np.ndarray) -> dict[str, Violation]:
        return {
            key: Violation(int(column.sum()), tuple(ids[column].tolist()))
            for key, column in zip(DIMENSION_KEYS, where.T, strict=True)
        }

    def counts(where: np.ndarray) -> dict[str, int]:
        return dict(zip(DIMENSION_KEYS, where.sum(axis=0).tolist(), strict=True))

    return Coverage(
        open=opened,
        scored=scored,
        share=scored / opened if opened else 0.0,
        status=status_counts(aligned.status),
        scored_closed=violations(aligned.scored_closed),
        null_open=violations(aligned.null_open),
        not_asked=counts(aligned.not_asked),
        without_gold=counts(aligned.without_gold),
    )


def _columns(
    aligned: Aligned, settings: Settings, ratings: Mapping[str, ItemRatings] | None, floor: Aligned | None
) -> dict[str, ColumnReport]:
    """All samples of all columns go through one bootstrap, so that they share its draws of papers."""
    samples: dict[Key, Sample] = {}
    for index, column in enumerate(COLUMNS):
        samples |= _agreement_samples(column, aligned.column(index))
        if floor is not None:
            samples |= _blind_sample(column, floor.column(index))
        if ratings is not None:
            samples |= ceiling_samples(column, ratings[column])
            samples |= beside_samples(column, ratings[column], aligned.predictions[:, index])
    found = resample(samples, len(aligned.paper_ids), settings.bootstrap)
    return {
        column: _column(column, aligned, found, settings, None if ratings is None else ratings[column])
        for column in COLUMNS
    }


def _agreement_samples(column: str, scores: ColumnScores) -> dict[Key, Sample]:
    answers, golds, papers, n_papers = scores.predictions, scores.golds, scores.papers, scores.n_papers
    answered = ~np.isnan(answers)
    floors = floor_scores(golds, papers, n_papers)
    cells = Cells.build(answers[answered], golds[answered], papers[answered], n_papers)
    samples: dict[Key, Sample] = {(column, ANSWERED): Sample(cells, STATISTICS)}
    if not answered.all() and "mean_of_others" in floors:
        filled = np.where(answered, answers, floors["mean_of_others"])
        samples[column, FILLED] = Sample(Cells.build(filled, golds, papers, n_papers), STATISTICS)
    for name, values in floors.items():
        samples[column, name] = Sample(Cells.build(values, golds, papers, n_papers), FLOOR_STATISTICS)
    return samples


def _blind_sample(column: str, scores: ColumnScores) -> dict[Key, Sample]:
    """The blind floor on a column, where it has a score for all of it."""
    if not scores.golds.size or np.isnan(scores.predictions).any():
        return {}
    cells = Cells.build(scores.predictions, scores.golds, scores.papers, scores.n_papers)
    return {(column, BLIND): Sample(cells, STATISTICS)}


def _column(
    column: str, aligned: Aligned, found: Resampled[Key], settings: Settings, ratings: ItemRatings | None
) -> ColumnReport:
    n_open = int(aligned.open[:, COLUMNS.index(column)].sum())
    scored = found.samples[column, ANSWERED].data.n
    answered_only = Agreement(scored, **found.estimates((column, ANSWERED)))
    if scored == n_open:
        filled = answered_only
    else:
        filled = Agreement(n_open, **found.estimates((column, FILLED))) if (column, FILLED) in found.samples else None
    reason = _headline_reason(column, aligned, n_open, scored, settings.min_coverage)
    return ColumnReport(
        open=n_open,
        scored=scored,
        coverage=scored / n_open if n_open else None,
        headline=None if reason else answered_only,
        headline_reason=reason,
        answered_only=answered_only,
        unanswered_as_floor=filled,
        floors={
            name: Floor(
                constant=float(found.samples[column, name].data.x[0]) if name in IN_SAMPLE else None,
                **found.estimates((column, name)),
            )
            for name in FLOORS
            if (column, name) in found.samples
        },
        blind_floor=Agreement(n_open, **found.estimates((column, BLIND))) if (column, BLIND) in found.samples else None,
        ceiling=None if ratings is None else ceiling_from(column, ratings, found),
        beside_raters=None if ratings is None else beside_from(column, (column, ANSWERED), found),
    )


def _headline_reason(column: str, aligned: Aligned, n_open: int, scored: int, min_coverage: float) -> str | None:
    if not n_open:
        return "no figure has gold on it"
    if scored and scored / n_open >= min_coverage:
        return None
    reason = f"{scored} of {n_open} figures scored ({scored / n_open:.1%}), {min_coverage:.1%} needed"
    not_asked = aligned.not_asked.any(axis=1) if column == OVERALL else aligned.not_asked[:, COLUMNS.index(column)]
    if not_asked.any():
        reason += f"; on {int(not_asked.sum())} the judge was asked under a mask that closes it: try mask='evidence'"
    return reason

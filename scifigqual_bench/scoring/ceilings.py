"""Rater ceilings (SPEC 6): how well people agree with each other, and a judge put beside them.

Two kinds of numbers must not be mixed up. *Pairwise* compares two single ratings. *Leave-one-out* compares a rating
with the mean of the others, which is steadier, so its numbers are better. A judge is scored against the mean of all
raters; to compare it with people it must meet the same target as they do: here both are held against the mean of the
other raters, rating by rating.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from scifigqual_bench.records import paper_of
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS, OVERALL
from scifigqual_bench.scoring.agreement import Estimate, Floats
from scifigqual_bench.scoring.align import Aligned, Row, check_rows, figure_of, gated_mean, score_matrix
from scifigqual_bench.scoring.errors import InputProblem, ScoringInputError
from scifigqual_bench.scoring.jsonable import jsonable
from scifigqual_bench.scoring.raters import ALPHA, ANOVA, Alpha, Anova, Codes, ItemRatings
from scifigqual_bench.scoring.resampling import Bootstrap, Resampled, Sample, resample

RaterOverall = Literal["exact", "stored"]
Key = tuple[str, str]

AGAINST_OTHERS = ("mae", "within_1", "spearman")


@dataclass(frozen=True)
class Ceiling:
    """Agreement of the raters on one column.

    Attributes:
        items: Figures with at least two ratings.
        ratings: Ratings of those figures.
        pairs: Pairs of ratings of the same figure.
        pairwise_within_1: Share of pairs that are at most one point apart.
        loo_mae: Mean of the distance between a rating and the mean of the figure's other ratings.
        loo_within_1: Share of ratings at most one point from that mean.
        loo_spearman: Rank correlation of ratings with that mean.
        spread_mean: Mean over figures of highest less lowest rating.
        spread_median: Median of the same.
        alpha_ordinal: Krippendorff's alpha, ordinal level.
        alpha_interval: Krippendorff's alpha, interval level.
        icc_1: Intraclass correlation of one rating, ICC(1,1).
        icc_k: Of the mean of a figure's ratings, ICC(1,k).
        reliability: Of the mean gold (Spearman-Brown over each figure's number of ratings).
        max_spearman: Square root of it: about the highest Spearman that any judge can reach against this gold.
    """

    items: int
    ratings: int
    pairs: int
    pairwise_within_1: Estimate
    loo_mae: Estimate
    loo_within_1: Estimate
    loo_spearman: Estimate
    spread_mean: float | None
    spread_median: float | None
    alpha_ordinal: Estimate
    alpha_interval: Estimate
    icc_1: Estimate
    icc_k: Estimate
    reliability: Estimate
    max_spearman: Estimate


@dataclass(frozen=True)
class BesideRaters:
    """A judge and the raters on the same targets, on one column.

    Attributes:
        ratings: Ratings of figures that the judge scored and several people rated.
        mae: Mean of the distance between the judge and the mean of the other ratings, one per rating left out.
        within_1: Share of those at most one point apart.
        spearman: Rank correlation of those.
        pairwise_within_1: Share of single ratings at most one point from the judge.
        mae_ratio: ``mae`` over the raters' own on the same targets: under 1 the judge is closer than a rater.
        within_1_ratio: The same for ``within_1``: over 1 the judge is closer.
        spearman_ratio: The same for ``spearman``.
        pairwise_within_1_ratio: ``pairwise_within_1`` over that of pairs of raters of these figures.
        spearman_of_max: The judge's Spearman against mean gold over ``max_spearman``.
    """

    ratings: int
    mae: Estimate
    within_1: Estimate
    spearman: Estimate
    pairwise_within_1: Estimate
    mae_ratio: Estimate
    within_1_ratio: Estimate
    spearman_ratio: Estimate
    pairwise_within_1_ratio: Estimate
    spearman_of_max: Estimate


@dataclass(frozen=True)
class CeilingReport:
    """What :func:`ceilings` returns.

    Attributes:
        figures: Figures with a rating.
        papers: Their papers.
        ratings: Rating rows.
        rater_overall: Which overall of a rater was used.
        columns: By the names in :data:`~scifigqual_bench.rubric.COLUMNS`.
        bootstrap: How intervals were made.
    """

    figures: int
    papers: int
    ratings: int
    rater_overall: str
    columns: dict[str, Ceiling]
    bootstrap: Bootstrap

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists, numbers and None: ready for ``json.dump``."""
        return jsonable(self)


@dataclass(frozen=True)
class RatingTable:
    """Checked rating rows as arrays.

    Attributes:
        figure_ids: Rated figures in order of their ids.
        items: Index into ``figure_ids`` of each rating, shape (ratings,).
        values: Scores in the order of :data:`~scifigqual_bench.rubric.COLUMNS`, shape (ratings, 6); NaN where none.
    """

    figure_ids: tuple[str, ...]
    items: Codes
    values: Floats

    @classmethod
    def build(cls, rows: Iterable[Row], rater_overall: RaterOverall = "exact") -> RatingTable:
        """Check rating rows (:class:`~scifigqual_bench.records.Rating`) and lay them out.

        Args:
            rows: Ratings in any order; other keys are ignored.
            rater_overall: ``"exact"`` recomputes each rater's overall from the dimensions that this rater scored,
                ``"stored"`` takes ``overall_score`` of the row.

        Raises:
            ScoringInputError: Anything is wrong with the rows; lists all of it.
            ValueError: An unknown ``rater_overall``.
        """
        if rater_overall not in ("exact", "stored"):
            raise ValueError(f"rater_overall must be exact or stored, got {rater_overall!r}")
        rows = list(rows)
        problems = rating_problems(rows)
        if problems:
            raise ScoringInputError(problems)
        figure_ids, items = np.unique([row["figure_id"] for row in rows], return_inverse=True)
        scores = score_matrix(rows)
        own = gated_mean(scores, ~np.isnan(scores)) if rater_overall == "exact" else score_matrix(rows, [OVERALL])
        return cls(tuple(figure_ids.tolist()), items, np.column_stack([scores, own]))


def rating_problems(rows: Sequence[Any], known: Container[str] | None = None) -> list[InputProblem]:
    """All that is wrong with rating rows.

    Args:
        rows: The rows.
        known: Figures that may be rated; None for any.
    """
    if not rows:
        return [InputProblem("ratings", None, None, "is empty: there is nothing to compare")]
    problems = check_rows("ratings", rows, integers=True)
    first: dict[tuple[str | None, str], int] = {}
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            continue
        fig, rater = figure_of(row), row.get("rater_id")
        if known is not None and fig is not None and fig not in known:
            problems.append(InputProblem("ratings", index, fig, "is not among the rated gold rows: remove it"))
        if not isinstance(rater, str) or not rater:
            problems.append(InputProblem("ratings", index, fig, f"rater_id is {rater!r}, expected a name"))
        elif (earlier := first.setdefault((fig, rater), index)) != index:
            message = f"{rater} rated this figure in row {earlier} already: keep one of the two"
            problems.append(InputProblem("ratings", index, fig, message))
    return problems


def ceilings(
    ratings: Iterable[Row],
    *,
    rater_overall: RaterOverall = "exact",
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> CeilingReport:
    """How well raters agree, per dimension and overall (SPEC 6).

    Args:
        ratings: Rating rows, in any order.
        rater_overall: Which overall of a rater, see :meth:`RatingTable.build`.
        resamples: Bootstrap samples of papers; 0 leaves the intervals out.
        confidence: Level of the intervals, between 0 and 1.
        seed: Seed of the bootstrap.

    Raises:
        ScoringInputError: Anything is wrong with the rows; lists all of it.
        ValueError: An option is out of range.

    >>> rows = [
    ...     {"figure_id": "a__fig0001", "rater_id": "r1", "visual_clarity": 9},
    ...     {"figure_id": "a__fig0001", "rater_id": "r2", "visual_clarity": 8},
    ...     {"figure_id": "a__fig0001", "rater_id": "r3", "visual_clarity": 6},
    ... ]
    >>> ceiling = ceilings(rows).columns["visual_clarity"]
    >>> ceiling.pairs, round(ceiling.pairwise_within_1.value, 4), round(ceiling.loo_mae.value, 4), ceiling.spread_mean
    (3, 0.3333, 1.6667, 3.0)
    """
    bootstrap = Bootstrap(resamples, confidence, seed)
    table = RatingTable.build(ratings, rater_overall)
    papers, codes = np.unique([paper_of(fig) for fig in table.figure_ids], return_inverse=True)
    by_column = {
        column: ItemRatings.build(table.values[:, index], table.items, codes[table.items], papers.size)
        for index, column in enumerate(COLUMNS)
    }
    return CeilingReport(
        figures=len(table.figure_ids),
        papers=papers.size,
        ratings=len(table.items),
        rater_overall=rater_overall,
        columns=ceilings_by_column(by_column, papers.size, bootstrap),
        bootstrap=bootstrap,
    )


def ceilings_by_column(by_column: Mapping[str, ItemRatings], n_papers: int, bootstrap: Bootstrap) -> dict[str, Ceiling]:
    """The :class:`Ceiling` of each column from its ratings."""
    samples: dict[Key, Sample] = {}
    for column, ratings in by_column.items():
        samples |= ceiling_samples(column, ratings)
    found = resample(samples, n_papers, bootstrap)
    return {column: ceiling_from(column, ratings, found) for column, ratings in by_column.items()}


def ceiling_samples(column: str, ratings: ItemRatings) -> dict[Key, Sample]:
    """What to resample for a :class:`Ceiling`."""
    return {
        (column, "others"): Sample(ratings.leave_one_out_cells(), AGAINST_OTHERS),
        (column, "pairs"): Sample(ratings.pair_cells(), ("within_1",)),
        (column, "alpha"): Sample(Alpha(ratings), ALPHA),
        (column, "anova"): Sample(Anova(ratings), ANOVA),
    }


def ceiling_from(column: str, ratings: ItemRatings, found: Resampled[Key]) -> Ceiling:
    """The :class:`Ceiling` from what was resampled."""
    repeated = ratings.repeated
    spreads = repeated.spreads
    return Ceiling(
        items=spreads.size,
        ratings=repeated.values.size,
        pairs=ratings.pairs[0].size,
        pairwise_within_1=found.estimate((column, "pairs"), "within_1"),
        loo_mae=found.estimate((column, "others"), "mae"),
        loo_within_1=found.estimate((column, "others"), "within_1"),
        loo_spearman=found.estimate((column, "others"), "spearman"),
        spread_mean=float(spreads.mean()) if spreads.size else None,
        spread_median=float(np.median(spreads)) if spreads.size else None,
        **found.estimates((column, "alpha")),
        **found.estimates((column, "anova")),
    )


def ratings_by_column(aligned: Aligned, rows: Sequence[Row]) -> dict[str, ItemRatings]:
    """Checked ratings of the scored figures by column, under the mask of the alignment."""
    table = RatingTable.build(rows)
    position = {fig: index for index, fig in enumerate(aligned.figure_ids)}
    figure = np.array([position[fig] for fig in table.figure_ids])[table.items]
    scores = np.where(aligned.open[figure, : len(DIMENSION_KEYS)], table.values[:, : len(DIMENSION_KEYS)], np.nan)
    own = np.where(aligned.open[figure, -1], gated_mean(scores, ~np.isnan(scores)), np.nan)
    values = np.column_stack([scores, own])
    return {
        column: ItemRatings.build(values[:, index], figure, aligned.papers[figure], len(aligned.paper_ids))
        for index, column in enumerate(COLUMNS)
    }


def beside_samples(column: str, ratings: ItemRatings, answers: Floats) -> dict[Key, Sample]:
    """What to resample for :class:`BesideRaters`, besides the samples of the :class:`Ceiling`.

    Args:
        column: The column.
        ratings: Its ratings; items are positions in ``answers``.
        answers: The judge's scores, shape (figures,); NaN where there is none.
    """
    scored = ~np.isnan(answers)[ratings.repeated.items]
    shared = ratings.repeated.where(scored)
    judge = answers[shared.items]
    samples = {
        (column, "judge, others"): Sample(shared.against_others(judge), AGAINST_OTHERS),
        (column, "judge, ratings"): Sample(shared.against_ratings(judge), ("within_1",)),
    }
    if not scored.all():  # else they are the raters of the ceiling
        samples[column, "raters, others"] = Sample(shared.leave_one_out_cells(), AGAINST_OTHERS)
        samples[column, "raters, pairs"] = Sample(shared.pair_cells(), ("within_1",))
    return samples


def beside_from(column: str, answered: Key, found: Resampled[Key]) -> BesideRaters:
    """:class:`BesideRaters` from what was resampled.

    Args:
        column: The column.
        answered: Key of the judge's agreement with mean gold.
        found: All that was resampled.
    """
    judge = (column, "judge, others")
    raters, pairs = (column, "raters, others"), (column, "raters, pairs")
    if raters not in found.samples:
        raters, pairs = (column, "others"), (column, "pairs")
    ratios = {f"{name}_ratio": found.contrast(np.divide, judge, raters, name) for name in AGAINST_OTHERS}
    return BesideRaters(
        ratings=found.samples[judge].data.n,
        **found.estimates(judge),
        pairwise_within_1=found.estimate((column, "judge, ratings"), "within_1"),
        **ratios,
        pairwise_within_1_ratio=found.contrast(np.divide, (column, "judge, ratings"), pairs, "within_1"),
        spearman_of_max=found.contrast(np.divide, answered, (column, "anova"), "spearman", "max_spearman"),
    )

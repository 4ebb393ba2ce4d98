"""Two or more prediction files on the same figures: paired differences, their intervals and p-values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scifigqual_bench.rubric import COLUMNS
from scifigqual_bench.scoring.agreement import STATISTICS, Agreement, Cells, Estimate, Floats
from scifigqual_bench.scoring.align import Aligned, Mask, Missing, Overall, Row, align, rated_ids
from scifigqual_bench.scoring.ceilings import (
    Ceiling,
    ceilings_by_column,
    rating_problems,
    ratings_by_column,
)
from scifigqual_bench.scoring.errors import ScoringInputError
from scifigqual_bench.scoring.jsonable import jsonable
from scifigqual_bench.scoring.resampling import Bootstrap, Resampled, Sample, chunk_sizes, resample

COMPARED = ("mae", "within_1", "spearman", "bias")
"""Statistics whose differences are tested."""


@dataclass(frozen=True)
class Difference:
    """A statistic of one system less that of another, on the same figures.

    Attributes:
        column: Dimension or overall.
        statistic: One of :data:`COMPARED`.
        first: Name of the first system.
        second: Name of the second system.
        estimate: First less second; the interval pairs the resamples of papers.
        p_value: Two-sided, from swapping the systems' scores on random papers; None when undefined.
        p_holm: The same, corrected by Holm's method for all pairs of systems on this column and statistic.
    """

    column: str
    statistic: str
    first: str
    second: str
    estimate: Estimate
    p_value: float | None
    p_holm: float | None


@dataclass(frozen=True)
class SystemColumn:
    """One system on one column.

    Attributes:
        open: Figures on which the column is open and has gold.
        scored: Those that this system scored.
        agreement: Agreement on the figures that all systems scored.
    """

    open: int
    scored: int
    agreement: Agreement


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` returns.

    Attributes:
        figures: Rated figures.
        papers: Their papers.
        mask: ``"gold"`` or ``"evidence"``.
        overall: ``"dimension_first"`` or ``"rater_mean"``.
        bootstrap: How intervals were made; as many random swaps gave the p-values.
        systems: By name and column.
        differences: By column, statistic and pair.
        ceilings: Agreement of the raters by column; None when no ratings were given.
    """

    figures: int
    papers: int
    mask: str
    overall: str
    bootstrap: Bootstrap
    systems: dict[str, dict[str, SystemColumn]]
    differences: tuple[Difference, ...]
    ceilings: dict[str, Ceiling] | None

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists, numbers and None: ready for ``json.dump``."""
        return jsonable(self)


def compare(
    systems: Mapping[str, Iterable[Row]],
    golds: Iterable[Row],
    *,
    ratings: Iterable[Row] | None = None,
    against: str | None = None,
    mask: Mask = "gold",
    overall: Overall = "dimension_first",
    missing: Missing = "error",
    integers: bool = False,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare prediction files figure by figure.

    Each column is compared on the figures that all systems scored. The p-value answers how often a difference at least
    as large arises when, paper by paper, a coin decides which system's scores are called whose.

    Args:
        systems: Prediction rows by name of the system, at least two.
        golds: Gold rows, see :func:`~scifigqual_bench.scoring.report.score`, also for the other options.
        ratings: Rating rows of the rated figures, for the ceilings beside the systems.
        against: Compare every other system with this one only; None compares all pairs.
        mask: Which items count.
        overall: Which gold overall.
        missing: Whether a rated figure without a prediction row is an error or an unanswered item.
        integers: Whether the protocols promise integer scores.
        resamples: Bootstrap samples, and random swaps of a permutation test; 0 leaves both out.
        confidence: Level of the intervals, between 0 and 1.
        seed: Seed of the random draws.

    Raises:
        ScoringInputError: Anything is wrong with the rows; lists all of it, naming the system.
        ValueError: Fewer than two systems, an unknown name in ``against``, or an option out of range.
    """
    names = list(systems)
    if len(names) < 2:
        raise ValueError(f"a comparison needs at least two systems, got {names}")
    if against is not None and against not in systems:
        raise ValueError(f"against must be one of {names}, got {against!r}")
    pairs = list(combinations(names, 2)) if against is None else [(name, against) for name in names if name != against]
    bootstrap = Bootstrap(resamples, confidence, seed)
    golds = list(golds)
    rating_rows = None if ratings is None else list(ratings)
    problems = [] if rating_rows is None else rating_problems(rating_rows, known=rated_ids(golds))
    found: dict[str, Aligned] = {}
    for name, rows in systems.items():
        try:
            found[name] = align(rows, golds, mask=mask, overall=overall, missing=missing, integers=integers)
        except ScoringInputError as error:
            problems += [problem.of_system(name) for problem in error.details]
    if problems:
        raise ScoringInputError(dict.fromkeys(problems))  # what is wrong with the gold is found once per system

    common = {column: _common(found, index) for index, column in enumerate(COLUMNS)}
    some = found[names[0]]
    n_papers = len(some.paper_ids)
    samples = {
        (column, name): Sample(Cells.build(scores, shared.golds, shared.papers, n_papers), STATISTICS)
        for column, shared in common.items()
        for name, scores in shared.predictions.items()
    }
    resampled = resample(samples, n_papers, bootstrap)
    return Comparison(
        figures=len(some.figure_ids),
        papers=n_papers,
        mask=mask,
        overall=overall,
        bootstrap=bootstrap,
        systems={
            name: {
                column: SystemColumn(
                    open=int(aligned.open[:, index].sum()),
                    scored=int(np.count_nonzero(~np.isnan(aligned.column(index).predictions))),
                    agreement=Agreement(samples[column, name].data.n, **resampled.estimates((column, name))),
                )
                for index, column in enumerate(COLUMNS)
            }
            for name, aligned in found.items()
        },
        differences=tuple(
            difference
            for column, shared in common.items()
            for difference in _differences(column, shared, pairs, resampled, bootstrap)
        ),
        ceilings=None
        if rating_rows is None
        else ceilings_by_column(ratings_by_column(some, rating_rows), n_papers, bootstrap),
    )


@dataclass(frozen=True)
class _Common:
    """The figures of one column that all systems scored: scores by system, gold and paper numbers, shape (n,) each."""

    predictions: dict[str, Floats]
    golds: Floats
    papers: NDArray[np.intp]
    n_papers: int


def _common(found: Mapping[str, Aligned], index: int) -> _Common:
    columns = {name: aligned.column(index) for name, aligned in found.items()}
    some = next(iter(columns.values()))
    scored = ~np.any([np.isnan(column.predictions) for column in columns.values()], axis=0)
    predictions = {name: column.predictions[scored] for name, column in columns.items()}
    return _Common(predictions, some.golds[scored], some.papers[scored], some.n_papers)


def _differences(
    column: str,
    shared: _Common,
    pairs: Sequence[tuple[str, str]],
    resampled: Resampled[tuple[str, str]],
    bootstrap: Bootstrap,
) -> Iterator[Difference]:
    p_values = [
        permutation_p_values(
            shared.predictions[first],
            shared.predictions[second],
            shared.golds,
            shared.papers,
            shared.n_papers,
            bootstrap,
        )
        for first, second in pairs
    ]
    for statistic in COMPARED:
        own = [by_statistic[statistic] for by_statistic in p_values]
        for (first, second), p_value, p_holm in zip(pairs, own, holm(own), strict=True):
            estimate = resampled.contrast(np.subtract, (column, first), (column, second), statistic)
            yield Difference(column, statistic, first, second, estimate, p_value, p_holm)


def permutation_p_values(
    first: Floats,
    second: Floats,
    golds: Floats,
    papers: NDArray[np.intp],
    n_papers: int,
    bootstrap: Bootstrap,
) -> dict[str, float | None]:
    """Two-sided p-values of the differences in :data:`COMPARED`, by swapping the two systems on random papers.

    Both systems' scores are stacked into one sample in which each paper occurs twice. A swap is then a matter of
    weights: a paper has weight 1 in one half and 0 in the other.

    Args:
        first: Scores of the first system, shape (n,).
        second: Scores of the second system, shape (n,).
        golds: Gold, shape (n,).
        papers: Paper number of each figure, shape (n,).
        n_papers: Number of papers.
        bootstrap: Number of swaps and seed.

    Returns:
        (1 + swaps with a difference at least as large) / (1 + swaps); None without swaps or where the difference is
        undefined. Swaps in which it is undefined count as at least as large.
    """
    cells = Cells.build(
        np.concatenate([first, second]),
        np.concatenate([golds, golds]),
        np.concatenate([papers, papers + n_papers]),
        2 * n_papers,
    )
    observed = _swapped(cells, np.ones((n_papers, 1)))
    as_large = dict.fromkeys(COMPARED, 0)
    for kept in _coins(n_papers, bootstrap, cells.height):
        for name, values in _swapped(cells, kept).items():
            # The smallest of differences is a sum of many floats: without slack, equal ones could compare as less.
            smaller = np.abs(values) < np.abs(observed[name]) - 1e-12
            as_large[name] += int(np.count_nonzero(~smaller))
    undefined = {name for name in COMPARED if np.isnan(observed[name][0])}
    return {
        name: None if name in undefined or not bootstrap.resamples else (1 + count) / (1 + bootstrap.resamples)
        for name, count in as_large.items()
    }


def _swapped(cells: Cells, kept: Floats) -> dict[str, Floats]:
    """First less second when the systems change places on the papers that are not kept; shape (samples,)."""
    first = cells.statistics(np.concatenate([kept, 1 - kept]), COMPARED)
    second = cells.statistics(np.concatenate([1 - kept, kept]), COMPARED)
    return {name: first[name] - second[name] for name in COMPARED}


def _coins(n_papers: int, bootstrap: Bootstrap, height: int) -> Iterator[Floats]:
    """Random zeros and ones, shape (n_papers, some of the swaps)."""
    rng = np.random.default_rng(bootstrap.seed)
    for size in chunk_sizes(2 * n_papers, bootstrap.resamples, height):
        yield rng.integers(2, size=(size, n_papers)).T.astype(np.float64)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of p-values; None stays None and doesn't count.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((value, index) for index, value in enumerate(p_values) if value is not None)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (value, index) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        corrected[index] = highest
    return corrected

"""How well people agree with each other on one column (SPEC 6): pure functions and resampled statistics.

An *item* is a figure; its ratings are the scores that several raters gave it on one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scifigqual_bench.scoring.agreement import Cells, Floats, decimal, running_sum

Codes = NDArray[np.intp]

ALPHA = ("alpha_ordinal", "alpha_interval")
ROUNDING = 1e-12
"""A variance in squared points, or a share of one, that is zero but for rounding."""
ANOVA = ("icc_1", "icc_k", "reliability", "max_spearman")


@dataclass(frozen=True)
class ItemRatings:
    """The ratings of one column, those of an item side by side and ascending. Build it with :meth:`build`.

    Attributes:
        values: Scores, shape (n,).
        items: Item number of each score, ascending, shape (n,).
        papers: Paper number of each score, shape (n,).
        n_papers: Number of papers.
    """

    values: Floats
    items: Codes
    papers: Codes
    n_papers: int

    @classmethod
    def build(
        cls, values: ArrayLike, items: ArrayLike, papers: ArrayLike | None = None, n_papers: int = 1
    ) -> ItemRatings:
        """Sort ratings so that the order of raters can't matter.

        Args:
            values: Scores, shape (n,); NaN where a rater gave none.
            items: Item number of each score, shape (n,).
            papers: Paper number of each score, shape (n,); None puts all into one paper.
            n_papers: Number of papers.
        """
        values, items = decimal(values), np.asarray(items, dtype=np.intp)
        papers = np.zeros(items.size, dtype=np.intp) if papers is None else np.asarray(papers, dtype=np.intp)
        order = np.lexsort((values, items))
        order = order[~np.isnan(values[order])]
        return cls(values[order], items[order], papers[order], n_papers)

    @cached_property
    def sizes(self) -> Codes:
        """Ratings of the item that each score belongs to, shape (n,)."""
        return np.bincount(self.items)[self.items] if self.items.size else self.items

    @cached_property
    def repeated(self) -> ItemRatings:
        """The items with at least two ratings."""
        return self.where(self.sizes > 1)

    def where(self, keep: NDArray[np.bool_]) -> ItemRatings:
        """Some of the ratings."""
        return ItemRatings(self.values[keep], self.items[keep], self.papers[keep], self.n_papers)

    @cached_property
    def pairs(self) -> tuple[Codes, Codes]:
        """Positions of both scores of every pair of one item, shape (pairs,) each."""
        firsts, seconds = [self.items[:0]], [self.items[:0]]
        for lag in range(1, int(self.sizes.max(initial=1))):
            (first,) = np.nonzero(self.items[lag:] == self.items[:-lag])
            firsts.append(first)
            seconds.append(first + lag)
        return np.concatenate(firsts), np.concatenate(seconds)

    @cached_property
    def spreads(self) -> Floats:
        """Highest less lowest rating of each item, shape (items,)."""
        starts = np.flatnonzero(np.diff(self.items, prepend=-1))
        if not starts.size:
            return np.empty(0)
        return decimal(np.maximum.reduceat(self.values, starts) - np.minimum.reduceat(self.values, starts))

    @cached_property
    def others(self) -> Floats:
        """Mean of the other ratings of the same item, shape (n,); NaN for an only rating."""
        total = np.bincount(self.items, self.values)[self.items] if self.items.size else self.values
        with np.errstate(invalid="ignore"):
            return decimal((total - self.values) / np.where(self.sizes > 1, self.sizes - 1, np.nan))

    def pair_cells(self) -> Cells:
        """Pairs of ratings of one item as :class:`Cells`: ``within_1`` of it is the pairwise Within-1."""
        first, second = self.pairs
        return Cells.build(self.values[first], self.values[second], self.papers[first], self.n_papers)

    def leave_one_out_cells(self) -> Cells:
        """Each rating of an item with several against the mean of the others, as :class:`Cells`."""
        return self.repeated.against_others(self.repeated.values)

    def against_others(self, scores: Floats) -> Cells:
        """A score for each rating, shape (n,), against the mean of the other ratings, as :class:`Cells`."""
        return Cells.build(scores, self.others, self.papers, self.n_papers)

    def against_ratings(self, scores: Floats) -> Cells:
        """A score for each rating, shape (n,), against the rating itself, as :class:`Cells`."""
        return Cells.build(scores, self.values, self.papers, self.n_papers)


class Alpha:
    """Krippendorff's alpha at the ordinal and the interval level; items with one rating don't count.

    With ratings grouped by item, alpha is one less the ratio of disagreement within items to disagreement at large,
    both as squared distances on a scale. At the interval level the scale is the score itself, at the ordinal level the
    mid-rank of the score among all ratings (the sum of the frequencies between two scores, half of their own each, is
    the difference of their mid-ranks).

    >>> alpha = Alpha(ItemRatings.build([1, 2, 3, 3, 9, 8], [0, 0, 1, 1, 2, 2]))
    >>> alpha.statistics(np.ones((1, 1)), ["alpha_interval"])["alpha_interval"].round(4).tolist()
    [0.9699]
    """

    def __init__(self, ratings: ItemRatings):
        ratings = ratings.repeated
        first, second = ratings.pairs
        self.scale, code = np.unique(ratings.values, return_inverse=True)
        self.n_papers = ratings.n_papers
        self._counts = _by_paper(code, ratings.papers, self.scale.size, self.n_papers)
        pair, cell = np.unique(code[first] * self.scale.size + code[second], return_inverse=True)
        self._low, self._high = pair // max(self.scale.size, 1), pair % max(self.scale.size, 1)
        weight = 1.0 / (ratings.sizes[first] - 1)
        self._pairs = _by_paper(cell, ratings.papers[first], pair.size, self.n_papers, weight)

    @property
    def papers_present(self) -> int:
        """Papers with a figure that has several ratings."""
        return int(np.count_nonzero(self._counts.sum(axis=0)))

    @property
    def height(self) -> int:
        """Number of distinct pairs of ratings."""
        return self._low.size

    def statistics(self, weights: Floats, names: Sequence[str] = ALPHA) -> dict[str, Floats]:
        """Alpha of many samples, see :meth:`scifigqual_bench.scoring.agreement.Sampled.statistics`."""
        counts, pairs = self._counts @ weights, self._pairs @ weights
        n = counts.sum(axis=0)
        scales = {
            "alpha_ordinal": lambda: running_sum(counts) - counts / 2,
            "alpha_interval": lambda: np.broadcast_to(self.scale[:, None], counts.shape),
        }
        found = {}
        with np.errstate(invalid="ignore", divide="ignore"):
            for name in names:
                scale = scales[name]()
                centred = scale - (counts * scale).sum(axis=0) / n
                within = (pairs * (scale[self._low] - scale[self._high]) ** 2).sum(axis=0)
                total = (counts * centred * centred).sum(axis=0)
                found[name] = np.where(np.count_nonzero(counts, axis=0) > 1, 1 - (n - 1) / n * within / total, np.nan)
        return found

    def undefined(self, name: str) -> str:
        """Why there is no alpha."""
        return "all ratings are the same" if self.scale.size else "no figure has two ratings"


class Anova:
    """Intraclass correlation of a one-way random model, and what it says of the mean gold.

    ``icc_1`` is the reliability of one rating, ``icc_k`` that of a mean of as many ratings as figures have,
    ``reliability`` that of the gold: the Spearman-Brown value of each figure's own number of ratings, averaged.
    ``max_spearman`` is its square root: under classical test theory a judge that knew the true scores would correlate
    that highly with this gold. For ranks it is an approximation. The last two need a positive ``icc_1``.
    """

    def __init__(self, ratings: ItemRatings):
        starts = np.flatnonzero(np.diff(ratings.items, prepend=-1))
        size = np.diff(starts, append=ratings.items.size).astype(np.float64)
        papers = ratings.papers[starts]
        values = ratings.values - (ratings.values.mean() if ratings.values.size else 0.0)
        total = np.add.reduceat(values, starts) if starts.size else np.empty(0)
        square = np.add.reduceat(values * values, starts) if starts.size else np.empty(0)
        self.n_papers = ratings.n_papers
        self._several = bool((size > 1).any())
        self._sizes, code = np.unique(size, return_inverse=True)
        self._items_of_size = _by_paper(code, papers, self._sizes.size, self.n_papers)
        between = total * total / size if size.size else size
        self._sums = sparse.csr_array(
            np.stack([np.bincount(papers, column, self.n_papers) for column in (total, between, square - between)])
        )

    @property
    def papers_present(self) -> int:
        """Papers with a rated figure."""
        return int(np.count_nonzero(self._items_of_size.sum(axis=0)))

    @property
    def height(self) -> int:
        """Number of distinct numbers of ratings."""
        return self._sizes.size

    def statistics(self, weights: Floats, names: Sequence[str] = ANOVA) -> dict[str, Floats]:
        """Statistics of many samples, see :meth:`scifigqual_bench.scoring.agreement.Sampled.statistics`."""
        by_size = self._items_of_size @ weights
        total, between, within = self._sums @ weights
        sizes = self._sizes[:, None]
        items, n, squares = by_size.sum(axis=0), (sizes * by_size).sum(axis=0), (sizes * sizes * by_size).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_between = _unrounded((between - total * total / n) / (items - 1))
            mean_within = _unrounded(within / (n - items))
            typical = (n - squares / n) / (items - 1)
            icc_1 = (mean_between - mean_within) / (mean_between + (typical - 1) * mean_within)
            agreed = np.where(icc_1 > ROUNDING, icc_1, np.nan)
            reliability = (by_size * sizes * agreed / (1 + (sizes - 1) * agreed)).sum(axis=0) / items
            found = {
                "icc_1": icc_1,
                "icc_k": (mean_between - mean_within) / mean_between,
                "reliability": reliability,
                "max_spearman": np.sqrt(reliability),
            }
        return {name: np.where(np.isfinite(found[name]), found[name], np.nan) for name in names}

    def undefined(self, name: str) -> str:
        """Why a statistic has no value."""
        if not self._several:
            return "no figure has two ratings"
        if name in ("reliability", "max_spearman"):
            return "raters of one figure agree no better than raters of different figures"
        return "too few figures, or ratings do not vary between figures"


def _unrounded(variance: Floats) -> Floats:
    return np.where(variance <= ROUNDING, 0.0, variance)


def _by_paper(codes: Codes, papers: Codes, size: int, n_papers: int, weight: Floats | None = None) -> sparse.csr_array:
    """Counts, or sums of weights, of each code in each paper, shape (size, n_papers)."""
    weight = np.ones(codes.size) if weight is None else weight
    return sparse.csr_array((weight, (codes, papers)), shape=(size, n_papers))

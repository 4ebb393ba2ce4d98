"""How well scores agree with gold (SPEC 5): pure functions, arrays in, numbers out.

Every statistic is a function of *weighted cells*: the distinct (prediction, gold) pairs and how often each occurs. One
set of weights is one sample, so a thousand bootstrap samples cost one matrix of weights and no loop, and the point
estimate is the case in which each figure weighs 1. Cost grows with the number of distinct pairs, not of figures.

Scores are decimals (integers, or means with a few decimals) held in binary floats. They are rounded to
:data:`DECIMALS` on entry, so that equal decimals tie in ranks however they were computed, and Within-1 allows
:data:`TOLERANCE`, so that 4.4 and 3.4 are one apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Floats = NDArray[np.float64]

DECIMALS = 12
"""Decimals that two scores must share to be the same score."""
TOLERANCE = 1e-9
"""Slack of Within-1: far above the error of a binary float, far below the last decimal of a gold mean."""

RANK = ("spearman", "kendall")
STATISTICS = ("mae", "within_1", "spearman", "bias", "rmse", "kendall", "kappa")
"""Statistics in the order of tables: mean absolute error; share with ``|prediction - gold| <= 1``; Spearman rank
correlation; mean of prediction - gold (positive = lenient); root mean squared error; Kendall tau-b; Cohen's kappa with
quadratic weights on scores rounded half to even."""


def decimal(values: ArrayLike) -> Floats:
    """Values rounded to :data:`DECIMALS`, so that equal decimals are equal floats.

    >>> bool(0.1 + 0.2 == 0.3), bool(decimal(0.1 + 0.2) == decimal(0.3))
    (False, True)
    """
    return np.round(np.asarray(values, dtype=np.float64), DECIMALS)


def within(a: ArrayLike, b: ArrayLike, points: float = 1.0, tolerance: float = TOLERANCE) -> NDArray[np.bool_]:
    """Whether two scores are at most ``points`` apart, in the arithmetic of decimals.

    >>> bool(abs(4.4 - 3.4) <= 1), bool(within(4.4, 3.4)), bool(within(4.4001, 3.4))
    (False, True, False)
    """
    return np.abs(np.subtract(a, b)) <= points + tolerance


@dataclass(frozen=True)
class Cells:
    """The distinct (prediction, gold) pairs of a sample and the papers in which they occur.

    Cells are sorted by prediction, then by gold. Build one with :meth:`build`.

    Attributes:
        x: Distinct predictions, ascending, shape (X,).
        g: Distinct golds, ascending, shape (G,).
        ix: Index into ``x`` of each cell, shape (M,).
        ig: Index into ``g`` of each cell, shape (M,).
        members: How many figures of each paper lie in each cell, shape (M, papers).
    """

    x: Floats
    g: Floats
    ix: NDArray[np.intp]
    ig: NDArray[np.intp]
    members: sparse.csr_array

    @classmethod
    def build(
        cls, predictions: ArrayLike, golds: ArrayLike, papers: ArrayLike | None = None, n_papers: int = 1
    ) -> Cells:
        """Count the cells of a sample.

        Args:
            predictions: Scores, shape (n,), without NaN.
            golds: Gold, shape (n,), without NaN.
            papers: Number of each figure's paper, 0..n_papers-1, shape (n,). None puts all figures into one.
            n_papers: Number of papers, those without a figure in this sample included.
        """
        x, ix = np.unique(decimal(predictions), return_inverse=True)
        g, ig = np.unique(decimal(golds), return_inverse=True)
        if ix.shape != ig.shape or ix.ndim != 1:
            raise ValueError(f"predictions and golds must be equally long lists, got shapes {ix.shape} and {ig.shape}")
        pairs, cell = np.unique(ix * max(g.size, 1) + ig, return_inverse=True)
        paper = np.zeros(ix.size, dtype=np.intp) if papers is None else np.asarray(papers)
        members = sparse.csr_array((np.ones(ix.size), (cell, paper)), shape=(pairs.size, n_papers))
        return cls(x, g, pairs // max(g.size, 1), pairs % max(g.size, 1), members)

    @property
    def n(self) -> int:
        """Figures in the sample."""
        return int(self._figures.sum())

    @property
    def n_papers(self) -> int:
        """Papers that weights are given for."""
        return self.members.shape[1]

    @property
    def papers_present(self) -> int:
        """Papers with a figure in the sample."""
        return int(np.count_nonzero(self._figures))

    @property
    def height(self) -> int:
        """Number of cells."""
        return self.ix.size

    @cached_property
    def _figures(self) -> Floats:
        return self.members.sum(axis=0)

    @cached_property
    def _moments(self) -> sparse.csc_array:
        """Per paper: figures; sums of |d|, d^2, within 1, d; sums of the rounded scores, squares, product. (10, P)."""
        x, g = self.x[self.ix], self.g[self.ig]
        d = x - g
        a, b = np.rint(x), np.rint(g)
        moments = [np.ones_like(d), np.abs(d), d * d, within(x, g), d, a, b, a * a, b * b, a * b]
        # By columns, so that a product reads the weights once; sparse, because a threaded dense product of so flat a
        # matrix costs more than it saves.
        return (sparse.csr_array(moments) @ self.members).tocsc()

    @cached_property
    def _by_x(self) -> sparse.csr_array:
        return _indicator(self.ix, self.x.size)

    @cached_property
    def _by_g(self) -> sparse.csr_array:
        return _indicator(self.ig, self.g.size)

    def statistics(self, weights: Floats, names: Sequence[str] = STATISTICS) -> dict[str, Floats]:
        """Statistics of many samples at once.

        Args:
            weights: How often each paper is in each sample, shape (papers, samples).
            names: Some of :data:`STATISTICS`.

        Returns:
            By name an array of shape (samples,); NaN where the statistic is undefined for a sample: all of them
            without any figure, Spearman and Kendall on a constant, kappa when both sides are the same constant.
        """
        n, *sums = self._moments @ weights
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self._linear(np.stack(sums) / n)
            if set(names) & set(RANK):
                w = self.members @ weights
                wx, wg = self._by_x @ w, self._by_g @ w
                if "spearman" in names:
                    values["spearman"] = self._spearman(w, wx, wg, n)
                if "kendall" in names:
                    values["kendall"] = self._kendall(w, wx, wg, n)
        return {name: values[name] for name in names}

    def _linear(self, means: Floats) -> dict[str, Floats]:
        absolute, square, close, signed, a, b, aa, bb, ab = means
        # With quadratic weights Cohen's kappa is 1 - E[(a-b)^2] / E[(a-b')^2] with a and b' independent, and both
        # expectations are moments: no table of counts is needed.
        expected = aa + bb - 2 * a * b
        return {
            "mae": absolute,
            "within_1": close,
            "bias": signed,
            "rmse": np.sqrt(square),
            "kappa": np.where(expected > TOLERANCE, 1 - (aa + bb - 2 * ab) / expected, np.nan),
        }

    def _spearman(self, w: Floats, wx: Floats, wg: Floats, n: Floats) -> Floats:
        # The mid-rank of a value, less the mean rank (n+1)/2: both sides then have mean zero.
        rx = running_sum(wx) - (wx + n) / 2
        rg = running_sum(wg) - (wg + n) / 2
        covariance = (rx * (self._by_x @ (w * rg[self.ig]))).sum(axis=0)
        return covariance / np.sqrt((wx * rx * rx).sum(axis=0) * (wg * rg * rg).sum(axis=0))

    def _kendall(self, w: Floats, wx: Floats, wg: Floats, n: Floats) -> Floats:
        concordant = np.zeros_like(n)
        for low, high, below, outside in self._splits:
            sums = np.concatenate([np.zeros((1, n.size)), running_sum(w[low])])
            concordant += (w[high] * (sums[below] - sums[outside])).sum(axis=0)
        tied_x, tied_g = (wx * wx).sum(axis=0), (wg * wg).sum(axis=0)
        untied = n * n - tied_x - tied_g + (w * w).sum(axis=0)  # twice the concordant and discordant pairs
        return (4 * concordant - untied) / np.sqrt((n * n - tied_x) * (n * n - tied_g))

    @cached_property
    def _splits(self) -> list[tuple[NDArray[np.intp], ...]]:
        """How to find the concordant pairs: each pair is met once, at the highest bit in which its ranks differ.

        At a bit, cells that agree in all higher bits of their rank on one side form a block, and those with a zero in
        the bit are low, those with a one high. A high cell is concordant with the low cells of its block that have less
        on the other side, which are consecutive when the low cells are sorted by block and other side.

        Returns:
            For each bit of the side with fewer values: the low cells so sorted, the high cells, and for each high cell
            how many of the sorted low cells stand before its own place and before its block.
        """
        rank, other = (self.ix, self.ig) if self.x.size <= self.g.size else (self.ig, self.ix)
        splits = []
        for bit in range(int(rank.max(initial=0)).bit_length()):
            key = (rank >> (bit + 1)) * (other.max() + 1) + other
            one = (rank >> bit) & 1 == 1
            (low,), (high,) = np.nonzero(~one), np.nonzero(one)
            low = low[np.argsort(key[low], kind="stable")]
            below, outside = np.searchsorted(key[low], [key[high], key[high] - other[high]])
            splits.append((low, high, below, outside))
        return splits

    def undefined(self, name: str) -> str:
        """Why a statistic has no value on this sample, in words for a reader."""
        if self.n == 0:
            return "no scored figure"
        if self.n == 1 and name in RANK:
            return "a single figure has no ranks to compare"
        if self.x.size == 1 and name in RANK:
            return f"predictions are constant ({self.x[0]:g})"
        if self.g.size == 1 and name in RANK:
            return f"gold is constant ({self.g[0]:g})"
        return "predictions and gold round to the same constant"


def running_sum(rows: Floats) -> Floats:
    """``np.cumsum(rows, axis=0)``, several times as fast on wide rows: whole rows are added, in blocks.

    >>> running_sum(np.arange(10.0).reshape(5, 2)).tolist()
    [[0.0, 1.0], [2.0, 4.0], [6.0, 9.0], [12.0, 16.0], [20.0, 25.0]]
    """
    height, width = rows.shape
    block = max(1, round(math.sqrt(height)))
    sums = np.zeros((-(-height // block), block, width))
    sums.reshape(-1, width)[:height] = rows
    for row in range(1, block):
        sums[:, row] += sums[:, row - 1]
    for index in range(1, len(sums)):
        sums[index] += sums[index - 1, -1]
    return sums.reshape(-1, width)[:height]


def _indicator(codes: NDArray[np.intp], size: int) -> sparse.csr_array:
    """Sums the rows of equal code: 0/1, shape (size, len(codes))."""
    return sparse.csr_array((np.ones(codes.size), (codes, np.arange(codes.size))), shape=(size, codes.size))


@dataclass(frozen=True)
class Estimate:
    """A number, its confidence interval, and why either is missing.

    Attributes:
        value: The statistic, or None when it is undefined.
        low: Lower end of the interval, or None.
        high: Upper end of the interval, or None.
        reason: Why ``value`` or the interval is None, or what to know about the interval.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Agreement:
    """Agreement of scores with gold on one column; the statistics are those of :data:`STATISTICS`.

    Attributes:
        n: Number of figures that the statistics are computed on.
    """

    n: int
    mae: Estimate
    within_1: Estimate
    spearman: Estimate
    bias: Estimate
    rmse: Estimate
    kendall: Estimate
    kappa: Estimate


def agreement(predictions: ArrayLike, golds: ArrayLike) -> Agreement:
    """All statistics of one column, without intervals.

    Args:
        predictions: Scores, shape (n,).
        golds: Gold of the same figures, shape (n,).

    Raises:
        ValueError: The lists differ in length or hold NaN or inf.

    >>> result = agreement([7, 8, 5], [7.33, 8.0, 6.0])
    >>> round(result.mae.value, 4), result.within_1.value, result.spearman.value, round(result.bias.value, 4)
    (0.4433, 1.0, 1.0, -0.4433)
    >>> agreement([8, 8], [7.5, 9.0]).spearman
    Estimate(value=None, low=None, high=None, reason='predictions are constant (8)')
    """
    x, g = np.asarray(predictions, dtype=np.float64), np.asarray(golds, dtype=np.float64)
    if not (np.isfinite(x).all() and np.isfinite(g).all()):
        raise ValueError("predictions and golds must be finite: leave out unanswered items and count them")
    cells = Cells.build(x, g)
    return Agreement(cells.n, **points(cells, STATISTICS))


class Sampled(Protocol):
    """What can be estimated and resampled: :class:`Cells`, and the rater statistics."""

    @property
    def n_papers(self) -> int:
        """Papers that weights are given for."""

    @property
    def papers_present(self) -> int:
        """Papers that have anything in the sample."""

    @property
    def height(self) -> int:
        """Rows of the largest matrix that :meth:`statistics` makes."""

    def statistics(self, weights: Floats, names: Sequence[str]) -> dict[str, Floats]:
        """Statistics by name, shape (samples,), of weights of shape (papers, samples); NaN where undefined."""

    def undefined(self, name: str) -> str:
        """Why a statistic is undefined on the sample as it is."""


def points(sample: Sampled, names: Sequence[str]) -> dict[str, Estimate]:
    """Statistics of the sample as it is (each paper counts once), by name, without intervals."""
    values = sample.statistics(np.ones((sample.n_papers, 1)), names)
    return {
        name: Estimate(None, reason=sample.undefined(name)) if np.isnan(value) else Estimate(float(value))
        for name, (value,) in values.items()
    }

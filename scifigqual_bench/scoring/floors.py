"""Floors: what a judge scores that never looks at a figure and always says the same (SPEC 5).

The constant of the whole benchmark has seen the gold it is compared with. The leave-one-paper-out constant has not:
each paper is predicted from the gold of the other papers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scifigqual_bench.scoring.agreement import Floats

IN_SAMPLE = ("mean", "median")
FLOORS = ("mean_of_others", "median_of_others", *IN_SAMPLE)


def floor_scores(golds: Floats, papers: NDArray[np.intp], n_papers: int) -> dict[str, Floats]:
    """What each floor predicts for each figure of a column, shape (n,) each.

    Args:
        golds: Gold of the column's open figures, shape (n,).
        papers: Number of each figure's paper, shape (n,).
        n_papers: Number of papers.

    Returns:
        By the names in :data:`FLOORS`; those of the other papers are left out where there is no other paper, and all
        of them where there is no gold.
    """
    if not golds.size:
        return {}
    floors = {"mean": np.full(golds.size, golds.mean()), "median": np.full(golds.size, np.median(golds))}
    if np.ptp(papers):
        floors["mean_of_others"] = leave_one_paper_out_mean(golds, papers, n_papers)
        floors["median_of_others"] = leave_one_paper_out_median(golds, papers, n_papers)
    return floors


def leave_one_paper_out_mean(golds: Floats, papers: NDArray[np.intp], n_papers: int) -> Floats:
    """For each figure the mean gold of all other papers' figures, shape (n,); NaN without another paper.

    >>> leave_one_paper_out_mean(np.array([8.0, 6.0, 9.0]), np.array([0, 0, 1]), 2).tolist()
    [9.0, 9.0, 7.0]
    """
    count = np.bincount(papers, minlength=n_papers)
    total = np.bincount(papers, golds, minlength=n_papers)
    with np.errstate(invalid="ignore"):
        return ((total.sum() - total) / (golds.size - count))[papers]


def leave_one_paper_out_median(golds: Floats, papers: NDArray[np.intp], n_papers: int) -> Floats:
    """For each figure the median gold of all other papers' figures, shape (n,); NaN without another paper.

    >>> leave_one_paper_out_median(np.array([8.0, 6.0, 9.0]), np.array([0, 0, 1]), 2).tolist()
    [9.0, 9.0, 7.0]
    """
    order = np.argsort(golds, kind="stable")
    ascending = golds[order]
    by_paper = np.argsort(papers[order], kind="stable")
    bounds = np.cumsum(np.bincount(papers, minlength=n_papers))[:-1]
    medians = np.full(n_papers, np.nan)
    for paper, own in enumerate(np.split(by_paper, bounds)):
        left = golds.size - own.size
        if left:
            # The k-th of the remaining values stands k places up, plus one for each own value at or below it.
            middle = np.array([(left - 1) // 2, left // 2])
            medians[paper] = ascending[middle + np.searchsorted(own - np.arange(own.size), middle, side="right")].mean()
    return medians[papers]

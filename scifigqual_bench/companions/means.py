"""Means, with intervals from draws of whole clusters (papers, articles)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scifigqual_bench.scoring.agreement import Estimate, Floats
from scifigqual_bench.scoring.resampling import Bootstrap, Sample, resample

Key = TypeVar("Key", bound=Hashable)
_MEAN = "mean"


@dataclass(frozen=True)
class Means:
    """The unweighted mean of the means of some groups; of one group, its mean.

    A sample for :func:`~scifigqual_bench.scoring.resampling.resample`. A draw that leaves a group empty averages over
    the others.

    Attributes:
        sums: Sum of the values of each group and cluster, shape (groups, clusters).
        counts: How many values they are, the same shape.
    """

    sums: Floats
    counts: Floats

    @classmethod
    def of(cls, values: Iterable[float], clusters: Iterable[int], n_clusters: int) -> Means:
        """One group.

        Args:
            values: Shape (n,), without NaN.
            clusters: Number of the cluster of each value, 0..n_clusters-1, shape (n,).
            n_clusters: Number of clusters, those without a value included.
        """
        codes = np.fromiter(clusters, dtype=np.intp)
        sums = np.bincount(codes, np.fromiter(values, dtype=np.float64), n_clusters)
        return cls(sums[None], np.bincount(codes, minlength=n_clusters)[None].astype(np.float64))

    @classmethod
    def over(cls, groups: Sequence[Means]) -> Means:
        """The groups side by side."""
        return cls(np.concatenate([one.sums for one in groups]), np.concatenate([one.counts for one in groups]))

    @property
    def n_papers(self) -> int:
        """Clusters that weights are given for."""
        return self.counts.shape[1]

    @property
    def papers_present(self) -> int:
        """Clusters that have a value."""
        return int(np.count_nonzero(self.counts.any(axis=0)))

    @property
    def height(self) -> int:
        """Number of groups."""
        return self.counts.shape[0]

    def statistics(self, weights: Floats, names: Sequence[str]) -> dict[str, Floats]:
        """The mean of each draw, shape (draws,), of weights of shape (clusters, draws); NaN without any value."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.sums @ weights / (self.counts @ weights)
            present: NDArray[np.bool_] = ~np.isnan(means)
            mean = np.where(present, means, 0.0).sum(axis=0) / present.sum(axis=0)
        return dict.fromkeys(names, mean)

    def undefined(self, name: str) -> str:
        """Why there is no mean."""
        return "nothing to average"


def estimate_means(means: Mapping[Key, Means], bootstrap: Bootstrap, cluster: str) -> dict[Key, Estimate]:
    """Estimate several means on the same draws of clusters.

    Args:
        means: What to estimate; all over the same clusters.
        bootstrap: How intervals are made.
        cluster: What a cluster is called.

    Returns:
        By key the mean with its percentile interval; None, with a reason, of nothing. No interval, with a reason, when
        all values are of one cluster.

    >>> values = Means.of([1.0, 0.0, 1.0], clusters=[0, 0, 1], n_clusters=2)
    >>> estimate_means({"a": values}, Bootstrap(resamples=0), "paper")["a"].value
    0.6666666666666666
    """
    samples = {key: Sample(one, (_MEAN,)) for key, one in means.items()}
    found = resample(samples, next(iter(means.values())).n_papers, bootstrap)
    return {
        key: replace(found.values[key][_MEAN], reason=f"no interval: all of one {cluster}")
        if one.papers_present == 1 and bootstrap.resamples
        else found.estimate(key, _MEAN)
        for key, one in means.items()
    }


def format_mean(estimate: Estimate, scale: float) -> str:
    """A mean with its interval, two decimals, for example ``50.00 [25.00, 100.00]``; a dash for None.

    >>> format_mean(Estimate(0.5, 0.25, 1.0), 100), format_mean(Estimate(None), 100)
    ('50.00 [25.00, 100.00]', '-')
    """
    if estimate.value is None:
        return "-"
    text = f"{scale * estimate.value:.2f}"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{scale * estimate.low:.2f}, {scale * estimate.high:.2f}]"


def interval_lines(bootstrap: Bootstrap, clusters: str) -> list[str]:
    """What the brackets of a table are.

    >>> interval_lines(Bootstrap(), "papers")
    ['Brackets: 95% interval, 10000 resamples of whole papers.']
    """
    if not bootstrap.resamples:
        return []
    return [f"Brackets: {bootstrap.confidence:.0%} interval, {bootstrap.resamples} resamples of whole {clusters}."]


def reason_lines(estimates: Mapping[str, Estimate]) -> list[str]:
    """Why numbers or intervals of a table are missing, one line per reason; control characters become spaces.

    >>> reason_lines({"A": Estimate(None, reason="nothing to average"), "B": Estimate(1.0)})
    ['A: nothing to average.']
    """
    titles: dict[str, list[str]] = {}
    for title, estimate in estimates.items():
        if estimate.reason:
            titles.setdefault(estimate.reason, []).append(title)
    lines = [f"{', '.join(names)}: {reason}." for reason, names in titles.items()]
    return ["".join(char if char.isprintable() else " " for char in line) for line in lines]

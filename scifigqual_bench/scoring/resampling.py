"""Confidence intervals from a bootstrap that draws whole papers.

Figures of one paper share authors, style and raters, so they are not independent, and an interval that resamples
figures is too narrow. A bootstrap sample is a column of weights: how often each paper was drawn.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from scifigqual_bench.scoring.agreement import Cells, Estimate, Floats, points

CHUNK_NUMBERS = 1 << 18
"""Numbers in one matrix of weights: large enough to amortise a call, small enough for a core's cache."""


def paper_weights(n_papers: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each paper is drawn in each bootstrap sample.

    Args:
        n_papers: Papers, from which each sample draws as many with replacement.
        resamples: Number of samples.
        seed: Seed of NumPy's default generator.

    Yields:
        Weights of shape (n_papers, some of the samples), in chunks that fit a cache.

    >>> [weights.sum(axis=0).tolist() for weights in paper_weights(3, 2, seed=0)]
    [[3.0, 3.0]]
    """
    rng = np.random.default_rng(seed)
    chunk = max(64, CHUNK_NUMBERS // n_papers)
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        slots = rng.integers(n_papers, size=(size, n_papers)) * size + np.arange(size)[:, None]
        yield np.bincount(slots.ravel(), minlength=n_papers * size).reshape(n_papers, size).astype(np.float64)


@dataclass(frozen=True)
class Sample:
    """What to estimate on what: cells and the names of statistics."""

    cells: Cells
    names: Sequence[str]


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made.

    Attributes:
        resamples: Number of bootstrap samples; 0 for no intervals.
        confidence: Level of the percentile interval, 0..1.
        seed: Seed of NumPy's default generator.
    """

    resamples: int
    confidence: float
    seed: int


Key = TypeVar("Key", bound=Hashable)


def resample(samples: Mapping[Key, Sample], n_papers: int, bootstrap: Bootstrap) -> dict[Key, dict[str, Floats]]:
    """Statistics of several samples on the same draws of papers.

    Returns:
        By key and statistic an array of shape (resamples,); NaN where undefined.
    """
    parts: dict[Key, list[dict[str, Floats]]] = {key: [] for key in samples}
    for weights in paper_weights(n_papers, bootstrap.resamples, bootstrap.seed):
        for key, sample in samples.items():
            parts[key].append(sample.cells.statistics(weights, sample.names))
    return {
        key: {name: np.concatenate([part[name] for part in parts[key]]) for name in sample.names}
        for key, sample in samples.items()
    }


def estimates(samples: Mapping[Key, Sample], n_papers: int, bootstrap: Bootstrap) -> dict[Key, dict[str, Estimate]]:
    """Point estimates with intervals, by key and statistic."""
    draws = resample(samples, n_papers, bootstrap) if bootstrap.resamples else {}
    result: dict[Key, dict[str, Estimate]] = {}
    for key, sample in samples.items():
        result[key] = points(sample.cells, sample.names)
        for name, values in draws.get(key, {}).items():
            point = result[key][name]
            if point.value is None:
                continue
            if sample.cells.n_papers < 2:
                result[key][name] = replace(point, reason="no interval: all figures are of one paper")
            else:
                result[key][name] = with_interval(point, values, bootstrap.confidence)
    return result


def with_interval(point: Estimate, draws: Floats, confidence: float) -> Estimate:
    """The estimate with a percentile interval from the draws in which the statistic is defined."""
    defined = draws[~np.isnan(draws)]
    if not defined.size:
        return replace(point, reason="no interval: undefined in every resample")
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    lost = draws.size - defined.size
    reason = f"interval leaves out {lost} of {draws.size} resamples in which it is undefined" if lost else None
    return replace(point, low=float(low), high=float(high), reason=reason)

"""Confidence intervals from a bootstrap that draws whole papers.

Figures of one paper share authors, style and raters, so they are not independent, and an interval that resamples
figures is too narrow. A bootstrap sample is a column of weights: how often each paper was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from scifigqual_bench.scoring.agreement import Estimate, Floats, Sampled, points

WEIGHTS_AT_ONCE, CELLS_AT_ONCE = 1 << 17, 1 << 22
"""Numbers in one matrix of weights and in the largest made from it: a chunk of resamples is large enough to amortise a
call, small enough for a core's cache, and never fills the memory. The draws don't depend on the size of chunks."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made.

    Attributes:
        resamples: Number of bootstrap samples; 0 for no intervals.
        confidence: Level of the percentile interval, between 0 and 1.
        seed: Seed of NumPy's default generator.

    Raises:
        ValueError: A value is out of range.
    """

    resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.resamples < 0 or not 0 < self.confidence < 1:
            raise ValueError(f"expected resamples >= 0 and 0 < confidence < 1, got {self}")


@dataclass(frozen=True)
class Sample:
    """What to estimate on what.

    Attributes:
        data: The data, grouped by paper.
        names: Names of statistics that it has.
    """

    data: Sampled
    names: Sequence[str]


def paper_weights(n_papers: int, bootstrap: Bootstrap, height: int = 1) -> Iterator[Floats]:
    """How often each paper is drawn in each bootstrap sample; a sample draws as many papers as there are.

    Args:
        n_papers: Number of papers.
        bootstrap: Number of samples and seed.
        height: Rows of the largest matrix that will be made from the weights.

    Yields:
        Weights of shape (n_papers, some of the samples).

    >>> [weights.sum(axis=0).tolist() for weights in paper_weights(3, Bootstrap(resamples=2))]
    [[3.0, 3.0]]
    """
    rng = np.random.default_rng(bootstrap.seed)
    for size in chunk_sizes(n_papers, bootstrap.resamples, height):
        slots = rng.integers(n_papers, size=(size, n_papers)) * size + np.arange(size)[:, None]
        yield np.bincount(slots.ravel(), minlength=n_papers * size).reshape(n_papers, size).astype(np.float64)


def chunk_sizes(n_papers: int, resamples: int, height: int) -> Iterator[int]:
    """Sizes of the chunks that ``resamples`` columns of weights are handled in."""
    chunk = max(64, min(WEIGHTS_AT_ONCE // n_papers, CELLS_AT_ONCE // max(height, 1)))
    yield from (min(chunk, resamples - start) for start in range(0, resamples, chunk))


@dataclass(frozen=True)
class Resampled(Generic[Key]):
    """Statistics of several samples, and of the same draws of papers from each.

    Attributes:
        samples: What was estimated.
        values: Point estimates by key and statistic.
        draws: By key and statistic an array of shape (resamples,), NaN where undefined; empty without resamples.
        confidence: Level of the intervals.
    """

    samples: Mapping[Key, Sample]
    values: Mapping[Key, Mapping[str, Estimate]]
    draws: Mapping[Key, Mapping[str, Floats]]
    confidence: float

    def estimates(self, key: Key) -> dict[str, Estimate]:
        """All statistics of a sample with their intervals."""
        return {name: self.estimate(key, name) for name in self.samples[key].names}

    def estimate(self, key: Key, name: str) -> Estimate:
        """A statistic with its interval."""
        return self._with_interval(self.values[key][name], self.draws[key].get(name), key)

    def contrast(
        self, operation: Callable, first: Key, second: Key, name: str, second_name: str | None = None
    ) -> Estimate:
        """A difference or ratio of one statistic of two samples, with an interval that pairs their draws.

        Args:
            operation: ``np.subtract`` or ``np.divide``.
            first: Key of the first operand.
            second: Key of the second operand.
            name: The statistic.
            second_name: The statistic of the second operand, where it is another one.
        """
        second_name = second_name or name
        a, b = self.values[first][name], self.values[second][second_name]
        if a.value is None or b.value is None:
            return Estimate(None, reason=a.reason or b.reason)
        if operation is np.divide and b.value == 0:
            return Estimate(None, reason="the divisor is 0")
        draws = None
        if name in self.draws[first]:
            with np.errstate(invalid="ignore", divide="ignore"):
                draws = operation(self.draws[first][name], self.draws[second][second_name])
        return self._with_interval(Estimate(float(operation(a.value, b.value))), draws, first)

    def _with_interval(self, point: Estimate, draws: Floats | None, key: Key) -> Estimate:
        if draws is None or point.value is None:
            return point
        if self.samples[key].data.papers_present < 2:
            return replace(point, reason="no interval: all figures are of one paper")
        defined = draws[np.isfinite(draws)]
        if not defined.size:
            return replace(point, reason="no interval: undefined in every resample")
        low, high = np.quantile(defined, [(1 - self.confidence) / 2, (1 + self.confidence) / 2])
        lost = draws.size - defined.size
        reason = f"interval leaves out {lost} of {draws.size} resamples in which it is undefined" if lost else None
        return replace(point, low=float(low), high=float(high), reason=reason)


def resample(samples: Mapping[Key, Sample], n_papers: int, bootstrap: Bootstrap) -> Resampled[Key]:
    """Statistics of several samples, with the same draws of papers for all of them."""
    parts: dict[Key, list[dict[str, Floats]]] = {key: [] for key in samples}
    height = max((sample.data.height for sample in samples.values()), default=1)
    for weights in paper_weights(n_papers, bootstrap, height):
        for key, sample in samples.items():
            parts[key].append(sample.data.statistics(weights, sample.names))
    return Resampled(
        samples=samples,
        values={key: points(sample.data, sample.names) for key, sample in samples.items()},
        draws={
            key: {name: np.concatenate([part[name] for part in found]) for name in samples[key].names if found}
            for key, found in parts.items()
        },
        confidence=bootstrap.confidence,
    )

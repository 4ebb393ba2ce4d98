"""The bootstrap of papers against a plain loop, and that its intervals cover what they should."""

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from scifigqual_bench.scoring.agreement import STATISTICS, Cells, within
from scifigqual_bench.scoring.resampling import Bootstrap, Sample, paper_weights, resample

PAPERS = 30


def scores(seed, papers=PAPERS):
    """Predictions, golds and papers, with an error that figures of one paper share."""
    rng = np.random.default_rng(seed)
    paper = np.repeat(np.arange(papers), rng.integers(1, 8, papers))
    g = np.round(np.clip(rng.normal(7, 1.5, paper.size), 1, 10), 4)
    x = np.clip(np.rint(g + rng.normal(0, 1, papers)[paper] + rng.normal(0, 0.5, paper.size)), 1, 10)
    return x, g, paper


def test_weights_draw_as_many_papers_as_there_are():
    chunks = list(paper_weights(1000, Bootstrap(resamples=500)))
    weights = np.concatenate(chunks, axis=1)
    assert len(chunks) > 1 and weights.shape == (1000, 500)
    assert set(weights.sum(axis=0)) == {1000.0}
    assert weights.mean() == 1.0 and weights.var() == pytest.approx(1.0, abs=0.02)


def test_draws_do_not_depend_on_the_size_of_chunks():
    low, high = (list(paper_weights(20, Bootstrap(resamples=300), height)) for height in (1, 1 << 16))
    assert len(low) < len(high)
    assert np.array_equal(np.concatenate(low, axis=1), np.concatenate(high, axis=1))


def test_against_a_plain_loop_over_the_same_draws():
    x, g, paper = scores(0)
    bootstrap = Bootstrap(resamples=300, seed=7)
    found = resample({"all": Sample(Cells.build(x, g, paper, PAPERS), STATISTICS)}, PAPERS, bootstrap)
    weights = np.concatenate(list(paper_weights(PAPERS, bootstrap)), axis=1)
    plain = {"mae": [], "within_1": [], "spearman": [], "kendall": []}
    for draw in weights.T:
        rows = np.concatenate([np.flatnonzero(paper == p) for p in range(PAPERS) for _ in range(int(draw[p]))])
        plain["mae"].append(np.abs(x - g)[rows].mean())
        plain["within_1"].append(within(x, g)[rows].mean())
        plain["spearman"].append(spearmanr(x[rows], g[rows]).statistic)
        plain["kendall"].append(kendalltau(x[rows], g[rows]).statistic)
    for name, expected in plain.items():
        assert np.abs(found.draws["all"][name] - expected).max() < 1e-12
        low, high = np.quantile(expected, [0.025, 0.975])
        estimate = found.estimate("all", name)
        assert (estimate.low, estimate.high) == (pytest.approx(low), pytest.approx(high))


def test_same_seed_same_interval_other_seed_another():
    x, g, paper = scores(1)
    samples = {"all": Sample(Cells.build(x, g, paper, PAPERS), ("mae",))}
    first, again, other = (
        resample(samples, PAPERS, Bootstrap(100, seed=seed)).estimate("all", "mae") for seed in (1, 1, 2)
    )
    assert first == again != other
    assert first.value == other.value


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    truth = np.mean([np.abs(np.subtract(*scores(seed, 400)[:2])).mean() for seed in range(50)])
    covered = 0
    for seed in range(200):
        x, g, paper = scores(1000 + seed)
        samples = {"all": Sample(Cells.build(x, g, paper, PAPERS), ("mae",))}
        estimate = resample(samples, PAPERS, Bootstrap(resamples=300)).estimate("all", "mae")
        covered += estimate.low <= truth <= estimate.high
    # 200 trials at 95%: the percentile bootstrap of 30 papers is somewhat too narrow, resampling figures far too.
    assert 0.87 <= covered / 200 <= 0.99


def test_undefined_resamples_are_told():
    x, g = np.array([8.0, 8.0, 7.0]), np.array([7.0, 8.0, 9.0])
    samples = {"all": Sample(Cells.build(x, g, np.array([0, 1, 2]), 3), ("spearman",))}
    estimate = resample(samples, 3, Bootstrap(resamples=200)).estimate("all", "spearman")
    assert estimate.low is not None and "resamples in which it is undefined" in estimate.reason


def test_contrast_pairs_the_draws():
    x, g, paper = scores(2)
    samples = {
        "judge": Sample(Cells.build(x, g, paper, PAPERS), ("mae",)),
        "worse": Sample(Cells.build(x - 1, g, paper, PAPERS), ("mae",)),
        "same": Sample(Cells.build(x, g, paper, PAPERS), ("mae",)),
    }
    found = resample(samples, PAPERS, Bootstrap(resamples=200))
    nothing = found.contrast(np.subtract, "judge", "same", "mae")
    assert (nothing.value, nothing.low, nothing.high) == (0.0, 0.0, 0.0)
    ratio = found.contrast(np.divide, "judge", "worse", "mae")
    assert ratio.low <= ratio.value <= ratio.high < 1

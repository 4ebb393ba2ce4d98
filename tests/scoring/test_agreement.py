"""Agreement statistics against scipy and scikit-learn, and what must hold for any scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import cohen_kappa_score, mean_absolute_error, root_mean_squared_error

from scifigqual_bench.scoring import STATISTICS, agreement
from scifigqual_bench.scoring.agreement import Cells, decimal, running_sum, within

SCORES = st.integers(1, 10)
MEANS = st.builds(
    lambda total, raters: round(min(10.0, max(1.0, total / raters)), 4), st.integers(1, 90), st.integers(1, 9)
)
PAIRS = st.lists(st.tuples(SCORES, MEANS), min_size=2, max_size=60)


def values(result):
    return {name: getattr(result, name).value for name in STATISTICS}


def split(pairs):
    x, g = zip(*pairs, strict=True)
    return np.array(x, dtype=float), np.array(g, dtype=float)


@given(PAIRS)
def test_against_scipy_and_scikit_learn(pairs):
    x, g = split(pairs)
    result = values(agreement(x, g))
    assert result["mae"] == pytest.approx(mean_absolute_error(g, x), abs=1e-12)
    assert result["rmse"] == pytest.approx(root_mean_squared_error(g, x), abs=1e-12)
    assert result["bias"] == pytest.approx(float((x - g).mean()), abs=1e-12)
    if np.ptp(x) == 0 or np.ptp(g) == 0:
        assert result["spearman"] is None and result["kendall"] is None
    else:
        assert result["spearman"] == pytest.approx(spearmanr(x, g).statistic, abs=1e-12)
        assert result["kendall"] == pytest.approx(kendalltau(x, g).statistic, abs=1e-12)
    a, b = np.rint(x).astype(int), np.rint(g).astype(int)
    if len(set(a) | set(b)) == 1:
        assert result["kappa"] is None
    else:
        kappa = cohen_kappa_score(a, b, weights="quadratic", labels=list(range(1, 11)))
        assert result["kappa"] == pytest.approx(kappa, abs=1e-12)


@given(PAIRS, st.integers(0, 2**32 - 1))
def test_resampled_statistics_are_those_of_the_repeated_figures(pairs, seed):
    x, g = split(pairs)
    rng = np.random.default_rng(seed)
    papers = rng.integers(4, size=x.size)
    weights = rng.integers(0, 4, size=(4, 6)).astype(float)
    found = Cells.build(x, g, papers, 4).statistics(weights)
    for column in range(6):
        times = weights[papers, column].astype(int)
        repeated = Cells.build(np.repeat(x, times), np.repeat(g, times)).statistics(np.ones((1, 1)))
        for name in STATISTICS:
            assert found[name][column] == pytest.approx(repeated[name][0], abs=1e-12, nan_ok=True)


@given(PAIRS)
def test_weight_zero_leaves_a_paper_out(pairs):
    x, g = split(pairs)
    both = Cells.build(np.concatenate([x, 11 - x]), np.concatenate([g, g]), np.repeat([0, 1], x.size), 2)
    alone = values(agreement(x, g))
    for name, (value,) in both.statistics(np.array([[1.0], [0.0]])).items():
        assert value == pytest.approx(np.nan if alone[name] is None else alone[name], abs=1e-12, nan_ok=True)


@given(st.lists(st.tuples(st.integers(3, 8), st.integers(3, 8)), min_size=2, max_size=40), st.integers(-2, 2))
def test_shifting_predictions_shifts_the_bias_and_no_rank(pairs, shift):
    x, g = split(pairs)
    before, after = values(agreement(x, g)), values(agreement(x + shift, g))
    assert after["bias"] == pytest.approx(before["bias"] + shift, abs=1e-12)
    assert (after["spearman"], after["kendall"]) == (before["spearman"], before["kendall"])


@given(PAIRS, st.randoms())
def test_order_of_figures_is_irrelevant(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert agreement(*split(pairs)) == agreement(*split(shuffled))


@given(SCORES, SCORES)
def test_integers_one_apart_are_within_1(a, b):
    assert bool(within(a, b)) == (abs(a - b) <= 1)


@given(st.integers(10_000, 90_000))
def test_means_exactly_one_apart_are_within_1_and_a_hair_more_is_not(ten_thousandths):
    low = ten_thousandths / 10_000
    assert within(low, (ten_thousandths + 10_000) / 10_000)
    assert not within(low, (ten_thousandths + 10_001) / 10_000)


def test_equal_decimals_tie_however_they_were_computed():
    golds = [1.1 + 2.2, 3.3, 8.0, 2.0]
    assert golds[0] != golds[1] and decimal(golds[0]) == decimal(golds[1])
    assert agreement([7, 8, 9, 6], golds).spearman.value == pytest.approx(
        spearmanr([7, 8, 9, 6], [2, 2, 3, 1]).statistic
    )


@pytest.mark.parametrize(
    ("predictions", "golds", "statistic", "reason"),
    [
        ([], [], "mae", "no scored figure"),
        ([8], [7], "spearman", "a single figure"),
        ([8, 8], [7, 9], "spearman", "predictions are constant (8)"),
        ([8, 7], [9, 9], "kendall", "gold is constant (9)"),
        ([8, 8], [8.3, 7.7], "kappa", "same constant"),
    ],
)
def test_undefined_is_none_with_a_reason(predictions, golds, statistic, reason):
    estimate = getattr(agreement(predictions, golds), statistic)
    assert estimate.value is None and reason in estimate.reason


def test_a_single_figure_has_an_error():
    result = agreement([8], [7])
    assert (result.mae.value, result.within_1.value, result.bias.value, result.kappa.value) == (1.0, 1.0, 1.0, 0.0)


def test_nan_and_uneven_lists_are_refused():
    with pytest.raises(ValueError, match="finite"):
        agreement([8, np.nan], [8, 8])
    with pytest.raises(ValueError, match="equally long"):
        agreement([8, 7], [8])


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_running_sum_is_the_cumulative_sum(height, width, seed):
    rows = np.random.default_rng(seed).integers(0, 9, (height, width)).astype(float)
    assert np.array_equal(running_sum(rows), np.cumsum(rows, axis=0))

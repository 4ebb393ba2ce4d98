"""Agreement among raters against outside references and brute force."""

from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from scifigqual_bench.rubric import DIMENSION_KEYS, OVERALL
from scifigqual_bench.scoring import ScoringInputError, ceilings
from scifigqual_bench.scoring.agreement import points
from scifigqual_bench.scoring.raters import ALPHA, ANOVA, Alpha, Anova, ItemRatings

VC = "visual_clarity"
SEEDS = st.integers(0, 2**32 - 1)

# Six targets rated by four judges: the worked example of Shrout and Fleiss (1979), ICC(1,1) 0.17 and ICC(1,k) 0.44.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def matrix(seed, gaps=0.4):
    """Ratings of some items, shape (items, raters), NaN for gaps."""
    rng = np.random.default_rng(seed)
    ratings = rng.integers(1, 11, (rng.integers(3, 30), rng.integers(2, 7))).astype(float)
    ratings[rng.random(ratings.shape) < gaps] = np.nan
    return ratings


def items_of(ratings, papers=None, n_papers=1):
    items = np.repeat(np.arange(ratings.shape[0]), ratings.shape[1])
    return ItemRatings.build(ratings.ravel(), items, None if papers is None else papers[items], n_papers)


@given(SEEDS)
def test_alpha_against_the_krippendorff_package(seed):
    ratings = matrix(seed)
    found = points(Alpha(items_of(ratings)), ALPHA)
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) > 1]
    if np.unique(pairable[~np.isnan(pairable)]).size < 2:
        assert found["alpha_ordinal"].value is None and found["alpha_ordinal"].reason
        return
    for level in ("ordinal", "interval"):
        expected = krippendorff.alpha(ratings.T, level_of_measurement=level, value_domain=list(range(1, 11)))
        assert found[f"alpha_{level}"].value == pytest.approx(expected, abs=1e-9)


@given(SEEDS)
def test_pairs_leave_one_out_and_spread_by_brute_force(seed):
    ratings = matrix(seed)
    own = [row[~np.isnan(row)] for row in ratings]
    several = [row for row in own if row.size > 1]
    found = items_of(ratings)
    gaps = [abs(a - b) for row in own for a, b in combinations(row, 2)]
    pairwise = points(found.pair_cells(), ("within_1",))["within_1"]
    assert found.pairs[0].size == len(gaps)
    assert pairwise.value == (pytest.approx(np.mean(np.array(gaps) <= 1)) if gaps else None)
    left_out = [(v, np.delete(row, i).mean()) for row in several for i, v in enumerate(row)]
    result = points(found.leave_one_out_cells(), ("mae", "spearman"))
    if left_out:
        v, others = np.array(left_out).T
        assert result["mae"].value == pytest.approx(np.abs(v - others).mean())
        if result["spearman"].value is not None:
            assert result["spearman"].value == pytest.approx(spearmanr(v, others.round(9)).statistic)
    assert sorted(found.repeated.spreads) == sorted(np.ptp(row) for row in several)


def test_intraclass_correlation_of_the_worked_example():
    found = points(Anova(items_of(np.array(SHROUT_FLEISS, dtype=float))), ANOVA)
    assert round(found["icc_1"].value, 2) == 0.17
    assert round(found["icc_k"].value, 2) == 0.44
    # With as many ratings on each target, Spearman-Brown of one rating is the reliability of their mean.
    assert found["reliability"].value == pytest.approx(found["icc_k"].value)
    assert found["max_spearman"].value == pytest.approx(found["icc_k"].value ** 0.5)


def test_reliability_foretells_the_correlation_with_the_true_score():
    rng = np.random.default_rng(0)
    true = rng.normal(0, 1, 20_000)
    sizes = rng.integers(2, 6, true.size)
    items = np.repeat(np.arange(true.size), sizes)
    ratings = true[items] + rng.normal(0, 1.5, items.size)
    gold = np.bincount(items, ratings) / sizes
    found = points(Anova(ItemRatings.build(ratings, items)), ANOVA)
    assert found["icc_1"].value == pytest.approx(1 / (1 + 1.5**2), abs=0.01)
    assert found["max_spearman"].value == pytest.approx(spearmanr(true, gold).statistic, abs=0.02)


@given(SEEDS)
def test_resampled_rater_statistics_are_those_of_the_repeated_items(seed):
    ratings = matrix(seed, gaps=0.2)
    rng = np.random.default_rng(seed)
    papers = rng.integers(3, size=len(ratings))
    weights = rng.integers(0, 3, size=(3, 4)).astype(float)
    found = items_of(ratings, papers, 3)
    for statistic, names in ((Alpha, ALPHA), (Anova, ANOVA)):
        resampled = statistic(found).statistics(weights, names)
        for column in range(4):
            chosen = np.repeat(ratings, weights[papers, column].astype(int), axis=0)
            if not len(chosen):
                assert all(np.isnan(resampled[name][column]) for name in names)
                continue
            repeated = statistic(items_of(chosen)).statistics(np.ones((1, 1)), names)
            for name in names:
                assert resampled[name][column] == pytest.approx(repeated[name][0], abs=1e-9, nan_ok=True)


def rating_rows(ratings, names=None):
    return [
        {"figure_id": f"p{item % 4}__fig{item:04d}", "rater_id": (names or "abcdefgh")[rater], VC: int(value)}
        for item, row in enumerate(ratings)
        for rater, value in enumerate(row)
        if not np.isnan(value)
    ]


@settings(max_examples=20)
@given(SEEDS, st.randoms())
def test_order_and_names_of_raters_are_irrelevant(seed, random):
    ratings = matrix(seed)
    rows = rating_rows(ratings)
    shuffled = rating_rows(ratings, names="zyxwvuts")
    random.shuffle(shuffled)
    assert ceilings(rows, resamples=20) == ceilings(shuffled, resamples=20)


def test_overall_is_each_raters_own_gated_mean():
    rows = [
        {"figure_id": "a__fig0001", "rater_id": "r1", **dict.fromkeys(DIMENSION_KEYS, 8), "overall_score": 3.0},
        {"figure_id": "a__fig0001", "rater_id": "r2", VC: 6, "misleading_risk": 7, "overall_score": 2.5},
    ]
    assert ceilings(rows, resamples=0).columns[OVERALL].spread_mean == 1.5
    assert ceilings(rows, rater_overall="stored", resamples=0).columns[OVERALL].spread_mean == 0.5


def test_one_rater_a_figure_gives_reasons_and_no_numbers():
    report = ceilings([{"figure_id": "a__fig0001", "rater_id": "r1", VC: 7}], resamples=50)
    ceiling = report.columns[VC]
    assert (ceiling.items, ceiling.spread_mean) == (0, None)
    for name in ("pairwise_within_1", "loo_mae", "alpha_ordinal", "icc_1", "max_spearman"):
        estimate = getattr(ceiling, name)
        assert estimate.value is None and estimate.reason


def test_all_faults_of_ratings_at_once():
    rows = [
        {"figure_id": "a__fig0001", "rater_id": "r1", VC: 7.5},
        {"figure_id": "a__fig0001", "rater_id": "r1", VC: True},
        {"figure_id": "a__fig0002", "rater_id": None, VC: "8"},
        {"figure_id": "a", "rater_id": "r1", VC: 11},
        "text",
    ]
    with pytest.raises(ScoringInputError) as caught:
        ceilings(rows)
    text = str(caught.value)
    for expected in (
        "ratings[0] (a__fig0001): visual_clarity is 7.5",
        "True (bool)",
        "rated this figure in row 0 already",
        "rater_id is None",
        "'8' (str)",
        "figure_id is 'a'",
        "11 (int)",
        "ratings[4]",
    ):
        assert expected in text
    assert [problem.row for problem in caught.value.details] == [0, 1, 1, 2, 2, 3, 3, 4]
    with pytest.raises(ScoringInputError, match="is empty"):
        ceilings([])

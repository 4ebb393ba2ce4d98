"""Comparison of prediction files: paired differences, permutation p-values, Holm's correction."""

from itertools import product

import numpy as np
import pytest

from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS
from scifigqual_bench.scoring import ScoringInputError, compare, score
from scifigqual_bench.scoring.comparison import COMPARED, holm, permutation_p_values
from scifigqual_bench.scoring.resampling import Bootstrap

VC = DIMENSION_KEYS[0]


def worse(predictions, by=2):
    return [{k: max(1, v - by) if isinstance(v, int) else v for k, v in row.items()} for row in predictions]


def test_systems_and_differences_are_those_of_score(rows):
    predictions, golds, ratings = rows(1)
    other = worse(predictions)
    result = compare({"one": predictions, "other": other}, golds, ratings=ratings, resamples=100)
    for name, given in (("one", predictions), ("other", other)):
        alone = score(given, golds, ratings=ratings, resamples=100)
        for key in COLUMNS:
            assert result.systems[name][key].agreement == alone.columns[key].headline
            assert result.ceilings[key] == alone.columns[key].ceiling
    assert len(result.differences) == len(COLUMNS) * len(COMPARED)
    for item in result.differences:
        if item.statistic == "bias" and item.column == VC:
            expected = [a[VC] - b[VC] for a, b in zip(predictions, other, strict=True)]
            assert item.estimate.value == pytest.approx(np.mean(expected))
            assert item.estimate.low > 0
            assert item.p_value == pytest.approx(1 / 101)


def test_a_system_against_itself(rows):
    predictions, golds, _ = rows(2)
    result = compare({"a": predictions, "b": list(reversed(predictions))}, golds, resamples=50)
    for item in result.differences:
        if item.estimate.value is not None:
            assert (item.estimate.value, item.estimate.low, item.estimate.high) == (0.0, 0.0, 0.0)
            assert (item.p_value, item.p_holm) == (1.0, 1.0)


def test_only_figures_that_all_scored(rows):
    predictions, golds, _ = rows(3)
    fewer = [{"figure_id": predictions[0]["figure_id"], "status": "refusal"}, *predictions[1:]]
    result = compare({"all": predictions, "fewer": fewer}, golds, resamples=0)
    for name, scored in (("all", len(golds)), ("fewer", len(golds) - 1)):
        column = result.systems[name][VC]
        assert (column.scored, column.open, column.agreement.n) == (scored, len(golds), len(golds) - 1)
    assert all(item.p_value is None and item.estimate.low is None for item in result.differences)


def test_p_values_against_all_swaps():
    rng = np.random.default_rng(4)
    papers = np.repeat(np.arange(7), 3)
    g = np.round(rng.uniform(4, 9, papers.size), 4)
    a, b = np.rint(g + rng.normal(0, 1, papers.size)), np.rint(g + rng.normal(0.6, 1.2, papers.size))
    found = permutation_p_values(a, b, g, papers, 7, Bootstrap(resamples=20_000))

    def difference(kept):
        first, second = np.where(kept[papers], a, b), np.where(kept[papers], b, a)
        return np.abs(first - g).mean() - np.abs(second - g).mean()

    observed = abs(difference(np.ones(7, dtype=bool)))
    all_swaps = [abs(difference(np.array(kept))) >= observed - 1e-12 for kept in product([True, False], repeat=7)]
    assert found["mae"] == pytest.approx(np.mean(all_swaps), abs=0.02)


def test_swaps_that_are_as_large_but_for_rounding_count():
    # Errors in tenths, one figure a paper: 48 of the 64 swaps give a difference at least as large, two of them
    # only in exact arithmetic.
    first, second = np.array([16, 5, 2, 5, 8, 16]), np.array([9, 1, 6, 12, 16, 14])
    signs = np.array(list(product([1, -1], repeat=6)))
    exact = np.abs(signs @ (first - second)) >= abs((first - second).sum())
    assert exact.mean() == 0.75
    found = permutation_p_values(5 + first / 10, 5 + second / 10, np.full(6, 5.0), np.arange(6), 6, Bootstrap(20_000))
    assert found["mae"] == pytest.approx(0.75, abs=0.01)


def test_three_systems_against_one(rows):
    predictions, golds, _ = rows(5)
    systems = {"a": predictions, "b": worse(predictions, 1), "c": worse(predictions, 3)}
    everyone = compare(systems, golds, resamples=50)
    assert {(item.first, item.second) for item in everyone.differences} == {("a", "b"), ("a", "c"), ("b", "c")}
    one = compare(systems, golds, against="a", resamples=50)
    assert {(item.first, item.second) for item in one.differences} == {("b", "a"), ("c", "a")}
    for item in everyone.differences:
        if item.p_value is not None:
            assert item.p_value <= item.p_holm <= 1


def test_holm():
    # The textbook example: 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, kept from falling.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([None, None]) == [None, None]


def test_faults_name_the_system(rows):
    predictions, golds, _ = rows(6)
    bad = [{**predictions[0], VC: "8"}, *predictions[1:]]
    with pytest.raises(ScoringInputError) as caught:
        compare({"good": predictions, "bad": bad}, [*golds, {"figure_id": "x"}], resamples=0)
    places = [problem.source for problem in caught.value.details]
    assert sorted(places) == ["golds", "predictions of bad"]
    with pytest.raises(ValueError, match="at least two systems"):
        compare({"one": predictions}, golds)
    with pytest.raises(ValueError, match="against must be one of"):
        compare({"a": predictions, "b": predictions}, golds, against="c")

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench import gold
from scifigqual_bench.rubric import DIMENSION_KEYS
from tests.factory import rating

FIG = "p__fig0001"


def gold_of(rows):
    ratings = [rating(FIG, f"r{i}", scores) for i, scores in enumerate(rows)]
    return gold.gold_from_ratings(FIG, ratings, DIMENSION_KEYS)


@pytest.mark.parametrize(
    ("rows", "dimensions", "overall"),
    [
        # the worked examples of SPEC 4, to the digits printed there
        ([(6, 5, 5, 6, 4), (5, 6, 5, 6, 4), (8, 9, 6, 7, 5)], "6.33 6.67 5.33 6.33 4.33", "5.80"),
        ([(9, 9, 8, 9, 9), (9, 9, 8, 9, 9), (8, 9, 5, 7, 7)], "8.67 9.00 7.00 8.33 8.33", "8.27"),
        ([(9, 7, 6, 7, 7), (8, 8, 7, 9, 8), (9, 8, 5, 8, 5)], "8.67 7.67 6.00 8.00 6.67", "7.40"),
        ([(8, 9, 8, 8, 9), (8, 9, 8, 9, 9), (7, 9, 4, 9, 7)], "7.67 9.00 6.67 8.67 8.33", "8.07"),
    ],
)
def test_worked_examples(rows, dimensions, overall):
    result = gold_of(rows)
    assert " ".join(f"{getattr(result, key):.2f}" for key in DIMENSION_KEYS) == dimensions
    assert f"{result.overall_score:.2f}" == overall
    assert result.overall_rater_mean == pytest.approx(result.overall_score, abs=1e-12)


def test_uneven_nulls_part_the_two_overalls():
    result = gold_of([(10, 10, 10, 2, 10), (10, 10, 10, None, 10)])
    assert result.context_consistency == 2
    assert result.overall_score == 42 / 5
    assert result.overall_rater_mean == (42 / 5 + 10) / 2
    assert result.n_ratings == 2


def test_nobody_scored_anything():
    assert gold_of([]) is None
    assert gold_of([(None,) * 5]) is None


complete = st.lists(st.tuples(*[st.integers(1, 10)] * 5), min_size=1, max_size=6)


@given(complete)
def test_on_complete_ratings_both_overalls_agree(rows):
    result = gold_of(rows)
    assert result.overall_rater_mean == pytest.approx(result.overall_score, abs=1e-12)


@given(complete, st.randoms(use_true_random=False))
def test_the_order_of_raters_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert gold_of(shuffled) == gold_of(rows)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [((8,) * 5, (6,) * 5, False), ((8,) * 5, (5, 6, 6, 6, 6), True), ((9, None, None, None, None), (6,) * 5, True)],
)
def test_adjudication_above_two_points(first, second, expected):
    assert gold.needs_adjudication([rating(FIG, "a", first), rating(FIG, "b", second)]) is expected


def test_the_release_gold_is_the_mean_of_its_ratings(shared):
    import pandas as pd

    folder = shared / "eval1200"
    published = pd.read_csv(folder / "figures.csv").set_index("figure_id")
    rows = pd.read_csv(folder / "ratings.csv")
    for figure_id, group in rows.groupby("figure_id"):
        scores = group[list(DIMENSION_KEYS)].astype(object).where(group[list(DIMENSION_KEYS)].notna(), None)
        means = gold.dimension_means(scores.to_dict("records"))
        for key in DIMENSION_KEYS:
            expected = published.loc[figure_id, f"human_{key}"]
            assert (means[key] is None) if pd.isna(expected) else abs(means[key] - expected) <= 5.1e-5

"""The published numbers of eval1200, to the digits in which they are printed."""

import numpy as np
import pytest

from scifigqual_bench.gold import dimension_means
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS, OVERALL
from scifigqual_bench.scoring import ceilings, score, standard_groupings
from scifigqual_bench.scoring.agreement import within
from scifigqual_bench.scoring.ceilings import RatingTable
from scifigqual_bench.scoring.raters import ItemRatings

pytestmark = pytest.mark.shared

VC, SL, CC, CTX, MR = DIMENSION_KEYS

#       mean     n  const. MAE, W-1     spread      pairwise  items  leave-one-out MAE, ordinal alpha
TABLE = {
    VC: ("8.31", 1200, "0.572", "83.3", "1.52", "1.0", "76.6", 1200, "0.87", "0.195"),
    SL: ("8.61", 1200, "0.404", "95.4", "1.03", "1.0", "84.8", 1200, "0.62", "0.166"),
    CC: ("7.48", 1200, "1.092", "53.2", "2.65", "3.0", "52.5", 1200, "1.50", "0.259"),
    CTX: ("8.27", 807, "0.989", "60.2", "1.54", "1.0", "77.7", 804, "0.88", "0.440"),
    MR: ("8.04", 1200, "0.778", "79.4", "1.92", "2.0", "67.9", 1200, "1.12", "0.200"),
    OVERALL: ("8.13", 1200, "0.565", "87.9", "1.26", "1.0", "71.8", 1200, "0.70", "0.335"),
}


@pytest.fixture(scope="module")
def constant(eval1200):
    """A judge that says 8 of everything that people rated."""
    return [{"figure_id": row["figure_id"], **{k: row[k] and 8 for k in DIMENSION_KEYS}} for row in eval1200.golds]


@pytest.fixture(scope="module")
def report(eval1200, constant):
    groupings = standard_groupings(eval1200.figures)
    return score(constant, eval1200.golds, ratings=eval1200.ratings, groupings=groupings, resamples=0)


@pytest.mark.parametrize("column", COLUMNS)
def test_table(report, column):
    mean, n, mae, within_1, spread_mean, spread_median, pairwise, items, loo_mae, alpha = TABLE[column]
    result = report.columns[column]
    floor, ceiling = result.floors["mean"], result.ceiling
    assert (f"{floor.constant:.2f}", result.open, result.scored) == (mean, n, n)
    assert (f"{floor.mae.value:.3f}", f"{100 * floor.within_1.value:.1f}") == (mae, within_1)
    assert (f"{ceiling.spread_mean:.2f}", f"{ceiling.spread_median:.1f}") == (spread_mean, spread_median)
    assert (f"{100 * ceiling.pairwise_within_1.value:.1f}", ceiling.items) == (pairwise, items)
    assert (f"{ceiling.loo_mae.value:.2f}", f"{ceiling.alpha_ordinal.value:.3f}") == (loo_mae, alpha)


def test_rater_mean_variant_of_the_overall(eval1200, constant):
    report = score(constant, eval1200.golds, overall="rater_mean", resamples=0)
    floor = report.columns[OVERALL].floors["mean"]
    assert (f"{floor.constant:.2f}", f"{floor.mae.value:.3f}", f"{100 * floor.within_1.value:.1f}") == (
        "8.13",
        "0.565",
        "87.9",
    )


def test_the_two_overalls_differ_on_126_figures(eval1200, constant):
    by_mean, by_rater = (
        score(constant, eval1200.golds, overall=overall, resamples=0).aligned.golds[:, -1]
        for overall in ("dimension_first", "rater_mean")
    )
    assert np.count_nonzero(np.abs(by_mean - by_rater) > 0.02) == 126


def test_raters_of_51_figures_leave_out_different_dimensions(eval1200):
    nulls: dict[str, set] = {}
    for row in eval1200.ratings:
        nulls.setdefault(row["figure_id"], set()).add(tuple(row[key] is None for key in DIMENSION_KEYS))
    assert sum(len(patterns) > 1 for patterns in nulls.values()) == 51


def test_three_readings_of_the_overall_pairwise_within_1(eval1200):
    exact = ceilings(eval1200.ratings, resamples=0).columns[OVERALL]
    stored = ceilings(eval1200.ratings, rater_overall="stored", resamples=0).columns[OVERALL]
    assert f"{100 * exact.pairwise_within_1.value:.2f}" == "71.78"
    assert f"{100 * stored.pairwise_within_1.value:.2f}" == "71.96"
    table = RatingTable.build(eval1200.ratings, "stored")
    ratings = ItemRatings.build(table.values[:, -1], table.items)
    slip = ratings.values.astype(np.float32)
    first, second = ratings.pairs
    assert f"{100 * within(slip[first], slip[second], tolerance=0).mean():.2f}" == "71.48"


def test_readings_of_alpha(eval1200, report):
    stored = ceilings(eval1200.ratings, rater_overall="stored", resamples=0).columns[OVERALL]
    assert f"{stored.alpha_ordinal.value:.3f}" == "0.335"
    assert f"{stored.alpha_interval.value:.3f}" == "0.405"
    assert f"{report.columns[CC].ceiling.alpha_interval.value:.3f}" == "0.296"
    rounded = [row | {"overall_score": float(np.rint(row["overall_score"]))} for row in eval1200.ratings]
    whole = ceilings(rounded, rater_overall="stored", resamples=0).columns[OVERALL]
    assert f"{whole.alpha_ordinal.value:.3f}" == "0.298"


@pytest.mark.parametrize(
    ("grouping", "label", "figures", "pairwise"),
    [
        ("citing text (gold)", "without", 393, "59.5"),
        ("citing text (gold)", "with", 807, "50.0"),
        ("citing text (evidence)", "without", 575, "56.3"),
        ("citing text (evidence)", "with", 625, "50.3"),
        ("caption consistency", "spread >= 3", 649, "39.4"),
    ],
)
def test_slices_of_caption_consistency(report, grouping, label, figures, pairwise):
    part = report.slices[grouping][label]
    assert part.figures == figures
    assert f"{100 * part.columns[CC].pairwise_within_1.value:.1f}" == pairwise


def test_composition(report):
    def sizes(grouping):
        return {label: part.figures for label, part in report.slices[grouping].items()}

    assert (report.figures, report.papers) == (1200, 254)
    assert sizes("venue") == {"ACL": 266, "EMNLP": 294, "ICML": 294, "NeurIPS": 346}
    assert list(sizes("year").values()) == [155, 140, 197, 190, 272, 246]
    assert sizes("ratings") == {"3": 1081, "4": 64, "6": 1, "7": 1, "8": 50, "9": 3}
    assert report.columns[CC].ceiling.ratings == 3939


def test_context_scored_without_evidence(eval1200, constant):
    report = score(constant, eval1200.golds, mask="evidence", ratings=eval1200.ratings, resamples=0)
    assert report.columns[CTX].open == report.columns[CTX].ceiling.items == 625
    assert report.coverage.scored_closed[CTX].count == 182
    assert not any(report.coverage.without_gold.values())


def test_gold_is_the_mean_of_the_ratings(eval1200):
    own = {row["figure_id"]: row["ratings"] for row in eval1200.figures}
    for gold in eval1200.golds:
        means = dimension_means(own[gold["figure_id"]])
        assert means == pytest.approx({key: gold[key] for key in DIMENSION_KEYS}, abs=0.5e-4 + 1e-9)

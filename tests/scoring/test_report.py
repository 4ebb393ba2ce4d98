"""Scores of prediction files: joining, masks, coverage, floors, intervals, slices, and everything wrong with rows."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scifigqual_bench import gating
from scifigqual_bench.records import Gold, Prediction, paper_of
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS, OVERALL
from scifigqual_bench.scoring import STATISTICS, ScoringInputError, agreement, score, standard_groupings

VC, SL, CC, CTX, MR = DIMENSION_KEYS
SEEDS = st.integers(0, 2**32 - 1)


def gold(fig, scores, **fields):
    return {"figure_id": fig, **dict(zip(DIMENSION_KEYS, scores, strict=True)), **fields}


def prediction(fig, scores, **fields):
    return {"figure_id": fig, "status": "ok", **dict(zip(DIMENSION_KEYS, scores, strict=True)), **fields}


GOLDS = [
    gold("a__fig0001", (8.3333, 7.0, 6.5, 9.0, 8.0), open_dimensions=list(DIMENSION_KEYS)),
    gold("a__fig0002", (7.0, 7.0, 5.0, None, 6.0), open_dimensions=[VC, SL, CC, MR]),
    gold("b__fig0001", (9.0, 8.0, 7.0, 8.0, 9.0), open_dimensions=[VC, SL, CC, MR]),
]
PREDICTIONS = [
    prediction("b__fig0001", (8, 8, 7, 9, 9)),
    prediction("a__fig0001", (8, 8, 8, 8, 8)),
    prediction("a__fig0002", (7, 6, 5, None, 9)),
]


def numbers(report):
    """All there is, but for the order of rows."""
    return json.dumps(report.to_dict(), sort_keys=True, allow_nan=False)


def test_by_hand():
    report = score(PREDICTIONS, GOLDS, resamples=0)
    mr = report.columns[MR].headline
    assert (mr.n, mr.mae.value, mr.within_1.value, mr.bias.value) == (3, 1.0, pytest.approx(2 / 3), 1.0)
    overall = report.columns[OVERALL].headline
    expected = [8 - (8.3333 + 7 + 6.5 + 9 + 8) / 5, 27 / 4 - 25 / 4, 41 / 5 - 41 / 5]
    assert overall.bias.value == pytest.approx(np.mean(expected))
    assert report.columns[CTX].headline.mae.value == 1.0
    assert (report.figures, report.papers, report.coverage.share) == (3, 2, 1.0)


def test_takes_the_records_themselves():
    golds = [Gold(**row).model_dump() for row in GOLDS]
    predictions = [Prediction(**row).model_dump() for row in PREDICTIONS]
    assert numbers(score(predictions, golds, resamples=10)) == numbers(score(PREDICTIONS, GOLDS, resamples=10))


def test_a_stated_overall_is_never_used():
    lying = [{**row, "overall_score": 1.0} for row in PREDICTIONS]
    assert numbers(score(lying, GOLDS, resamples=0)) == numbers(score(PREDICTIONS, GOLDS, resamples=0))


def test_evidence_mask_closes_a_dimension_that_people_rated():
    report = score(PREDICTIONS, GOLDS, mask="evidence", resamples=0)
    assert report.columns[CTX].open == 1
    assert report.coverage.scored_closed[CTX].figure_ids == ("b__fig0001",)
    masked = report.aligned.predictions[2, -1], report.aligned.golds[2, -1]
    assert masked == (gating.overall(PREDICTIONS[0], [VC, SL, CC, MR]), gating.overall(GOLDS[2], [VC, SL, CC, MR]))


def test_evidence_without_gold_leaves_the_overall_unknown():
    golds = copy.deepcopy(GOLDS)
    golds[1]["open_dimensions"] = list(DIMENSION_KEYS)
    report = score(PREDICTIONS, golds, mask="evidence", resamples=0)
    assert report.coverage.without_gold[CTX] == 1
    assert report.columns[OVERALL].open == 2
    assert report.columns[OVERALL].coverage == 1.0


def test_rater_mean():
    golds = [{**row, "overall_rater_mean": 7.5} for row in GOLDS]
    report = score(PREDICTIONS, golds, overall="rater_mean", resamples=0)
    assert set(report.aligned.golds[:, -1]) == {7.5}
    assert "gold is constant" in report.columns[OVERALL].headline.spearman.reason
    with pytest.raises(ValueError, match="no counterpart under mask='evidence'"):
        score(PREDICTIONS, golds, mask="evidence", overall="rater_mean")


def test_unrated_figures_are_left_out_and_counted():
    golds = [*GOLDS, gold("c__fig0001", [None] * 5)]
    predictions = [*PREDICTIONS, prediction("c__fig0001", (1, 1, 1, 1, 1))]
    report = score(predictions, golds, resamples=0)
    assert (report.unrated, report.figures) == (1, 3)
    assert report.columns[VC].headline == score(PREDICTIONS, GOLDS, resamples=0).columns[VC].headline


def failed(status="refusal"):
    return [PREDICTIONS[0], prediction("a__fig0001", [None] * 5, status=status), PREDICTIONS[2]]


def test_unanswered_items_take_the_headline_and_are_named():
    report = score(failed(), GOLDS, resamples=0)
    assert report.coverage.status == {"ok": 2, "refusal": 1}
    assert (report.coverage.scored, report.coverage.open) == (9, 14)
    assert not any(violation.count for violation in report.coverage.null_open.values())
    column = report.columns[VC]
    assert column.headline is None
    assert column.headline_reason.startswith("2 of 3 figures scored (66.7%), 100.0% needed")
    assert column.answered_only.mae.value == agreement([8, 7], [9.0, 7.0]).mae.value
    # Paper b's gold stands in for the unanswered figure of paper a.
    assert column.unanswered_as_floor.mae.value == agreement([8, 9.0, 7], [9.0, 8.3333, 7.0]).mae.value
    assert (column.answered_only.n, column.unanswered_as_floor.n) == (2, 3)
    assert score(failed(), GOLDS, min_coverage=0.6, resamples=0).columns[VC].headline == column.answered_only


def test_missing_rows_are_an_error_or_unanswered():
    with pytest.raises(ScoringInputError, match=r"a__fig0002\): has gold but no prediction row"):
        score(PREDICTIONS[:2], GOLDS)
    report = score(PREDICTIONS[:2], GOLDS, missing="unanswered", resamples=0)
    assert report.coverage.status == {"ok": 2, "missing": 1}
    assert report.columns[VC].scored == 2


def test_a_null_of_an_ok_row_is_a_violation_and_no_score():
    predictions = [PREDICTIONS[0], prediction("a__fig0001", (8, None, 8, 8, 8)), PREDICTIONS[2]]
    report = score(predictions, GOLDS, resamples=0)
    assert report.coverage.null_open[SL].figure_ids == ("a__fig0001",)
    assert report.columns[SL].scored == 2
    assert report.columns[OVERALL].scored == 2
    assert report.columns[VC].headline is not None


def test_a_judge_asked_under_another_mask_is_told_so():
    predictions = [prediction("b__fig0001", (8, 8, 7, None, 9), open_dimensions=[VC, SL, CC, MR]), *PREDICTIONS[1:]]
    report = score(predictions, GOLDS, resamples=0)
    assert report.coverage.not_asked[CTX] == 1
    for column in (CTX, OVERALL):
        assert "try mask='evidence'" in report.columns[column].headline_reason
    assert score(predictions, GOLDS, mask="evidence", resamples=0).columns[OVERALL].headline is not None


def test_one_paper_has_no_interval_and_no_floor_of_others():
    report = score(PREDICTIONS[1:], GOLDS[:2], resamples=50)
    column = report.columns[VC]
    assert column.headline.mae.low is None and "one paper" in column.headline.mae.reason
    assert set(column.floors) == {"mean", "median"}
    assert score(failed()[1:], GOLDS[:2], resamples=0).columns[VC].unanswered_as_floor is None


@settings(max_examples=20)
@given(SEEDS, st.randoms())
def test_order_of_rows_is_irrelevant(rows, seed, random):
    predictions, golds, ratings = rows(seed)
    expected = numbers(score(predictions, golds, ratings=ratings, resamples=20))
    for each in (predictions, golds, ratings):
        random.shuffle(each)
    assert numbers(score(predictions, golds, ratings=ratings, resamples=20)) == expected


@settings(max_examples=20)
@given(SEEDS, st.sampled_from(DIMENSION_KEYS))
def test_closing_a_dimension_changes_no_other(rows, seed, closed):
    predictions, golds, _ = rows(seed)
    before = score(predictions, golds, resamples=20)
    shut = [{**row, closed: None} for row in golds]
    after = score(predictions, shut, resamples=20)
    assert after.columns[closed].open == 0
    for key in DIMENSION_KEYS:
        if key != closed:
            assert after.columns[key] == before.columns[key]


@settings(max_examples=20)
@given(SEEDS, st.integers(-2, 2))
def test_shifting_all_scores_shifts_every_bias(rows, seed, shift):
    predictions, golds, _ = rows(seed)
    middle = [{k: 3 + v % 6 if isinstance(v, int) else v for k, v in row.items()} for row in predictions]
    moved = [{k: v + shift if isinstance(v, int) else v for k, v in row.items()} for row in middle]
    before, after = score(middle, golds, resamples=0), score(moved, golds, resamples=0)
    for key in COLUMNS:
        if before.columns[key].open:
            expected = before.columns[key].headline.bias.value + shift
            assert after.columns[key].headline.bias.value == pytest.approx(expected)


@settings(max_examples=20)
@given(SEEDS)
def test_floors_by_brute_force(rows, seed):
    predictions, golds, _ = rows(seed)
    report = score(predictions, golds, resamples=0)
    for key in DIMENSION_KEYS:
        own = {row["figure_id"]: row[key] for row in golds if row[key] is not None}
        for name, of in (("mean", np.mean), ("median", np.median)):
            if not own:
                assert report.columns[key].floors == {}
                continue
            values = np.array(list(own.values()))
            floor = report.columns[key].floors[name]
            assert floor.constant == pytest.approx(of(values))
            assert floor.mae.value == pytest.approx(np.abs(values - of(values)).mean())
            if len({paper_of(fig) for fig in own}) > 1:
                errors = [
                    abs(value - of([v for other, v in own.items() if paper_of(other) != paper_of(fig)]))
                    for fig, value in own.items()
                ]
                assert report.columns[key].floors[f"{name}_of_others"].mae.value == pytest.approx(np.mean(errors))


def test_a_judge_beside_the_raters(rows):
    predictions, golds, ratings = rows(3)
    predictions[0] = {"figure_id": predictions[0]["figure_id"], "status": "refusal"}
    report = score(predictions, golds, ratings=ratings, resamples=0)
    answers = {row["figure_id"]: row.get(VC) for row in predictions}
    own = {}
    for row in ratings:
        own.setdefault(row["figure_id"], []).append(row[VC])
    judge, people, single = [], [], []
    for fig, values in own.items():
        if answers[fig] is not None:
            for index, value in enumerate(values):
                others = np.mean(np.delete(values, index))
                judge.append(abs(answers[fig] - others))
                people.append(abs(value - others))
                single.append(abs(answers[fig] - value) <= 1)
    beside = report.columns[VC].beside_raters
    assert beside.ratings == len(judge) < len(ratings)
    assert beside.mae.value == pytest.approx(np.mean(judge))
    assert beside.mae_ratio.value == pytest.approx(np.mean(judge) / np.mean(people))
    assert beside.pairwise_within_1.value == pytest.approx(np.mean(single))
    ceiling = report.columns[VC].ceiling
    spearman = report.columns[VC].answered_only.spearman.value
    assert beside.spearman_of_max.value == pytest.approx(spearman / ceiling.max_spearman.value)


def test_a_perfect_rater_as_judge_has_the_ratio_of_a_rater(rows):
    _, golds, ratings = rows(5)
    twice = [row | {"rater_id": f"{row['rater_id']}-{copy}"} for row in ratings for copy in (1, 2)]
    first = {row["figure_id"]: row for row in reversed(ratings)}
    predictions = [
        {"figure_id": row["figure_id"], **{k: first[row["figure_id"]][k] for k in DIMENSION_KEYS}} for row in golds
    ]
    report = score(predictions, golds, ratings=twice, resamples=200)
    for key in DIMENSION_KEYS:
        ratio = report.columns[key].beside_raters.mae_ratio
        assert ratio.low <= 1.1 and ratio.high >= 0.9


def test_standard_groupings_and_slices(rows):
    predictions, golds, ratings = rows(1)
    own = {}
    for row in ratings:
        own.setdefault(row["figure_id"], []).append(row)
    figures = [
        {
            "figure_id": row["figure_id"],
            "venue": f"V{index % 2}",
            "topic": None,
            "open_dimensions": row["open_dimensions"],
            "gold": row,
            "ratings": own[row["figure_id"]],
        }
        for index, row in enumerate(golds)
    ]
    groupings = standard_groupings(figures)
    assert set(groupings) == {
        "venue",
        "citing text (evidence)",
        "citing text (gold)",
        "caption consistency",
        "ratings",
    }
    report = score(predictions, golds, ratings=ratings, groupings=groupings, resamples=0)
    for by_label in report.slices.values():
        assert sum(part.figures for part in by_label.values()) == len(golds)
    part = report.slices["venue"]["V1"]
    inside = {row["figure_id"] for row in figures if row["venue"] == "V1"}
    alone = score(
        [row for row in predictions if row["figure_id"] in inside],
        [row for row in golds if row["figure_id"] in inside],
        ratings=[row for row in ratings if row["figure_id"] in inside],
        resamples=0,
    )
    assert part.papers == alone.papers
    for key in COLUMNS:
        assert part.columns[key].agreement == alone.columns[key].answered_only
        assert part.columns[key].pairwise_within_1 == alone.columns[key].ceiling.pairwise_within_1


def test_labels_are_sorted_as_numbers(rows):
    predictions, golds, _ = rows(1)
    labels = {row["figure_id"]: ("10", "9", "100")[index % 3] for index, row in enumerate(golds)}
    report = score(predictions, golds, groupings={"ratings": labels}, resamples=0)
    assert list(report.slices["ratings"]) == ["9", "10", "100"]


def test_everything_wrong_is_listed_at_once():
    golds = [
        *GOLDS,
        GOLDS[0],
        gold("bad id", (11, 0, None, None, float("inf"))),
        gold("c__fig0001", (1, 1, 1, 1, None)),
    ]
    predictions = [
        prediction("a__fig0001", (True, "8", float("nan"), 0, 11)),
        prediction("a__fig0001", (8, 8, 8, 8, 8)),
        prediction("a__fig0002", (7, 6, 5, None, 9), status="refusal"),
        prediction("b__fig0001", (8, 8, 8, 8, 8), status="fine"),
        prediction("z__fig0001", (8, 8, 8, 8, 8), open_dimensions=["beauty"]),
        None,
    ]
    ratings = [{"figure_id": "z__fig0001", "rater_id": "r1", VC: 8}]
    with pytest.raises(ScoringInputError) as caught:
        score(predictions, golds, ratings=ratings)
    text = str(caught.value)
    for expected in (
        "golds[3] (a__fig0001): repeats the figure of row 0",
        "golds[4]: figure_id is 'bad id'",
        "visual_clarity is 11 (int), expected a number from 1 to 10",
        "structure_layout is 0 (int)",
        "misleading_risk is inf (float)",
        "predictions[0] (a__fig0001): visual_clarity is True (bool)",
        "structure_layout is '8' (str)",
        "caption_consistency is nan (float)",
        "context_consistency is 0 (int)",
        "misleading_risk is 11 (int)",
        "predictions[1] (a__fig0001): repeats",
        "predictions[2] (a__fig0002): has scores although its status is refusal",
        "predictions[3] (b__fig0001): status is 'fine' (str), expected one of ok, parse_error",
        "predictions[4] (z__fig0001): open_dimensions is ['beauty']",
        "predictions[4] (z__fig0001): is not among the gold rows",
        "predictions[5]: is None",
        "predictions (c__fig0001): has gold but no prediction row",
        "ratings[0] (z__fig0001): is not among the rated gold rows",
    ):
        assert expected in text
    assert text.splitlines() == caught.value.problems


def test_no_shared_figure_and_no_gold():
    with pytest.raises(ScoringInputError, match="share no figure"):
        score([prediction("x__fig0001", (8, 8, 8, 8, 8))], GOLDS)
    with pytest.raises(ScoringInputError, match="no figure has gold"):
        score([], [gold("a__fig0001", [None] * 5)])


def test_integers_where_the_protocol_promises_them():
    predictions = [prediction("a__fig0001", (7.5, 8, 8, 8, 8)), PREDICTIONS[0], PREDICTIONS[2]]
    with pytest.raises(ScoringInputError, match=r"visual_clarity is 7\.5: the protocol gives integers"):
        score(predictions, GOLDS, integers=True)
    assert score(predictions, GOLDS, resamples=0).columns[VC].headline is not None


def test_masks_and_overalls_that_the_gold_lacks():
    bare = [{key: row[key] for key in ("figure_id", *DIMENSION_KEYS)} for row in GOLDS]
    with pytest.raises(ScoringInputError, match=r"(?s)golds\[0\].*golds\[1\].*golds\[2\] .*has no open_dimensions"):
        score(PREDICTIONS, bare, mask="evidence")
    with pytest.raises(ScoringInputError, match=r"(?s)golds\[0\].*golds\[1\].*golds\[2\] .*has no overall_rater_mean"):
        score(PREDICTIONS, bare, overall="rater_mean")


@pytest.mark.parametrize(
    "options",
    [
        {"mask": "all"},
        {"overall": "mean"},
        {"missing": "zero"},
        {"min_coverage": 2},
        {"confidence": 1},
        {"resamples": -1},
    ],
)
def test_options_out_of_range(options):
    with pytest.raises(ValueError):
        score(PREDICTIONS, GOLDS, **options)


def test_json_has_no_nan_and_all_statistics():
    report = json.loads(numbers(score(PREDICTIONS, GOLDS, resamples=10)))
    assert set(report["columns"]) == set(COLUMNS)
    assert set(report["columns"][VC]["headline"]) == {"n", *STATISTICS}
    assert "aligned" not in report


def test_importing_pulls_in_nothing_heavy():
    code = (
        "import sys, scifigqual_bench.scoring; "
        "heavy = {'torch', 'datasets', 'evaluate', 'pymupdf', 'fitz', 'cv2', 'matplotlib', 'pandas', 'gradio'}; "
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

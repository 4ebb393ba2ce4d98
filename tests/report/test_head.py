from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scifigqual_bench.report import head
from scifigqual_bench.report.view import NO_PREDICTION
from scifigqual_bench.rubric import BANDS, COLUMNS


@settings(deadline=None)
@given(st.lists(st.floats(1, 10), max_size=30))
def test_a_distribution_counts_every_score_once_and_fills_its_bar(scores):
    portions = head.distribution(scores)
    assert [portion.band for portion in portions] == list(reversed(BANDS))
    assert sum(portion.count for portion in portions) == len(scores)
    assert sum(portion.width for portion in portions) == pytest.approx(100 if scores else 0)
    for left, right in pairwise(portions):
        assert right.start == pytest.approx(left.start + left.width)


def test_a_summary_counts_papers_statuses_and_gold(make):
    summary = head.Summary()
    one, two = make.figure(index=1, gold=8, title="A title"), make.figure(index=2)
    other = make.figure("paper-2", 1)
    for figure, prediction in (
        (one, make.prediction(one, 7)),
        (two, make.prediction(two, status="refusal")),
        (other, None),
    ):
        summary.add(figure, prediction)
    assert summary.papers == {"paper-1": 2, "paper-2": 1}
    assert summary.titles == {"paper-1": "A title"}
    assert summary.statuses == {"ok": 1, "refusal": 1, NO_PREDICTION: 1}
    assert summary.rated == 1
    assert all(summary.scores("judge", key) == [7.0] for key in COLUMNS)
    assert all(summary.scores("gold", key) == [8.0] for key in COLUMNS)


@pytest.mark.parametrize("report", [None, {}, [], {"note": "no rows"}, [{"column": "VC"}], {"VC": {"ok": True}}])
def test_without_numbers_there_is_no_table(report):
    assert head.score_table(report) is None


def test_rows_of_dicts_make_the_same_table_as_a_dict_of_rows():
    numbers = {"n": 1200, "mae": 0.5125, "within_1": 0.893, "spearman": 0.519, "bias": 0.0}
    table = head.score_table({"visual_clarity": numbers})
    assert table == head.score_table([{"column": "visual_clarity", **numbers}])
    assert table.rows == [("Visual clarity", ["1,200", "0.512", "89.3%", "0.519", "+0.000"])]


def test_a_remark_on_a_row_stands_below_the_table():
    table = head.score_table([{"column": "CTX, answered only (5 of 6 scored)", "n": 5}, {"column": "MR", "n": 6}])
    assert table.rows == [("Context consistency *", ["5"]), ("Misleading risk", ["6"])]
    assert table.remarks == [("Context consistency", "answered only (5 of 6 scored)")]


def test_a_table_keeps_unknown_columns_and_gaps_apart():
    table = head.score_table([{"name": "a", "mae": 1.0}, {"name": "b", "new_measure": 2, "spearman_reason": "x"}])
    assert table.headings == ["MAE", "new measure"]
    assert table.rows == [("a", ["1.000", ""]), ("b", ["", "2"])]

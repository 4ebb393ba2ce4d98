from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scifigqual_bench.records import Mark
from scifigqual_bench.report import view
from scifigqual_bench.rubric import BANDS, DIMENSION_KEYS, OVERALL

# --- scores ---------------------------------------------------------------------------------------------------------


def test_every_integer_score_lies_in_its_band():
    for band in BANDS:
        assert view.band_of(band.low) is view.band_of(band.high) is band


@settings(deadline=None)
@given(st.floats(1, 10), st.floats(1, 10))
def test_a_higher_score_never_has_a_lower_tone(a, b):
    low, high = sorted((a, b))
    assert 1 <= view.tone_of(low) <= view.tone_of(high) <= 5


def test_a_row_compares_judge_and_gold(make):
    figure = make.figure(gold={"visual_clarity": 7.6667, "structure_layout": 4.4})
    prediction = make.prediction(
        figure,
        {"visual_clarity": 7, "structure_layout": 3.4}
        | dict.fromkeys(("caption_consistency", "context_consistency", "misleading_risk"), 8),
    )
    clarity, structure, caption, *_ = view.dimension_rows(figure, prediction)
    assert (clarity.score, clarity.gold, clarity.far) == (7, 7.6667, False)
    assert clarity.difference == pytest.approx(-0.6667)
    assert not structure.far, "4.4 and 3.4 differ by exactly 1, although their binary forms differ by more"
    assert (caption.gold, caption.difference, caption.far) == (None, None, False)


def test_more_than_one_point_is_far(make):
    figure = make.figure(gold=8)
    assert all(row.far for row in view.dimension_rows(figure, make.prediction(figure, 6)))


@pytest.mark.parametrize("status", [status for status in view.STATUS_NAMES if status not in ("ok", view.NO_PREDICTION)])
def test_a_failed_row_shows_no_score_whatever_it_holds(make, status):
    figure = make.figure(gold=8)
    prediction = make.prediction(figure, status=status, visual_clarity=5, overall_score=5.0)
    assert set(view.judge_scores(figure, prediction).values()) == {None}
    assert [row.gold for row in view.dimension_rows(figure, prediction)] == [8.0] * 5
    assert view.overall_row(figure, prediction).difference is None
    assert view.index_entry(figure, prediction)["status"] == status


def test_a_figure_without_prediction_has_gold_and_a_status(make):
    figure = make.figure(gold=8)
    entry = view.index_entry(figure, None)
    assert entry["status"] == view.NO_PREDICTION
    assert entry["gold"][OVERALL] == 8.0
    assert set(entry["judge"].values()) == {None}


@pytest.mark.parametrize(
    ("fields", "closed"),
    [
        ({}, {}),
        ({"citations": []}, {"context_consistency": "no citing text"}),
        ({"caption": " "}, {"caption_consistency": "no caption"}),
        ({"caption": "", "citations": []}, dict.fromkeys(DIMENSION_KEYS, "neither caption nor citing text")),
        ({"open_dimensions": ["visual_clarity"]}, dict.fromkeys(DIMENSION_KEYS[1:], "not in the mask")),
    ],
)
def test_a_closed_dimension_says_why(make, fields, closed):
    figure = make.figure(**fields)
    assert {row.key: row.closed for row in view.dimension_rows(figure, None) if row.closed} == closed


def test_the_mask_that_the_judge_was_asked_under_counts(make):
    figure = make.figure()
    prediction = make.prediction(figure, open_dimensions=["visual_clarity"])
    rows = view.dimension_rows(figure, prediction)
    assert [row.closed is None for row in rows] == [True, False, False, False, False]


def test_a_score_on_a_closed_dimension_is_told_and_does_not_count(make):
    figure = make.figure(citations=[])
    prediction = make.prediction(figure, 8, context_consistency=3)
    row = view.dimension_rows(figure, prediction)[3]
    assert row.score is None and row.difference is None
    assert "3" in row.note and "does not count" in row.note
    assert view.index_entry(figure, prediction)["low"] is False


def test_a_missing_score_on_an_open_dimension_is_told(make):
    figure = make.figure()
    row = view.dimension_rows(figure, make.prediction(figure, 8, visual_clarity=None, overall_score=None))[0]
    assert row.score is None and "no score" in row.note


def test_low_scores_and_marks_are_found(make):
    figure = make.figure()
    marked = make.figure(curation_marks=[Mark(stage="S2", code="area", detail="large")])
    assert view.index_entry(figure, make.prediction(figure, 8))["low"] is False
    assert view.index_entry(figure, make.prediction(figure, 8, visual_clarity=6))["low"] is True
    assert view.index_entry(figure, make.prediction(figure, 8))["marked"] is False
    assert view.index_entry(figure, make.prediction(figure, 8, marks=["bare-pointer"]))["marked"] is True
    assert view.index_entry(marked, None)["marked"] is True


# --- text -----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text(), st.lists(st.text(max_size=12), max_size=4))
def test_highlighting_never_changes_the_text(text, mentions):
    assert "".join(piece for _, piece in view.highlight(text, mentions)) == text


@pytest.mark.parametrize(
    ("text", "mentions", "marked"),
    [
        ("See Figure 1, Figure 10 and Figure 1.", ["Figure 1"], ["Figure 1", "Figure 1"]),
        ("Figs. 4-6 and Fig. 4", ["Fig. 4", "Figs. 4-6"], ["Figs. 4-6", "Fig. 4"]),
        ("in Fig. 3(a) as in Fig. 3", ["Fig. 3", "Fig. 3(a)"], ["Fig. 3(a)", "Fig. 3"]),
        ("across a line: Figure\n 2", ["Figure 2"], ["Figure\n 2"]),
        ("a (b) [c] .*", [".*", "(b)"], ["(b)", ".*"]),
        ("nothing here", ["Figure 1", "", " "], []),
    ],
)
def test_mentions_are_highlighted_whole(text, mentions, marked):
    assert [piece for mention, piece in view.highlight(text, mentions) if mention] == marked


def test_what_was_not_measured_is_not_shown(make):
    figure, _ = make.everything("x")
    names = [name for name, _ in view.feature_rows(figure.features)]
    assert "Smallest text in print" in names
    assert "OCR confidence, mean" not in names and "Printed size" not in names

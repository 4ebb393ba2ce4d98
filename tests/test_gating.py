import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.gating import open_dimensions, overall
from scifigqual_bench.rubric import DIMENSION_KEYS

VC, SL, CC, CTX, MR = DIMENSION_KEYS
scores = st.fixed_dictionaries(dict.fromkeys(DIMENSION_KEYS, st.integers(1, 10)))


@pytest.mark.parametrize(
    ("has_caption", "has_context", "expected"),
    [
        (True, True, (VC, SL, CC, CTX, MR)),
        (True, False, (VC, SL, CC, MR)),
        (False, True, (VC, SL, CTX, MR)),
        (False, False, ()),
    ],
)
def test_the_gating_table(has_caption, has_context, expected):
    assert open_dimensions(has_caption=has_caption, has_context=has_context) == expected


@given(scores, st.integers(1, 10))
def test_a_closed_dimension_cannot_move_the_overall(given_scores, other):
    mask = (VC, SL, CC, MR)
    assert overall(given_scores, mask) == overall(given_scores | {CTX: other}, mask)
    assert overall(given_scores, mask) == overall(given_scores | {CTX: None}, mask)


@given(scores)
def test_the_overall_lies_between_the_lowest_and_the_highest_score(given_scores):
    assert min(given_scores.values()) <= overall(given_scores) <= max(given_scores.values())


@given(scores, st.sampled_from(DIMENSION_KEYS))
def test_an_open_dimension_without_score_leaves_no_overall(given_scores, missing):
    assert overall(given_scores | {missing: None}) is None


def test_nothing_open_is_no_score():
    assert overall(dict.fromkeys(DIMENSION_KEYS, 5), ()) is None

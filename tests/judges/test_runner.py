"""The Runner: SPEC 9 written out by hand, case by case."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench import gating
from scifigqual_bench.judges.runner import misleading_risk, run, to_score
from scifigqual_bench.records import SEVERITIES, DimensionAnswer, FusionReport, LanguageReport, VisionReport
from scifigqual_bench.rubric import BAND_LABELS, DIMENSION_KEYS

# MR before rounding and after it, worked out by hand from SPEC 9, step 3. mid is 9.5, 7.5, 5.5, 3.5 and 1.5.
EXPECTED = {
    ("none", "9-10"): (9.5, 10),  # mid
    ("none", "7-8"): (7.5, 8),
    ("none", "5-6"): (5.5, 6),
    ("none", "3-4"): (3.5, 4),
    ("none", "1-2"): (1.5, 2),
    ("minor", "9-10"): (9, 9),  # max(9, 8.5), at least 8
    ("minor", "7-8"): (7, 7),  # max(7, 6.5), at least 7
    ("minor", "5-6"): (5, 5),  # max(5, 4.5)
    ("minor", "3-4"): (3, 3),
    ("minor", "1-2"): (1, 1),
    ("moderate", "9-10"): (6.5, 6),
    ("moderate", "7-8"): (6.5, 6),
    ("moderate", "5-6"): (6.5, 6),  # h = 6 is over 5
    ("moderate", "3-4"): (3.5, 4),  # mid, since h <= 5
    ("moderate", "1-2"): (1.5, 2),
    ("severe", "9-10"): (4.5, 4),
    ("severe", "7-8"): (4.5, 4),
    ("severe", "5-6"): (4.5, 4),
    ("severe", "3-4"): (4.5, 4),  # h = 4 is over 3
    ("severe", "1-2"): (1.5, 2),  # mid, since h <= 3
    ("contradiction", "9-10"): (2, 2),
    ("contradiction", "7-8"): (2, 2),
    ("contradiction", "5-6"): (2, 2),
    ("contradiction", "3-4"): (2, 2),
    ("contradiction", "1-2"): (2, 2),
}


def answer(score: int) -> DimensionAnswer:
    return DimensionAnswer(score=score, reason="seen")


def vision(vc: int = 9, sl: int = 7, band: str = "7-8") -> VisionReport:
    return VisionReport(
        visual_clarity=answer(vc),
        structure_layout=answer(sl),
        visible_facts=[],
        caption_should_mention=[],
        citation_should_mention=[],
        risk_band=band,
    )


def language(severity: str = "none", **caps: int | None) -> LanguageReport:
    return LanguageReport(claims=[], omissions=[], severity=severity, **caps)


def fusion(cc: int | None = 8, ctx: int | None = 8) -> FusionReport:
    return FusionReport(
        caption_consistency=None if cc is None else answer(cc),
        context_consistency=None if ctx is None else answer(ctx),
        misleading_reason="",
    )


def test_every_severity_with_every_band() -> None:
    assert set(EXPECTED) == set(itertools.product(SEVERITIES, BAND_LABELS))
    for (severity, band), (risk, score) in EXPECTED.items():
        assert misleading_risk(severity, band) == risk, (severity, band)
        result = run(vision(band=band), language(severity), fusion(), DIMENSION_KEYS)
        assert result.scores["misleading_risk"] == score, (severity, band)


@pytest.mark.parametrize(("value", "score"), [(6.5, 6), (4.5, 4), (8.5, 8), (9.5, 10), (7.5, 8), (0.2, 1), (11.0, 10)])
def test_rounding_is_half_to_even_within_the_scale(value: float, score: int) -> None:
    assert to_score(value) == score


@pytest.mark.parametrize(("severity", "band"), [("grave", "7-8"), ("", "7-8"), ("None", "7-8"), ("none", "7-9")])
def test_an_unknown_severity_or_band_is_an_error(severity: str, band: str) -> None:
    with pytest.raises(ValueError, match="unknown"):
        misleading_risk(severity, band)


def test_an_unknown_severity_in_an_unchecked_report_is_an_error() -> None:
    report = LanguageReport.model_construct(claims=[], omissions=[], severity="grave")
    with pytest.raises(ValueError, match="unknown severity 'grave'"):
        run(vision(), report, fusion(), DIMENSION_KEYS)


def test_vision_scores_are_copied_and_the_overall_is_the_mean() -> None:
    result = run(vision(9, 7, "9-10"), language(), fusion(8, 6), DIMENSION_KEYS)
    assert result.scores == {
        "visual_clarity": 9,
        "structure_layout": 7,
        "caption_consistency": 8,
        "context_consistency": 6,
        "misleading_risk": 10,
    }
    assert result.overall == 8.0
    assert result.trace[-1] == "overall = 8.00, the mean of the 5 open dimensions"


def test_caps_cut_from_above_only() -> None:
    capped = run(vision(), language(caption_cap=6, context_cap=6, misleading_cap=3), fusion(9, 9), DIMENSION_KEYS)
    assert [capped.scores[key] for key in DIMENSION_KEYS] == [9, 7, 6, 6, 3]
    assert "CC cut from 9 to 6: caption cap of the language report" in capped.trace
    below = run(vision(), language(caption_cap=6, context_cap=6, misleading_cap=10), fusion(4, 5), DIMENSION_KEYS)
    assert [below.scores[key] for key in DIMENSION_KEYS] == [9, 7, 4, 5, 8]
    assert not any("cut" in step for step in below.trace)


def test_a_contradiction_bounds_context_and_risk_but_not_the_caption() -> None:
    result = run(vision(band="9-10"), language("contradiction"), fusion(9, 9), DIMENSION_KEYS)
    assert [result.scores[key] for key in DIMENSION_KEYS] == [9, 7, 9, 2, 2]
    assert run(vision(), language("contradiction"), fusion(9, 1), DIMENSION_KEYS).scores["context_consistency"] == 1
    assert (
        run(vision(), language("contradiction", misleading_cap=1), fusion(), DIMENSION_KEYS).scores["misleading_risk"]
        == 1
    )


def test_a_closed_dimension_has_no_score_whatever_the_reports_say() -> None:
    mask = gating.open_dimensions(has_caption=True, has_context=False)
    result = run(vision(9, 7, "7-8"), language("contradiction"), fusion(8, 8), mask)
    assert result.scores["context_consistency"] is None
    assert result.overall == (9 + 7 + 8 + 2) / 4
    assert "CTX is closed: no score" in result.trace


@pytest.mark.parametrize("mask", [(), ("sharpness",)])
def test_a_mask_without_dimensions_or_with_a_strange_one_is_an_error(mask: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="open dimensions"):
        run(vision(), language(), fusion(), mask)


def test_an_open_dimension_without_a_proposal_is_an_error() -> None:
    with pytest.raises(ValueError, match="caption_consistency is open"):
        run(vision(), language(), fusion(None, 8), DIMENSION_KEYS)


scores = st.integers(1, 10)
caps = st.one_of(st.none(), st.just(6))


@given(
    vc=scores,
    sl=scores,
    cc=scores,
    ctx=scores,
    band=st.sampled_from(BAND_LABELS),
    severity=st.sampled_from(SEVERITIES),
    caption_cap=caps,
    context_cap=caps,
    misleading_cap=st.one_of(st.none(), scores),
    mask=st.sampled_from(
        [
            gating.open_dimensions(has_caption=caption, has_context=context)
            for caption, context in ((True, True), (True, False), (False, True))
        ]
    ),
)
def test_invariants(
    vc: int,
    sl: int,
    cc: int,
    ctx: int,
    band: str,
    severity: str,
    caption_cap: int | None,
    context_cap: int | None,
    misleading_cap: int | None,
    mask: tuple[str, ...],
) -> None:
    report = language(severity, caption_cap=caption_cap, context_cap=context_cap, misleading_cap=misleading_cap)
    result = run(vision(vc, sl, band), report, fusion(cc, ctx), mask)
    for key in DIMENSION_KEYS:
        score = result.scores[key]
        assert (score is None) == (key not in mask)
        assert score is None or (isinstance(score, int) and 1 <= score <= 10)
    assert (result.scores["visual_clarity"], result.scores["structure_layout"]) == (vc, sl)
    for key, proposal, cap in (
        ("caption_consistency", cc, caption_cap),
        ("context_consistency", ctx, context_cap),
        ("misleading_risk", 10, misleading_cap),
    ):
        score = result.scores[key]
        assert score is None or score <= min(proposal, cap or 10)
    if severity == "contradiction":
        assert (result.scores["context_consistency"] or 1) <= 2
        assert result.scores["misleading_risk"] <= 2
    assert result.overall == pytest.approx(sum(result.scores[key] for key in mask) / len(mask))

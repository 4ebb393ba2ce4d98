import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scifigqual_bench.companions import example_path, scholscan
from scifigqual_bench.companions.means import Means, estimate_means
from scifigqual_bench.companions.scholscan import (
    AnswerCounts,
    PageRanking,
    csv_rows,
    format_table,
    item_score,
    location_score,
    parse_items,
    read_items,
    reasoning_score,
    recall,
    reciprocal_rank,
    score,
    unrelated_factor,
)
from scifigqual_bench.errors import InputError
from scifigqual_bench.scoring.resampling import Bootstrap


def counts(location=(2, 2, 0), reasoning=(2, 2), unrelated=0, existence=1, target=1):
    """Counts of an answer as a row: (gold, hit, extra) places, (gold, reached) steps."""
    gold, reached = reasoning
    return {
        "existence": existence,
        "contains_target_error": target,
        "location": dict(zip(("gold_steps", "hit_steps", "extra_steps"), location, strict=True)),
        "reasoning": {"gold_steps": gold, "reached_steps": reached, "missing_steps": gold - reached},
        "unrelated_errors": unrelated,
    }


def row(index=0, paper="p", kind="A", exists=True, **fields):
    base = {"item_id": f"q{index}", "paper_id": paper, "error_type": kind, "error_exists": exists, "counts": counts()}
    return base | fields


def value_of(**fields):
    return item_score(AnswerCounts.model_validate(counts(**fields))).score


# --- the formula, worked by hand ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "hit", "extra", "expected"),
    [
        (0, 0, 0, 1),  # nothing to find, nothing named
        (0, 0, 3, 0),  # nothing to find, something named
        (2, 0, 0, 0),  # nothing found
        (2, 2, 0, 1),  # all found
        (2, 1, 0, 2 / 3),  # dice 2/3
        (1, 1, 1, 7 / 15),  # dice 2/3, half of the named wrong: less 0.2
        (2, 1, 1, 3 / 10),  # dice 1/2, less 0.2
        (4, 3, 1, 7 / 10),  # dice 3/4, a quarter wrong: less 0.05
        (3, 1, 4, 0),  # dice 1/4, four fifths wrong: less 0.512, cut at 0
        (2, 0, 2, 0),  # all of the named wrong
    ],
)
def test_location(gold, hit, extra, expected):
    assert location_score(gold, hit, extra) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("gold", "reached", "expected"), [(0, 0, 1), (3, 0, 0), (2, 1, 1 / 4), (3, 2, 4 / 9), (3, 3, 1)]
)
def test_reasoning(gold, reached, expected):
    assert reasoning_score(gold, reached) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "expected"), [(0, 1), (1, 0.9), (2, 0.81), (3, 0.444537425236), (4, 0.148409890015), (5, 0.035849972288)]
)
def test_unrelated(n, expected):
    assert unrelated_factor(n) == pytest.approx(expected, abs=1e-12)


def test_the_branches_of_the_unrelated_factor_meet_at_two():
    assert unrelated_factor(2) == pytest.approx(0.81 * math.exp(-0.6 * (2 - 2) ** 1.5), abs=1e-15)


def test_a_count_too_large_for_an_exponential_is_no_error():
    assert unrelated_factor(scholscan.MAX_COUNT) == 0.0


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, 1),
        ({"existence": 0}, 0),
        ({"target": 0}, 0),
        ({"existence": 0, "target": 0}, 0),
        ({"location": (0, 0, 0), "reasoning": (0, 0)}, 0),  # nothing in the reference at all
        ({"location": (0, 0, 0), "reasoning": (2, 1)}, 0.5),  # no place to find: sqrt(1 * 1/4)
        ({"location": (0, 0, 1), "reasoning": (2, 2)}, 0),
        ({"location": (2, 1, 0), "reasoning": (0, 0)}, math.sqrt(2 / 3)),
        ({"location": (2, 1, 1), "reasoning": (2, 1), "unrelated": 1}, 0.246475150877),
        ({"location": (2, 1, 0), "reasoning": (0, 0), "unrelated": 2}, 0.661362230551),
        ({"location": (1, 1, 1), "reasoning": (2, 1), "unrelated": 1}, 0.307408522979),
        ({"location": (4, 3, 1), "reasoning": (3, 2), "unrelated": 3}, 0.247951129329),
        ({"reasoning": (2, 0)}, 0),
    ],
)
def test_item(fields, expected):
    assert value_of(**fields) == pytest.approx(expected, abs=1e-12)


# --- properties -----------------------------------------------------------------------------------------------------


@st.composite
def any_counts(draw):
    gold, steps = draw(st.integers(0, 8)), draw(st.integers(0, 8))
    return {
        "location": (gold, draw(st.integers(0, gold)), draw(st.integers(0, 12))),
        "reasoning": (steps, draw(st.integers(0, steps))),
        "unrelated": draw(st.integers(0, 20)),
        "existence": draw(st.integers(0, 1)),
        "target": draw(st.integers(0, 1)),
    }


def more(fields, extra=0, unrelated=0):
    gold, hit, named = fields["location"]
    return fields | {"location": (gold, hit, named + extra), "unrelated": fields["unrelated"] + unrelated}


@given(any_counts())
def test_a_score_lies_between_0_and_1_and_needs_existence_and_target(fields):
    assert 0 <= value_of(**fields) <= 1
    assert value_of(**(fields | {"existence": 0})) == value_of(**(fields | {"target": 0})) == 0


@given(any_counts())
def test_a_score_falls_with_every_extra_location_and_every_unrelated_error(fields):
    before = value_of(**fields)
    for after in (value_of(**more(fields, extra=1)), value_of(**more(fields, unrelated=1))):
        assert after < before or after == before == 0


@given(any_counts(), st.integers(0, 9), st.integers(0, 9))
def test_a_score_never_rises_by_saying_more(fields, extra, unrelated):
    assert value_of(**more(fields, extra, unrelated)) <= value_of(**fields)


@given(any_counts())
def test_a_score_never_falls_by_finding_more(fields):
    gold, hit, extra = fields["location"]
    steps, reached = fields["reasoning"]
    better = fields | {"location": (gold, min(hit + 1, gold), extra), "reasoning": (steps, min(reached + 1, steps))}
    assert value_of(**better) >= value_of(**fields)


# --- retrieval ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranked", "gold", "mrr", "recall_5", "recall_10"),
    [
        ([3, 8, 5], [3], 1, 1, 1),
        ([3, 8, 5], [5, 8], 1 / 2, 1, 1),
        ([9, 7, 4, 2, 3, 1], [1, 3], 1 / 5, 1 / 2, 1),
        ([9, 7, 4, 2, 3, 1], [1], 0, 0, 1),
        ([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1], [1, 2], 0, 0, 1 / 2),
        ([], [4], 0, 0, 0),
    ],
)
def test_retrieval(ranked, gold, mrr, recall_5, recall_10):
    ranking = PageRanking(ranked_pages=ranked, gold_pages=gold)
    assert reciprocal_rank(ranking) == mrr
    assert (recall(ranking, 5), recall(ranking, 10)) == (recall_5, recall_10)


# --- bad input ------------------------------------------------------------------------------------------------------


def deep(path, value):
    """A row with one field, given by its dotted way, set to a value."""
    result = row(retrieval={"ranked_pages": [2, 1], "gold_pages": [1]})
    *way, last = path.split(".")
    target = result
    for step in way:
        target = target[step]
    target[last] = value
    return result


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("counts.existence", True, "counts.existence: Input should be a valid integer, found true"),
        ("counts.existence", 2, "counts.existence: Input should be less than or equal to 1, found 2"),
        (
            "counts.contains_target_error",
            "1",
            'counts.contains_target_error: Input should be a valid integer, found "1"',
        ),
        (
            "counts.unrelated_errors",
            -1,
            "counts.unrelated_errors: Input should be greater than or equal to 0, found -1",
        ),
        ("counts.unrelated_errors", 1.0, "counts.unrelated_errors: Input should be a valid integer, found 1.0"),
        ("counts.unrelated_errors", math.nan, "counts.unrelated_errors: Input should be a"),
        ("counts.unrelated_errors", 10**400, "counts.unrelated_errors: Input should be"),
        ("counts.location.hit_steps", 3, "counts.location: hit_steps 3 is more than gold_steps 2"),
        ("counts.reasoning.reached_steps", 3, "counts.reasoning: reached_steps 3 is more than gold_steps 2"),
        ("counts.reasoning.missing_steps", 1, "missing_steps 1 is not gold_steps 2 - reached_steps 2"),
        ("counts", None, "status is 'ok', yet there are no counts"),
        ("status", "refusal", "status is 'refusal', yet there are counts"),
        ("error_exists", False, "error_exists is false, yet location.gold_steps is 2"),
        ("error_exists", 1, "error_exists: Input should be a valid boolean, found 1"),
        ("error_type", "J", "error_type: Input should be 'A', 'B'"),
        ("paper_id", "", "paper_id: String should have at least 1 character"),
        ("retrieval.ranked_pages", [0, 1], "retrieval: ranked_pages holds 0: pages count from 1"),
        ("retrieval.ranked_pages", [4, 2, 4], "retrieval: ranked_pages holds 4 more than once"),
        ("retrieval.gold_pages", [0], "retrieval: gold_pages holds 0: pages count from 1"),
        ("retrieval.gold_pages", [], "retrieval.gold_pages: List should have at least 1 item"),
        ("retrieval.ranked_pages", [True], "retrieval.ranked_pages[0]: Input should be a valid integer, found true"),
        ("surprise", 1, "surprise: Extra inputs are not permitted"),
        ("\x1b[31m", 1, r"'\x1b[31m': Extra inputs are not permitted"),
    ],
)
def test_a_fault_names_the_row_and_the_field(path, value, message):
    with pytest.raises(InputError) as caught:
        parse_items([row(7), deep(path, value)])
    assert caught.value.problems[0].startswith("row 1 ('q0'): ")
    assert message in caught.value.problems[0]


def test_every_fault_is_listed(tmp_path):
    rows = [
        row(1),
        row(2, counts=counts(location=(1, 2, 0)) | {"unrelated_errors": "3"}),
        row(1),
        {"item_id": "q4"},
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    with pytest.raises(InputError) as caught:
        read_items(path)
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "items.jsonl, line 2 ('q2')",
        "items.jsonl, line 2 ('q2')",
        "items.jsonl, line 4 ('q4')",
        "items.jsonl, line 4 ('q4')",
        "items.jsonl, line 4 ('q4')",
        "items.jsonl, line 3",
    ]
    assert "'q1' again (first at items.jsonl, line 1)" in caught.value.problems[-1]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("items.csv", "item_id\nq1\n", "items.csv: unknown kind of file; use .jsonl or .json"),
        ("items.jsonl", "", "items.jsonl: the file is empty"),
        ("items.jsonl", '{"item_id": \n', "items.jsonl, line 1: not JSON"),
        ("items.json", "[" * 100_000, "items.json: lists or objects are nested too deeply"),
        ("items.json", "[]", "there is no row to score"),
    ],
)
def test_a_file_that_is_none_says_so(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="^" + message):
        read_items(tmp_path / name)


def test_records_that_were_built_apart_may_not_repeat():
    item = parse_items([row()])[0]
    with pytest.raises(InputError, match=r"items\[1\]: 'q0' again"):
        score([item, item])
    with pytest.raises(InputError, match="no item"):
        score([])


def test_options_out_of_range_are_refused():
    with pytest.raises(ValueError, match="resamples"):
        score(parse_items([row()]), resamples=-1)


# --- report ---------------------------------------------------------------------------------------------------------


def test_means_per_type_overall_and_by_existence():
    none = counts(location=(0, 0, 0), reasoning=(0, 0), target=0)
    report = score(
        parse_items(
            [
                row(1, "p", "A"),  # 1
                row(2, "p", "A", counts=counts(reasoning=(2, 1))),  # 1/2
                row(3, "q", "B", counts=counts(target=0)),  # 0
                row(4, "q", "B", exists=False, counts=none),
                row(5, "r", "I", exists=False, counts=none | {"existence": 0}),
            ]
        ),
        resamples=0,
    )
    assert (report.items, report.papers, report.status) == (5, 3, {"ok": 5})
    assert report.overall.value.value == pytest.approx(30)
    assert report.with_error.value.value == pytest.approx(50)
    assert {kind: group.value.value for kind, group in report.by_type.items() if group.items} == {
        "A": 75,
        "B": 0,
        "I": 0,
    }
    assert report.by_type["C"].value.reason == "nothing to average"
    assert report.existence["with_error"].value.value == 1
    assert report.existence["without_error"].value.value == 0.5
    assert report.parts["contains_target_error"].value.value == pytest.approx(2 / 3)
    assert report.parts["reasoning"].value.value == pytest.approx((1 + 1 / 4 + 1) / 3)
    assert (report.rankings, report.retrieval) == (0, {})


def test_an_answer_without_counts_withholds_the_mean_and_is_never_a_zero():
    failed = row(2, "q", "A", status="truncated", counts=None)
    report = score(parse_items([row(1), failed, row(3, kind="B")]), resamples=0)
    group = report.by_type["A"]
    assert (group.items, group.scored, group.scored_only.value) == (2, 1, 100)
    assert group.value.value is None and "1 of 2 items have counts" in group.value.reason
    assert report.by_type["B"].value.value == 100
    assert csv_rows(report)[1]["score"] is None
    assert "mean of the scored" in format_table(report)


def test_retrieval_means_are_over_items_with_a_ranking():
    first = row(1, retrieval={"ranked_pages": [1, 2], "gold_pages": [2]})
    second = row(2, retrieval={"ranked_pages": [1], "gold_pages": [3]})
    report = score(parse_items([first, second, row(3)]), resamples=0)
    assert report.rankings == 2
    values = {name: mean.value for name, mean in report.retrieval.items()}
    assert values == {"mrr_at_5": 0.25, "recall_at_5": 0.5, "recall_at_10": 0.5}


def test_odd_counts_are_told():
    nothing = counts(location=(0, 0, 0), reasoning=(0, 0))
    denied = counts(existence=0)
    report = score(parse_items([row(1, counts=nothing), row(2, counts=denied)]), resamples=0)
    assert len(report.notes) == 2
    assert "neither a place nor a step" in report.notes[0] and "existence is 0" in report.notes[1]


def test_the_report_is_json_and_the_table_holds_no_control_character():
    report = score(parse_items([row(1, paper="\x1b[31m"), row(2)]), resamples=50)
    again = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert again["overall"]["value"]["value"] == 100
    assert again["scored_items"][0]["paper_id"] == "\x1b[31m"
    assert all(char.isprintable() or char == "\n" for char in format_table(report))


def test_the_example_is_read_and_scored():
    report = score(read_items(example_path("scholscan")), resamples=100)
    assert report.items == 8 and report.existence["without_error"].items == 2
    assert report.overall.value.low <= report.overall.value.value <= report.overall.value.high
    with pytest.raises(ValueError, match="scholscan, scirigor"):
        example_path("nothing")


# --- intervals ------------------------------------------------------------------------------------------------------


def test_intervals_draw_papers_not_items():
    # Two papers, one all right and one all wrong: a draw has mean 0, 1/2 or 1 with weights 1, 2, 1.
    right, wrong = row()["counts"], counts(target=0)
    items = parse_items([row(i, "p" if i < 50 else "q", counts=right if i < 50 else wrong) for i in range(100)])
    wide = score(items, confidence=0.6).overall.value
    narrow = score(items, confidence=0.4).overall.value
    assert (wide.low, wide.value, wide.high) == (0, 50, 100)
    assert (narrow.low, narrow.high) == (50, 50)


def test_intervals_repeat_with_the_seed():
    items = parse_items([row(i, f"p{i}", counts=counts(unrelated=i % 7)) for i in range(40)])
    assert score(items, seed=3, resamples=200) == score(items, seed=3, resamples=200)
    assert score(items, seed=3, resamples=200).overall != score(items, seed=4, resamples=200).overall


def test_one_paper_has_no_interval():
    report = score(parse_items([row(1), row(2)]))
    assert report.overall.value.reason == "no interval: all of one paper"
    assert report.overall.value.low is None


def test_a_mean_of_means_weighs_groups_alike():
    groups = [Means.of([1, 1, 1, 0], [0, 0, 1, 1], 3), Means.of([0.5], [2], 3)]
    found = estimate_means({"macro": Means.over(groups), "all": Means.of([1, 1, 1, 0, 0.5], [0, 0, 1, 1, 2], 3)},
                           Bootstrap(resamples=0), "paper")  # fmt: skip
    assert found["macro"].value == pytest.approx((0.75 + 0.5) / 2)
    assert found["all"].value == pytest.approx(3.5 / 5)
    # A draw that misses the second group averages over the first.
    assert Means.over(groups).statistics(np.array([[1.0], [2.0], [0.0]]), ["mean"])["mean"] == pytest.approx(4 / 6)

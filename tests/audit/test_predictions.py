import json

import pytest

from scifigqual_bench.audit.predictions import read_predictions
from scifigqual_bench.rubric import DIMENSION_KEYS

OPEN = dict.fromkeys(("p__fig0001", "p__fig0002", "p__fig0003"), DIMENSION_KEYS)


def row(index, value=8, **fields):
    scores = dict.fromkeys(DIMENSION_KEYS, value)
    return {"figure_id": f"p__fig{index:04d}", **scores, "status": "ok"} | fields


def read(tmp_path, *rows, known=OPEN):
    path = tmp_path / "predictions.jsonl"
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows) + "\n")
    return read_predictions(path, known)


def test_a_good_file_has_nothing_to_say(tmp_path):
    result = read(tmp_path, row(1), row(2), row(3, overall_score=8.0))
    assert (result.errors, result.warnings) == ([], [])
    assert list(result.rows) == list(OPEN)


@pytest.mark.parametrize("value", [True, "8", 0, 11, float("nan"), float("inf"), [8]])
def test_a_score_of_the_wrong_type_or_range_names_file_and_line(tmp_path, value):
    result = read(tmp_path, row(1), row(2, visual_clarity=value), row(3))
    assert len(result.errors) == 1
    assert result.errors[0].startswith("predictions.jsonl, line 2: visual_clarity: ")


def test_every_fault_is_listed(tmp_path):
    result = read(tmp_path, row(1), row(1), row(9), row(2, status="fine"), '{"figure_id": "p__fig0003"}', row(3))
    assert [error.split(":")[0] for error in result.errors] == [f"predictions.jsonl, line {n}" for n in (2, 3, 4, 6)]
    assert "again (first on line 1)" in result.errors[0]
    assert "not in the dataset" in result.errors[1]
    assert "status" in result.errors[2]
    assert "again (first on line 5)" in result.errors[3]
    assert "line 5" in result.warnings[0] and "no score on open dimensions" in result.warnings[0]


def test_a_broken_line_spoils_the_file_by_name(tmp_path):
    result = read(tmp_path, row(1), '{"figure_id": "p__fig0002", "visual')
    assert result.errors == ["predictions.jsonl, line 2: not JSON (Unterminated string starting at at column 29)"]


def test_a_failed_row_has_no_scores(tmp_path):
    failed = {"figure_id": "p__fig0001", "status": "truncated", "status_reason": "token limit"}
    assert read(tmp_path, failed, row(2), row(3)).errors == []
    assert "a failed row has none" in read(tmp_path, row(1, status="refusal"), row(2), row(3)).errors[0]


def test_gate_violations_and_missing_rows_are_warned_of(tmp_path):
    known = {"p__fig0001": DIMENSION_KEYS[:3], "p__fig0002": DIMENSION_KEYS}
    result = read(tmp_path, row(1), known=known)
    assert result.errors == []
    assert "scores on closed dimensions: context_consistency, misleading_risk" in result.warnings[0]
    assert result.warnings[1] == "predictions.jsonl: 1 figures of the dataset have no row: p__fig0002"


def test_an_overall_that_is_not_the_mean_is_told(tmp_path):
    result = read(tmp_path, row(1, overall_score=9.0), row(2), row(3))
    assert "not the mean of its open dimensions (8)" in result.warnings[0]

"""Results as text, Markdown and CSV."""

import csv
import io

import pytest

from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS
from scifigqual_bench.scoring import STATISTICS, ceilings, compare, format_table, score, to_csv, to_markdown
from scifigqual_bench.scoring.tables import CSV_FIELDS

VC = DIMENSION_KEYS[0]


@pytest.fixture(scope="module")
def report(rows):
    predictions, golds, ratings = rows(1)
    predictions[0] = {"figure_id": predictions[0]["figure_id"], "status": "truncated"}
    venues = {row["figure_id"]: "A|<b>*V*" for row in golds}
    return score(predictions, golds, ratings=ratings, groupings={"venue": venues}, resamples=50)


def test_table_puts_coverage_first_and_says_why_there_is_no_headline(report):
    text = format_table(report)
    coverage, agreement, notes = (text.index(part) for part in ("Coverage:", "Agreement with mean gold", "no headline"))
    assert coverage < agreement < notes
    assert "truncated 1" in text
    assert "VC, answered only" in text and "VC, unanswered as floor" in text
    assert "pairwise compares two ratings, leave-one-out a rating with the mean" in text
    table = text[agreement:].split("\n\n")[0].splitlines()[1:]
    assert len({len(line) for line in table}) == 1


def test_markdown_escapes_names(report):
    text = to_markdown(report)
    assert r"A\|&lt;b&gt;\*V\*" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.endswith(" |") for line in rows) and "<b>" not in text


def test_csv_holds_every_number_exactly(report):
    records = list(csv.DictReader(io.StringIO(to_csv(report))))
    assert tuple(records[0]) == CSV_FIELDS
    column = report.columns[VC]
    answered = {row["statistic"]: row for row in records if row["view"] == "answered_only" and row["column"] == VC}
    assert set(answered) == set(STATISTICS)
    for name, row in answered.items():
        estimate = getattr(column.answered_only, name)
        assert (float(row["value"]), float(row["low"]), float(row["high"])) == (
            estimate.value,
            estimate.low,
            estimate.high,
        )
    (headline,) = (row for row in records if row["view"] == "headline" and row["column"] == VC)
    assert headline["value"] == "" and headline["reason"] == column.headline_reason
    parts = {row["part"] for row in records}
    assert parts == {"score", "floor", "raters", "beside raters", "slice"}


def test_comparison(rows):
    predictions, golds, ratings = rows(2)
    result = compare({"one": predictions, "two": predictions}, golds, ratings=ratings, resamples=20)
    text = format_table(result)
    assert "one - two" in text and "p (Holm)" in text
    assert "+0.000 [+0.000, +0.000]  1.0000    1.0000" in text
    records = list(csv.DictReader(io.StringIO(to_csv(result))))
    differences = [row for row in records if row["part"] == "difference"]
    assert len(differences) == len(result.differences)
    assert {row["p_value"] for row in differences if row["value"]} == {"1.0"}
    assert to_markdown(result).count("| one - two |") == len(differences)


def test_ceilings(rows):
    result = ceilings(rows(3)[2], resamples=20)
    text = format_table(result)
    assert "Reliability of the ratings" in text and "leave-one-out MAE" in text
    records = list(csv.DictReader(io.StringIO(to_csv(result))))
    assert {row["column"] for row in records} == set(COLUMNS)


def test_single_figure_explains_every_dash(rows):
    predictions, golds, _ = rows(4)
    text = format_table(score(predictions[:1], golds[:1], resamples=10))
    assert "no interval: all figures are of one paper" in text
    assert "a single figure has no ranks to compare" in text

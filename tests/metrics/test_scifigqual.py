"""The `evaluate` module, loaded as its users load it."""

import doctest
import inspect
import sys

import datasets
import evaluate
import numpy as np
import pytest
import yaml

from scifigqual_bench.metrics import metric_path
from scifigqual_bench.records import Gold, Prediction
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS
from scifigqual_bench.scoring import STATISTICS, agreement, score

VC, SL, CC, CTX, MR = DIMENSION_KEYS
PATH = metric_path("scifigqual")

SCORES = {
    "a__fig0001": ((8, 9, 6, None, 7), (8.3333, 9.0, 5.0, None, 7.0)),
    "a__fig0002": ((7, 7, 5, 8, 6), (7.6667, 7.3333, 5.6667, 6.5, 8.0)),
    "b__fig0001": ((9, 8, 8, 9, 9), (8.0, 8.0, 8.3333, 8.0, 7.3333)),
}
PREDICTIONS = [
    Prediction(figure_id=f, **dict(zip(DIMENSION_KEYS, s[0], strict=True))).model_dump() for f, s in SCORES.items()
]
GOLDS = [
    Gold(
        figure_id=fig,
        **dict(zip(DIMENSION_KEYS, means, strict=True)),
        n_ratings=3,
        open_dimensions=[key for key, mean in zip(DIMENSION_KEYS, means, strict=True) if mean is not None],
    ).model_dump()
    for fig, (_, means) in SCORES.items()
]


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(PATH)


def test_rows_of_the_prediction_file_against_the_gold_column(metric):
    column = datasets.Dataset.from_list([{"gold": row} for row in GOLDS])["gold"]
    found = metric.compute(predictions=PREDICTIONS, references=column, resamples=50)
    assert found == score(PREDICTIONS, GOLDS, resamples=50).to_dict()


def test_rows_are_joined_by_id_and_may_be_bare(metric):
    bare = [{key: row[key] for key in ("figure_id", *DIMENSION_KEYS)} for row in reversed(PREDICTIONS)]
    golds = [{key: row[key] for key in ("figure_id", *DIMENSION_KEYS)} for row in GOLDS]
    found = metric.compute(predictions=bare, references=golds, resamples=0)
    assert found["columns"] == score(PREDICTIONS, GOLDS, resamples=0).to_dict()["columns"]


def test_batches_and_single_rows_add_up(metric):
    metric.add_batch(predictions=PREDICTIONS[:2], references=GOLDS[1:])
    metric.add(prediction=PREDICTIONS[2], reference=GOLDS[0])
    assert metric.compute(resamples=0) == score(PREDICTIONS, GOLDS, resamples=0).to_dict()


def test_options_reach_the_score(metric):
    failed = [{**PREDICTIONS[0], **dict.fromkeys(DIMENSION_KEYS), "status": "refusal"}, PREDICTIONS[1]]
    options = {"mask": "evidence", "min_coverage": 0.5, "missing": "unanswered", "resamples": 20, "seed": 3}
    found = metric.compute(predictions=failed, references=GOLDS, **options)
    assert found == score(failed, GOLDS, **options).to_dict()
    assert found["coverage"]["status"] == {"ok": 1, "refusal": 1, "missing": 1}


def test_defaults_are_those_of_the_score(metric):
    own = {name: item.default for name, item in inspect.signature(metric._compute).parameters.items()}
    for name, value in own.items():
        if name not in ("predictions", "references"):
            assert value == score.__kwdefaults__[name]


def test_gold_of_an_unrated_figure_may_be_none(metric):
    found = metric.compute(predictions=PREDICTIONS, references=[GOLDS[0], None, GOLDS[2]], resamples=0)
    assert (found["figures"], found["unrated"]) == (2, 1)
    with pytest.raises(ValueError, match=r"references\[1\]: is None"):
        metric.compute(predictions=PREDICTIONS[:1], references=[GOLDS[0], None])


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (VC, True, "True (bool)"),
        (VC, "8", "'8' (str)"),
        (VC, float("nan"), "nan (float)"),
        (VC, 11, "11 (int)"),
        ("figure_id", None, "figure_id is None"),
        ("status", "fine", "status is 'fine'"),
        ("figure_id", "z__fig0001", "is not among the gold rows"),
    ],
)
def test_wrong_rows_are_told_and_leave_the_metric_usable(metric, field, value, message):
    with pytest.raises(ValueError) as caught:
        metric.compute(predictions=[{**PREDICTIONS[0], field: value}], references=GOLDS[:1])
    assert message in str(caught.value)
    assert metric.compute(predictions=PREDICTIONS, references=GOLDS, resamples=0)["figures"] == 3


def test_nothing_to_score(metric):
    with pytest.raises(ValueError, match=r"(?s)predictions: is empty.*references: is empty"):
        metric.compute(predictions=[], references=[])


@pytest.mark.parametrize("column", COLUMNS)
def test_one_column_of_numbers(column):
    metric = evaluate.load(PATH, column)
    found = metric.compute(predictions=[7, 8, 5], references=[7.33, 8.0, 6.0])
    expected = agreement([7, 8, 5], [7.33, 8.0, 6.0])
    assert found == {"n": 3, **{name: getattr(expected, name).value for name in STATISTICS}, "undefined": {}}


def test_numbers_from_arrays_in_batches():
    metric = evaluate.load(PATH, CC)
    for part in np.array_split(np.arange(6), 3):
        metric.add_batch(predictions=np.array([7, 8, 5, 6, 9, 8])[part], references=np.linspace(5, 9, 6)[part])
    expected = agreement([7, 8, 5, 6, 9, 8], np.linspace(5, 9, 6))
    assert metric.compute()["spearman"] == expected.spearman.value


def test_undefined_numbers_have_a_reason():
    found = evaluate.load(PATH, CC).compute(predictions=[8, 8], references=[7.33, 8.0])
    assert found["spearman"] is None
    assert found["undefined"]["spearman"] == "predictions are constant (8)"


def test_wrong_numbers_and_options():
    metric = evaluate.load(PATH, CC)
    with pytest.raises(ValueError) as caught:
        metric.compute(predictions=[True, "8", 8], references=[None, 11, float("inf")])
    assert len(caught.value.problems) == 5
    with pytest.raises(ValueError, match="mask: only for rows"):
        metric.compute(predictions=[8, 7], references=[8, 7], mask="evidence")
    with pytest.raises(ValueError, match="Mismatch in the number"):
        metric.compute(predictions=[8], references=[8, 7])
    with pytest.raises(ValueError, match="unknown configuration 'beauty'"):
        evaluate.load(PATH, "beauty")


def test_examples_of_the_docstring(metric, root, monkeypatch):
    monkeypatch.chdir(root)
    outcome = doctest.testmod(sys.modules[type(metric).__module__], extraglobs={"evaluate": evaluate})
    assert outcome.attempted > 5 and outcome.failed == 0


def test_card_describes_the_module(root):
    folder = root / "metrics" / "scifigqual"
    _, header, body = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(header)
    assert (card["sdk"], card["app_file"], "evaluate" in card["tags"]) == ("gradio", "app.py", True)
    assert (folder / card["app_file"]).is_file()
    for name in STATISTICS:
        assert f"`{name}`" in body
    assert "pairwise Within-1" in body


def test_ratings_and_groupings_reach_the_score(metric):
    ratings = [
        {"figure_id": fig, "rater_id": rater, VC: 7 + number}
        for fig in SCORES
        for number, rater in enumerate(("r1", "r2"))
    ]
    options = {"ratings": ratings, "groupings": {"paper": {fig: fig[0] for fig in SCORES}}, "resamples": 20}
    found = metric.compute(predictions=PREDICTIONS, references=GOLDS, **options)
    assert found == score(PREDICTIONS, GOLDS, **options).to_dict()
    assert found["columns"][VC]["ceiling"]["spread_mean"] == 1.0
    assert set(found["slices"]["paper"]) == {"a", "b"}

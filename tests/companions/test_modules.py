import doctest
import json
import re

import evaluate
import pytest

from scifigqual_bench import companions
from scifigqual_bench.companions import evidence, example_path, means, rows, scholscan, scirigor
from scifigqual_bench.errors import InputError
from scifigqual_bench.metrics import metric_path
from tests.companions.evidence_cases import run_of, small_case


@pytest.fixture(scope="module")
def scan():
    return evaluate.load(metric_path("scholscan"))


@pytest.fixture(scope="module")
def rigor():
    return evaluate.load(metric_path("scirigor"))


@pytest.fixture
def items():
    return [json.loads(line) for line in example_path("scholscan").read_text().splitlines()]


@pytest.fixture
def cases():
    return json.loads(example_path("scirigor").read_text())


@pytest.mark.parametrize("name", ["scholscan", "scirigor"])
def test_the_examples_of_a_module_run(name, root, monkeypatch):
    monkeypatch.chdir(root)
    module = evaluate.load(f"metrics/{name}")
    test = doctest.DocTestParser().get_doctest(module.inputs_description, {"evaluate": evaluate}, name, None, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("module", [companions, evidence, means, rows, scholscan, scirigor])
def test_the_examples_in_the_library_run(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


@pytest.mark.parametrize("name", ["scholscan", "scirigor"])
def test_a_folder_is_laid_out_as_the_hub_expects(name, root):
    folder = root / "metrics" / name
    names = {path.name for path in folder.iterdir() if path.is_file()}
    assert names == {f"{name}.py", "README.md", "app.py", "requirements.txt", "__init__.py"}
    assert (folder / "README.md").read_text().startswith("---\ntitle: ")


def test_the_rows_of_the_cards_are_rows(root):
    def row_of(name):
        return json.loads(re.search(r"```json\n(.*?)```", (root / "metrics" / name / "README.md").read_text(), re.S)[1])

    assert scholscan.parse_items([row_of("scholscan")])[0].retrieval.gold_pages == [4, 7]
    rigor = row_of("scirigor")
    scored = scirigor.score(scirigor.parse_cases([rigor["case"]], [rigor["run"]]), resamples=0)
    assert (scored.overall.soft_ecs.value, scored.case_failures) == (0.5, {"mark": 1})


def test_scholscan_is_what_the_library_says(scan, items):
    expected = scholscan.score(scholscan.parse_items(items), resamples=100, seed=1).to_dict()
    assert scan.compute(predictions=items, resamples=100, seed=1) == expected


def test_scirigor_is_what_the_library_says_in_any_order(rigor, cases):
    runs, specs = [row["run"] for row in cases], [row["case"] for row in cases]
    expected = scirigor.score(scirigor.parse_cases(specs, runs), combine="mean", resamples=100).to_dict()
    found = rigor.compute(predictions=runs[::-1], references=specs, combine="mean", resamples=100)
    assert found == expected


def test_rows_can_be_added_one_by_one_and_in_batches(scan, items):
    scan.add(prediction=items[0])
    scan.add_batch(predictions=items[1:])
    assert scan.compute(resamples=0)["items"] == len(items)


@pytest.mark.parametrize("value", [True, "2", 2.0, -1, None])
def test_a_count_is_never_coerced(scan, items, value):
    items[1]["counts"]["unrelated_errors"] = value
    with pytest.raises(InputError, match=r"^row 1 \('q2'\): counts.unrelated_errors: "):
        scan.compute(predictions=items)


def test_a_module_works_again_after_a_fault(scan, items):
    with pytest.raises(InputError, match="again"):
        scan.compute(predictions=[items[0], items[0]])
    assert scan.compute(predictions=items, resamples=0)["items"] == len(items)


@pytest.mark.parametrize("value", [True, "1", None, float("nan")])
def test_a_fidelity_is_never_coerced(rigor, value):
    with pytest.raises(InputError, match=r"run.nodes\[2\] \('r'\).fidelity: "):
        rigor.compute(predictions=[run_of(small_case(), {"r": value})], references=[small_case()])


def test_a_missing_run_is_told(rigor, cases):
    with pytest.raises(InputError, match=r"^case 'reef-1' has no run"):
        rigor.compute(
            predictions=[row["run"] for row in cases if row["case"]["case_id"] != "reef-1"],
            references=[row["case"] for row in cases],
        )


def test_nothing_to_score_is_told(scan, rigor):
    with pytest.raises(InputError, match=r"^predictions is empty"):
        scan.compute(predictions=[])
    with pytest.raises(InputError, match=r"^references is empty"):
        rigor.compute(predictions=[run_of(small_case())])


def test_what_json_can_not_hold_is_told(scan, items):
    with pytest.raises(InputError, match=r"predictions\[1\]: not of JSON's types"):
        scan.compute(predictions=[items[0], {1, 2}])


def test_an_unknown_option_is_refused(rigor, cases):
    inputs = {"predictions": [row["run"] for row in cases], "references": [row["case"] for row in cases]}
    with pytest.raises(ValueError, match="combine"):
        rigor.compute(**inputs, combine="best")
    with pytest.raises(TypeError):
        rigor.compute(**inputs, best=True)

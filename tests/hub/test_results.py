"""Scores of a run in the Hub's forms."""

import pytest
import yaml
from huggingface_hub import ModelCard
from huggingface_hub._eval_results import parse_eval_result_entries

from scifigqual_bench.commands.push_to_hub import _run
from scifigqual_bench.dataset.folder import DatasetError, DatasetFolder
from scifigqual_bench.errors import InputError
from scifigqual_bench.hub.publish import HubError
from scifigqual_bench.hub.results import entries, publish_results, read_manifest, results_upload
from scifigqual_bench.hub.uploads import dataset_upload
from tests.hub.hub_server import Blob

DATASET = "user/scifigqual-bench"
REVISION = "a" * 40


@pytest.fixture
def run(judged, sample_dataset):
    return _run(judged, sample_dataset)


def add_model(hub, name, card=None):
    repo = hub.add_repo("model", name, private=False)
    if card:
        repo.commit(repo.commits[repo.head] | {"README.md": Blob(card.encode(), lfs=False)})
    return repo


def test_the_file_is_what_the_hub_reads(hub, api, run):
    add_model(hub, "user/judge")
    upload = results_upload(api, [run], "user/judge", DATASET, REVISION)
    read = parse_eval_result_entries(yaml.safe_load(upload.files[f".eval_results/{run.name}.yaml"]))
    found = {entry.task_id: entry for entry in read}
    headline = run.report.columns["overall_score"].headline
    assert found["rated_overall_score_mae"].value == pytest.approx(headline.mae.value, abs=1e-6)
    assert found["rated_caption_consistency_within_1"].dataset_id == DATASET
    assert {entry.dataset_revision for entry in read} == {REVISION}
    assert read[0].notes == "protocol direct, backend rules, 25 rated figures, 100.0% of the open items scored"


def test_a_benchmark_lists_the_tasks_that_results_are_of(run, sample_dataset):
    upload = dataset_upload(sample_dataset, DATASET, "rated")
    content = yaml.safe_load(upload.files["eval.yaml"])
    assert list(content) == ["name", "description", "evaluation_framework", "tasks"]
    assert all((task["config"], task["split"]) == ("default", "rated") for task in content["tasks"])
    ids = [task["id"] for task in content["tasks"]]
    assert len(set(ids)) == len(ids) == 18 and ids[0].endswith("within_1") and ids[-1].endswith("mae")
    assert {entry.task_id for entry in entries(run, DATASET, REVISION)} <= set(ids)
    assert "eval.yaml" not in dataset_upload(sample_dataset, DATASET).files
    with pytest.raises(DatasetError, match="no split eval1200; it has rated, unrated"):
        dataset_upload(sample_dataset, DATASET, "eval1200")


def test_statistics_that_are_undefined_are_absent(hub, api, run):
    """A judge that is constant on a dimension has no rank correlation there: no entry, and no zero."""
    add_model(hub, "user/judge")
    upload = results_upload(api, [run], "user/judge", DATASET, REVISION)
    text = upload.files[f".eval_results/{run.name}.yaml"].decode()
    for column, report in run.report.columns.items():
        defined = report.headline is not None and report.headline.spearman.value is not None
        assert (f"{column}_spearman" in text) == defined


def test_the_card_keeps_what_others_wrote_and_replaces_its_own(hub, api, run):
    card = (
        "---\nlicense: mit\nmodel-index:\n- name: Judge\n  results:\n  - task:\n      type: x\n    dataset:\n"
        "      name: Other\n      type: other/data\n    metrics:\n    - type: accuracy\n      value: 0.5\n---\n"
    )
    add_model(hub, "user/judge", card)
    first = results_upload(api, [run], "user/judge", DATASET, REVISION)
    publish_results(api, first, user="user")
    second = results_upload(api, [run], "user/judge", DATASET, "b" * 40)
    data = ModelCard(second.files["README.md"].decode()).data
    assert data.license == "mit" and data.model_name == "Judge"
    others = [result for result in data.eval_results if result.dataset_type == "other/data"]
    own = [result for result in data.eval_results if result.dataset_type == DATASET]
    assert [result.metric_value for result in others] == [0.5]
    assert {result.dataset_revision for result in own} == {"b" * 40}
    assert len(own) == len({(result.metric_type, result.metric_name) for result in own})


def test_ones_own_model_gets_a_commit(hub, api, run):
    repo = add_model(hub, "user/judge")
    found = publish_results(api, results_upload(api, [run], "user/judge", DATASET, REVISION), user="user")
    assert repo.head == found.commit and set(hub.files("model", "user/judge")) == {
        "README.md",
        f".eval_results/{run.name}.yaml",
    }


def test_anybody_elses_model_gets_one_pull_request_however_often(hub, api, run):
    repo = add_model(hub, "other/judge")
    before = repo.head
    upload = results_upload(api, [run], "other/judge", DATASET, REVISION)
    first = publish_results(api, upload, user="user")
    again = publish_results(api, upload, user="user")
    newer = results_upload(api, [run], "other/judge", DATASET, "b" * 40)
    third = publish_results(api, newer, user="user")
    assert repo.head == before and list(repo.pull_requests) == [1]
    assert (first.changed, again.changed, third.changed) == (True, False, True)
    assert first.url.endswith("/other/judge/discussions/1")
    assert hub.files("model", "other/judge", "refs/pr/1").keys() == newer.files.keys()


def test_a_failure_leaves_the_models_page_as_it_was(hub, api, run):
    repo = add_model(hub, "user/judge", "---\nlicense: mit\n---\n")
    before = repo.head
    upload = results_upload(api, [run], "user/judge", DATASET, REVISION)
    hub.fail(r"POST /api/models/user/judge/commit", status=500)
    with pytest.raises(HubError, match="publishing results: status 500"):
        publish_results(api, upload, user="user")
    assert repo.head == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"predictions_sha256": "0" * 64}, "not the file that the run wrote"),
        ({"dataset_fingerprint": "0" * 64}, "the run judged other rows"),
        ({"splits": ["elsewhere"]}, "the run judged other rows"),
        ({"control": "no-image"}, "the blind control 'no-image'"),
        ({"shard": "1/2"}, "part 1/2 of a run"),
        ({"stopped": "the budget is used up"}, "did not end (the budget is used up)"),
        ({"finished_at": None}, "did not end (it was interrupted)"),
        ({"protocol": "guess"}, "protocol"),
    ],
)
def test_a_run_that_is_no_result(edited_manifest, sample_dataset, changes, said):
    folder = edited_manifest(**changes)
    with pytest.raises(InputError) as caught:
        read_manifest(folder / "predictions.jsonl", DatasetFolder(sample_dataset))
    assert said in str(caught.value) and "manifest.json" in str(caught.value)


def test_all_faults_of_a_run_come_at_once(edited_manifest, sample_dataset):
    folder = edited_manifest(shard="1/2", control="no-text", finished_at=None)
    with pytest.raises(InputError) as caught:
        read_manifest(folder / "predictions.jsonl", DatasetFolder(sample_dataset))
    assert len(caught.value.problems) == 3


def test_a_run_without_a_manifest(judged, sample_dataset, tmp_path):
    file = tmp_path / "predictions.jsonl"
    file.write_bytes((judged / "predictions.jsonl").read_bytes())
    with pytest.raises(InputError, match="missing; results are published with the manifest"):
        read_manifest(file, DatasetFolder(sample_dataset))

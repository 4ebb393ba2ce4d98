import json
import shutil

import pytest

from scifigqual_bench.audit.versions import FLAT, MANIFESTS, ROWS, read_manifest, upgrade
from scifigqual_bench.commands.eval import main
from scifigqual_bench.errors import InputError
from scifigqual_bench.records import MANIFEST_VERSION, Prediction
from scifigqual_bench.rubric import DIMENSION_KEYS
from tests.dataset.release_files import write_dataset
from tests.dataset.test_frozen import with_image

FINGERPRINT = "0123abcd"


@pytest.fixture
def run(tmp_path):
    """A run folder of this version, and its dataset."""
    dataset = write_dataset(tmp_path / "scifigqual-bench", {"eval2": [with_image(1), with_image(2)]})
    out = tmp_path / "run"
    judge = ["judge", "--dataset", str(dataset.path), "--protocol", "direct", "--backend", "rules", "--out", str(out)]
    assert main(judge) == 0
    return out, judge


@pytest.fixture
def run_1(run, tmp_path):
    """The same as version 1 wrote it."""
    folder = shutil.copytree(run[0], tmp_path / "run-1")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"schema_version": "1", "dataset_fingerprint": FINGERPRINT}
    for later in ("control", "shard", "usage", "served_models", "stopped", "payload"):
        manifest.pop(later, None)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_every_version_leads_to_the_present_one():
    for steps in (MANIFESTS, ROWS):
        for version in steps:
            seen = {version}
            while version != MANIFEST_VERSION:
                version = steps[version][0]
                assert version not in seen
                seen.add(version)


def test_a_manifest_of_version_1(run_1):
    manifest = read_manifest((run_1 / "manifest.json").read_bytes(), "manifest.json")
    assert manifest.schema_version == MANIFEST_VERSION
    assert manifest.dataset_fingerprint == f"v1:{FINGERPRINT}"


def test_a_run_of_version_1_is_migrated(run, run_1, tmp_path, capsys):
    out = tmp_path / "new"
    assert main(["migrate", str(run_1), "--out", str(out)]) == 0
    assert "2 rows of version 1, now 2" in capsys.readouterr().out
    assert (out / "predictions.jsonl").read_bytes() == (run[0] / "predictions.jsonl").read_bytes()
    new = json.loads((out / "manifest.json").read_text())
    old = json.loads((run[0] / "manifest.json").read_text())
    assert new["predictions_sha256"] == old["predictions_sha256"]
    assert new["configuration_sha256"] != old["configuration_sha256"]
    unlike = {key for key in old if new[key] != old[key]}
    assert unlike == {"dataset_fingerprint", "configuration_sha256", "payload", "usage"}


def test_a_migrated_run_is_scored_but_not_gone_on_with(run, run_1, tmp_path, capsys):
    out, judge = tmp_path / "new", run[1]
    assert main(["migrate", str(run_1 / "predictions.jsonl"), "--out", str(out)]) == 0
    dataset = judge[judge.index("--dataset") + 1]
    assert (
        main(["score", "--dataset", dataset, "--predictions", str(out / "predictions.jsonl"), "--resamples", "0"]) == 0
    )
    assert main([*judge[:-1], str(run_1)]) == 1
    assert "dataset_fingerprint: 'v1:" in capsys.readouterr().err


@pytest.mark.parametrize("version", ["3", "99", "x"])
def test_a_newer_version_is_an_error_that_says_so(run, tmp_path, capsys, version):
    path = run[0] / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": version}))
    with pytest.raises(InputError, match=f"version '{version}' .* install a newer"):
        read_manifest(path.read_bytes(), "manifest.json")
    assert main(["migrate", str(run[0]), "--out", str(tmp_path / "new")]) == 1
    assert main(run[1]) == 1
    assert capsys.readouterr().err.count("install a newer") == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": "1"}', '{"schema_version": null}'])
def test_a_file_that_is_no_manifest(text):
    with pytest.raises(InputError, match=r"m\.json: "):
        read_manifest(text, "m.json")


def test_flat_rows_become_rows(tmp_path, capsys):
    header = ["paper_id", "fig_index", *DIMENSION_KEYS, "overall", "visual_clarity_reason", "error"]
    rows = [["p", "1", "8", "7", "6", "", "9", "7.5", "sharp", ""], ["p", "2", "", "", "", "", "", "", "", "timeout"]]
    file = tmp_path / "flat.csv"
    file.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    assert main(["migrate", str(file), "--out", str(tmp_path / "new")]) == 0
    lines = (tmp_path / "new" / "predictions.jsonl").read_text().splitlines()
    good, failed = (Prediction.model_validate_json(line) for line in lines)
    assert (good.figure_id, good.visual_clarity, good.context_consistency, good.overall_score) == (
        "p__fig0001",
        8,
        None,
        7.5,
    )
    assert good.reasons.visual_clarity == "sharp" and good.status == "ok"
    assert (failed.status, failed.status_reason, failed.visual_clarity) == ("api_error", "timeout", None)
    assert "can be scored, but not verified" in capsys.readouterr().err
    assert not (tmp_path / "new" / "manifest.json").exists()


def test_a_row_without_score_and_status_is_a_failure_never_a_zero():
    row = upgrade({"figure_id": "p__fig0001"}, FLAT, ROWS)
    assert row["status"] == "api_error" and not any(key in row for key in DIMENSION_KEYS)


def test_faults_of_rows_come_at_once_and_nothing_is_written(tmp_path, capsys):
    file = tmp_path / "flat.jsonl"
    rows = [{"figure_id": "p__fig0001", "visual_clarity": 11}, {"figure_id": "p__fig0002", "mood": 1}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["migrate", str(file), "--out", str(tmp_path / "new")]) == 1
    err = capsys.readouterr().err
    assert "line 1: visual_clarity" in err and "line 2: mood" in err
    assert not (tmp_path / "new").exists()


def test_rows_that_are_not_the_manifests(run_1, tmp_path, capsys):
    with (run_1 / "predictions.jsonl").open("a") as file:
        file.write("\n")
    assert main(["migrate", str(run_1), "--out", str(tmp_path / "new")]) == 1
    assert "not the file that manifest.json was written for" in capsys.readouterr().err


def test_a_folder_that_is_not_empty_is_left_alone(run, run_1):
    before = (run[0] / "manifest.json").read_bytes()
    assert main(["migrate", str(run_1), "--out", str(run[0])]) == 1
    assert (run[0] / "manifest.json").read_bytes() == before

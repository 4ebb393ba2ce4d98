"""The evaluation command on good and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import evaluate
import pytest
from datasets import load_dataset

from scifigqual_bench.commands.eval import main
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.rubric import COLUMNS, DIMENSION_KEYS
from scifigqual_bench.samples.make import SampleSet

PROTOCOLS = ("direct", "sidecar", "agent")


def run(command: str, dataset: Path, *rest: str | Path) -> int:
    return main([command, "--dataset", str(dataset), *map(str, rest)])


@pytest.fixture(scope="session")
def runs(sample_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run folder per protocol, judged by rules."""
    root = tmp_path_factory.mktemp("runs")
    for protocol in PROTOCOLS:
        assert run("judge", sample_dataset, "--protocol", protocol, "--backend", "rules", "--out", root / protocol) == 0
    return {protocol: root / protocol for protocol in PROTOCOLS}


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]


def changed(folder: Path, tmp_path: Path, change) -> Path:
    """A copy of a prediction file with its list of rows changed."""
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in change(rows_of(folder))))
    return path


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_figure_is_judged_under_its_mask(runs: dict[str, Path], sample_dataset: Path, protocol: str):
    masks = {row.figure_id: row.open_dimensions for row in DatasetFolder(sample_dataset).records()}
    rows = rows_of(runs[protocol])
    assert [row["figure_id"] for row in rows] == list(masks)
    for row in rows:
        assert row["status"] == "ok"
        scored = [key for key in DIMENSION_KEYS if row[key] is not None]
        assert scored == masks[row["figure_id"]]
        assert all(row["reasons"][key] for key in scored)
    assert any("context_consistency" not in mask for mask in masks.values())
    manifest = json.loads((runs[protocol] / "manifest.json").read_text())
    assert (manifest["protocol"], manifest["backend"]) == (protocol, "rules")
    assert manifest["dataset_fingerprint"] == DatasetFolder(sample_dataset).fingerprint()


def test_the_rules_tell_figures_apart(runs: dict[str, Path]):
    # the layout of these figures is told apart by their panel letters, which takes OCR
    for key in set(DIMENSION_KEYS) - {"structure_layout"}:
        scores = {row[key] for row in rows_of(runs["direct"]) if row[key] is not None}
        assert len(scores) >= 2, key


def test_score_prints_a_table_and_writes_json(
    runs: dict[str, Path], sample_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "scores.json"
    assert run("score", sample_dataset, "--predictions", runs["agent"] / "predictions.jsonl", "--out", out) == 0
    table = capsys.readouterr().out
    assert "MAE" in table and "Within-1" in table and "Spearman" in table
    report = json.loads(out.read_text())
    assert set(report["columns"]) == set(COLUMNS)
    assert report["coverage"]["share"] == 1.0


def test_the_metric_takes_rows_straight_from_the_dataset_and_the_file(
    runs: dict[str, Path], sample_dataset: Path, root: Path, tmp_path: Path
):
    rated = load_dataset(str(sample_dataset), split="rated", cache_dir=str(tmp_path))
    ids = set(rated["figure_id"])
    rows = [row for row in rows_of(runs["direct"]) if row["figure_id"] in ids]
    metric = evaluate.load(str(root / "metrics" / "scifigqual"))
    result = metric.compute(predictions=rows[::-1], references=rated["gold"])
    golds = {row["figure_id"]: row for row in rated["gold"]}
    errors = [abs(row["caption_consistency"] - golds[row["figure_id"]]["caption_consistency"]) for row in rows]
    assert sum(errors) / len(errors) in [pytest.approx(value) for value in numbers(result)]


def numbers(value) -> list[float]:
    """All numbers in a nested result."""
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers(item)]
    if isinstance(value, list | tuple):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, float) else []


def test_the_metric_of_one_dimension(root: Path):
    metric = evaluate.load(str(root / "metrics" / "scifigqual"), "caption_consistency")
    result = metric.compute(predictions=[7, 8], references=[7.33, 8.0])
    assert result["mae"] == pytest.approx(0.165)


def test_every_fault_of_a_prediction_file_is_listed_with_its_line(
    runs: dict[str, Path], sample_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def spoil(rows: list[dict]) -> list[dict]:
        rows[0]["visual_clarity"] = "8"
        rows[1]["visual_clarity"] = float("nan")
        rows[2]["visual_clarity"] = 11
        rows[3]["visual_clarity"] = True
        return [*rows[:10], rows[4], rows[5] | {"figure_id": "stranger__fig0001"}]

    bad = changed(runs["direct"], tmp_path, spoil)
    for command in ("score", "validate"):
        assert run(command, sample_dataset, "--predictions", bad) == 1
        said = capsys.readouterr().err
        for line in (1, 2, 3, 4, 11, 12):
            assert f"predictions.jsonl, line {line}:" in said
        assert "stranger__fig0001 is not in the dataset" in said
    assert not (tmp_path / "scores.json").exists()


def test_missing_rows_lower_the_coverage_and_take_the_headline(
    runs: dict[str, Path], sample_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    half = changed(runs["direct"], tmp_path, lambda rows: rows[::2])
    assert run("score", sample_dataset, "--predictions", half, "--resamples", "50") == 0
    assert "have no row" in capsys.readouterr().err
    report = json.loads((tmp_path / "scores.json").read_text())
    assert report["coverage"]["share"] < 1
    assert report["columns"]["visual_clarity"]["headline"] is None
    assert "needed" in report["columns"]["visual_clarity"]["headline_reason"]
    assert report["columns"]["visual_clarity"]["answered_only"]["mae"]["value"] is not None


def test_a_failed_row_is_a_status_not_a_score(runs: dict[str, Path], sample_dataset: Path, tmp_path: Path):
    def fail(rows: list[dict]) -> list[dict]:
        return [{"figure_id": rows[0]["figure_id"], "status": "truncated", "status_reason": "limit"}, *rows[1:]]

    path = changed(runs["direct"], tmp_path, fail)
    assert run("score", sample_dataset, "--predictions", path, "--resamples", "0") == 0
    assert json.loads((tmp_path / "scores.json").read_text())["coverage"]["status"]["truncated"] == 1
    assert run("report", sample_dataset, "--predictions", path, "--out", tmp_path / "page.html") == 0
    assert "truncated" in (tmp_path / "page.html").read_text()


def test_a_run_goes_on_where_it_stopped(runs: dict[str, Path], sample_dataset: Path, tmp_path: Path):
    whole = (runs["direct"] / "predictions.jsonl").read_bytes()
    out = tmp_path / "run"
    out.mkdir()
    (out / "manifest.json").write_bytes((runs["direct"] / "manifest.json").read_bytes())
    (out / "predictions.jsonl").write_bytes(whole[: len(whole) // 2])
    assert run("judge", sample_dataset, "--protocol", "direct", "--backend", "rules", "--out", out) == 0
    assert (out / "predictions.jsonl").read_bytes() == whole


def test_another_configuration_is_refused(
    runs: dict[str, Path], sample_dataset: Path, capsys: pytest.CaptureFixture[str]
):
    before = (runs["direct"] / "predictions.jsonl").read_bytes()
    assert run("judge", sample_dataset, "--protocol", "agent", "--backend", "rules", "--out", runs["direct"]) == 1
    assert "protocol" in capsys.readouterr().err
    assert (runs["direct"] / "predictions.jsonl").read_bytes() == before


def test_the_report_holds_every_figure_and_nothing_from_outside(
    runs: dict[str, Path], sample_dataset: Path, tmp_path: Path
):
    out = tmp_path / "report.html"
    assert run("report", sample_dataset, "--predictions", runs["agent"] / "predictions.jsonl", "--out", out) == 0
    page = out.read_text()
    for row in DatasetFolder(sample_dataset).records():
        assert row.figure_id in page
    assert "http://" not in page.replace("http://www.w3.org/", "") and "https://" not in page
    assert str(sample_dataset.parent) not in page


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["judge", "--protocol", "direct", "--backend", "rules", "--out", "run"], "no such folder"),
        (["score", "--predictions", "none.jsonl"], "no such folder"),
    ],
)
def test_a_missing_dataset_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], argv: list[str], message: str):
    assert run(argv[0], tmp_path / "none", *argv[1:]) == 1
    assert message in capsys.readouterr().err


def test_unknown_backend_and_split_are_named(sample_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    argv = ("--protocol", "direct", "--out", tmp_path / "run")
    assert run("judge", sample_dataset, "--backend", "oracle", *argv) == 1
    assert "oracle" in capsys.readouterr().err
    assert run("judge", sample_dataset, "--backend", "rules", "--split", "test", *argv) == 1
    assert "no split test; it has rated, unrated" in capsys.readouterr().err


def test_a_dataset_without_ratings_cannot_be_scored(
    runs: dict[str, Path], sample_dataset: Path, capsys: pytest.CaptureFixture[str]
):
    rows = runs["direct"] / "predictions.jsonl"
    assert run("score", sample_dataset, "--split", "unrated", "--predictions", rows) == 1
    assert capsys.readouterr().err


def test_compare_writes_what_it_prints(
    runs: dict[str, Path], sample_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    files = [runs[protocol] / "predictions.jsonl" for protocol in ("agent", "direct")]
    assert run("compare", sample_dataset, *files, "--resamples", "200", "--out", tmp_path / "cmp") == 0
    assert "agent - direct" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "cmp").iterdir()}
    assert names == {"compare.csv", "compare.md", "compare.json", "forest.png", "forest.svg"}
    assert run("compare", sample_dataset, files[0]) == 1
    assert run("compare", sample_dataset, *files, "--against", "nobody") == 1
    said = capsys.readouterr().err
    assert "two prediction files or more" in said and "there are agent, direct" in said


def test_score_writes_every_form(runs: dict[str, Path], sample_dataset: Path, tmp_path: Path):
    outputs = {"--out": "s.json", "--csv": "s.csv", "--markdown": "s.md", "--plots": "plots"}
    argv = [part for flag, name in outputs.items() for part in (flag, tmp_path / name)]
    file = runs["direct"] / "predictions.jsonl"
    assert run("score", sample_dataset, "--predictions", file, "--resamples", "0", "--slices", *argv) == 0
    assert "| VC |" in (tmp_path / "s.md").read_text()
    assert "venue: ACL" in (tmp_path / "s.md").read_text()
    assert (tmp_path / "s.csv").read_text().count("\n") > 50
    assert len(list((tmp_path / "plots").glob("*.svg"))) == 4


def test_ceilings_of_a_dataset_and_of_its_ratings_file_agree(
    samples: SampleSet, sample_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    assert run("ceilings", sample_dataset, "--resamples", "0", "--out", one) == 0
    assert main(["ceilings", "--ratings", str(samples.ratings_file), "--resamples", "0", "--out", str(two)]) == 0
    assert json.loads(one.read_text()) == json.loads(two.read_text())
    assert main(["ceilings"]) == 1
    assert "either --dataset DIR or --ratings FILE" in capsys.readouterr().err


@pytest.mark.parametrize("task", ["scholscan", "scirigor"])
def test_the_companion_tasks(task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from scifigqual_bench.companions import example_path

    outputs = {"--out": "r.json", "--csv": "r.csv", "--markdown": "r.md"}
    argv = [part for flag, name in outputs.items() for part in (flag, str(tmp_path / name))]
    assert main(["score", "--task", task, str(example_path(task)), "--resamples", "50", *argv]) == 0
    assert "%" in capsys.readouterr().out
    assert all((tmp_path / name).stat().st_size > 100 for name in outputs.values())
    assert main(["score", "--task", task]) == 1
    assert "takes one FILE" in capsys.readouterr().err

"""build_dataset.py beyond PDFs: what it prints, writes and returns."""

import json
import re
from dataclasses import replace

import pytest

from scifigqual_bench.commands.build_dataset import main
from scifigqual_bench.commands.eval import main as evaluate
from scifigqual_bench.commands.release import MEANING
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.dataset.release import LOST
from scifigqual_bench.judges.payload import JudgeItem, build_request
from scifigqual_bench.judges.protocols.calls import skip_reason
from scifigqual_bench.records import Prediction
from tests.dataset.release_files import row, write_release
from tests.factory import figure


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Twelve papers of two figures; one figure has no citing text, one no image."""
    rows = [
        row(index, paper=f"{k:04d}_paper-{k}", paper_id_norm=f"paper-{k}", title=f"A paper about the number {k}")
        for k in range(12)
        for index in (1, 2)
    ]
    rows[0] |= {"context_texts": [], "context_count": 0}
    folder = write_release(tmp_path_factory.mktemp("public") / "release", rows)
    (folder / "images" / f"{rows[1]['figure_id']}.png").unlink()
    return folder


@pytest.fixture(scope="module")
def dataset(release, tmp_path_factory):
    out = tmp_path_factory.mktemp("imported") / "scifigqual-bench"
    assert main(["--release", str(release), "--out", str(out)]) == 0
    return out


def test_an_import_tells_what_it_found(release, tmp_path, capsys):
    out = tmp_path / "scifigqual-bench"
    assert main(["--release", str(release), "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert "eval1200: 24 figures of 12 papers, 23 with an image" in told.out
    assert "1 figures have CTX gold and no citing text" in told.out
    assert "score with --mask evidence" in told.out
    assert MEANING["image-missing"] in told.err and "0000_paper-0__fig0002" in told.err
    report = json.loads((out / "release_report.json").read_text())
    assert report["problems"] == {"context-rated-without-text": 1, "image-missing": 1}
    assert set(report["problems"]) <= set(MEANING)
    assert main(["--release", str(release), "--out", str(out)]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main(["--release", str(release), "--out", str(out), "--overwrite", "--mask", "gold"]) == 0
    assert "import with --mask evidence" in capsys.readouterr().out


def test_every_code_has_a_meaning(root):
    text = (root / "scifigqual_bench" / "dataset" / "release.py").read_text()
    assert set(re.findall(r"""tell\(\s*"([a-z-]+)",""", text)) == set(MEANING)
    assert set(LOST) < set(MEANING)


def test_rows_that_are_left_out_show_in_the_exit_code(tmp_path, capsys):
    folder = write_release(tmp_path / "release", [row(1), row(1)])
    assert main(["--release", str(folder), "--out", str(tmp_path / "out")]) == 3
    assert MEANING["figure-repeated"] in capsys.readouterr().err


def test_judging_and_scoring_an_import(dataset, tmp_path):
    run = tmp_path / "run"
    assert (
        evaluate(["judge", "--dataset", str(dataset), "--protocol", "direct", "--backend", "rules", "--out", str(run)])
        == 0
    )
    rows = [Prediction.model_validate_json(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    by_status = {row.figure_id: row for row in rows if row.status == "skipped"}
    assert list(by_status) == ["0000_paper-0__fig0002"] and len(rows) == 24
    assert by_status["0000_paper-0__fig0002"].status_reason == "the row has no image"
    score = ["--dataset", str(dataset), "--predictions", str(run / "predictions.jsonl"), "--resamples", "0"]
    assert evaluate(["score", *score]) == 0
    scores = json.loads((run / "scores.json").read_text())
    assert scores["figures"] == 24
    page = tmp_path / "report.html"
    assert evaluate(["report", "--dataset", str(dataset), "--predictions", score[3], "--out", str(page)]) == 0
    assert "No image: the dataset has none for this figure" in page.read_text()


def test_a_figure_without_an_image_gets_none_from_others(dataset, tmp_path):
    run = tmp_path / "run"
    control = ["--protocol", "direct", "--backend", "rules", "--control", "other-image", "--out", str(run)]
    assert evaluate(["judge", "--dataset", str(dataset), *control]) == 0
    rows = [Prediction.model_validate_json(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    assert [row.figure_id for row in rows if row.status == "skipped"] == ["0000_paper-0__fig0002"]


def test_splits_by_command(dataset, tmp_path, capsys):
    out = tmp_path / "split"
    sizes = ["--figures", "10", "--dev", "2", "--validation", "4"]
    assert main(["--split-from", str(dataset), "--out", str(out), *sizes]) == 0
    assert "8 train, 4 validation, 10 eval10, 2 dev" in capsys.readouterr().out
    assert DatasetFolder(out).splits == ("train", "validation", "eval10", "dev")
    assert (out / "release_report.json").is_file()
    assert main(["--verify", str(out)]) == 0
    assert "eval10: 10 figures frozen" in capsys.readouterr().out
    assert main(["--check-leakage", str(out), str(dataset)]) == 3
    assert main(["--split-from", str(dataset), "--out", str(tmp_path / "odd"), "--figures", "11"]) == 1
    assert "the nearest: 10 and 12" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--release", "x"], "--release needs --out"),
        (["--release", "x", "--out", "y"], "x: no such folder"),
        (["--split-from", "x"], "--split-from needs --out"),
        (["--split-from", "x", "--out", "y"], "--split-from needs --figures"),
        (["--split-from", "x", "--out", "y", "--figures", "3"], "x: no such folder"),
        (["--verify", "x"], "x: no such folder"),
        (["--check-leakage", "x"], "x: no such folder"),
    ],
)
def test_what_is_missing_is_told(argv, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 1
    assert said in capsys.readouterr().err


def test_without_an_image_only_a_call_that_shows_none_is_made():
    item = JudgeItem(figure(1), None)
    assert skip_reason(item, needs_features=False) == "the row has no image"
    assert skip_reason(replace(item, control="no-image"), needs_features=False) is None
    assert build_request("direct", replace(item, control="no-image")).evidence.image is None

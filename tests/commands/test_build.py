"""The build command on good and bad input: what is said, what is written, and what is left alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest

from scifigqual_bench.commands.build_dataset import main
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.pdf.citations import PARAGRAPH_BREAK
from scifigqual_bench.rubric import DIMENSION_KEYS
from scifigqual_bench.samples.make import SampleSet

RATINGS_HEAD = "figure_id,rater_id," + ",".join(DIMENSION_KEYS)


def build(out: Path, *pdfs: Path, **options: Path | bool) -> int:
    argv = ["--pdfs", *map(str, pdfs), "--out", str(out), "--features", "none"]
    for name, value in options.items():
        argv += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return main(argv)


def reports(out: Path) -> dict[str, dict]:
    lines = (out / "papers.jsonl").read_text().splitlines()
    return {row["file"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="session")
def pdf(samples: SampleSet) -> Path:
    """One good paper."""
    return samples.pdf_folder / f"{samples.papers[0].paper_id}.pdf"


@pytest.fixture
def bad_pdfs(pdf: Path, tmp_path: Path) -> Path:
    """A folder with one of each kind of bad PDF."""
    folder = tmp_path / "bad"
    folder.mkdir()
    whole = pdf.read_bytes()
    (folder / "empty.pdf").touch()
    (folder / "text.pdf").write_text("just text")
    (folder / "truncated.pdf").write_bytes(whole[:400])
    (folder / "half.pdf").write_bytes(whole[: len(whole) * 2 // 3])
    body = (b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n", b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n")
    head = b"%PDF-1.4\n"
    first, second = len(head), len(head) + len(body[0])
    xref = b"xref\n0 3\n0000000000 65535 f \n%010d 00000 n \n%010d 00000 n \n" % (first, second)
    start = second + len(body[1])
    trailer = b"trailer<</Size 3/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start
    (folder / "no-pages.pdf").write_bytes(head + b"".join(body) + xref + trailer)
    with pymupdf.open(pdf) as document:
        document.save(
            folder / "encrypted.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="owner"
        )
    return folder


def test_one_bad_pdf_never_ends_a_build(bad_pdfs: Path, pdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out"
    assert build(out, bad_pdfs, tmp_path / "missing.pdf", pdf) == 0
    found = {
        name: (row["status"], row["problems"][0]["code"] if row["problems"] else None)
        for name, row in reports(out).items()
    }
    half = found.pop("half.pdf")
    assert found == {
        "empty.pdf": ("failed", "pdf-empty"),
        "encrypted.pdf": ("failed", "pdf-encrypted"),
        "no-pages.pdf": ("failed", "pdf-no-pages"),
        "text.pdf": ("failed", "pdf-not-a-pdf"),
        "truncated.pdf": ("failed", "pdf-damaged"),
        "missing.pdf": ("failed", "pdf-missing"),
        pdf.name: ("ok", None),
    }
    assert half[1] in ("pdf-damaged", "pdf-repaired")
    said = capsys.readouterr().err
    assert all(name in said for name in (*found, "half.pdf") if name != pdf.name)
    assert "secret" not in said


def test_strict_tells_scripts_of_a_failed_pdf(bad_pdfs: Path, pdf: Path, tmp_path: Path):
    assert build(tmp_path / "out", bad_pdfs / "empty.pdf", pdf, strict=True) == 3


def test_nothing_is_written_without_a_figure(bad_pdfs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert build(tmp_path / "out", bad_pdfs / "empty.pdf", bad_pdfs / "text.pdf") == 1
    said = capsys.readouterr().err
    assert "no figure was found; nothing is written" in said
    assert "empty.pdf" in said and "text.pdf" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad"]


def test_an_empty_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "none").mkdir()
    assert build(tmp_path / "out", tmp_path / "none") == 1
    assert "holds no .pdf file" in capsys.readouterr().err


def test_repeated_papers_are_read_once(pdf: Path, tmp_path: Path):
    copies = tmp_path / "copies"
    (copies / "deeper").mkdir(parents=True)
    shutil.copy(pdf, copies / "another-name.pdf")
    shutil.copy(pdf, copies / "deeper" / pdf.name)
    assert build(tmp_path / "out", pdf, copies) == 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "papers.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["ok", "failed", "failed"]
    assert [row["problems"][0]["code"] for row in rows[1:]] == ["pdf-duplicate", "paper-id-repeated"]


def test_faults_of_both_tables_come_at_once_and_before_any_work(
    pdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    ratings, papers = tmp_path / "ratings.csv", tmp_path / "papers.csv"
    ratings.write_text(
        "figure_id,rater_id," + ",".join(DIMENSION_KEYS) + "\np__fig0001,r,11,8,8,8,8\np__fig0002,r,x,8,8,8,8\n"
    )
    papers.write_text("paper_id,year\np,soon\n")
    assert build(tmp_path / "out", pdf, ratings=ratings, papers=papers) == 1
    said = capsys.readouterr().err
    assert said.count("error:") == 3
    assert "ratings.csv, line 2" in said and "ratings.csv, line 3" in said and "papers.csv, line 2" in said
    assert not (tmp_path / "out").exists()


def test_ratings_of_unknown_figures_are_told_and_nothing_is_lost(
    samples: SampleSet, pdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    known = samples.papers[0].figures[0].figure_id
    ratings = tmp_path / "ratings.csv"
    head = "figure_id,rater_id," + ",".join(DIMENSION_KEYS)
    typo = known.replace("fig0001", "fig0091")
    ratings.write_text(
        f"{head}\n{known},r1,8,8,8,8,8\n{known},r2,4,4,4,4,4\n{typo},r1,8,8,8,8,8\nother__fig0001,r1,8,8,8,8,8\n"
    )
    out = tmp_path / "out"
    assert build(out, pdf, ratings=ratings) == 3
    problems = [json.loads(line) for line in (out / "problems.jsonl").read_text().splitlines()]
    messages = [row["message"] for row in problems if row["code"] == "rating-unplaced"]
    assert len(messages) == 2
    assert f"ratings.csv, lines 4: no figure {typo}" in messages[0] and f"nearest: {known}" in messages[0]
    assert any(row["code"] == "needs-adjudication" for row in problems)
    gold = next(row.gold for row in DatasetFolder(out).records(["rated"]))
    assert (gold.figure_id, gold.overall_score, gold.n_ratings) == (known, 6.0, 2)
    assert "no figure" in capsys.readouterr().err


def test_an_existing_folder_is_kept_unless_told(pdf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out"
    assert build(out, pdf) == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert build(out, pdf) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert build(out, tmp_path / "missing.pdf", overwrite=True) == 1
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert build(out, pdf, overwrite=True) == 0
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_extraction_meets_the_truth_of_the_samples(samples: SampleSet, sample_dataset: Path):
    rows = {row.figure_id: row for row in DatasetFolder(sample_dataset).records()}
    assert set(rows) == {figure.figure_id for figure in samples.figures}
    for truth in samples.figures:
        row = rows[truth.figure_id]
        assert (row.number, row.page, row.caption) == (truth.number, truth.page, truth.caption)
        paragraphs = [text for citation in row.citations for text in citation.text.split(PARAGRAPH_BREAK)]
        assert paragraphs == [citation.text for citation in truth.citing]
        # crops are cut to their ink; a clipped graphic has white where its labels would be
        assert overlap(row.bbox, truth.bbox) > (0.8 if truth.defect == "clipped-axis" else 0.95)


def overlap(a: Sequence[float], b: Sequence[float]) -> float:
    """Intersection over union."""
    both = (pymupdf.Rect(a) & pymupdf.Rect(b)).get_area()
    return both / (pymupdf.Rect(a).get_area() + pymupdf.Rect(b).get_area() - both)


def test_the_dataset_loads_when_everything_else_is_gone(samples: SampleSet, tmp_path: Path):
    """Built from copies that are then removed; loaded by a clean process, by name and by path."""
    copies = tmp_path / "pdfs"
    shutil.copytree(samples.pdf_folder, copies)
    place = tmp_path / "place"
    assert build(place / "scifigqual-bench", copies, ratings=samples.folder / "ratings.csv") == 0
    shutil.rmtree(copies)
    code = (
        "import sys; from datasets import load_dataset\n"
        "for name in ('scifigqual-bench', sys.argv[1]):\n"
        "    ds = load_dataset(name)\n"
        "    assert set(ds) == {'rated', 'unrated'}, ds\n"
        "    for split in ds.values():\n"
        "        for row in split:\n"
        "            assert row['image'].size == (row['width'], row['height'])\n"
        "            assert (row['gold'] is None) == (not row['ratings'])\n"
    )
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", code, str(place / "scifigqual-bench")], cwd=place, env=env, check=True)


def test_the_jsonl_has_what_extraction_scorers_read(sample_dataset: Path):
    rows = [json.loads(line) for line in sample_dataset.with_suffix(".jsonl").read_text().splitlines()]
    assert len(rows) == DatasetFolder(sample_dataset).count()
    for row in rows:
        assert {"paper_id", "number", "page", "bbox", "caption", "citing"} <= set(row)
        assert len(row["bbox"]) == 4 and row["page"] >= 1 and all(isinstance(text, str) for text in row["citing"])


def test_explain_writes_a_page_for_any_pdf(pdf: Path, bad_pdfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert main(["--explain", str(pdf), "--features", "none"]) == 0
    page = (tmp_path / f"{pdf.stem}.explain.html").read_text()
    assert "Figure 1" in page and "<script" not in page
    assert main(["--explain", str(bad_pdfs / "encrypted.pdf"), "--features", "none", "--out", "why.html"]) == 0
    assert "password" in (tmp_path / "why.html").read_text()


def test_a_build_needs_a_place(pdf: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--pdfs", str(pdf)]) == 1
    assert "--out FOLDER" in capsys.readouterr().err

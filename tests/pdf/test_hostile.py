"""Hostile PDFs: each ends with a status, in bounded memory, and what a page does not show gives no caption."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from scifigqual_bench.pdf.document import read_document
from scifigqual_bench.pdf.extract import extract_paper
from scifigqual_bench.records import PaperMeta
from tests.pdf.hostile_pdf import CAPTION, GRAPHIC, SCRIPT, Case, cases, honest, one_page, written

pytestmark = pytest.mark.slow

Outcomes = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return {case.name: case for case in cases(tmp_path_factory.mktemp("honest"))}


@pytest.fixture(scope="module")
def outcomes(corpus: dict[str, Case], root: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What became of each file, by name; run in an empty folder, which must stay empty."""
    folder, workplace = tmp_path_factory.mktemp("hostile"), tmp_path_factory.mktemp("workplace")
    paths = [folder / f"{name}.pdf" for name in corpus]
    for path in paths:
        path.write_bytes(corpus[path.stem].data)
    program = root / "tests" / "pdf" / "hostile_run.py"
    done = subprocess.run([sys.executable, program, *paths], cwd=workplace, capture_output=True, text=True, check=True)
    assert list(workplace.iterdir()) == []
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in paths)
    return {outcome["name"]: outcome for outcome in map(json.loads, done.stdout.splitlines())}


def faults_of(case: Case, outcome: dict[str, Any], floor_mb: float) -> list[str]:
    """What is wrong with an outcome."""
    if outcome["exit"] != 0:
        return [f"{case.name}: ended with exit status {outcome['exit']} (below 0: killed by that signal)"]
    codes = [problem["code"] for problem in outcome["problems"]]
    more_mb = outcome["peak_mb"] - floor_mb
    return [
        f"{case.name}: {fault}"
        for fault, wrong in {
            f"status {outcome['status']} {codes}": outcome["status"] not in case.statuses,
            f"problems {codes} without {case.code}": case.code is not None and case.code not in codes,
            "a status other than ok without a problem": outcome["status"] != "ok" and not codes,
            "the extraction itself failed": "extraction-failed" in codes,
            f"figures {outcome['numbers']}": case.figures is not None and tuple(outcome["numbers"]) != case.figures,
            f"{more_mb:.0f} MB more than an empty page": more_mb > case.memory_mb,
        }.items()
        if wrong
    ]


def test_every_file_ends_with_a_status(corpus: dict[str, Case], outcomes: Outcomes):
    assert len(corpus) >= 60
    assert outcomes.keys() == corpus.keys()
    floor_mb = outcomes["content-empty"]["peak_mb"]
    assert [fault for name in corpus for fault in faults_of(corpus[name], outcomes[name], floor_mb)] == []


def test_faults_are_seen(corpus: dict[str, Case], outcomes: Outcomes):
    honest_case, outcome = corpus["honest"], outcomes["honest"]
    floor_mb = outcome["peak_mb"]
    assert faults_of(honest_case, outcome, floor_mb) == []
    for harm in ({"exit": -11}, {"status": "failed"}, {"numbers": ["1"]}, {"peak_mb": 9000}, {"status": "partial"}):
        assert faults_of(honest_case, outcome | harm, floor_mb)


def test_figures_survive_what_does_not_touch_them(outcomes: Outcomes):
    plain = {figure["number"]: figure["image_sha256"] for figure in outcomes["honest"]["figures"]}
    assert plain.keys() == {"1", "2"}
    for name in ("scripts-and-attachments", "encrypted-without-password", "twice-the-file", "noise-before"):
        assert {figure["number"]: figure["image_sha256"] for figure in outcomes[name]["figures"]} == plain, name


def test_what_a_page_does_not_show_gives_no_caption(outcomes: Outcomes):
    for name in ("text-invisible", "text-of-no-opacity"):
        assert [problem["code"] for problem in outcomes[name]["problems"]] == ["text-hidden"]
    for name in ("text-invisible", "text-of-no-opacity", "text-in-a-hidden-layer", "text-outside-of-the-page"):
        assert outcomes[name]["numbers"] == [], name


def test_captions_are_text_and_nothing_else(outcomes: Outcomes):
    assert outcomes["caption-of-html"]["captions"] == [f"Figure 1: {SCRIPT}"]
    assert outcomes["caption-of-nul-bytes"]["captions"] == ["Figure 1: abc, of some words."]
    for outcome in outcomes.values():
        for caption in outcome["captions"]:
            assert caption.isprintable()
            caption.encode("utf-8")


def scanned(data: bytes, *, hidden: bool, stamp: str = "") -> bytes:
    """The pages of a file as pictures, with their text hidden behind them where wanted, and a visible stamp."""
    out = pymupdf.open()
    with pymupdf.open(stream=data) as pdf:
        for page in pdf:
            copy = out.new_page(width=page.rect.width, height=page.rect.height)
            copy.insert_image(copy.rect, pixmap=page.get_pixmap(dpi=120))
            copy.insert_text((72, 785), stamp, fontsize=7)
            for x0, _, _, y1, word, *_ in page.get_text("words") if hidden else ():
                copy.insert_text((x0, y1 - 2), word, fontname="tiro", fontsize=10, render_mode=3)
    return out.tobytes(deflate=True)


def test_invisible_text_over_a_scan_is_its_text(tmp_path: Path):
    paper = honest(tmp_path / "honest.pdf")
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(paper, hidden=True, stamp="Downloaded from a library."))
    extraction = extract_paper(path, PaperMeta(paper_id="scan"))
    assert [item.figure.number for item in extraction.figures] == ["1", "2"]
    assert {item.figure.provenance.text_layer for item in extraction.figures} == {"ocr"}
    assert extraction.report.citations_found == 2
    assert "text-hidden" not in {problem.code for problem in extraction.report.problems}


def test_a_scan_without_text_says_so(tmp_path: Path):
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(honest(tmp_path / "honest.pdf"), hidden=False))
    report = extract_paper(path, PaperMeta(paper_id="scan")).report
    assert (report.status, [problem.code for problem in report.problems]) == ("partial", ["scan-without-ocr"])


def test_hidden_text_beside_shown_text_is_left_out(tmp_path: Path):
    path = tmp_path / "mixed.pdf"
    shown = written("Some words that a reader sees.", y=300)
    path.write_bytes(one_page(GRAPHIC + shown + written(CAPTION, before="3 Tr")))
    document = read_document(path)
    assert [line.text for line in document.pages[0].lines] == ["Some words that a reader sees."]
    assert document.problems[0][0] == "text-hidden"
    assert str(len(CAPTION)) in document.problems[0][1]

"""Duplicates across papers: what is deleted, what is only marked, and what becomes of the papers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from scifigqual_bench.dataset import duplicates
from scifigqual_bench.dataset.build import build_dataset
from scifigqual_bench.dataset.duplicates import CorpusDuplicates
from scifigqual_bench.dataset.folder import DatasetFolder
from scifigqual_bench.dataset.staging import Job, Limits, Staging
from scifigqual_bench.pdf.curation import MAX_DISTANCE, Look, difference, distance, phash
from scifigqual_bench.pdf.extract import ExtractedFigure, Extraction, failed
from scifigqual_bench.records import PaperMeta, PaperReport, Problem
from tests.dataset.stand_ins import StandIn, made_paper, picture
from tests.factory import figure


def bars(heights: Sequence[int]) -> np.ndarray:
    """A bar chart on white."""
    image = np.full((240, 320, 3), 255, np.uint8)
    for k, height in enumerate(heights):
        cv2.rectangle(image, (20 + 40 * k, 220 - height), (45 + 40 * k, 220), (30, 60, 160), -1)
    return image


ALIKE = bars([60, 90, 120, 150, 180, 190, 200]), bars([60, 90, 126, 150, 180, 190, 200])


class Corpus:
    """Papers that are staged one by one and then curated in their order."""

    def __init__(self, folder: Path):
        self.staging = Staging(folder / "staging", "made", Limits())
        self.jobs: list[Job] = []

    def add(self, *images: np.ndarray | None, fault: bool = False) -> None:
        stem = f"paper-{len(self.jobs)}"
        job = Job(Path(f"{stem}.pdf"), PaperMeta(paper_id=stem), stem)
        found = tuple(
            ExtractedFigure(figure(k, stem, rated=False), b"", image if image is None else Look.of(image))
            for k, image in enumerate(images, start=1)
        )
        report = PaperReport(paper_id=stem, file=job.pdf.name, status="ok", figures_kept=len(images))
        extraction = Extraction(report, found)
        if fault:
            extraction = failed(job.pdf, stem, Problem(code="pdf-damaged", message="damaged"))
        self.staging.write(job, extraction)
        self.jobs.append(job)

    def curated(self) -> list[Extraction]:
        found = CorpusDuplicates(self.jobs, self.staging)
        return [found.curated(job, self.staging.read(job)) for job in self.jobs]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def kept(extraction: Extraction) -> list[int]:
    return [found.figure.fig_index for found in extraction.figures]


def left_out(extraction: Extraction) -> dict[int, list[tuple[str, str]]]:
    return {int(d.figure_id[-4:]): [(m.stage, m.code) for m in d.marks] for d in extraction.dropped}


def test_the_later_of_two_is_dropped_and_says_which_it_repeats(corpus: Corpus) -> None:
    corpus.add(picture(1), picture(2))
    corpus.add(picture(3), picture(4), picture(1), picture(5))
    first, second = corpus.curated()
    assert kept(first) == [1, 2] and not first.dropped
    assert kept(second) == [1, 2, 4] and left_out(second) == {3: [("S1", "near-duplicate")]}
    assert "paper-0__fig0001" in second.dropped[0].marks[0].detail
    assert (second.report.status, second.report.figures_kept, second.report.figures_dropped) == ("ok", 3, 1)
    assert second.dropped[0].caption and second.dropped[0].citations


def test_a_smaller_copy_with_other_margins_is_found(corpus: Corpus) -> None:
    small = cv2.resize(picture(1), None, fx=0.8, fy=0.8, interpolation=cv2.INTER_AREA)
    copy = cv2.copyMakeBorder(small, 3, 2, 4, 1, cv2.BORDER_CONSTANT, value=(255, 255, 255))
    corpus.add(picture(1))
    corpus.add(copy, *(picture(k) for k in range(2, 6)))
    assert left_out(corpus.curated()[1]) == {1: [("S1", "near-duplicate")]}


def test_figures_that_only_hash_alike_are_kept_and_marked(corpus: Corpus) -> None:
    assert distance(*map(phash, ALIKE)) <= MAX_DISTANCE and difference(*map(Look.of, ALIKE)) > 0.003
    corpus.add(ALIKE[0])
    corpus.add(ALIKE[1])
    first, second = corpus.curated()
    assert not first.figures[0].figure.curation_marks
    (mark,) = second.figures[0].figure.curation_marks
    assert (mark.stage, mark.code) == ("S4", "similar-hash") and "paper-0__fig0001" in mark.detail


def test_a_paper_of_old_figures_is_dropped_and_no_original_for_others(corpus: Corpus) -> None:
    corpus.add(picture(1))
    corpus.add(picture(1), picture(2))
    corpus.add(picture(2))
    first, second, third = corpus.curated()
    assert kept(first) == [1] and kept(second) == [] and kept(third) == [1]
    assert left_out(second) == {1: [("S1", "near-duplicate"), ("S5", "paper-unusable")], 2: [("S5", "paper-unusable")]}
    assert second.report.status == "dropped" and second.report.problems[-1].code == "paper-unusable"
    assert "1 of 2 figures deleted" in second.report.problems[-1].message


def test_what_extraction_dropped_counts_in_the_share_of_a_paper(tmp_path: Path, corpus: Corpus) -> None:
    """One of four figures repeated is a quarter; with one that extraction deleted it is two of five."""
    corpus.add(picture(1))
    corpus.add(picture(1), picture(2), picture(3), picture(4))
    assert kept(corpus.curated()[1]) == [2, 3, 4]
    job, read = corpus.jobs[1], corpus.staging.read(corpus.jobs[1])
    looks = [corpus.staging.look(job, k) for k in range(4)]
    found = tuple(ExtractedFigure(f.figure, f.image, look) for f, look in zip(read.figures, looks, strict=True))
    drop = made_paper(Path("x.pdf"), PaperMeta(paper_id="x"), [picture(9)], dropped=1).dropped
    corpus.staging.write(job, Extraction(read.report, found, drop))
    assert corpus.curated()[1].report.status == "dropped"


def test_papers_without_figures_and_figures_without_a_look_pass(corpus: Corpus) -> None:
    corpus.add(fault=True)
    corpus.add(None, None)
    corpus.add()
    assert [kept(paper) for paper in corpus.curated()] == [[], [1, 2], []]


def test_many_that_hash_alike_are_compared_with_the_nearest_alone(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bound on the comparisons of one figure; a copy is found all the same, since its hash is the same."""
    monkeypatch.setattr(duplicates, "COMPARED", 1)
    corpus.add(ALIKE[0])
    corpus.add(ALIKE[1])
    corpus.add(ALIKE[1], picture(1), picture(2), picture(3))
    assert distance(*map(phash, ALIKE)) > 0
    third = corpus.curated()[2]
    assert left_out(third) == {1: [("S1", "near-duplicate")]}
    assert "paper-1__fig0001" in third.dropped[0].marks[0].detail


def test_a_look_comes_back_from_staging_as_it_was(corpus: Corpus) -> None:
    corpus.add(picture(1), None)
    look = Look.of(picture(1))
    back = corpus.staging.look(corpus.jobs[0], 0)
    assert back == look and (back.pictures == look.pictures).all()
    assert corpus.staging.look_keys(corpus.jobs[0])[1] is None


def test_a_build_drops_them_alike_with_any_number_of_workers(tmp_path: Path) -> None:
    """Five copies of three figures each: one paper is kept, and what the plain rule would do is told apart."""
    pdfs = [tmp_path / f"copy-{k}.pdf" for k in range(5)]
    for pdf in pdfs:
        pdf.write_text(pdf.name)
    content = []
    for workers in (1, 2):
        out = tmp_path / str(workers) / "out"
        result = build_dataset(pdfs, out, extract=StandIn(), workers=workers)
        assert (result.figures, result.papers) == ({"unrated": 3}, {"ok": 1, "dropped": 4})
        assert (result.dropped, result.duplicates, result.hash_only) == (12, 12, 0)
        content.append({p.relative_to(out): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()})
    assert content[0] == content[1]
    assert [row.paper_id for row in DatasetFolder(out).records()] == ["copy-0"] * 3
    card = " ".join((out / "README.md").read_text().split())
    assert "12 of them repeat another figure" in card and "would have left out 12 figures" in card
    assert "1 PDFs read whole, 0 in part, 0 not at all, 4 left out whole" in card
    drops = map(json.loads, (out / "dropped.jsonl").read_text().splitlines())
    assert all("copy-0__fig000" in drop["marks"][0]["detail"] for drop in drops)

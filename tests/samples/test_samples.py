"""The sample papers: the truth is what an independent reader finds in the PDFs, and the ratings follow the rubric."""

from __future__ import annotations

import csv
import doctest
import importlib
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import numpy as np
import pymupdf
import pytest

from scifigqual_bench.records import Rating, Reasons, paper_of
from scifigqual_bench.rubric import DIMENSION_KEYS
from scifigqual_bench.samples.figures import Bars, Curves, Defect, Histogram, Matrix, render
from scifigqual_bench.samples.make import FigureTruth, PaperTruth, SampleSet, main, make_samples
from scifigqual_bench.samples.text import caption_of, claims_of, reversed_claims

REFERENCE = re.compile(r"\b(?:Figures?|Figs?\.)\s+((?:A?\d+(?:\([a-d]\))?(?:\s+and\s+|\s*–\s*)?)+)")


def paper(samples: SampleSet, name: str) -> PaperTruth:
    return next(paper for paper in samples.papers if paper.paper_id == name)


def defective(samples: SampleSet, defect: Defect) -> FigureTruth:
    return next(figure for figure in samples.figures if figure.defect == defect)


def page_of(samples: SampleSet, figure: FigureTruth) -> pymupdf.Page:
    document = pymupdf.open(samples.pdf_folder / f"{figure.paper_id}.pdf")
    return document[figure.page - 1]


def grown(box: tuple[float, ...], by: float) -> pymupdf.Rect:
    x0, y0, x1, y1 = box
    return pymupdf.Rect(x0 - by, y0 - by, x1 + by, y1 + by)


def grey(page: pymupdf.Page, box: pymupdf.Rect, dpi: int = 144) -> np.ndarray:
    pixels = page.get_pixmap(dpi=dpi, clip=box, colorspace=pymupdf.csGRAY)
    return np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width)


def spans_of(page: pymupdf.Page) -> list[dict]:
    blocks = page.get_text("dict", flags=pymupdf.TEXTFLAGS_TEXT)["blocks"]
    return [span for block in blocks for line in block["lines"] for span in line["spans"] if span["text"].strip()]


def squeezed(text: str) -> str:
    return re.sub(r"[\s\-\u00ad]", "", text.replace("\ufb01", "fi").replace("\ufb02", "fl"))


def numbers_in(reference: str) -> list[str]:
    numbers = re.findall(r"A?\d+", reference)
    if "–" in reference:
        return [str(k) for k in range(int(numbers[0]), int(numbers[1]) + 1)]
    return numbers


# --- the set --------------------------------------------------------------------------------------------------------


def test_six_papers_of_four_to_six_pages_in_the_promised_layouts(samples: SampleSet) -> None:
    assert Counter(paper.columns for paper in samples.papers) == {2: 4, 1: 2}
    assert sum(paper.line_numbers for paper in samples.papers) == 1
    for truth, path in zip(samples.papers, samples.pdfs, strict=True):
        with pymupdf.open(path) as document:
            assert 4 <= len(document) <= 6
            assert len(document) == truth.pages
            assert document.metadata["title"] == truth.title
    assert sorted(path.name for path in samples.pdf_folder.iterdir()) == sorted(path.name for path in samples.pdfs)


def test_every_defect_is_planted_once_and_all_of_them_are_rated(samples: SampleSet) -> None:
    planted = [figure.defect for figure in samples.figures if figure.defect]
    assert sorted(planted) == sorted(get_args(Defect))
    assert not any(figure.defect for paper in samples.papers if not paper.rated for figure in paper.figures)


def test_truth_file_is_the_returned_truth(samples: SampleSet) -> None:
    stored = json.loads(samples.truth_file.read_text(encoding="utf-8"))
    assert stored["seed"] == 0
    assert stored["papers"] == json.loads(json.dumps([asdict(paper) for paper in samples.papers]))


def test_papers_file_and_readme(samples: SampleSet) -> None:
    with samples.papers_file.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [tuple(row) for row in rows[:1]] == [("paper_id", "title", "venue", "year", "topic")]
    assert [row["paper_id"] for row in rows] == [path.stem for path in samples.pdfs]
    assert all(row["title"] and row["venue"] and row["topic"] and 2020 <= int(row["year"]) <= 2025 for row in rows)
    readme = (samples.folder / "README.md").read_text(encoding="utf-8")
    assert len(readme.strip().splitlines()) == 3
    assert "made up" in readme and "planted" in readme


def test_figure_ids_use_the_printed_number_and_the_next_free_one_for_an_appendix(samples: SampleSet) -> None:
    for truth in samples.papers:
        indices = {figure.number: figure.fig_index for figure in truth.figures}
        plain = [number for number in indices if number.isdigit()]
        assert plain == [str(k) for k in range(1, len(plain) + 1)]
        assert all(indices[number] == int(number) for number in plain)
        assert indices.get("A1", len(plain) + 1) == len(plain) + 1
        for figure in truth.figures:
            assert figure.figure_id == f"{truth.paper_id}__fig{figure.fig_index:04d}"
    assert sum(figure.number == "A1" for figure in samples.figures) == 2


# --- the truth, read back from the PDFs -----------------------------------------------------------------------------


def test_boxes_are_tight_around_the_ink(samples: SampleSet) -> None:
    for figure in samples.figures:
        if figure.defect == "clipped-axis":
            continue
        box = pymupdf.Rect(figure.bbox)
        margin = 4.0
        ink = grey(page_of(samples, figure), grown(box, margin), dpi=288) < 250
        rows, columns = np.flatnonzero(ink.any(axis=1)) / 4, np.flatnonzero(ink.any(axis=0)) / 4
        found = np.array([columns[0], rows[0], columns[-1] + 0.25, rows[-1] + 0.25]) - margin
        expected = np.array([0, 0, box.width, box.height])
        assert np.abs(found - expected).max() < 2.0, figure.figure_id
        # Within the margin of a point, so that only the clipped figure has ink at its edge.
        assert found[0] >= 0 and found[1] >= 0 and (found[2:] <= expected[2:] + 0.25).all(), figure.figure_id


def test_vector_figures_are_vector_and_rasters_are_pixels(samples: SampleSet) -> None:
    for figure in samples.figures:
        page, box = page_of(samples, figure), pymupdf.Rect(figure.bbox)
        images = [pymupdf.Rect(image["bbox"]) for image in page.get_image_info() if box.intersects(image["bbox"])]
        if figure.media == "raster":
            assert [max(abs(a - b) for a, b in zip(image, box, strict=True)) < 0.1 for image in images] == [True]
        else:
            inside = [path for path in page.get_drawings() if path["rect"] in grown(box, 1)]
            assert len(inside) >= 4, figure.figure_id
    assert Counter(figure.media for figure in samples.figures)["raster"] == 3


def test_captions_are_printed_as_the_truth_says(samples: SampleSet) -> None:
    for truth in samples.papers:
        for item in (*truth.figures, *truth.tables):
            page = pymupdf.open(samples.pdf_folder / f"{truth.paper_id}.pdf")[item.page - 1]
            box = grown(item.caption_bbox, 3)
            spans = [s["text"] for s in spans_of(page) if "Times" in s["font"] and pymupdf.Rect(s["bbox"]) in box]
            assert squeezed("".join(spans)) == squeezed(item.caption)
            below = isinstance(item, FigureTruth)
            assert (item.caption_bbox[1] > item.bbox[3]) == below


def overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of n boxes meet which of m others, shape (n, m)."""
    a, b = boxes[:, None], others[None, :]
    return (np.minimum(a[..., 2:], b[..., 2:]) > np.maximum(a[..., :2], b[..., :2])).all(axis=-1)


def test_text_never_meets_a_figure_or_another_line(samples: SampleSet) -> None:
    for truth in samples.papers:
        with pymupdf.open(samples.pdf_folder / f"{truth.paper_id}.pdf") as document:
            for page in document:
                cores = []
                for span in spans_of(page):
                    if "Times" in span["font"]:
                        x0, x1, baseline = span["bbox"][0], span["bbox"][2], span["origin"][1]
                        cores.append((x0 + 0.3, baseline - 0.4 * span["size"], x1 - 0.3, baseline))
                        assert pymupdf.Rect(cores[-1]) in page.rect
                lines = np.array(cores)
                figures = [figure.bbox for figure in truth.figures if figure.page == page.number + 1]
                assert not overlaps(lines, np.array(figures).reshape(-1, 4)).any()
                assert np.array_equal(overlaps(lines, lines), np.eye(len(lines), dtype=bool))


def test_columns_have_no_holes(samples: SampleSet) -> None:
    for truth in samples.papers:
        with pymupdf.open(samples.pdf_folder / f"{truth.paper_id}.pdf") as document:
            for page in document:
                floats = [*truth.figures, *truth.tables]
                boxes = [item.bbox for item in floats if item.page == page.number + 1]
                boxes += [span["bbox"] for span in spans_of(page) if "Times" in span["font"]]
                middle = page.rect.width / 2
                for left, right in [(0, middle), (middle, page.rect.width)][: truth.columns]:
                    column = sorted((y0, y1) for x0, y0, x1, y1 in boxes if x0 < right - 20 and x1 > left + 20)
                    column = [(y0, y1) for y0, y1 in column if 60 < y0 < page.rect.height - 62]
                    reached = column[0][1] if column else 0.0
                    for y0, y1 in column[1:]:
                        # The footnotes of a column stand at its foot, whatever is above them.
                        assert y0 - reached < 48 or y1 > page.rect.height - 100, (truth.paper_id, page.number, y0)
                        reached = max(reached, y1)


def test_every_reference_in_the_body_is_in_the_truth_and_no_other(samples: SampleSet) -> None:
    for truth in samples.papers:
        with pymupdf.open(samples.pdf_folder / f"{truth.paper_id}.pdf") as document:
            text = " ".join(" ".join(page.get_text().split()) for page in document)
        printed = Counter(n for match in REFERENCE.finditer(text) for n in numbers_in(match[0]))
        for item in (*truth.figures, *truth.tables):
            printed.subtract(n for match in REFERENCE.finditer(item.caption) for n in numbers_in(match[0]))
        expected = Counter({figure.number: sum(len(c.mentions) for c in figure.citing) for figure in truth.figures})
        assert +printed == +expected


def test_citing_paragraphs_are_whole_and_printed_on_their_page(samples: SampleSet) -> None:
    for figure in samples.figures:
        with pymupdf.open(samples.pdf_folder / f"{figure.paper_id}.pdf") as document:
            pages = [squeezed(page.get_text()) for page in document]
        for citing in figure.citing:
            found = [n for match in REFERENCE.finditer(citing.text) for n in numbers_in(match[0])]
            assert figure.number in found
            assert citing.section and squeezed(citing.section) in "".join(pages)
            assert citing.page == citing.columns[0][0]
            assert squeezed(citing.text[:40]) in pages[citing.page - 1]
            assert squeezed(citing.text[-30:]) in pages[citing.columns[-1][0] - 1]
            assert re.search(r"[.!?]$", citing.text)


def test_forms_of_reference_that_a_reader_must_know_occur(samples: SampleSet) -> None:
    mentions = {mention for figure in samples.figures for citing in figure.citing for mention in citing.mentions}
    for form in (r"Figure \d$", r"Fig\. \d\([a-c]\)$", r"Figures \d and \d$", r"Figures \d–\d$", r"Figs\. \d and \d$"):
        assert any(re.match(form, mention) for mention in mentions), form
    assert any("(see Figure" in citing.text for figure in samples.figures for citing in figure.citing)
    assert any(re.search(r"as in Figure 1\.$", figure.caption) for figure in samples.figures)
    assert any(figure.caption.startswith("Fig. 3. ") for figure in samples.figures)
    assert any(figure.caption.startswith("Figure A1: ") for figure in samples.figures)


def test_a_citing_paragraph_goes_on_across_a_column_break(samples: SampleSet) -> None:
    crossing = [
        citing
        for truth in samples.papers
        if truth.columns == 2
        for figure in truth.figures
        for citing in figure.citing
        if len(citing.columns) > 1
    ]
    assert crossing


# --- the defects ----------------------------------------------------------------------------------------------------


def label_sizes(samples: SampleSet, figure: FigureTruth) -> list[float]:
    box = grown(figure.bbox, 1)
    return [s["size"] for s in spans_of(page_of(samples, figure)) if pymupdf.Rect(s["bbox"]) in box]


def test_labels_are_tiny_where_planted_and_nowhere_else(samples: SampleSet) -> None:
    for figure in samples.figures:
        if figure.media == "raster" or figure.defect == "clipped-axis":
            continue
        sizes = label_sizes(samples, figure)
        if figure.defect == "tiny-labels":
            assert 2.5 < min(sizes) <= max(sizes) < 3.5
        else:
            assert min(sizes) > 5.5, figure.figure_id


def test_clipped_labels_run_into_the_edge(samples: SampleSet) -> None:
    figure = defective(samples, "clipped-axis")
    page, box = page_of(samples, figure), pymupdf.Rect(figure.bbox)
    ink = grey(page, box, dpi=288) < 128
    assert ink[:, :3].any() and ink[-3:].any()
    outside = grey(page, pymupdf.Rect(box.x0 - 12, box.y0, box.x0 - 0.5, box.y1)) < 250
    assert not outside.any()


def test_blurred_raster_has_no_sharp_edge(samples: SampleSet) -> None:
    def sharpness(figure: FigureTruth) -> float:
        pixels = grey(page_of(samples, figure), pymupdf.Rect(figure.bbox), dpi=200).astype(float)
        return max(np.abs(np.diff(pixels, axis=0)).max(), np.abs(np.diff(pixels, axis=1)).max())

    sharp = [figure for figure in samples.figures if figure.defect is None and figure.media == "raster"]
    assert len(sharp) == 2
    assert 3 * sharpness(defective(samples, "blurred-raster")) < min(map(sharpness, sharp))


def test_bars_start_at_zero_except_the_truncated_ones(samples: SampleSet) -> None:
    def lowest_tick(figure: FigureTruth) -> float:
        box = pymupdf.Rect(figure.bbox)
        left = pymupdf.Rect(box.x0, box.y0, box.x0 + 40, box.y1)
        words = [w for w in page_of(samples, figure).get_text("words", clip=left) if re.fullmatch(r"\d+", w[4])]
        return float(max(words, key=lambda word: word[3])[4])

    assert lowest_tick(defective(samples, "truncated-bars")) > 50
    assert lowest_tick(defective(samples, "bare-pointer")) == 0
    assert lowest_tick(defective(samples, "swapped-caption")) == 0


def test_panel_letters_are_printed_in_the_order_of_the_truth(samples: SampleSet) -> None:
    for figure in samples.figures:
        if figure.panels and figure.media == "vector":
            box = pymupdf.Rect(figure.bbox)
            words = page_of(samples, figure).get_text("words", clip=box)
            letters = [w[4].strip("()") for w in sorted(words) if re.fullmatch(r"\([a-d]\)", w[4])]
            assert letters == list(figure.panels)
            assert (letters != sorted(letters)) == (figure.defect == "panel-order")


def test_text_and_caption_defects_are_what_they_are_called(samples: SampleSet) -> None:
    assert defective(samples, "uncited").citing == ()
    assert all(figure.citing for figure in samples.figures if figure.defect != "uncited")
    (pointer,) = defective(samples, "bare-pointer").citing
    assert re.search(r"Results are shown in Figure 2\.$", pointer.text)
    assert not re.search(r"\d", pointer.text.replace("Figure 2", ""))
    assert defective(samples, "vague-caption").caption == "Figure 2: Results of the second experiment."
    swapped = defective(samples, "swapped-caption")
    twins = [f for f in paper(samples, swapped.paper_id).figures if f.caption[10:] == swapped.caption[10:]]
    assert [figure.defect for figure in twins] == ["swapped-caption", None]
    (reversed_,) = defective(samples, "reversed-trend").citing
    first, last = map(float, re.findall(r"([\d.]+)%", reversed_.text)[:2])
    assert "falls" in reversed_.text and first > last


# --- claims are true of the plotted numbers -------------------------------------------------------------------------

RNG = np.random.default_rng(0)


def band(names: str, count: int) -> dict[str, np.ndarray]:
    return {name: np.full(count, 0.5) for name in names}


def test_claims_on_curves_count_the_settings_that_are_won() -> None:
    means = {"A": np.array([10.0, 20.0, 30.0]), "B": np.array([12.0, 15.0, 20.0]), "C": np.array([1.0, 2.0, 3.0])}
    plot = Curves("dose", "yield", "%", (1, 2, 3), means, band("ABC", 3))
    text = claims_of(plot, "Figure 1", RNG)
    assert "For A it rises from 10.0% to 30.0%" in text
    assert "two of the three settings" in text
    assert "Its distance to B, the next best, grows from 2.0 points at the left end to 10.0 points" in text
    wrong = reversed_claims(plot, "Figure 1")
    assert "falls steadily: for A from 30.0% at the left end to 10.0%" in wrong


def test_claims_on_curves_where_lower_is_better() -> None:
    means = {"A": np.array([9.0, 8.0]), "B": np.array([7.0, 2.0])}
    text = claims_of(Curves("dose", "error", "%", (1, 2), means, band("AB", 2), better="lower"), "Fig. 1", RNG)
    assert "For B it falls from 7.0% to 2.0%" in text
    assert "all two settings" in text


def test_claims_on_bars_name_the_right_clusters() -> None:
    means = {"A": np.array([5.0, 9.0, 4.0]), "B": np.array([4.5, 6.0, 4.2])}
    text = claims_of(Bars("sites", "gain", "dB", ("x", "y", "z"), means, band("AB", 3)), "Figure 1", RNG)
    assert "A has the highest gain on two of the three sites" in text
    assert "largest on y (3.0 dB)" in text


def test_claims_on_matrix_and_histogram() -> None:
    matrix = Matrix(("p", "q"), np.array([[90, 10], [30, 70]]), "gold", "guess")
    text = claims_of(matrix, "Figure 1", RNG)
    assert "between 70% and 90%" in text
    assert "q taken for p, with 30%" in text
    assert "p is recognised best" in text
    histogram = Histogram("time", "s", "runs", {"A": np.array([1.0, 2.0, 3.0]), "B": np.array([4.0, 5.0, 6.0])})
    assert "2.0 s for A and 5.0 s for B, a difference of 3.0 s" in claims_of(histogram, "Figure 1", RNG)
    assert caption_of(histogram) == "Distribution of time over 3 runs each for A and B. Dashed lines mark the medians."


def test_a_defect_that_the_plot_cannot_have_is_an_error() -> None:
    plot = Histogram("time", "s", "runs", {"A": np.array([1.0, 2.0])})
    with pytest.raises(ValueError, match="only bars"):
        render(plot, 200, 100, defect="truncated-bars")
    with pytest.raises(ValueError, match="only a raster"):
        render(plot, 200, 100, defect="blurred-raster")


# --- the ratings ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ratings(samples: SampleSet) -> dict[str, list[Rating]]:
    found: dict[str, list[Rating]] = defaultdict(list)
    with samples.ratings_file.open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            scores = {key: int(row[key]) if row[key] else None for key in DIMENSION_KEYS}
            reasons = Reasons(**{key: row[f"{key}_reason"] or None for key in DIMENSION_KEYS})
            rating = Rating(figure_id=row["figure_id"], rater_id=row["rater_id"], reasons=reasons, **scores)
            found[rating.figure_id].append(rating)
    return found


def test_all_papers_but_one_are_rated_by_three_or_more(samples: SampleSet, ratings: dict[str, list[Rating]]) -> None:
    rated = {figure.figure_id for paper in samples.papers if paper.rated for figure in paper.figures}
    assert set(ratings) == rated
    assert {path.stem for path in samples.pdfs} - set(map(paper_of, ratings)) == {"sandpiper-neurips25"}
    for rows in ratings.values():
        assert len(rows) >= 3
        assert len({row.rater_id for row in rows}) == len(rows)
    assert any(len(rows) > 3 for rows in ratings.values())


def test_context_is_open_where_a_paragraph_cites_and_every_score_has_its_reason(
    samples: SampleSet, ratings: dict[str, list[Rating]]
) -> None:
    cited = {figure.figure_id: bool(figure.citing) for figure in samples.figures}
    for name, rows in ratings.items():
        for row in rows:
            open_ = [key for key in DIMENSION_KEYS if key != "context_consistency" or cited[name]]
            assert [key for key in DIMENSION_KEYS if getattr(row, key) is not None] == open_
            assert [key for key in DIMENSION_KEYS if getattr(row.reasons, key)] == open_
            assert not any("{" in (getattr(row.reasons, key) or "") for key in DIMENSION_KEYS)


CAPPED: dict[Defect, dict[str, tuple[int, int]]] = {
    "clipped-axis": {"visual_clarity": (3, 4)},
    "truncated-bars": {"misleading_risk": (3, 4)},
    "tiny-labels": {"visual_clarity": (3, 4)},
    "blurred-raster": {"visual_clarity": (3, 4)},
    "panel-order": {"structure_layout": (3, 4)},
    "vague-caption": {"caption_consistency": (5, 6)},
    "swapped-caption": {"caption_consistency": (1, 2)},
    "bare-pointer": {"context_consistency": (5, 6)},
    "reversed-trend": {"context_consistency": (1, 2), "misleading_risk": (1, 2)},
}


@pytest.mark.parametrize("defect", CAPPED)
def test_planted_defects_are_rated_in_the_band_of_the_rubric(
    samples: SampleSet, ratings: dict[str, list[Rating]], defect: Defect
) -> None:
    for rating in ratings[defective(samples, defect).figure_id]:
        for key, (low, high) in CAPPED[defect].items():
            assert low <= getattr(rating, key) <= high


def test_sound_figures_are_rated_well(samples: SampleSet, ratings: dict[str, list[Rating]]) -> None:
    for figure in samples.figures:
        if figure.defect is None:
            for rating in ratings.get(figure.figure_id, []):
                assert min(getattr(rating, key) or 10 for key in DIMENSION_KEYS) >= 8


# --- the command ----------------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_another_process_writes_the_same_bytes(samples: SampleSet, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scifigqual_bench.samples.make", "--out", str(tmp_path / "again")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "6 papers, 30 figures, 10 planted defects" in done.stdout
    assert contents(tmp_path / "again") == contents(samples.folder)
    for path in samples.pdfs:
        assert not re.search(rb"/(CreationDate|ModDate|ID)\b", path.read_bytes())


@pytest.mark.slow
def test_another_seed_gives_other_papers_of_the_same_plan(samples: SampleSet, tmp_path: Path) -> None:
    other = make_samples(tmp_path / "other", seed=11)
    assert [p.paper_id for p in other.papers] == [p.paper_id for p in samples.papers]
    assert [(f.figure_id, f.defect) for f in other.figures] == [(f.figure_id, f.defect) for f in samples.figures]
    assert all(4 <= paper.pages <= 6 for paper in other.papers)
    mine, theirs = contents(samples.folder), contents(other.folder)
    assert all(mine[name] != theirs[name] for name in mine if name.endswith(".pdf") or name == "ratings.csv")
    test_text_never_meets_a_figure_or_another_line(other)
    test_columns_have_no_holes(other)
    test_every_reference_in_the_body_is_in_the_truth_and_no_other(other)


def test_a_folder_with_content_is_never_overwritten_by_chance(
    samples: SampleSet, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(samples.folder)
    assert main(["--out", str(samples.folder)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert contents(samples.folder) == before
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="no sample folder"):
        make_samples(tmp_path, overwrite=True)
    assert contents(tmp_path) == {"thesis.tex": b"years of work"}


def test_a_run_that_fails_leaves_the_old_folder_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = importlib.import_module("scifigqual_bench.samples.make")
    old = tmp_path / "set"
    old.mkdir()
    (old / make.TRUTH).write_text("{}")
    monkeypatch.setattr(make, "_truth", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make_samples(old, overwrite=True)
    assert contents(tmp_path) == {f"set/{make.TRUTH}": b"{}"}
    assert list(tmp_path.iterdir()) == [old]


def test_overwrite_replaces_an_earlier_sample_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    papers = importlib.import_module("scifigqual_bench.samples.papers")
    monkeypatch.setattr(papers, "PAPERS", papers.PAPERS[-1:])
    make_samples(tmp_path / "set")
    (tmp_path / "set" / "stale.txt").write_text("old")
    replaced = make_samples(tmp_path / "set", overwrite=True)
    assert "stale.txt" not in contents(replaced.folder)
    assert replaced.pdfs[0].is_file()


def test_bad_arguments_end_in_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path / "x"), "--seed", "-1"]) == 2
    assert "seed -1: use 0 or more" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_missing_extra_is_named_with_its_remedy(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; from scifigqual_bench.samples.make import main; "
        "sys.exit(main(['--out', sys.argv[1]]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "x")], capture_output=True, text=True)
    assert done.returncode == 2
    assert "matplotlib" in done.stderr and "scifigqual-bench[build,plots]" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["draft", "figures", "text", "typeset"])
def test_doctests(name: str) -> None:
    results = doctest.testmod(importlib.import_module(f"scifigqual_bench.samples.{name}"))
    assert results.attempted and not results.failed

"""PDFs (+ ratings, + metadata) -> a dataset folder (SPEC 1-4, 7, 8)."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scifigqual_bench import gold
from scifigqual_bench.dataset.card import SplitSummary, render_card
from scifigqual_bench.dataset.folder import SPLITS, SplitWriter, check_target, staged, write_jsonl
from scifigqual_bench.dataset.tables import RatingRow, TableError, read_papers, read_ratings
from scifigqual_bench.errors import InputError
from scifigqual_bench.pdf.document import sha256_of
from scifigqual_bench.pdf.extract import DPI, Extraction, extract_paper, failed
from scifigqual_bench.records import DroppedFigure, Figure, Mark, PaperMeta, PaperReport, Problem, SidecarFeatures
from scifigqual_bench.rubric import DIMENSION_KEYS

if TYPE_CHECKING:
    from scifigqual_bench.features.ocr import OcrEngine

FeatureExtractor = Callable[[Figure, bytes], SidecarFeatures]


class BuildError(InputError):
    """A build that can't start, or has nothing to write."""


@dataclass
class BuildResult:
    """What a build did.

    Attributes:
        out: The dataset folder.
        figures: Rows by split.
        papers: One report per PDF.
        dropped: Figures found and left out.
        problems: What a person should look at; also in ``problems.jsonl``.
        unplaced_ratings: Ratings whose figure is not in the dataset.
    """

    out: Path
    figures: dict[str, int]
    papers: list[PaperReport]
    dropped: list[DroppedFigure]
    problems: list[Problem]
    unplaced_ratings: int


@dataclass
class _Run:
    """What accumulates while papers go by."""

    papers: list[PaperReport] = field(default_factory=list)
    dropped: list[DroppedFigure] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    known_ids: set[str] = field(default_factory=set)
    papers_in_split: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def list_pdfs(inputs: Sequence[Path]) -> list[Path]:
    """PDFs of the given files and folders (searched in depth), sorted by name within each folder.

    A file is taken whatever it is called, so that a wrong one gets a report of its own.

    Raises:
        BuildError: A folder holds no PDF, or no input was given.
    """
    found: list[Path] = []
    problems: list[str] = []
    for item in inputs:
        if item.is_dir():
            inside = sorted(p for p in item.rglob("*") if p.suffix.lower() == ".pdf" and p.is_file())
            if not inside:
                problems.append(f"{item}: the folder holds no .pdf file")
            found += inside
        else:
            found.append(item)
    if problems:
        raise BuildError(problems)
    return list(dict.fromkeys(found))


def build_dataset(
    pdfs: Sequence[Path],
    out: Path,
    *,
    ratings: Path | None = None,
    papers: Path | None = None,
    features: FeatureExtractor | None = None,
    ocr: OcrEngine | None = None,
    jsonl: Path | None = None,
    overwrite: bool = False,
    progress: Callable[[Iterable[Path]], Iterable[Path]] = iter,
) -> BuildResult:
    """Build a dataset folder from PDFs.

    Tables are read and checked whole before the first PDF is opened. A PDF that fails becomes a line of
    ``papers.jsonl``; it never ends the build. Ratings whose figure was not found are told and kept out; the dataset is
    written all the same, so that no work is lost.

    Args:
        pdfs: The PDF files (see :func:`list_pdfs`).
        out: The dataset folder, written beside and swapped in.
        ratings: Ratings file (see :func:`~scifigqual_bench.dataset.tables.read_ratings`).
        papers: Papers file (see :func:`~scifigqual_bench.dataset.tables.read_papers`).
        features: Measures the sidecar features of a figure; None leaves the column null.
        ocr: Reads scanned pages; None leaves them unread, which their paper's report tells.
        jsonl: Also write every figure that was found here, without images; those that curation dropped have the
            status ``"dropped"``.
        overwrite: Replace an existing dataset folder.
        progress: Wraps the iteration over the PDFs.

    Raises:
        BuildError: Bad tables (all their faults), a target that must not be replaced, or no figure at all.
    """
    check_target(out, overwrite=overwrite)
    meta, rated = _read_tables(papers, ratings)
    jobs, run = _plan(pdfs, meta)
    extra_rows: list[dict] = []
    with staged(out) as stage:
        data = stage / "data"
        data.mkdir()
        writers = {split: SplitWriter(data, split) for split in SPLITS}
        for pdf in progress(pdfs):
            paper = jobs[pdf]
            extraction = paper if isinstance(paper, Extraction) else extract_paper(pdf, paper, ocr=ocr)
            run.papers.append(extraction.report)
            run.dropped += extraction.dropped
            run.problems += extraction.report.problems
            for found in extraction.figures:
                row = _with_ratings(found.figure, rated.get(found.figure.figure_id, []), run, ratings)
                row = _with_features(row, found.image, features, run)
                split = "rated" if row.gold else "unrated"
                writers[split].add(row, found.image)
                run.known_ids.add(row.figure_id)
                run.papers_in_split[split].add(row.paper_id)
                extra_rows.append(_plain_row(row))
            extra_rows += [_plain_row(drop) for drop in extraction.dropped if drop.bbox is not None]
        if not run.known_ids:
            raise BuildError(["no figure was found; nothing is written", *_paper_lines(run.papers)])
        unplaced = _unplaced(rated, run, ratings)
        _finish(stage, out.absolute().name, writers, run)
    if jsonl is not None:
        write_jsonl(jsonl, extra_rows)
    return BuildResult(
        out=out,
        figures={split: writer.rows for split, writer in writers.items() if writer.rows},
        papers=run.papers,
        dropped=run.dropped,
        problems=run.problems,
        unplaced_ratings=unplaced,
    )


def _read_tables(papers: Path | None, ratings: Path | None) -> tuple[dict[str, PaperMeta], dict[str, list[RatingRow]]]:
    """Both tables, with the faults of both at once."""
    meta: dict[str, PaperMeta] = {}
    rows: list[RatingRow] = []
    problems: list[str] = []
    try:
        meta = read_papers(papers) if papers else {}
    except TableError as error:
        problems += error.problems
    try:
        rows = read_ratings(ratings) if ratings else []
    except TableError as error:
        problems += error.problems
    if problems:
        raise BuildError(problems)
    rated: dict[str, list[RatingRow]] = defaultdict(list)
    for row in rows:
        rated[row.rating.figure_id].append(row)
    return meta, dict(rated)


def _plan(pdfs: Sequence[Path], meta: dict[str, PaperMeta]) -> tuple[dict[Path, PaperMeta | Extraction], _Run]:
    """Metadata per PDF; a second PDF of the same paper id or the same bytes is settled as failed beforehand."""
    run = _Run()
    jobs: dict[Path, PaperMeta | Extraction] = {}
    by_id: dict[str, Path] = {}
    by_hash: dict[str, Path] = {}
    for pdf in pdfs:
        paper = meta.get(pdf.stem, PaperMeta(paper_id=pdf.stem))
        jobs[pdf] = paper
        digest = sha256_of(pdf) if pdf.is_file() and pdf.stat().st_size else None
        if paper.paper_id in by_id:
            text = f"{pdf}: paper id {paper.paper_id!r} is that of {by_id[paper.paper_id]} too; give ids in --papers"
            jobs[pdf] = failed(pdf, paper.paper_id, Problem(code="paper-id-repeated", message=text))
        elif digest is not None and digest in by_hash:
            text = f"{pdf}: the same bytes as {by_hash[digest]}; read once"
            jobs[pdf] = failed(pdf, paper.paper_id, Problem(code="pdf-duplicate", message=text))
        else:
            by_id[paper.paper_id] = pdf
            if digest is not None:
                by_hash[digest] = pdf
    stems = {pdf.stem for pdf in pdfs}
    for stem in sorted(set(meta) - stems):
        text = f"papers file: no PDF for {meta[stem].paper_id!r} (expected {stem}.pdf)"
        run.problems.append(Problem(code="paper-without-pdf", message=text))
    return jobs, run


def _with_ratings(figure: Figure, rows: Sequence[RatingRow], run: _Run, source: Path | None) -> Figure:
    """The figure with its ratings and gold; ratings on closed dimensions and adjudication cases are told."""
    if not rows:
        return figure
    marks = list(figure.curation_marks)
    closed = [key for key in DIMENSION_KEYS if key not in figure.open_dimensions]
    for key in closed:
        lines = [row.line for row in rows if getattr(row.rating, key) is not None]
        if lines:
            detail = f"{key} is rated, though the figure has no evidence for it"
            marks.append(Mark(stage="gate", code="rated-while-closed", detail=detail))
            text = f"{source.name}, lines {', '.join(map(str, lines))}: {figure.figure_id}: {detail}; kept in gold"
            run.problems.append(Problem(code="rating-on-closed-dimension", message=text))
    ratings = [row.rating for row in rows]
    if gold.needs_adjudication(ratings):
        text = f"{source.name}: {figure.figure_id}: raters' overalls differ by more than {gold.ADJUDICATION_GAP:g}"
        run.problems.append(Problem(code="needs-adjudication", message=text))
    return figure.model_copy(
        update={
            "ratings": ratings,
            "gold": gold.gold_from_ratings(figure.figure_id, ratings, figure.open_dimensions),
            "curation_marks": marks,
        }
    )


def _with_features(figure: Figure, image: bytes, extractor: FeatureExtractor | None, run: _Run) -> Figure:
    if extractor is None:
        return figure
    try:
        measured = extractor(figure, image)
    except Exception as error:  # an OCR engine can fail in its own ways; the figure is kept without features
        text = f"{figure.figure_id}: features can't be measured ({type(error).__name__}: {error})"
        run.problems.append(Problem(code="features-failed", message=text, page=figure.page))
        return figure
    return figure.model_copy(update={"features": measured})


def _unplaced(rated: dict[str, list[RatingRow]], run: _Run, source: Path | None) -> int:
    """Tell of each rating whose figure is not in the dataset, with the reason or the nearest id where there is one."""
    dropped = {drop.figure_id: drop for drop in run.dropped}
    count = 0
    for figure_id, rows in rated.items():
        if figure_id in run.known_ids:
            continue
        count += len(rows)
        drop = dropped.get(figure_id)
        near = difflib.get_close_matches(figure_id, run.known_ids, n=1, cutoff=0.8)
        hint = (
            f"it was left out ({drop.marks[0].detail})" if drop else f"nearest: {near[0]}" if near else "check the id"
        )
        lines = ", ".join(str(row.line) for row in rows)
        text = f"{source.name}, lines {lines}: no figure {figure_id} in the dataset; {hint}"
        run.problems.append(Problem(code="rating-unplaced", message=text))
    return count


def _plain_row(row: Figure | DroppedFigure) -> dict:
    """A row without its image, as extraction scorers read it; a figure that curation dropped is told by its status."""
    data = row.model_dump(exclude={"features", "ratings", "gold"})
    status = {"curation_status": "dropped"} if isinstance(row, DroppedFigure) else {}
    return {**data, **status, "citing": [citation.text for citation in row.citations]}


def _paper_lines(papers: Iterable[PaperReport]) -> list[str]:
    return [problem.message for paper in papers for problem in paper.problems]


def _finish(stage: Path, name: str, writers: dict[str, SplitWriter], run: _Run) -> None:
    """Close the shards and write the logs and the card."""
    splits = []
    for split, writer in writers.items():
        files = writer.close()
        if writer.rows:
            size = sum(file.stat().st_size for file in files)
            splits.append(SplitSummary(split, writer.rows, len(run.papers_in_split[split]), writer.image_bytes, size))
    write_jsonl(stage / "papers.jsonl", run.papers)
    write_jsonl(stage / "dropped.jsonl", run.dropped)
    write_jsonl(stage / "problems.jsonl", run.problems)
    statuses = Counter(paper.status for paper in run.papers)
    card = render_card(name, splits, statuses, len(run.dropped), len(run.problems), DPI)
    (stage / "README.md").write_text(card, encoding="utf-8")

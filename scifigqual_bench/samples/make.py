"""Make sample papers with exact ground truth: ``python -m scifigqual_bench.samples.make --out FOLDER``.

The folder holds everything that the whole job needs on a machine without data, model or key: PDFs, what is in them,
and ratings of their figures. All of it is made up. Needs the extras ``build`` and ``plots``.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scifigqual_bench.records import figure_id

if TYPE_CHECKING:
    from scifigqual_bench.samples.draft import Manuscript
    from scifigqual_bench.samples.typeset import Layout

TRUTH = "truth.json"
RATINGS = "ratings.csv"
PAPERS = "papers.csv"
README = """\
Sample papers of scifigqual-bench. The papers are made up: their authors, methods and numbers do not exist.
The ratings in ratings.csv are planted together with the defects of the figures; no person has given them.
truth.json says where every figure is, what is printed about it, and which defect is planted in it.
"""

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class CitingTruth:
    """A body paragraph that references a figure.

    Attributes:
        text: The whole paragraph, line-end hyphens removed.
        section: Heading as printed, number included.
        page: Page on which it begins, from 1.
        mentions: The references to this figure as printed.
        columns: Every (page, column from 0) that holds lines of it, in reading order.
    """

    text: str
    section: str | None
    page: int
    mentions: tuple[str, ...]
    columns: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FigureTruth:
    """A figure as printed.

    Attributes:
        number: As printed, for example ``"3"`` or ``"A1"``.
        fig_index: The number, or for an appendix figure the next free one after the largest plain number.
        page: From 1.
        bbox: The graphic without its caption, in PDF points from the top left corner.
        caption: Full caption, label included.
        caption_bbox: The caption, over the width of the column.
        section: Heading under which the figure is called.
        citing: Paragraphs that reference it, in reading order.
        panels: Panel letters in the order of print.
        media: ``"vector"`` or ``"raster"``.
        defect: The planted defect, None for a sound figure.
    """

    figure_id: str
    paper_id: str
    number: str
    fig_index: int
    page: int
    bbox: Box
    caption: str
    caption_bbox: Box
    section: str | None
    citing: tuple[CitingTruth, ...]
    panels: tuple[str, ...]
    media: str
    defect: str | None


@dataclass(frozen=True)
class TableTruth:
    """A table as printed; ``bbox`` is its body without the caption."""

    number: str
    page: int
    bbox: Box
    caption: str
    caption_bbox: Box


@dataclass(frozen=True)
class PaperTruth:
    """A paper as printed; ``paper_id`` is the stem of its PDF."""

    paper_id: str
    title: str
    venue: str
    year: int
    topic: str
    pages: int
    columns: int
    line_numbers: bool
    rated: bool
    figures: tuple[FigureTruth, ...]
    tables: tuple[TableTruth, ...]


@dataclass(frozen=True)
class SampleSet:
    """What was made, and where."""

    folder: Path
    seed: int
    papers: tuple[PaperTruth, ...]

    @property
    def pdf_folder(self) -> Path:
        """The folder of the PDFs."""
        return self.folder / "pdfs"

    @property
    def pdfs(self) -> tuple[Path, ...]:
        """The PDFs, one a paper, in the order of ``papers``."""
        return tuple(self.pdf_folder / f"{paper.paper_id}.pdf" for paper in self.papers)

    @property
    def truth_file(self) -> Path:
        """The papers as JSON."""
        return self.folder / TRUTH

    @property
    def ratings_file(self) -> Path:
        """The planted ratings."""
        return self.folder / RATINGS

    @property
    def papers_file(self) -> Path:
        """Title, venue, year and topic by paper."""
        return self.folder / PAPERS

    @property
    def figures(self) -> tuple[FigureTruth, ...]:
        """All figures of all papers."""
        return tuple(figure for paper in self.papers for figure in paper.figures)


def make_samples(out: Path, seed: int = 0, *, overwrite: bool = False) -> SampleSet:
    """Write the sample papers, their truth and their ratings.

    The folder is written beside its place and moved there when it is complete. Equal seeds give equal bytes with equal
    versions of PyMuPDF, matplotlib, NumPy and Pillow.

    Args:
        out: The folder to write.
        seed: Decides data, wording, reference lists and ratings; 0 or more.
        overwrite: Replace an earlier sample folder. Anything else is never replaced.

    Returns:
        What was made.

    Raises:
        FileExistsError: ``out`` exists and is not empty, and may not be replaced.
        ValueError: The seed is negative.
    """
    if seed < 0:
        raise ValueError(f"seed {seed}: use 0 or more")
    _refuse_to_destroy(out, overwrite)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
        partial = Path(scratch) / out.name
        papers = _write(partial, seed)
        if out.exists():
            shutil.rmtree(out)
        partial.rename(out)
    return SampleSet(out, seed, papers)


def _refuse_to_destroy(out: Path, overwrite: bool) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / TRUTH).is_file():
        raise FileExistsError(f"{out}: exists and is no sample folder (it has no {TRUTH}); choose another one")
    if not overwrite:
        raise FileExistsError(f"{out}: is not empty; choose another folder, or replace it with --overwrite")


def _write(folder: Path, seed: int) -> tuple[PaperTruth, ...]:
    import numpy as np

    from scifigqual_bench.samples.papers import PAPERS as WRITERS
    from scifigqual_bench.samples.papers import UNRATED
    from scifigqual_bench.samples.ratings import COLUMNS, rate
    from scifigqual_bench.samples.typeset import typeset

    (folder / "pdfs").mkdir(parents=True)
    papers: list[PaperTruth] = []
    ratings: list[dict[str, Any]] = []
    for index, writer in enumerate(WRITERS):
        rng = np.random.default_rng([seed, index])
        manuscript = writer(rng)
        layout = typeset(manuscript.blocks, folder / "pdfs" / f"{manuscript.paper_id}.pdf", manuscript.style)
        paper = _truth(manuscript, layout, rated=manuscript.paper_id not in UNRATED)
        papers.append(paper)
        if paper.rated:
            for plan, figure in zip(manuscript.figures, paper.figures, strict=True):
                ratings += [{"figure_id": figure.figure_id, **row} for row in rate(plan, bool(figure.citing), rng)]
    truth = {"seed": seed, "papers": [asdict(paper) for paper in papers]}
    (folder / TRUTH).write_text(json.dumps(truth, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _write_csv(folder / RATINGS, COLUMNS, ratings)
    _write_csv(folder / PAPERS, ("paper_id", "title", "venue", "year", "topic"), map(asdict, papers))
    (folder / "README.md").write_text(README, encoding="utf-8")
    return tuple(papers)


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _truth(manuscript: Manuscript, layout: Layout, *, rated: bool) -> PaperTruth:
    plain = [int(figure.number) for figure in manuscript.figures if figure.number.isdigit()]
    free = iter(range(max(plain) + 1, max(plain) + 1 + len(manuscript.figures)))
    placed = {figure.block.number: figure for figure in layout.figures}
    figures: list[FigureTruth] = []
    for plan in manuscript.figures:
        index = int(plan.number) if plan.number.isdigit() else next(free)
        where = placed[plan.number]
        figures.append(
            FigureTruth(
                figure_id=figure_id(manuscript.paper_id, index),
                paper_id=manuscript.paper_id,
                number=plan.number,
                fig_index=index,
                page=where.page,
                bbox=_rounded(where.bbox),
                caption=plan.caption,
                caption_bbox=_rounded(where.caption_bbox),
                section=where.section,
                citing=_citing(plan.number, layout),
                panels=plan.panels,
                media="raster" if plan.raster else "vector",
                defect=plan.defect,
            )
        )
    tables = tuple(
        TableTruth(t.block.number, t.page, _rounded(t.bbox), t.block.caption, _rounded(t.caption_bbox))
        for t in layout.tables
    )
    return PaperTruth(
        manuscript.paper_id,
        manuscript.title,
        manuscript.venue,
        manuscript.year,
        manuscript.topic,
        layout.pages,
        manuscript.style.columns,
        manuscript.style.line_numbers,
        rated,
        tuple(figures),
        tables,
    )


def _citing(number: str, layout: Layout) -> tuple[CitingTruth, ...]:
    found: list[CitingTruth] = []
    for paragraph in layout.paragraphs:
        mentions = tuple(printed for cited, printed in paragraph.block.cites if cited == number)
        if mentions:
            text, section = paragraph.block.plain, paragraph.section
            found.append(CitingTruth(text, section, paragraph.page, mentions, paragraph.columns))
    return tuple(found)


def _rounded(box: Box) -> Box:
    x0, y0, x1, y1 = (round(value, 2) for value in box)
    return x0, y0, x1, y1


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``scifigqual-samples``; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="scifigqual-samples", description="Typeset sample papers with planted defects, exact truth and ratings."
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="the folder to write")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="0 or more (default 0)")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier sample folder")
    args = parser.parse_args(argv)
    try:
        samples = make_samples(args.out, args.seed, overwrite=args.overwrite)
    except (FileExistsError, ValueError) as error:
        print(f"scifigqual-samples: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        remedy = "pip install 'scifigqual-bench[build,plots]'"
        print(f"scifigqual-samples: {error.name} is missing; install it with: {remedy}", file=sys.stderr)
        return 2
    defects = sum(figure.defect is not None for figure in samples.figures)
    print(f"{len(samples.papers)} papers, {len(samples.figures)} figures, {defects} planted defects: {samples.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
